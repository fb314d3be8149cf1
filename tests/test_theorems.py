"""Propositions and theorems of sections 2 to 4 of the paper, as corrected in its reading: each as a test.

Identities that hold direction by direction hold to rounding on clouds; what takes a supremum over all directions holds
in the limit, and is tested as convergence.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from conftest import affine_map, cloud_of, supersampled
from nrcdt import NORMALIZATIONS, NRCDT, RCDT, back_projection, cdt, nrcdt, radon, rcdt
from nrcdt.directions import circle, rotations, shells, sphere
from nrcdt.levels import reference_levels
from nrcdt.spaces import circular, euclidean, rotation

AFFINE = ["max", "abs_max", "abs_min", "abs_range", "range", "tv"]
SEEDS = st.integers(0, 2**32 - 1)


def unit(angles):
    angles = np.atleast_1d(angles)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def moved_directions(directions, matrix):
    """phi_A(theta) = A^T theta / |A^T theta|, and the lengths |A^T theta|."""
    moved = directions @ matrix
    lengths = np.linalg.norm(moved, axis=1)
    return moved / lengths[:, np.newaxis], lengths


def difference(a, b):
    """Root mean square difference of features, relative to their size."""
    return np.sqrt(np.mean((a - b) ** 2) / np.mean(a**2))


def assert_converges(errors, final, factor=3.0):
    assert errors[-1] < errors[0] / factor
    assert errors[-1] < final


# Section 2: the Radon transform


@pytest.mark.slow
def test_disintegration(rng):
    """<R mu, g> is the integral over directions of <R_theta mu, g(., theta)>: strips and angles against the plane."""

    def g(t, angle):
        return np.cos(3 * t) * (1 + np.sin(angle)) + t**2

    image = rng.random((8, 8))
    image /= image.sum()
    fine = np.kron(image, np.ones((40, 40))) / 1600
    side = np.sqrt(2) / 320
    y, x = (np.mgrid[:320, :320] - 159.5) * side
    angles = 2 * np.pi * (np.arange(400) + 0.5) / 400
    expected = np.mean([(fine * g(np.cos(a) * x + np.sin(a) * y, a)).sum() for a in angles])
    errors = []
    for n in (4, 16, 64):
        angles = 2 * np.pi * np.arange(n) / n
        radii = (np.arange(4 * n) + 0.5) / (2 * n) - 1
        strips = radon(image, n, n_radii=4 * n)
        errors.append(abs((strips * g(radii, angles[:, np.newaxis])).sum() / n - expected))
    assert_converges(errors, 2e-4)


@given(SEEDS, st.integers(2, 4))
def test_radon_transform_of_affine_maps(seed, d):
    """R_theta[mu_{A,y}] = (|A^T theta| . + <y, theta>)_# R_{phi_A(theta)}[mu], on quantiles, for all directions."""
    rng = np.random.default_rng(seed)
    cloud, (matrix, shift) = cloud_of(rng, 50, d), affine_map(rng, d)
    weights = rng.random(50)
    directions = sphere(12, d)
    moved, lengths = moved_directions(directions, matrix)
    left = rcdt([(cloud @ matrix.T + shift, weights)], "euclidean", directions=directions)[0]
    right = rcdt([(cloud, weights)], "euclidean", directions=moved)[0]
    np.testing.assert_allclose(left, lengths[:, np.newaxis] * right + (directions @ shift)[:, np.newaxis], atol=1e-10)


def test_line_integrals_carry_the_factor(rng):
    """R[f lambda] = R[f] sigma / (2 pi): line integrals over all lines of the plane against any g."""

    def g(t, angle):
        return np.cos(3 * t) * (1 + np.sin(angle)) + t**2

    image = rng.random((6, 6))
    image /= image.sum()
    fine, side = np.kron(image, np.ones((40, 40))) / 1600, np.sqrt(2) / 240
    y, x = (np.mgrid[:240, :240] - 119.5) * side
    angles = 2 * np.pi * (np.arange(400) + 0.5) / 400
    expected = np.mean([(fine * g(np.cos(a) * x + np.sin(a) * y, a)).sum() for a in angles])
    errors = []
    for n in (5, 21, 85):
        angles, radii = 2 * np.pi * np.arange(n) / n, (np.arange(4 * n) + 0.5) / (2 * n) - 1
        lines = radon(image, n, n_radii=4 * n, lines=True)
        area = (2 / (4 * n)) * (2 * np.pi / n)
        errors.append(abs((lines * g(radii, angles[:, np.newaxis])).sum() * area / (2 * np.pi) - expected))
    assert_converges(errors, 1e-3)


def test_back_projection_is_an_average_over_directions():
    """R* g (x) = 1 / (2 pi) times the integral over the circle of g(<x, theta>, theta), in the middle of pixels."""

    def g(t, angle):
        return np.cos(3 * t) * (1 + np.sin(angle)) + t**2

    y, x = (np.mgrid[:9, :9] - 4) * np.sqrt(2) / 9
    angles = 2 * np.pi * np.arange(4000) / 4000
    expected = np.mean([g(np.cos(a) * x + np.sin(a) * y, a) for a in angles], axis=0)
    errors = []
    for size in (9, 27, 81):
        n, middle = 4 * size, size // 18
        angles, radii = 2 * np.pi * np.arange(n) / n, (np.arange(4 * n) + 0.5) / (2 * n) - 1
        found = back_projection(g(radii, angles[:, np.newaxis]), (size, size)) / n
        errors.append(np.abs(found[middle :: size // 9, middle :: size // 9] - expected).max())
    assert_converges(errors, 1e-3, factor=9)


ANGLES = np.linspace(-np.pi / 2, np.pi / 2, 23)[1:-1]  # the other half of the circle is the mirror image of this one
COS, SIN, TAN = np.cos(ANGLES), np.sin(ANGLES), np.tan(ANGLES)


def scaled(a, b):
    return np.diag([a, b]), 0, np.arctan(b / a * TAN), np.sqrt(a**2 * COS**2 + b**2 * SIN**2)


def sheared(c):
    """The printed row belongs to the transposed matrix."""
    length = np.sqrt(1 + c**2 * COS**2 + c * np.sin(2 * ANGLES))
    return np.array([[1, c], [0, 1]]), 0, np.arctan(c + TAN), length


# Matrix, shift, the angles that directions come from, and how much longer slices become; and parameters for the images.
TABLE = {
    "translation": (lambda x, y: (np.eye(2), np.array([x, y]), ANGLES, 1.0), (0.3, -2.0)),
    "rotation": (lambda p, _: (np.column_stack([unit(p)[0], unit(p + np.pi / 2)[0]]), 0, ANGLES - p, 1.0), (0.7, 0)),
    "reflection": (lambda p, _: (np.column_stack([unit(p)[0], unit(p - np.pi / 2)[0]]), 0, p - ANGLES, 1.0), (0.7, 0)),
    "anisotropic scaling": (lambda p, q: scaled(np.exp(p / 3), np.exp(q / 3)), (3 * np.log(0.5), 3 * np.log(1.7))),
    "vertical shear, transposed": (lambda c, _: sheared(c), (0.8, 0)),
}


@given(st.sampled_from(list(TABLE)), st.floats(-3, 3), st.floats(-3, 3), SEEDS)
def test_table_of_affine_effects(row, p, q, seed):
    matrix, shift, angles, factor = TABLE[row][0](p, q)
    cloud, directions = cloud_of(np.random.default_rng(seed)), unit(ANGLES)
    left = rcdt([cloud @ matrix.T + shift], "euclidean", directions=directions)[0]
    right = rcdt([cloud], "euclidean", directions=unit(angles))[0]
    shifts = directions @ (np.zeros(2) + shift)
    expected = right * np.broadcast_to(factor, len(ANGLES))[:, np.newaxis] + shifts[:, np.newaxis]
    np.testing.assert_allclose(left, expected, atol=1e-9)


@pytest.mark.parametrize("row", TABLE)
def test_table_of_affine_effects_on_images(row):
    """The same rows for an ellipse drawn on ever finer pixels: the shadow is the one the table says."""
    make, parameters = TABLE[row]
    matrix, shift, angles, factor = make(*parameters)
    shift = 0.05 * (np.zeros(2) + shift)
    inverse = np.linalg.inv(matrix)

    def inside(x, y):
        return np.hypot(5 * x - 0.4, 8 * y) < 1

    def moved(x, y):
        u, v = x - shift[0], y - shift[1]
        return inside(inverse[0, 0] * u + inverse[0, 1] * v, inverse[1, 0] * u + inverse[1, 1] * v)

    errors = []
    for size in (16, 64):
        left = rcdt(supersampled((size, size), moved)[np.newaxis], directions=unit(ANGLES), n_quantiles=40)[0]
        right = rcdt(supersampled((size, size), inside)[np.newaxis], directions=unit(angles), n_quantiles=40)[0]
        expected = right * np.broadcast_to(factor, len(ANGLES))[:, np.newaxis] + (unit(ANGLES) @ shift)[:, np.newaxis]
        errors.append(np.abs(left - expected).max())
    assert_converges(errors, 4e-3)


# Section 3: transport, normalisation, invariance


def test_mean_and_spread_of_slices_are_moments_of_the_measure(rng):
    """mean(theta) = <mean, theta>, spread(theta)^2 = theta^T covariance theta: continuous in theta, bounded below."""
    cloud = cloud_of(rng, 400)
    directions = circle(90)
    covariance = np.cov(cloud.T, bias=True)
    errors = []
    for m in (20, 200, 2000):
        quantiles = rcdt([cloud], "euclidean", directions=directions, n_quantiles=m)[0]
        means = np.abs(quantiles.mean(axis=1) - directions @ cloud.mean(axis=0))
        spreads = np.abs(quantiles.std(axis=1) - np.sqrt(np.einsum("ka,ab,kb->k", directions, covariance, directions)))
        errors.append(max(means.max(), spreads.max()))
    assert_converges(errors, 0.02)
    assert quantiles.std(axis=1).min() >= np.sqrt(np.linalg.eigvalsh(covariance)[0]) * 0.99


@pytest.mark.parametrize("cost", [np.abs, np.square, lambda s: np.exp(np.abs(s)), lambda s: np.maximum(s, 0) ** 3])
def test_cdt_is_the_cheapest_map(rng, cost):
    """It pushes the reference to the measure, in order, and no other map costs less, whatever the convex cost."""
    values, reference = rng.exponential(size=59), np.arange(1, 60) / 60
    found = cdt(values, n_quantiles=59)
    np.testing.assert_array_equal(found, np.sort(values))
    _, columns = linear_sum_assignment(cost(reference[:, np.newaxis] - values))
    assert cost(reference - found).sum() == pytest.approx(cost(reference - values[columns]).sum())


@pytest.mark.parametrize("reference", ["uniform", "norm", stats.beta(2, 3)])
def test_the_norm_of_cdt_differences_is_the_wasserstein_distance(rng, reference):
    x, y = rng.normal(size=200), rng.exponential(size=200)
    rows, columns = linear_sum_assignment((x[:, np.newaxis] - y) ** 2)
    expected = np.sqrt(np.mean((x[rows] - y[columns]) ** 2))
    errors = []
    for m in (50, 500, 5000):
        weights = reference_levels(m, reference).weights
        difference = cdt(x, n_quantiles=m, reference=reference) - cdt(y, n_quantiles=m, reference=reference)
        errors.append(abs(np.sqrt(weights @ difference**2) - expected))
    assert_converges(errors, 0.02)


@pytest.mark.parametrize("d", [3, 4, 5])
def test_spread_is_bounded_below_in_space(rng, d):
    """Measures that no hyperplane holds have a spread in every direction, at least that along the shortest axis."""
    cloud = cloud_of(rng, 3000, d)
    spreads = rcdt([cloud], "euclidean", directions=sphere(500, d), n_quantiles=2999)[0].std(axis=1)
    assert spreads.min() >= 0.98 * np.sqrt(np.linalg.eigvalsh(np.cov(cloud.T, bias=True))[0])


@given(SEEDS, st.integers(2, 4))
def test_nrcdt_of_affine_maps_exchanges_directions(seed, d):
    rng = np.random.default_rng(seed)
    cloud, (matrix, shift) = cloud_of(rng, 60, d), affine_map(rng, d)
    directions = sphere(10, d)
    moved, _ = moved_directions(directions, matrix)
    settings = {"space": "euclidean", "normalize": "standardize", "n_quantiles": 30}
    left = rcdt([cloud @ matrix.T + shift], directions=directions, **settings)
    np.testing.assert_allclose(left, rcdt([cloud], directions=moved, **settings), atol=1e-9)


@pytest.mark.parametrize("aggregate", AFFINE)
def test_features_are_bounded(rng, aggregate):
    """|N_h mu| <= diameter / smallest spread (twice that for the range, and at every step of the total variation)."""
    cloud = cloud_of(rng, 100)
    features = nrcdt([cloud], "euclidean", n_directions=64, aggregate=aggregate)
    diameter = np.linalg.norm(cloud[:, np.newaxis] - cloud, axis=-1).max()
    bound = diameter / np.sqrt(np.linalg.eigvalsh(np.cov(cloud.T, bias=True))[0])
    assert np.abs(features).max() <= bound * {"range": 2, "tv": 2 * 64}.get(aggregate, 1)


@pytest.mark.parametrize("aggregate", AFFINE)
def test_invariance_under_affine_maps_in_the_plane(rng, aggregate):
    cloud, (matrix, shift) = cloud_of(rng, 300), affine_map(rng)
    errors = []
    for n in (16, 128, 1024):
        a, b = nrcdt(
            [cloud, cloud @ matrix.T + shift], "euclidean", n_directions=n, n_quantiles=20, aggregate=aggregate
        )
        errors.append(difference(a, b))
    assert_converges(errors, 0.03)


def change_under_an_affine_map(rng, d, counts, **settings):
    cloud, (matrix, shift) = cloud_of(rng, 300, d), affine_map(rng, d)
    both = [cloud, cloud @ matrix.T + shift]
    return [difference(*nrcdt(both, "euclidean", n_directions=n, n_quantiles=20, **settings)) for n in counts]


@pytest.mark.parametrize("reference", ["norm", "expon", stats.beta(2, 3)])
@pytest.mark.parametrize("aggregate", ["max", "abs_min", "tv"])
def test_invariance_whatever_the_reference(rng, reference, aggregate):
    errors = change_under_an_affine_map(rng, 2, (16, 128, 1024), aggregate=aggregate, reference=reference)
    assert_converges(errors, 0.03, factor=2)


@pytest.mark.parametrize("d", [4, 5])
def test_invariance_in_higher_dimension(rng, d):
    assert_converges(change_under_an_affine_map(rng, d, (64, 1024, 16384)), 0.12, factor=1.5)


@pytest.mark.parametrize("pair", [(np.abs, np.max), (np.square, np.min), (np.exp, np.ptp)])
def test_pairs_ignore_every_exchange_of_directions(rng, pair):
    """(eta, H): h(g after any bijection) = h(g), and so affine maps leave the features alone."""
    cloud, settings = [cloud_of(rng, 300)], {"space": "euclidean", "n_quantiles": 20, "aggregate": pair}
    exchanged = nrcdt(cloud, directions=circle(64)[rng.permutation(64)], **settings)
    np.testing.assert_array_equal(nrcdt(cloud, directions=circle(64), **settings), exchanged)
    assert_converges(change_under_an_affine_map(rng, 2, (16, 128, 1024), aggregate=pair), 0.03)


def test_total_variation_is_the_supremum_over_partitions(rng):
    """Leaving out directions makes it no larger; where one begins, and which way one goes, do not matter."""
    cloud, settings = [cloud_of(rng, 60)], {"space": "euclidean", "n_quantiles": 9, "aggregate": "tv"}
    finer = [nrcdt(cloud, n_directions=n, **settings)[0] for n in (16, 64, 256, 1024)]
    assert all((more >= less - 1e-12).all() for less, more in pairwise(finer))
    some = np.sort(rng.choice(1024, 100, replace=False))
    assert (nrcdt(cloud, directions=circle(1024)[some], **settings)[0] <= finer[-1] + 1e-12).all()
    for order in (np.roll(np.arange(1024), 77), np.arange(1024)[::-1]):
        np.testing.assert_allclose(nrcdt(cloud, directions=circle(1024)[order], **settings)[0], finer[-1])


@pytest.mark.parametrize("aggregate", AFFINE)
def test_invariance_under_affine_maps_of_images(rng, aggregate):
    """Two drawings of one shape under different maps; pixels and directions grow together."""

    def shape(x, y):
        return ((np.abs(x + 0.1) < 0.05) & (np.abs(y) < 0.25)) | (np.hypot(x - 0.1, y - 0.1) < 0.12)

    def sheared(x, y):
        u, v = 1.1 * x - 0.5 * y + 0.03, 0.4 * x + 0.9 * y - 0.05
        return shape(u, v)

    errors = []
    for size, n in ((24, 16), (96, 128), (192, 512)):
        images = np.stack([supersampled((size, size), one, n=4) for one in (shape, sheared)])
        a, b = nrcdt(images, n_directions=n, n_quantiles=32, aggregate=aggregate)
        errors.append(difference(a, b))
    assert_converges(errors, 0.06)


def test_infimum_is_minus_the_supremum_at_the_other_level(rng):
    image = rng.random((2, 9, 9))
    features = nrcdt(image, n_directions=32, aggregate="max", n_quantiles=31)
    lowest = nrcdt(image, n_directions=32, n_quantiles=31, aggregate=lambda quantiles: quantiles.min(axis=1))
    np.testing.assert_allclose(lowest, -features[:, ::-1], atol=1e-12)


def test_abs_max_and_range_follow_from_max(rng):
    image = rng.random((2, 9, 9))
    settings = {"n_directions": 32, "n_quantiles": 31}
    m = nrcdt(image, aggregate="max", **settings)
    np.testing.assert_allclose(nrcdt(image, aggregate="abs_max", **settings), np.maximum(m, m[:, ::-1]), atol=1e-12)
    np.testing.assert_allclose(nrcdt(image, aggregate="range", **settings), m + m[:, ::-1], atol=1e-12)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_range_and_abs_max_where_a_level_hits_a_plateau(rng, normalize):
    """Of N points every level l / (m + 1) with N l / (m + 1) whole is a plateau; then range is less than the sum."""
    settings = {"space": "euclidean", "normalize": normalize, "n_directions": 32, "n_quantiles": 31}
    for n_points, equal in ((41, True), (32, False)):
        cloud = [cloud_of(rng, n_points)]
        m, r, a = (nrcdt(cloud, aggregate=name, **settings) for name in ("max", "range", "abs_max"))
        assert np.allclose(r, m + m[:, ::-1], atol=1e-12) == equal
        assert np.allclose(a, np.maximum(m, m[:, ::-1]), atol=1e-12) == equal
        if normalize is None:
            assert (r <= m + m[:, ::-1] + 1e-12).all()


def test_range_where_ink_has_a_gap():
    """Half of the mass on either side of a gap: the level 1/2 is a plateau, the levels beside it are none."""
    image = np.zeros((1, 9, 9))
    image[0, 4, [1, 7]] = 1
    settings = {"n_directions": 32, "n_quantiles": 3, "normalize": None}
    m, r = (nrcdt(image, aggregate=name, **settings) for name in ("max", "range"))
    np.testing.assert_allclose(r[:, [0, 2]], (m + m[:, ::-1])[:, [0, 2]], atol=1e-12)
    assert r[0, 1] < 0.6 * (m[0, 1] + m[0, 1])


def test_medians_of_an_even_number_of_levels_have_no_mirror(rng):
    """The middle is the level below 1/2; seen from the other side it is the one above."""
    cloud, settings = [cloud_of(rng, 41)], {"space": "euclidean", "normalize": "median", "n_directions": 32}
    for n_quantiles in (30, 31):
        m, r = (nrcdt(cloud, aggregate=name, n_quantiles=n_quantiles, **settings) for name in ("max", "range"))
        assert np.allclose(r, m + m[:, ::-1], atol=1e-12) == (n_quantiles == 31)


def test_abs_range_is_range_in_the_tails(rng):
    cloud = [cloud_of(rng, 101)]
    for normalize in ("standardize", "center", "global"):
        settings = {"space": "euclidean", "normalize": normalize, "n_quantiles": 19}
        same = np.isclose(*(nrcdt(cloud, aggregate=name, **settings)[0] for name in ("range", "abs_range")))
        assert same[[0, 1, 2, -3, -2, -1]].all()
        assert not same[9]


@pytest.mark.parametrize(
    ("space", "normalize", "off", "falls"),
    [
        ("euclidean", None, 5.0, True),
        ("euclidean", None, 0.0, False),
        ("euclidean", "center", 5.0, False),
        ("euclidean", "global", 5.0, False),
        ("euclidean", "standardize", 5.0, False),
        ("rotation", "global", 0.0, True),
        ("rotation", "center", 0.0, False),
        ("sphere_parallel", "global", 5.0, True),
        ("sphere_parallel", None, 5.0, True),
        ("sphere_parallel", "standardize", 5.0, False),
    ],
)
def test_where_abs_min_tends_to_zero(rng, space, normalize, off, falls):
    """Where some slices lie on either side of zero as a whole, some in between are zero at every level."""
    points = rng.normal(size=(200, 2 if space == "euclidean" else 3)) + off
    sample = points / np.linalg.norm(points, axis=1, keepdims=True) if space == "sphere_parallel" else points
    if space == "rotation":
        sample = Rotation.from_rotvec(points * [0.3, 0.8, 0.2]).as_matrix()
    settings = {"space": space, "normalize": normalize, "n_quantiles": 19}
    size = nrcdt([sample], aggregate="abs_max", n_directions=64, **settings).max()
    few, many = (nrcdt([sample], aggregate="abs_min", n_directions=n, **settings).max() / size for n in (64, 8192))
    assert (many < 0.005) == falls
    assert falls or many > 0.5 * few > 0.02


def separates(features, labels):
    """Whether a linear classifier fitted to every other sample is right about the rest."""
    model = make_pipeline(StandardScaler(), LinearSVC(C=1000, max_iter=20000)).fit(features[::2], labels[::2])
    return model.score(features[1::2], labels[1::2]) == 1.0


def spread_of_classes(features, labels):
    """How far the members of two classes are from their centres, in units of the distance of the centres."""
    centres = [features[labels == k].mean(axis=0) for k in (0, 1)]
    within = np.sqrt(np.mean([features[labels == k].var(axis=0) for k in (0, 1)]))
    return within / np.sqrt(np.mean((centres[0] - centres[1]) ** 2))


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("aggregate", AFFINE)
def test_affine_classes_are_separable_and_collapse(rng, d, aggregate):
    """The classes of two templates shrink to points, whose distance stays: any linear classifier tells them apart."""
    if aggregate == "tv" and d == 3:
        pytest.skip("directions on the sphere have no order")
    templates = [cloud_of(rng, 50, d), np.concatenate([rng.normal(size=(25, d)), rng.normal(size=(25, d)) + 5])]
    labels = np.repeat([0, 1], 12)
    clouds = [templates[label] @ matrix.T + shift for label in labels for matrix, shift in [affine_map(rng, d)]]
    spreads = []
    for n in (32, 2048):
        features = nrcdt(clouds, "euclidean", n_directions=n, n_quantiles=25, aggregate=aggregate)
        spreads.append(spread_of_classes(features, labels))
    assert separates(features, labels)
    assert_converges(spreads, 0.15, factor=2)


# Section 4: other spaces


@given(SEEDS, st.integers(2, 3))
def test_circular_slices_of_similarities(seed, d):
    """R_theta[mu_{sQ,y}] = (s .)_# R_{Q^T (theta - y) / s}[mu]."""
    rng = np.random.default_rng(seed)
    cloud, centres = cloud_of(rng, 40, d), rng.normal(size=(7, d))
    q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    s, y = rng.uniform(0.5, 2), rng.normal(size=d)
    left = circular.phi(s * cloud @ q.T + y, centres)
    np.testing.assert_allclose(left, s * circular.phi(cloud, (centres - y) @ q / s), atol=1e-10)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("aggregate", ["max", "abs_range", "mean"])
def test_circular_features_ignore_similarities(rng, d, aggregate):
    cloud = cloud_of(rng, 200, d)
    q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    errors = []
    for n in (16, 128, 1024):
        a, b = nrcdt([cloud, 3 * cloud @ q.T + 7], "circular", n_directions=n, n_quantiles=20, aggregate=aggregate)
        errors.append(difference(a, b))
    assert_converges(errors, 0.03)


@pytest.mark.parametrize("space", ["euclidean", "circular", "rotation"])
def test_slices_are_uniformly_bounded(rng, space):
    """|phi(x, theta) - phi(y, theta)| <= d(x, y) for all theta: what lies in a ball is seen within its diameter."""
    if space == "rotation":
        x, y = (Rotation.random(30, rng=rng) for _ in range(2))
        distance, theta = (x.inv() * y).magnitude(), rotations(50)
        values = [rotation.phi(one.as_quat(scalar_first=True), theta) for one in (x, y)]
    else:
        x, y = 5 * rng.normal(size=(2, 30, 3))
        distance, theta = np.linalg.norm(x - y, axis=1), sphere(50, 3) * (7 if space == "circular" else 1)
        phi = {"euclidean": euclidean, "circular": circular}[space].phi
        values = [phi(x, theta), phi(y, theta)]
    assert (np.abs(values[0] - values[1]) <= distance + 1e-6).all()


RINGS = [(d, h, radii) for d in (2, 3) for h in AFFINE for radii in ((0.75,), (0.5, 1.0)) if h != "tv"]


@pytest.mark.parametrize(("d", "aggregate", "radii"), [*RINGS, (2, "tv", (0.75,))])
def test_circular_classes_are_separable_and_collapse(rng, d, aggregate, radii):
    templates, labels = [cloud_of(rng, 100, d), rng.normal(size=(100, d)) ** 3], np.repeat([0, 1], 10)
    clouds = []
    for label in labels:
        q, _ = np.linalg.qr(rng.normal(size=(d, d)))
        clouds.append(rng.uniform(0.3, 3) * templates[label] @ q.T + rng.normal(size=d))
    spreads = []
    for n in (16, 128, 1024):
        centres = shells(n, d, radii)
        features = nrcdt(clouds, "circular", directions=centres, n_quantiles=20, aggregate=aggregate)
        spreads.append(spread_of_classes(features, labels))
    assert separates(features, labels)
    assert_converges(spreads, 0.1, factor=2)


@given(SEEDS)
def test_rotation_slices_of_rotated_measures(seed):
    """R_theta[mu_R] = R_{R^T theta}[mu], and the angle is arccos((trace(theta^T x) - 1) / 2)."""
    points, theta, by = (Rotation.random(n, rng=np.random.default_rng(seed)) for n in (9, 4, 1))

    def quaternions(rotations):
        return np.roll(rotations.as_quat(), 1, axis=1)

    left = rotation.phi(quaternions(by * points), quaternions(theta))
    np.testing.assert_allclose(left, rotation.phi(quaternions(points), quaternions(by.inv() * theta)), atol=1e-6)
    traces = np.einsum("kij,nij->kn", theta.as_matrix(), (by * points).as_matrix())
    np.testing.assert_allclose(left, np.arccos(np.clip((traces - 1) / 2, -1, 1)), atol=1e-6)


@pytest.mark.parametrize("move", ["left", "right", "inverse"])
@pytest.mark.parametrize("aggregate", ["max", "abs_min", "range", "mean"])
def test_rotation_features_ignore_the_group(rng, move, aggregate):
    points = Rotation.from_rotvec(rng.normal(size=(100, 3)) * [0.3, 0.8, 0.2])
    moved = []
    for by in Rotation.random(6, rng=rng):
        moved.append({"left": by * points, "right": points * by, "inverse": (by * points).inv()}[move])
    sets = [one.as_matrix() for one in [points, *moved]]
    errors = []
    for n in (64, 1024, 16384):
        features = nrcdt(sets, "rotation", n_directions=n, n_quantiles=15, aggregate=aggregate)
        errors.append(difference(features[:1], features[1:]))
    assert_converges(errors, 0.05, factor=1.5)


@pytest.mark.slow
@pytest.mark.parametrize("aggregate", [name for name in AFFINE if name != "tv"])
def test_rotation_classes_are_separable_and_collapse(rng, aggregate):
    """Two sets, each turned from both sides and inverted at random."""
    templates = [
        Rotation.from_rotvec(rng.normal(size=(100, 3)) * scale) for scale in ([0.6, 0.6, 0.6], [0.0, 0.3, 1.5])
    ]
    labels = np.repeat([0, 1], 10)
    sets = []
    for label in labels:
        left, right = Rotation.random(2, rng=rng)
        moved = left * templates[label] * right
        sets.append((moved.inv() if rng.random() < 0.5 else moved).as_matrix())
    spreads = []
    for n in (32, 512, 8192):
        features = nrcdt(sets, "rotation", n_directions=n, n_quantiles=30, aggregate=aggregate)
        spreads.append(spread_of_classes(features, labels))
    assert separates(features, labels)
    assert_converges(spreads, 0.15, factor=2)


def angles_between(points, directions):
    points, directions = (Rotation.from_quat(one, scalar_first=True) for one in (points, directions))
    return np.stack([(theta.inv() * points).magnitude() for theta in directions])


def distances_to_moved_centres(points, directions):
    spread = np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean())
    return cdist(points.mean(axis=0) + spread * directions, points)


DEFINING_FUNCTIONS = {
    "euclidean": lambda points, directions: directions @ points.T,
    "circular": distances_to_moved_centres,
    "rotation": angles_between,
}


@pytest.mark.parametrize("space", DEFINING_FUNCTIONS)
def test_generalized_disintegration_and_adjoint(rng, space):
    """Slices integrated over the directions, and back projections over the points, are the glued measure: for any g.

    As many quantiles as there are points of equal weight are these points; points of weight two come twice.
    """
    points = Rotation.random(40, rng=rng).as_quat(scalar_first=True) if space == "rotation" else cloud_of(rng, 40)
    counts = rng.integers(1, 3, 40)
    directions = rotations(11) if space == "rotation" else circle(11)
    gluing = rng.random((11, 1))
    gluing /= gluing.sum()

    def g(t, theta):
        return np.cos(3 * t + theta[:, :1]) + t**2 * theta[:, 1:2]

    slices = rcdt([(points, counts)], space, directions=directions, n_quantiles=counts.sum())[0]
    repeated = np.repeat(points, counts, axis=0)
    values = DEFINING_FUNCTIONS[space](repeated, directions)
    np.testing.assert_allclose(slices, np.sort(values, axis=1), atol=1e-7)
    back_projection = (gluing * g(values, directions)).sum(axis=0)
    assert (gluing * g(slices, directions)).sum() / counts.sum() == pytest.approx(back_projection.mean(), abs=1e-7)


def test_disintegration_on_the_rotation_group(rng):
    """Seen from all rotations, any measure has the density (1 - cos t) / pi of the angle between random rotations."""
    points = Rotation.from_rotvec(rng.normal(size=(50, 3)) * [0.3, 0.8, 0.2]).as_matrix()
    expected = quad(lambda t: np.sin(t) ** 2 * np.exp(t) * (1 - np.cos(t)) / np.pi, 0, np.pi)[0]
    errors = []
    for n in (16, 256, 4096):  # with 64 the error may happen to be next to nothing
        slices = rcdt([points], "rotation", n_directions=n, n_quantiles=50)[0]
        errors.append(abs((np.sin(slices) ** 2 * np.exp(slices)).mean() - expected) / expected)
    assert_converges(errors, 2e-4)


def test_the_estimators_walk_the_same_corridor(rng):
    """Algorithm 1: NRCDT is max over the directions of the standardised RCDT."""
    images = rng.random((3, 7, 7))
    settings = {"n_directions": 12, "n_quantiles": 20}
    quantiles = RCDT(**settings).fit(images).quantiles(images)
    standard = (quantiles - quantiles.mean(axis=2, keepdims=True)) / quantiles.std(axis=2, keepdims=True)
    np.testing.assert_allclose(NRCDT(**settings).fit_transform(images), standard.max(axis=1), atol=1e-12)
