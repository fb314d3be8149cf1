"""Bounds on how far features move are never violated, and are not empty promises."""

from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation
from sklearn.exceptions import NotFittedError

from adversary import attack
from conftest import cloud_of
from nrcdt import AGGREGATIONS, NORMALIZATIONS, NRCDT, RCDT, SPACES, Plan
from nrcdt.aggregate import angular_quantiles, bispectrum, spectrum
from nrcdt.bounds import certified_radius, feature_bounds
from nrcdt.bounds.aggregations import feature_interval
from nrcdt.datasets import watermarks
from nrcdt.frames import whitening
from nrcdt.measures import Cloud, pixel_side
from nrcdt.spaces import crystal_space

SMALL = {"n_directions": 16, "n_quantiles": 24}
CLOUD_SETTINGS = [
    *({"aggregate": name} for name in AGGREGATIONS),
    *({"aggregate": name, "frame": "whitened"} for name in AGGREGATIONS),
    *({"normalize": how, "aggregate": ["max", "tv", "abs_min", "std"]} for how in NORMALIZATIONS),
    *({"normalize": how, "frame": "whitened", "aggregate": "range"} for how in NORMALIZATIONS),
    *({"normalize": how, "space": "circular", "aggregate": ["max", "mean"]} for how in NORMALIZATIONS),
    {"trim": 0.2, "aggregate": angular_quantiles([0.1, 0.9])},
    {"reference": "norm", "aggregate": spectrum(3, [1, -2, 1, 0.5], lowest=1)},
    {"reference": "expon", "normalize": "median", "trim": 0.1},
    {"aggregate": bispectrum(4), "frame": "whitened", "trim": 0.1},
]


def label(settings):
    """Settings by their words: addresses of functions differ between processes."""
    return "-".join(str(getattr(value, "name", value)) for value in settings.values()) or "defaults"


def violation(model, X, moved, eps, **settings):
    """How far features of moved measures lie outside of their bounds, in parts of the size of the features."""
    lower, upper = feature_bounds(model, X, eps, **settings)
    before, after = model.transform(X), model.transform(moved)
    assert lower.shape == upper.shape == before.shape
    size = np.abs(before).max()
    outside = [np.maximum(lower - some, some - upper).max() / size for some in (before, after)]
    return max(outside)


def unit(rng, *shape):
    vectors = rng.normal(size=shape)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def pushes(rng, points, eps):
    """Moves by at most eps: all at random, all one way, apart or together along a line, outwards, and mixtures."""
    n, d = points.shape
    way, centred = unit(rng, d), points - points.mean(axis=0)
    place = centred @ way
    yield unit(rng, n, d) * eps * rng.random((n, 1))
    yield np.tile(eps * way, (n, 1))
    for level in rng.random(3):
        yield eps * np.outer(np.where(place > np.quantile(place, level), 1, -1), way)
    yield -eps * np.outer(np.sign(place), way)
    yield eps * centred / np.linalg.norm(centred, axis=1, keepdims=True)
    yield eps * np.outer(rng.choice([-1, 1], n), way)
    narrow, *_, wide = np.linalg.eigh(np.cov(points.T))[1].T
    yield eps * np.outer(np.sign(centred @ wide), narrow)
    yield eps * np.where(rng.random((n, 1)) < 1 / n, way, 0)


@pytest.mark.slow
@pytest.mark.parametrize("settings", CLOUD_SETTINGS, ids=label)
@pytest.mark.parametrize("kind", ["plane", "weighted", "float32"])
def test_clouds_never_leave_their_bounds(settings, kind, rng):
    cloud, weights = cloud_of(rng, 60), rng.random(60) if kind == "weighted" else None
    cloud = cloud.astype(np.float32) if kind == "float32" else cloud
    model = NRCDT(**({"space": "euclidean"} | SMALL | settings)).fit([(cloud, weights)])
    width = np.sqrt(np.linalg.eigvalsh(np.cov(cloud.T))[0])
    for share in (0.003, 0.1, 0.4):
        for push in pushes(rng, cloud.astype(float), share * width):
            moved = (cloud + push).astype(cloud.dtype)
            assert violation(model, [(cloud, weights)], [(moved, weights)], share * width) < (
                1e-4 if kind == "float32" else 1e-9
            )


@pytest.mark.parametrize("aggregate", ["max", "mean_abs", "spectrum"])
@pytest.mark.parametrize("frame", ["fixed", "whitened"])
def test_clouds_in_space_never_leave_their_bounds(aggregate, frame, rng):
    cloud = cloud_of(rng, 80, 3) + 1e6  # far from the origin, where digits are few
    model = NRCDT("euclidean", n_directions=32, n_quantiles=16, aggregate=aggregate, frame=frame).fit([cloud])
    for push in pushes(rng, cloud, 0.05):
        assert violation(model, [cloud], [cloud + push], 0.05) < 1e-7


def moved_rotations(rng, rotations, eps):
    return Rotation.from_rotvec(eps * unit(rng, len(rotations), 3) * rng.random((len(rotations), 1))) * rotations


@pytest.mark.parametrize("space", ["rotation", crystal_space("hexagonal")], ids=["rotation", "hexagonal"])
@pytest.mark.parametrize("how", ["standardize", "global", None])
def test_rotations_never_leave_their_bounds(space, how, rng):
    sample = Rotation.random(30, rng)
    model = NRCDT(space, normalize=how, aggregate=["max", "mean"], **SMALL).fit([sample])
    for eps in (0.001, 0.05):
        for _ in range(5):
            assert violation(model, [sample], [moved_rotations(rng, sample, eps)], eps) < 1e-6


@pytest.mark.parametrize("space", ["sphere_parallel", "sphere_vertical"])
def test_points_on_the_sphere_never_leave_their_bounds(space, rng):
    points = unit(rng, 40, 3)
    model = NRCDT(space, normalize=None, **SMALL).fit([points])
    for _ in range(5):
        moved = points + 0.05 * unit(rng, 40, 3)
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        eps = np.linalg.norm(moved - points, axis=1).max()
        assert violation(model, [points], [moved], eps) < 1e-9


def rearranged(image, rng, reach, share=1.0):
    """Send the mass of each pixel to a few pixels at most so many pixels away; a share of it stays."""
    out = (1 - share) * image
    window = np.arange(-int(reach), int(reach) + 1)
    steps = np.stack(np.meshgrid(window, window), axis=-1).reshape(-1, 2)
    steps = steps[np.hypot(*steps.T) <= reach]
    chosen = steps[rng.choice(len(steps), 3)]
    pattern = rng.random((3, *image.shape)) ** 4
    for step, part in zip(chosen, pattern / pattern.sum(axis=0), strict=True):
        out += share * np.roll(image * part, step, axis=(0, 1))
    return out


def drawing(size=40):
    return watermarks(1, size=2 * size)[0][0].reshape(size, 2, size, 2).sum(axis=(1, 3))


IMAGE_SETTINGS = [
    *({"aggregate": name} for name in ("max", "abs_range", "tv", "mean", "bispectrum")),
    {"aggregate": ["range", "std"], "normalize": "median"},
    {"normalize": "global"},
    {"normalize": None, "directions": np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])},
    {"n_radii": 400, "normalize": "winsorize"},
    {"n_radii": 7},
    {"frame": "whitened", "aggregate": ["max", "mean_abs"]},
    {"frame": "whitened", "n_radii": 500, "normalize": None},
    {"frame": "whitened", "n_radii": 5, "normalize": None, "aggregate": "mean"},
    {"trim": 0.1, "reference": "expon"},
]


@pytest.mark.parametrize("settings", IMAGE_SETTINGS, ids=label)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_images_never_leave_their_bounds(settings, dtype, rng):
    image = np.pad(drawing(), 8).astype(dtype)
    model = NRCDT(**(SMALL | settings)).fit([image])
    side = pixel_side(image.shape)
    for reach in (1, 2, 5):
        for share in (1.0, 0.3):
            moved = rearranged(image, rng, reach, share).astype(dtype)
            tolerance = 1e-4 if dtype == np.float32 else 1e-9
            assert violation(model, [image], [moved], reach * side) < tolerance
            assert violation(model, [image], [np.roll(image, reach, axis=1)], reach * side) < tolerance


@pytest.mark.parametrize("frame", ["fixed", "whitened"])
def test_lines_that_cross_the_edge_of_a_strip_never_leave_their_bounds(frame):
    """Where a line lies within a strip makes no difference, until it crosses an edge: here at 17 pixels."""
    image, moved = np.zeros((2, 121, 121))
    image[30:91, [44, 76]] = moved[30:91, [42, 78]] = 1
    model = NRCDT(n_radii=5, frame=frame, normalize=None, directions=[[1.0, 0.0]], n_quantiles=24).fit([image])
    assert violation(model, [image], [moved], 2 * pixel_side(image.shape)) < 1e-9


def test_signals_never_leave_their_bounds(rng):
    for frame in ("fixed", "whitened"):
        signal = np.pad(rng.random(30), 10)
        model = NRCDT("signal", frame=frame, n_quantiles=20, aggregate="mean_abs").fit([signal])
        for step in (1, 3):
            moved = (1 - (pattern := rng.random(50))) * signal + np.roll(pattern * signal, step)
            assert violation(model, [signal], [moved], step * 2 / 50) < 1e-9


@pytest.mark.parametrize("how", NORMALIZATIONS)
@pytest.mark.parametrize("aggregate", ["max", "mean_abs", "tv"])
def test_some_mass_may_go_anywhere_where_levels_are_trimmed(how, aggregate, rng):
    cloud = cloud_of(rng, 100)
    model = NRCDT("euclidean", trim=0.1, normalize=how, aggregate=aggregate, **SMALL).fit([cloud])
    for n_gone in (1, 5, 9):
        for far in (2, 1e3):
            for push in pushes(rng, cloud, 0.02):
                moved = cloud + push
                gone = rng.choice(100, n_gone, replace=False)
                moved[gone] = far * unit(rng, n_gone, 2) if far > 2 else far * np.ones(2)
                share = n_gone / 100
                assert violation(model, [cloud], [moved], 0.02, contamination=share + 1e-12) < 1e-9


def test_specks_on_a_picture(rng):
    image = np.pad(drawing(), 8)
    model = NRCDT(trim=0.1, **SMALL).fit([image])
    specks = np.where(rng.random(image.shape) < 0.05, 1.0, 0.0)
    share = 0.04
    moved = image / image.sum() * (1 - share) + specks / specks.sum() * share
    assert violation(model, [image], [moved], 0.0, contamination=share) < 1e-9
    assert violation(model, [image], [moved], 0.0) > 0


def test_a_slice_can_nearly_reach_its_bound(rng):
    """In one direction points are moved so that one feature grows as fast as it can."""
    values = np.sort(rng.normal(size=20))
    cloud = np.stack([values, rng.normal(size=20)], axis=1)
    model = NRCDT("euclidean", directions=[[1.0, 0.0]], n_quantiles=19).fit([cloud])
    quantiles = model.quantiles([cloud])[0, 0]
    eps = np.diff(values).min() / 2
    ranks = np.arange(1, 20)  # the point that the quantile of each level is
    _, upper = feature_bounds(model, [cloud], eps)
    reached = []
    for j in range(19):
        push = np.zeros(20)
        push[ranks] = -eps * np.sign(1 + quantiles[j] * quantiles)
        push[ranks[j]] = eps
        found = model.transform([cloud + np.outer(push, [1, 0])])[0, j]
        reached.append((found - quantiles[j]) / (upper[0, j] - quantiles[j]))
    assert np.max(reached) <= 1
    assert np.min(reached) > 0.7


def test_whitened_slices_can_nearly_reach_their_bound(rng):
    """Both ends of a thin bar are pushed to its two sides: the frame turns, and carries along what lies far out."""
    bar = rng.uniform(-1, 1, (200, 2)) * [100, 1]
    model = NRCDT("euclidean", directions=[[0.0, 1.0]], frame="whitened", normalize=None, n_quantiles=99).fit([bar])
    eps = 1e-3 * bar[:, 1].std()
    push = eps * np.outer(np.sign(bar[:, 0]), [0, 1])
    push[np.argmax(bar[:, 0])] *= -1
    frames = [whitening(Cloud(cloud, None)) for cloud in (bar, bar + push)]
    before, after = ((cloud - mean) @ matrix for cloud, (mean, matrix) in zip((bar, bar + push), frames, strict=True))
    moved = np.linalg.norm(after - before, axis=1).max()
    lower, upper = feature_bounds(model, [bar], eps)
    bound = (upper - lower).max() / 2
    assert 0.5 * bound < moved < bound


@pytest.mark.parametrize("name", ["max", "abs_max", "abs_min", "abs_range", "range", "tv", "mean", "mean_abs"])
def test_intervals_of_aggregations_are_exact(name, rng):
    """The ends of the intervals are the extremes over a grid that holds all corners, where there is one quantile."""
    plan = Plan.resolve("image", n_directions=4, n_quantiles=2)
    for _ in range(20):
        apart = name in ("tv", "range", "abs_range")  # no two directions can change their order
        quantiles = np.array([[1.0], [-6.0], [3.0], [-9.0]]) if apart else rng.normal(size=(4, 1))
        radii = rng.random((4, 1))
        corners = np.array(list(product((-1, *(-quantiles / radii).ravel().clip(-1, 1), 1), repeat=4)))
        values = quantiles + corners[:, :, np.newaxis] * radii
        found = AGGREGATIONS[name].function(values, plan.direction_weights, plan.directions)
        lower, upper = feature_interval(AGGREGATIONS[name], quantiles, radii, plan)
        np.testing.assert_allclose([found.min(), found.max()], [lower[0], upper[0]], atol=1e-12)


@pytest.mark.parametrize("one", ["std", "spectrum", "bispectrum", "angular_quantiles"])
@pytest.mark.parametrize("space", ["plane", "sphere"])
def test_intervals_of_aggregations_hold(one, space, rng):
    if (one, space) == ("bispectrum", "sphere"):
        return
    d = 2 if space == "plane" else 3
    plan = Plan.resolve("euclidean", dimension=d, n_directions=64, n_quantiles=5)
    angles = np.arctan2(*plan.directions[:, :2].T[::-1])
    for size in (1e-3, 0.3):
        quantiles, radii = rng.normal(size=(64, 5)), size * rng.random((64, 5))
        lower, upper = feature_interval(AGGREGATIONS[one], quantiles, radii, plan)
        reached = 0.0
        outwards = np.sign(quantiles - quantiles.mean(axis=0))
        for signs in (outwards, *(np.sign(np.cos(waves * angles + 0.1))[:, np.newaxis] for waves in range(4))):
            moved = (quantiles + signs * radii)[np.newaxis]
            found = AGGREGATIONS[one].function(moved, plan.direction_weights, plan.directions)[0]
            assert (lower <= found + 1e-12).all()
            assert (found <= upper + 1e-12).all()
            middle = (lower + upper) / 2
            reached = max(reached, (np.abs(found - middle) / (upper - middle)).max())
        assert reached > 0.2


def test_the_sharper_bound_is_below_the_plain_one(rng):
    cloud = cloud_of(rng, 50)
    model = NRCDT("euclidean", directions=[[1.0, 0.0]], n_quantiles=30).fit([cloud])
    quantiles, eps = model.quantiles([cloud])[0, 0], 0.01
    raw = NRCDT("euclidean", directions=[[1.0, 0.0]], n_quantiles=30, normalize=None).fit_transform([cloud])[0]
    _, upper = feature_bounds(model, [cloud], eps)
    plain = eps * (2 + np.abs(quantiles)) / (raw.std() - eps)
    assert (upper[0] - quantiles < plain * (1 + 1e-12)).all()
    sharp = eps * (1 + np.sqrt(1 + quantiles**2)) / (raw.std() - eps)
    np.testing.assert_allclose(upper[0] - quantiles, sharp, rtol=1e-9)


def test_bounds_are_nested_and_begin_at_the_features(rng):
    cloud = cloud_of(rng, 50)
    for frame in ("fixed", "whitened"):
        model = NRCDT("euclidean", aggregate=["max", "bispectrum"], frame=frame, **SMALL).fit([cloud])
        bounds = [feature_bounds(model, [cloud], eps) for eps in (0, 0.01, 0.02, 0.2, 10)]
        for end in bounds[0]:
            np.testing.assert_allclose(end, model.transform([cloud]), rtol=1e-9, atol=1e-9)
        for (low, high), (lower, higher) in pairwise(bounds):
            assert (lower <= low).all()
            assert (high <= higher).all()
        assert np.isinf(bounds[-1]).all()


@pytest.mark.parametrize("how", ["center", None])
def test_whitened_bounds_solve_the_differential_equation_that_they_come_from(how, rng):
    """On the way dh = eps / (spread - t eps) dt the reach r grows by 2 + r; slices move by 1 + r, or as r."""
    cloud, share = cloud_of(rng, 50), 0.3
    mean, matrix = whitening(Cloud(cloud, None))
    reach = np.linalg.norm((cloud - mean) @ matrix, axis=1).max()
    found = solve_ivp(lambda h, y: [2 + y[0], 1 + y[0]], (0, -np.log(1 - share)), [reach, 0], rtol=1e-10).y[:, -1]
    model = NRCDT("euclidean", frame="whitened", normalize=how, **SMALL).fit([cloud])
    _, upper = feature_bounds(model, [cloud], share / np.linalg.norm(matrix, 2))
    expected = found[0] - reach if how is None else 2 * found[1]
    np.testing.assert_allclose(upper - model.transform([cloud]), expected, rtol=1e-6)


def test_whitened_bounds_ignore_affine_maps_but_for_the_narrowest_spread(rng):
    """In units of the narrowest spread they are the same for all affine copies."""
    cloud = cloud_of(rng, 50)
    moved = cloud @ np.array([[2.0, 1.0], [0.0, 0.3]]) + 5
    widths = [np.sqrt(np.linalg.eigvalsh(np.cov(some.T))[0]) for some in (cloud, moved)]
    turned = NRCDT("euclidean", frame="whitened", aggregate="mean", n_directions=16, n_quantiles=200)
    one, other = (
        np.subtract(*feature_bounds(turned.fit([some]), [some], 0.1 * width))
        for some, width in zip((cloud, moved), widths, strict=True)
    )
    np.testing.assert_allclose(one, other, rtol=0.1)


# Certificates


def classes(rng):
    angles = 2 * np.pi * np.arange(60) / 60
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return [ring, np.sign(cloud_of(rng, 60)) + 0.1 * rng.normal(size=(60, 2)), rng.normal(size=(60, 2))]


def nearest(model, templates, metric, samples):
    return cdist(model.transform(samples), model.transform(templates), metric).argmin(axis=1)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize("settings", [{}, {"aggregate": ["max", "mean_abs"]}, {"frame": "whitened"}], ids=label)
def test_labels_stay_within_the_certified_radius(metric, settings, rng):
    templates = classes(rng)
    samples = [cloud + 0.02 * rng.normal(size=cloud.shape) for cloud in templates]
    model = NRCDT("euclidean", **SMALL, **settings).fit(templates)
    radii = certified_radius(model, templates, list("abc"), samples, metric=metric)
    assert (radii > 0).all()
    found = nearest(model, templates, metric, samples)
    for i, (sample, radius) in enumerate(zip(samples, radii, strict=True)):
        for _ in range(5):
            moved = [sample + push for push in pushes(rng, sample, radius)]
            assert (nearest(model, templates, metric, moved) == found[i]).all()
            towards = templates[(i + 1) % 3] - sample
            lengths = np.linalg.norm(towards, axis=1, keepdims=True)
            moved = sample + towards * np.minimum(1, radius / lengths)
            assert nearest(model, templates, metric, [moved])[0] == found[i]


def test_on_the_line_between_two_templates_the_radius_is_found_by_hand():
    """With nothing normalised the features of a square move as it does, by eps each."""
    square = np.array([[-1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    model = NRCDT("euclidean", directions=[[1.0, 0.0]], n_quantiles=3, normalize=None).fit([square])
    templates = [square, square + np.array([1.0, 0.0])]
    for metric in ("euclidean", "cityblock", "chebyshev"):
        radius = certified_radius(model, templates, [0, 1], [square, square + np.array([0.25, 0.0])], metric=metric)
        np.testing.assert_allclose(radius, [0.5, 0.25], rtol=1e-6)


def test_an_adversary_comes_close_to_the_bound_and_not_beyond(rng):
    """Points are pushed along the gradient of a feature, and towards the template of another label."""
    templates = classes(rng)
    model = NRCDT("euclidean", **SMALL).fit(templates)
    features = model.transform(templates)
    for eps, least in ((0.003, 0.7), (0.2, 0.0)):
        lower, upper = feature_bounds(model, templates[2:], eps)
        for j in (2, 12, 22):
            up, down = (
                model.transform([attack(model, templates[2], way * np.eye(24)[j], eps)])[0, j] for way in (1, -1)
            )
            for change, bound in ((up - features[2, j], upper[0, j]), (down - features[2, j], lower[0, j])):
                assert least <= change / (bound - features[2, j]) <= 1
    radii = certified_radius(model, templates, list("abc"), templates)
    for i, o in product(range(3), repeat=2):
        for eps, kept in ((radii[i], True), (30 * radii[i], False)):
            moved = attack(model, templates[i], features[o] - features[i], eps)
            if i != o and (kept or o == (i + 1) % 3):
                assert (nearest(model, templates, "euclidean", [moved])[0] == i) == kept


def test_several_templates_of_a_class_help(rng):
    a, b, c = classes(rng)
    near = a + 0.05 * rng.normal(size=a.shape)
    model = NRCDT("euclidean", **SMALL).fit([a, b])
    [one] = certified_radius(model, [a, b], [0, 1], [near])
    [more] = certified_radius(model, [a, near, b], [0, 0, 1], [near])
    assert more > one > 0
    assert certified_radius(model, [a, b], ["same", "same"], [c])[0] == np.inf
    assert certified_radius(model, [a, a, b], [0, 1, 2], [a])[0] == 0


def test_thin_strips_certify_pictures_that_wide_ones_cannot():
    drawings = np.pad([drawing(32), np.kron(drawing(32)[:16, :16], np.ones((2, 2)))], ((0, 0), (8, 8), (8, 8)))
    coarse, fine = (NRCDT(n_radii=n, normalize="global", **SMALL).fit(drawings) for n in (12, 4000))
    assert certified_radius(coarse, drawings, [0, 1], drawings).max() == 0
    radii = certified_radius(fine, drawings, [0, 1], drawings)
    assert (radii > 2 / 4000).all()
    np.testing.assert_allclose(radii * 2000, np.round(radii * 2000), atol=1e-3)  # whole strips


# What is refused


def test_single_points_have_radii():
    """Slices without width tell no scale; that of the templates serves."""
    points = [np.array([[0.0, 0.0]]), np.array([[3e-9, 1e-9]])]
    for how, expected in ((None, [1.5e-9, 1.5e-9]), ("center", [0, 0])):
        model = NRCDT("euclidean", n_directions=8, n_quantiles=4, normalize=how).fit(points)
        np.testing.assert_allclose(certified_radius(model, points, list("ab"), points), expected, rtol=1e-6)
        model = NRCDT("euclidean", n_directions=8, n_quantiles=4, normalize=how, aggregate=["max", "std"]).fit(points)
        np.testing.assert_allclose(certified_radius(model, points[:1], ["a"], points), np.inf)


@pytest.mark.filterwarnings("error")
def test_a_single_rotation_moves_and_stays_within_its_bound(rng):
    """Its slices are points without width, but seen from all sides they have a common spread."""
    turns = Rotation.random(2, random_state=0)
    X = [one.as_quat(scalar_first=True)[np.newaxis] for one in turns]
    model = NRCDT("rotation", n_directions=16, n_quantiles=4, normalize="global", aggregate=["max", "std"]).fit(X)
    lower, upper = feature_bounds(model, X, 0.01)
    assert (upper - lower < 1).all()
    moved = [Rotation.from_rotvec(0.01 * unit(rng, 3)) * turns[0] for _ in range(50)]
    moved = [one.as_quat(scalar_first=True)[np.newaxis] for one in moved]
    assert max(violation(model, X[:1], [one], 0.01) for one in moved) < 1e-9
    assert (certified_radius(model, X, [0, 1], X) > 0).all()


def own_phi(points, directions):
    return directions @ points.T


def test_what_is_refused(rng):
    cloud = cloud_of(rng, 30)
    model = NRCDT("euclidean", **SMALL).fit([cloud])
    for eps in (-1, np.nan, np.inf, "1", True):
        with pytest.raises(ValueError, match=r"eps must be a finite number, zero or more; got .* distance"):
            feature_bounds(model, [cloud], eps)
    with pytest.raises(ValueError, match=r"model must be a fitted NRCDT; got RCDT. Of a pipeline pass the step"):
        feature_bounds(RCDT("euclidean").fit([cloud]), [cloud], 0)
    with pytest.raises(NotFittedError):
        feature_bounds(NRCDT("euclidean"), [cloud], 0)
    with pytest.raises(ValueError, match=r"contamination must be a finite number"):
        feature_bounds(model, [cloud], 0, contamination=None)
    with pytest.raises(ValueError, match=r"contamination must be less than the lowest level, 0.04; got 0.1. Fit with"):
        feature_bounds(model, [cloud], 0, contamination=0.1)
    with pytest.raises(ValueError, match=r"lipschitz must be a finite number"):
        feature_bounds(model, [cloud], 0, lipschitz=-1)
    with pytest.raises(ValueError, match=r"metric must be one of cityblock, euclidean, chebyshev; got 'cosine'"):
        certified_radius(model, [cloud], [0], [cloud], metric="cosine")
    with pytest.raises(ValueError, match=r"labels must be one per template, 1; got shape \(2,\)"):
        certified_radius(model, [cloud], [0, 1], [cloud])
    for settings in ({"frame": "whitened"}, {"space": "circular"}):
        model = NRCDT(**({"space": "euclidean", "trim": 0.1} | SMALL | settings)).fit([cloud])
        with pytest.raises(ValueError, match=r"contamination must be 0 where slices follow the mean and the spread"):
            feature_bounds(model, [cloud], 0, contamination=0.01)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("frame", ["fixed", "whitened"])
def test_flat_samples_are_named(frame, rng):
    clouds = [cloud_of(rng, 30), cloud_of(rng, 30), np.ones((5, 2))]
    model = NRCDT("euclidean", frame=frame, **SMALL).fit(clouds[:2])
    rule = "span all 2 dimensions" if frame == "whitened" else "have spread in every slice"
    for call in (feature_bounds, lambda model, X, eps: certified_radius(model, clouds[:2], [0, 1], X)):
        with pytest.raises(ValueError, match=rf"X\[2\] must {rule}"):
            call(model, clouds, 0.1)
    with pytest.raises(ValueError, match=rf"templates\[2\] must {rule}"):
        certified_radius(model, clouds, [0, 1, 2], clouds[:2])


def test_samples_on_which_phi_fails_are_named(rng):
    def phi(points, directions):
        if len(points) == 7:
            raise RuntimeError("seven")
        return directions @ points.T

    model = NRCDT((phi, np.eye(2)), n_quantiles=12).fit([cloud_of(rng, 30)])
    with pytest.raises(RuntimeError, match="seven") as caught:
        feature_bounds(model, [cloud_of(rng, 30), cloud_of(rng, 7)], 0.1, lipschitz=1)
    assert caught.value.__notes__ == ["This happened to sample 1."]


def test_specks_on_the_sphere(rng):
    """Slices of the sphere stay where they are, seen from above too."""
    points = unit(rng, 100, 3)
    for space in ("sphere_vertical", "sphere_parallel"):
        model = NRCDT(space, trim=0.2, **SMALL).fit([points])
        for _ in range(10):
            specked = points.copy()
            specked[rng.choice(100, 10, replace=False)] = unit(rng, 3)
            assert violation(model, [points], [specked], 0.0, contamination=0.1) < 1e-9


def test_what_nobody_can_tell_is_refused(rng):
    cloud = cloud_of(rng, 30)
    for one in (np.median, partial(np.quantile, q=0.3), (np.abs, np.max)):
        aggregate = one if isinstance(one, tuple) else lambda q, f=one: f(q, axis=1)
        model = NRCDT("euclidean", aggregate=aggregate, **SMALL).fit([cloud])
        with pytest.raises(
            ValueError, match=r"aggregate must be one of max, .*whose bounds are known; got .*own moves"
        ):
            feature_bounds(model, [cloud], 0.1)
    points = 0.5 * unit(rng, 20, 2) * rng.random((20, 1))
    model = NRCDT("hyperbolic_horospherical", **SMALL).fit([points])
    with pytest.raises(ValueError, match=r"space must tell how far its slices move with the measure; got 'hyperbolic_"):
        feature_bounds(model, [points], 0.1)


def test_a_space_of_ones_own_says_how_fast_it_is(rng):
    cloud, directions = cloud_of(rng, 30), 3 * unit(rng, 8, 2)
    model = NRCDT((own_phi, directions), n_quantiles=12, normalize="center").fit([cloud])
    with pytest.raises(ValueError, match=r"got 'own_phi'. Where you know it, pass lipschitz="):
        feature_bounds(model, [cloud], 0.1)
    for push in pushes(rng, cloud, 0.1):
        assert violation(model, [cloud], [cloud + push], 0.1, lipschitz=3.0) < 1e-9


def test_every_space_was_thought_about():
    """Which spaces know how far slices move; a new one says so or is added here."""
    assert {name for name, space in SPACES.items() if space.lipschitz is None} == {
        "hyperbolic_horospherical",
        "hyperbolic_geodesic",
    }
