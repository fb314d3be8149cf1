"""Exact sliced Wasserstein distances between clouds."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy.stats import wasserstein_distance
from sklearn.svm import SVC

from conftest import cloud_of, uneven_directions
from nrcdt import SPACES, rcdt, sliced_wasserstein, sorted_slices
from nrcdt.distances import sliced_wasserstein_kernel
from nrcdt.frames import whitening
from nrcdt.measures import Cloud

DIRAC = np.array([[3.0, 4.0]])


def unit_rows(rng, n, d):
    rows = rng.normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def awkward_clouds(rng, d):
    """Clouds of many kinds: of different sizes, with weights and without, with doubles, heaps, and points far away."""
    cloud, weights = rng.normal(size=(30, d)), rng.random(30)
    return [
        cloud,
        rng.normal(size=(30, d)) + 1,
        rng.exponential(size=(17, d)),
        rng.normal(size=(1, d)),
        np.repeat(rng.normal(size=(3, d)), 10, axis=0),
        rng.standard_cauchy(size=(41, d)),
        (cloud, weights),
        (rng.normal(size=(12, d)), rng.integers(0, 3, 12) + np.eye(12)[0]),
        (rng.normal(size=(30, d)), 1e5 ** rng.normal(size=30)),
        (rng.normal(size=(1, d)), [7.0]),
    ]


def split(sample):
    """Points, and weights that sum to one."""
    points, weights = sample if isinstance(sample, tuple) else (sample, np.ones(len(sample)))
    weights = np.asarray(weights, np.float64)
    return points, weights / weights.sum()


def peer(x, y, directions, p):
    """The distance according to POT."""
    ot = pytest.importorskip("ot")
    (x, a), (y, b) = split(x), split(y)
    return ot.sliced_wasserstein_distance(x, y, a, b, projections=directions.T, p=p)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_it_is_what_pot_computes(rng, d, p):
    clouds, directions = awkward_clouds(rng, d), unit_rows(rng, 9, d)
    found = sliced_wasserstein(clouds, clouds[::-1], "euclidean", directions=directions, p=p)
    expected = [[peer(x, y, directions, p) for y in clouds[::-1]] for x in clouds]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-7 if p == 2 else 1e-10)
    apart = ~np.eye(len(clouds), dtype=bool)[::-1]  # POT finds 1e-8 between equal clouds, from rounded levels
    np.testing.assert_allclose(found[apart], np.array(expected)[apart], rtol=0, atol=1e-10)
    assert found[~apart].max() < 1e-12


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("scale", [1e-90, 1e-5, 1e7, 1e90])
def test_any_size_of_coordinates(rng, scale, p):
    a, b = scale * rng.normal(size=(2, 50, 3))
    directions = unit_rows(rng, 9, 3)
    found = sliced_wasserstein([a], [b[:30]], "euclidean", directions=directions, p=p)
    np.testing.assert_allclose(found / scale, peer(a / scale, b[:30] / scale, directions, p), rtol=1e-10)


@pytest.mark.parametrize("p", [1, 2])
def test_opposite_directions_are_not_computed_twice(rng, p):
    a, b = rng.normal(size=(2, 25, 2))
    angles = 2 * np.pi * np.arange(256) / 256
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = sliced_wasserstein([a], [b], "euclidean", p=p)[0, 0]
    assert found == pytest.approx(peer(a, b, directions, p), abs=1e-10)
    weights = rng.random(256)
    half = directions[:128], weights[:128] + weights[128:]
    whole = (np.concatenate([directions[:128], -directions[:128]]), weights)
    assert sliced_wasserstein([a], [b], "euclidean", p=p, directions=whole)[0, 0] == pytest.approx(
        sliced_wasserstein([a], [b], "euclidean", p=p, directions=half)[0, 0], abs=1e-14
    )


@pytest.mark.parametrize("p", [1, 2])
def test_weights_of_directions_count(rng, p):
    a, b = rng.normal(size=(2, 25, 2))
    directions, weights = uneven_directions()
    found = sliced_wasserstein([a], [b[:20]], "euclidean", directions=(directions, weights), p=p)[0, 0]
    powers = [peer(a, b[:20], one[np.newaxis], p) ** p for one in directions]
    assert found == pytest.approx(np.average(powers, weights=weights) ** (1 / p), abs=1e-10)
    assert abs(found - sliced_wasserstein([a], [b[:20]], "euclidean", directions=directions, p=p)[0, 0]) > 1e-4


@pytest.mark.parametrize("p", [1, 2])
def test_it_is_a_metric(rng, p):
    clouds = awkward_clouds(rng, 2)
    distances = sliced_wasserstein(clouds, space="euclidean", n_directions=12, p=p)
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(distances.diagonal(), 0)
    assert distances[~np.eye(len(clouds), dtype=bool)].min() > 0.01
    assert (distances[:, np.newaxis] <= (distances[:, :, np.newaxis] + distances).transpose(0, 1, 2) + 1e-12).all()


@pytest.mark.parametrize("p", [1, 2])
def test_the_order_of_points_and_their_splitting_do_not_matter(rng, p):
    cloud, counts, weights = rng.normal(size=(600, 2)), rng.integers(1, 5, 600), rng.random(600)
    order = rng.permutation(600)
    thirds = (np.repeat(cloud, 3, axis=0), np.repeat(weights / 3, 3))
    same = [
        ((cloud, counts), np.repeat(cloud, counts, axis=0)),
        ((cloud, weights), (cloud[order], weights[order])),
        ((cloud, weights), thirds),
        (cloud, (cloud[order], np.full(600, 0.1))),
        (cloud, np.repeat(cloud, 7, axis=0)),
    ]
    distances = sliced_wasserstein(*zip(*same, strict=True), "euclidean", n_directions=10, p=p, paired=True)
    assert distances.max() < 1e-12


def test_a_point_far_away_counts_however_light(rng):
    cloud = rng.normal(size=(20, 2))
    weights = np.append(np.ones(20), 1e-10)
    far = (np.vstack([cloud, [[1e6, 0]]]), weights)
    expected = 1e6 * np.sqrt(1e-10 / 20 / 2)
    for x, y in ((far, cloud), (cloud, far)):
        assert sliced_wasserstein([x], [y], "euclidean")[0, 0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("share", "expected"), [(2.0**-40, 2.0**-20), (2.0**-48, 0)])
def test_what_is_lighter_than_rounding_may_not_be_seen(share, expected):
    pair = np.array([[0.0], [1.0]])
    found = sliced_wasserstein([(pair, [1, share])], [(pair, [1, 2 * share])], "euclidean")
    assert found[0, 0] == pytest.approx(expected, rel=1e-3)


def test_levels_that_only_rounding_tells_apart():
    """Here one step is counted back, and must not leave less than nothing."""
    a, b = (np.array([[-1.0], [5.0]]), [1e-15, 1]), (np.array([[-1.0], [0.0], [5.0]]), [5e-16, 4e-16, 1])
    assert sliced_wasserstein([a], [b], "euclidean", directions=[[1.0]])[0, 0] < 1e-6


def test_points_and_lines_are_measures():
    other = 2 * DIRAC
    assert sliced_wasserstein([DIRAC], [other], "euclidean")[0, 0] == pytest.approx(5 / np.sqrt(2))
    line = np.outer(np.arange(5.0), [1, 2])
    assert sliced_wasserstein([line], [line + 1], "euclidean")[0, 0] == pytest.approx(1)
    assert sliced_wasserstein([[[1.0], [2.0]]], [[[4.0]]], "euclidean", p=1)[0, 0] == pytest.approx(2.5)
    assert sliced_wasserstein([DIRAC], [line], "circular")[0, 0] > 0


def in_space(rng, name):
    """Three measures that live in a space, of different sizes, one with weights."""
    sizes = (9, 9, 14)
    if name.startswith("rotation"):
        points = [unit_rows(rng, n, 4) for n in sizes]
    elif name.startswith("sphere"):
        points = [unit_rows(rng, n, 3) for n in sizes]
    elif name.startswith("hyperbolic"):
        points = [0.3 * unit_rows(rng, n, 2) * rng.random((n, 1)) for n in sizes]
    else:
        points = [rng.normal(size=(n, 3)) for n in sizes]
    return [points[0], (points[1], rng.random(9)), points[2]]


def by_hand(space, measures, directions, weights):
    """Means of Wasserstein-1 distances, by SciPy, between the values of phi."""
    values = []
    for cloud in space.check(measures):
        placed, seen = (cloud, directions) if space.place is None else space.place(cloud, directions)
        points = seen @ placed.points.T if space.phi is None else space.phi(placed.points, seen)
        values.append((points, placed.weights))
    return [
        [np.dot(weights, [wasserstein_distance(a, b, u, v) for a, b in zip(x, y, strict=True)]) for y, v in values]
        for x, u in values
    ]


@pytest.mark.parametrize("name", [name for name, space in SPACES.items() if space.measure == "points"])
def test_every_space_of_points(rng, name):
    space, measures = SPACES[name], in_space(rng, name)
    directions = space.directions(6, space.dimension(space.check(measures)[0]))
    weights = rng.random(6)
    expected = by_hand(space, measures, directions, weights / weights.sum())
    found = sliced_wasserstein(measures, space=name, directions=(directions, weights), p=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_a_space_of_ones_own(rng):
    held = {}

    def phi(points, heights):
        return held.setdefault(len(points), np.abs(points[:, 0] - heights[:, np.newaxis]))

    a, b = rng.normal(size=(8, 1)), rng.normal(size=(5, 1))
    space = (phi, np.array([0.0, 1.0]))
    sliced_wasserstein([a], [b], space, normalize="center")
    kept = held[8].copy()
    found = sliced_wasserstein([a], [b], space, p=1)[0, 0]
    expected = [wasserstein_distance(x, y) for x, y in zip(held[8], held[5], strict=True)]
    assert found == pytest.approx(np.mean(expected), abs=1e-12)
    np.testing.assert_array_equal(kept, np.abs(a[:, 0] - [[0.0], [1.0]]))


def test_whitened_clouds(rng):
    clouds = [cloud_of(rng, 30, 3), (cloud_of(rng, 20, 3) + 5, rng.random(20))]
    directions = unit_rows(rng, 7, 3)
    white = []
    for sample in clouds:
        points, weights = split(sample)
        mean, matrix = whitening(Cloud(points, weights))
        white.append(((points - mean) @ matrix, weights))
    found = sliced_wasserstein(clouds, space="euclidean", directions=directions, frame="whitened")
    assert found[0, 1] == pytest.approx(peer(*white, directions, 2), abs=1e-10)


def normalised(sample, directions, how):
    """Projections with weights, shifted and scaled one by one, or all alike."""
    points, weights = split(sample)
    values = directions @ points.T
    means = values @ weights
    variances = ((values - means[:, np.newaxis]) ** 2) @ weights
    scales = {"center": np.ones(len(means)), "standardize": np.sqrt(variances)}
    scales["global"] = np.full(len(means), np.sqrt(variances.mean()))
    return (values - means[:, np.newaxis]) / scales[how][:, np.newaxis], weights


@pytest.mark.parametrize("how", ["center", "standardize", "global"])
def test_normalised_slices(rng, how, monkeypatch):
    clouds, directions = [cloud_of(rng, 30), (cloud_of(rng, 20), rng.random(20))], unit_rows(rng, 7, 2)
    (x, a), (y, b) = (normalised(sample, directions, how) for sample in clouds)
    expected = np.mean([wasserstein_distance(u, v, a, b) for u, v in zip(x, y, strict=True)])
    for n_bytes in (1, 2**26):
        monkeypatch.setattr(sorted_slices, "SORTED_BYTES", n_bytes)
        found = sliced_wasserstein(clouds, space="euclidean", directions=directions, normalize=how, p=1)
        assert found[0, 1] == pytest.approx(expected, abs=1e-10)


def test_samples_tend_to_it(rng):
    a, b = rng.standard_cauchy(size=(2, 40, 2)).clip(-30, 30)
    for p in (1, 2):
        exact = sliced_wasserstein([a], [b], "euclidean", n_directions=16, p=p)[0, 0]
        errors = [
            abs(sliced_wasserstein([a], [b], "euclidean", n_directions=16, n_quantiles=m, p=p)[0, 0] / exact - 1)
            for m in (32, 32000)
        ]
        assert errors[1] < 1e-3 < errors[0]


def test_images_are_sampled(rng):
    images = rng.random((3, 9, 9))
    found = sliced_wasserstein(images, n_directions=8)
    np.testing.assert_array_equal(found, sliced_wasserstein(images, n_directions=8, n_quantiles=256))
    quantiles = rcdt(images, n_directions=8)
    gaps = np.abs(quantiles[:, np.newaxis] - quantiles)
    np.testing.assert_allclose(sliced_wasserstein(images, n_directions=8, p=1), gaps.mean(axis=(2, 3)), atol=1e-12)
    in_pairs = sliced_wasserstein(images, images[::-1], n_directions=8, paired=True)
    np.testing.assert_allclose(in_pairs, found[[0, 1, 2], [2, 1, 0]], atol=1e-7)


@pytest.mark.parametrize("p", [1, 2])
def test_tables_rows_and_pairs_agree(rng, p, monkeypatch):
    left, right = awkward_clouds(rng, 2), awkward_clouds(rng, 2)
    measure = partial(sliced_wasserstein, space="euclidean", n_directions=5, p=p)
    table = measure(left, right)
    np.testing.assert_array_equal(measure(left, right, paired=True), table.diagonal())
    for i in (0, 5, 6):
        np.testing.assert_array_equal(measure([left[i]], right), table[i : i + 1])
    np.testing.assert_allclose(measure(left), measure(left, left), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(measure([left[0], left[1]]), measure(left)[:2, :2])
    monkeypatch.setattr(sorted_slices, "BLOCK", 2)
    monkeypatch.setattr(sorted_slices, "SORTED_BYTES", 3 * 8 * 2 * 200)
    for n_jobs in (1, 2, 3):
        np.testing.assert_array_equal(measure(left, right, n_jobs=n_jobs), table)
        np.testing.assert_array_equal(measure(left, n_jobs=n_jobs)[:3, :3], measure(left[:3]))
        np.testing.assert_array_equal(measure(left, right, paired=True, n_jobs=n_jobs), table.diagonal())


def test_single_precision(rng):
    a, b = rng.normal(size=(2, 6, 40, 3)) + 5
    expected = sliced_wasserstein(a, b, "euclidean", n_directions=20)
    narrow = sliced_wasserstein(a.astype(np.float32), b.astype(np.float32), "euclidean", n_directions=20)
    mixed = sliced_wasserstein(a.astype(np.float32), b, "euclidean", n_directions=20)
    assert narrow.dtype == np.float64
    np.testing.assert_allclose(narrow, expected, rtol=1e-5)
    np.testing.assert_allclose(mixed, expected, rtol=1e-5)


def test_memory_does_not_grow_with_directions(rng, monkeypatch):
    clouds = rng.normal(size=(20, 300, 3))
    sliced_wasserstein(clouds[:2], space="euclidean", n_directions=4)
    monkeypatch.setattr(sorted_slices, "SORTED_BYTES", 2**20)
    tracemalloc.start()
    sliced_wasserstein(clouds, space="euclidean", n_directions=400)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6  # 19 MB in all directions at once


@pytest.mark.parametrize("p", [1, 2])
def test_the_kernel_is_positive_definite(rng, p):
    clouds = [sample for _ in range(4) for sample in awkward_clouds(rng, 2)]
    distances = sliced_wasserstein(clouds, space="euclidean", n_directions=8, p=p)
    for gamma in (0.01, 1.0, 100.0):
        gram = sliced_wasserstein_kernel(clouds, space="euclidean", n_directions=8, gamma=gamma, p=p)
        np.testing.assert_allclose(gram, np.exp(-gamma * distances**p))
        assert np.linalg.eigvalsh(gram).min() > -1e-10
    assert np.linalg.eigvalsh(np.exp(-0.01 * distances ** (4 * p))).min() < -1e-3  # other powers are not


def test_a_support_vector_machine(rng):
    def sets(n):
        return [cloud * [1 + kind, 1 / (1 + kind)] for kind in (0, 1) for cloud in rng.normal(size=(n, 40, 2))]

    train, test, labels = sets(10), sets(5), np.repeat([0, 1], 10)
    measure = partial(sliced_wasserstein_kernel, space="euclidean", n_directions=16, gamma=2.0)
    model = SVC(kernel="precomputed").fit(measure(train), labels)
    assert model.score(measure(test, train), np.repeat([0, 1], 5)) == 1


@pytest.mark.parametrize("p", [0, 3, 1.5, True, "2", None, [1]])
def test_other_powers_are_refused(p):
    with pytest.raises(ValueError, match=r"^p must be 1 or 2; got .*mean"):
        sliced_wasserstein([DIRAC], space="euclidean", p=p)


@pytest.mark.parametrize("gamma", [0, -1, np.inf, np.nan, 1j, True, "scale", None])
def test_other_gammas_are_refused(gamma):
    with pytest.raises(ValueError, match=r"^gamma must be a positive number; got .* Try 1 / numpy.median\(distances"):
        sliced_wasserstein_kernel([DIRAC], space="euclidean", gamma=gamma)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"reference": "norm"}, r"^reference must be 'uniform' for exact distances; got 'norm'. Pass n_quantiles=256"),
        ({"trim": 0.1}, r"^trim must be 0 for exact distances; got 0.1. Pass n_quantiles=256 to compare sampled"),
        ({"normalize": "winsorize"}, r"^normalize must be None, .* or 'global' for exact distances; got 'winsorize'."),
        ({"normalize": "mean"}, r"^normalize must be one of 'standardize'"),
    ],
)
def test_settings_that_need_samples(rng, setting, message):
    with pytest.raises(ValueError, match=message):
        sliced_wasserstein([cloud_of(rng)], space="euclidean", **setting)
    if "mean" not in setting.values():
        assert sliced_wasserstein([cloud_of(rng)], space="euclidean", n_quantiles=8, **setting) == 0


def test_pairs_have_two(rng):
    with pytest.raises(ValueError, match=r"Y must hold as many measures as X, 1, to be paired; got none. Leave paired"):
        sliced_wasserstein([DIRAC], space="euclidean", paired=True)
    for settings in ({}, {"n_quantiles": 4}):
        clouds = [cloud_of(rng), cloud_of(rng)]
        with pytest.raises(ValueError, match="Y must hold as many measures as X, 2, to be paired; got 1"):
            sliced_wasserstein(clouds, clouds[:1], "euclidean", paired=True, **settings)


def test_errors_name_the_measure(rng):
    good, bad = cloud_of(rng, 5), np.full((5, 2), np.nan)
    with pytest.raises(ValueError, match=r"^Y\[1\] must be finite; got NaN"):
        sliced_wasserstein([good], [good, bad], "euclidean")
    with pytest.raises(ValueError, match=r"^Y\[0\] must have 2 coordinates as in fit; got 3"):
        sliced_wasserstein([good], [cloud_of(rng, 5, 3)], "euclidean")
    with pytest.raises(ValueError, match=r"^X\[1\] must be a cloud of shape \(n_points, d\); got shape"):
        sliced_wasserstein([good, np.ones(5)], space="euclidean")
    with pytest.raises(ValueError, match=r"^X\[2\] must have spread in every slice"):
        sliced_wasserstein([good, good, DIRAC], space="euclidean", normalize="standardize")
    with pytest.raises(ValueError, match=r"^Y\[1\] must have spread in some slice"):
        sliced_wasserstein([good], [good, DIRAC], "euclidean", normalize="global")
    with pytest.raises(ValueError, match=r"^Y\[1\] must span all 2 dimensions; got points on a single point"):
        sliced_wasserstein([good], [good, DIRAC], "euclidean", frame="whitened")

    def phi(points, directions):
        if len(points) == 1:
            raise ValueError("no such atom")
        return directions @ points.T

    with pytest.raises(ValueError, match=r"^Y\[1\]: no such atom"):
        sliced_wasserstein([good], [good, DIRAC], (phi, np.eye(2)))


@pytest.mark.parametrize("cause", [KeyboardInterrupt, ValueError])
def test_interrupts_stay_interrupts(monkeypatch, cause):
    """A compiled function that returns after Ctrl-C raises something else."""

    def compare(*arguments):
        raise SystemError("returned with an exception set") from cause()

    monkeypatch.setattr(sorted_slices, "kernel", lambda *names: compare)
    with pytest.raises(KeyboardInterrupt if cause is KeyboardInterrupt else SystemError):
        sliced_wasserstein([DIRAC], [DIRAC], "euclidean")
