"""Sliced Wasserstein distances, and the distance that affine maps leave alone."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from conftest import affine_map, cloud_of
from nrcdt import RCDT, rcdt, sliced_wasserstein
from nrcdt.alignment import alignments, allowed_angles, direction_spectrum
from nrcdt.datasets import distorted, watermarks
from nrcdt.directions import circle
from nrcdt.distances import AlignedMetric, aligned
from nrcdt.frames import whitening
from nrcdt.measures import Cloud
from nrcdt.registration.affine import between_whitenings, rotation_angle
from nrcdt.registration.plane import orthogonal_matrix


def test_a_shift_moves_by_its_projections(rng):
    cloud, shift = cloud_of(rng), np.array([3.0, 4.0])
    assert sliced_wasserstein([cloud], [cloud + shift], "euclidean")[0, 0] == pytest.approx(5 / np.sqrt(2))


def test_far_from_the_origin(rng):
    cloud = rng.normal(size=(100, 3))
    near = sliced_wasserstein([cloud], [cloud + 0.01], "euclidean")[0, 0]
    assert sliced_wasserstein([cloud + 1e6], [cloud + 1e6 + 0.01], "euclidean")[0, 0] == pytest.approx(near, rel=1e-4)


def test_it_is_the_norm_of_rcdt_differences(rng):
    images = rng.random((3, 8, 8))
    quantiles = rcdt(images, n_directions=20, n_quantiles=30)
    expected = np.sqrt(np.mean((quantiles[:, np.newaxis] - quantiles) ** 2, axis=(2, 3)))
    np.testing.assert_allclose(sliced_wasserstein(images, n_directions=20, n_quantiles=30), expected, atol=1e-7)


def test_convergence_to_the_distance_of_sorted_projections(rng):
    a, b = rng.normal(size=(2, 300, 2))
    directions = circle(64)
    expected = np.sqrt(np.mean((np.sort(a @ directions.T, axis=0) - np.sort(b @ directions.T, axis=0)) ** 2))
    errors = [
        abs(sliced_wasserstein([a], [b], "euclidean", directions=directions, n_quantiles=m)[0, 0] - expected)
        for m in (30, 300, 3000)
    ]
    assert errors[2] < errors[0] / 5
    assert errors[2] < 2e-3


def test_uneven_directions_need_weights(rng):
    cloud = cloud_of(rng)
    angles = 2 * np.pi * np.linspace(0, 1, 500, endpoint=False) ** 2
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    weights = np.diff(angles, append=2 * np.pi)
    shifted = cloud + np.array([0.0, 2.0])
    even = sliced_wasserstein([cloud], [shifted], "euclidean", directions=(directions, weights))[0, 0]
    uneven = sliced_wasserstein([cloud], [shifted], "euclidean", directions=directions)[0, 0]
    assert even == pytest.approx(np.sqrt(2), rel=0.01)
    assert abs(uneven - np.sqrt(2)) > 0.05


def test_a_reference_weighs_the_levels(rng):
    a, b = [cloud_of(rng)], [cloud_of(rng)]
    plain = sliced_wasserstein(a, b, "euclidean", n_quantiles=2000)
    normal = sliced_wasserstein(a, b, "euclidean", n_quantiles=2000, reference="norm")
    np.testing.assert_allclose(normal, plain, rtol=0.02)


def whitened(clouds, n_directions=16, n_quantiles=24):
    return rcdt(clouds, "euclidean", frame="whitened", n_directions=n_directions, n_quantiles=n_quantiles)


def test_aligned_is_the_least_over_shifts_and_reversals(rng):
    x, y = whitened([cloud_of(rng), cloud_of(rng)])
    shifted = [np.roll(one, k, axis=0) for one in (x, x[::-1]) for k in range(16)]
    on_grid = min(np.sqrt(np.mean((one - y) ** 2)) for one in shifted)
    rotated = min(np.sqrt(np.mean((one - y) ** 2)) for one in shifted[:16])
    metric, turns = AlignedMetric(16, 24), AlignedMetric(16, 24, reflection=False)
    assert on_grid - 0.02 < metric(x.ravel(), y.ravel()) <= on_grid + 1e-12
    assert rotated - 0.02 < turns(x.ravel(), y.ravel()) <= rotated + 1e-12


@pytest.mark.parametrize("n_directions", [15, 16])
def test_aligned_finds_angles_between_directions(n_directions):
    # Slices of two frequencies, turned by any angle: the polynomial is exact.
    grid = 2 * np.pi * np.arange(n_directions) / n_directions
    levels = np.linspace(-1, 1, 7)

    def slices(angles):
        return np.cos(angles)[:, np.newaxis] * levels + np.sin(3 * angles + 0.4)[:, np.newaxis] * levels**2

    for angle in (0.0, 0.1234, 3.1415, -2.5):
        for reflected in (False, True):
            a, b = slices(grid), slices(angle - grid if reflected else grid - angle)
            best = alignments(
                direction_spectrum(a[np.newaxis]), direction_spectrum(b[np.newaxis]), n_directions, None, True
            )
            assert best.squares[0, 0, 0] < 1e-12
            assert np.cos(best.angles[0, 0, 0] - angle) == pytest.approx(1, abs=1e-9)
            assert best.reflected[0, 0, 0] == reflected


def test_aligned_is_sliced_wasserstein_where_nothing_is_turned(rng):
    cloud = cloud_of(rng, 300)
    near = cloud + 0.01 * rng.normal(size=cloud.shape)
    settings = {"n_directions": 64, "n_quantiles": 64}
    free = aligned([cloud], [near], "euclidean", **settings)
    fixed = sliced_wasserstein([cloud], [near], "euclidean", frame="whitened", **settings)
    assert free <= fixed + 1e-12
    assert free > 0.8 * fixed


@pytest.mark.parametrize("n_directions", [33, 64])
def test_affine_maps_leave_clouds_together(rng, n_directions):
    clouds = [cloud_of(rng, 400) for _ in range(4)]
    copies = [cloud @ matrix.T + shift for cloud in clouds for matrix, shift in [affine_map(rng)]]
    distances = aligned(clouds, copies, "euclidean", n_directions=n_directions)
    others = distances[~np.eye(4, dtype=bool)]
    assert distances.diagonal().max() < 0.35 * others.min()


def test_more_directions_bring_copies_closer(rng):
    cloud = cloud_of(rng, 400)
    copies = [cloud @ matrix.T + shift for matrix, shift in (affine_map(rng) for _ in range(6))]
    errors = [aligned([cloud], copies, "euclidean", n_directions=n).mean() for n in (16, 64, 256)]
    assert errors[2] < errors[1] / 1.5 < errors[0] / 3


def test_other_motifs_are_further_away():
    drawings, _ = watermarks(6, size=96)
    copies, labels = distorted(drawings, 3, random_state=0, shift=(-8, 8))
    distances = aligned(copies, drawings)
    own = distances[np.arange(len(labels)), labels]
    assert own.max() < 0.5 * aligned(drawings)[~np.eye(6, dtype=bool)].min()


def test_mirrors_are_alike_unless_told_otherwise():
    drawing = watermarks(6, size=96)[0][5]
    mirrored = drawing[:, ::-1]
    assert aligned([drawing], [mirrored])[0, 0] < 1e-3
    assert aligned([drawing], [mirrored], reflection=False)[0, 0] > 0.03


def test_aligned_is_a_metric(rng):
    clouds = [cloud_of(rng, 100) for _ in range(8)]
    distances = aligned(clouds, space="euclidean")
    np.testing.assert_allclose(distances, distances.T, atol=1e-7)
    assert distances.diagonal().max() < 1e-6
    detours = distances[:, :, np.newaxis] + distances
    assert (distances[:, np.newaxis] <= detours.transpose(0, 1, 2) + 1e-6).all()


def test_one_to_many_and_chunks_agree(rng, monkeypatch):
    images = rng.random((7, 12, 12)) ** 6
    together = aligned(images)
    np.testing.assert_allclose(aligned(images[2:3], images), together[2:3], atol=1e-7)
    monkeypatch.setattr("nrcdt.distances.CHUNK_PAIRS", 5)
    np.testing.assert_allclose(aligned(images), together, atol=1e-7)
    np.testing.assert_array_equal(aligned(images, n_jobs=2), aligned(images))


def upright(drawing, degrees):
    """A picture stretched to a tilted oval, then turned."""
    from nrcdt.registration import warp

    angle = np.radians(degrees)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = rotation @ np.array([[0.8, 0.3], [0.3, 0.8]])
    centre = np.full(2, (len(drawing) - 1) / 2)
    return warp(drawing, np.column_stack([matrix, centre - matrix @ centre]), drawing.shape)


@pytest.mark.parametrize("degrees", [0, 25, -50])
def test_the_rotation_of_the_picture_is_bounded(degrees):
    drawing = watermarks(16, size=128)[0][15]
    copy = upright(drawing, degrees)
    within, beyond = (
        aligned([drawing], [copy], max_rotation=bound, reflection=False)[0, 0]
        for bound in (abs(degrees) + 1.5, max(abs(degrees) - 8, 0))
    )
    assert within < 0.012
    assert degrees == 0 or beyond > 2 * within


def test_mirrored_pictures_are_bounded_from_the_left_right_mirror():
    drawing = watermarks(16, size=128)[0][15]
    copy = upright(drawing[:, ::-1], 20)
    assert aligned([drawing], [copy], max_rotation=22)[0, 0] < 0.025
    assert aligned([drawing], [copy], max_rotation=12)[0, 0] > 0.045


@pytest.mark.parametrize("reflected", [False, True])
def test_allowed_angles_are_where_the_polar_rotation_is_small(rng, reflected):
    clouds = [Cloud(cloud_of(rng) * [1, 4], None), Cloud(cloud_of(rng) * [3, 1], None)]
    white = [whitening(cloud) for cloud in clouds]
    views = [direction_spectrum(np.zeros((1, 8, 4)), one.matrix[np.newaxis]) for one in white]
    low, high = (limit[int(reflected), 0, 0] for limit in allowed_angles(*views, 30, True))
    angles = np.linspace(low - 1, high + 1, 400)
    turned = rotation_angle(
        between_whitenings(*white, np.stack([orthogonal_matrix(angle, reflected) for angle in angles]))
    )
    inside = (low <= angles) & (angles <= high)
    np.testing.assert_array_equal(turned <= 30, inside)


def test_a_classifier_with_the_metric():
    drawings, names = watermarks(8, size=96)
    copies, labels = distorted(drawings, 3, random_state=1, shift=(-8, 8))
    features = RCDT(frame="whitened", n_directions=32, n_quantiles=16)
    for algorithm in ("auto", "brute"):
        nearest = KNeighborsClassifier(1, metric=AlignedMetric(32, 16), algorithm=algorithm)
        model = make_pipeline(features, nearest).fit(drawings, names)
        assert pickle.loads(pickle.dumps(model)).score(copies, np.array(names)[labels]) == 1
    rows = features.fit_transform(drawings)
    plain = KNeighborsClassifier(1).fit(rows, names)
    assert plain.score(features.transform(copies), np.array(names)[labels]) < 0.5


def test_the_metric_is_the_distance():
    drawings = watermarks(4, size=64)[0]
    rows = RCDT(frame="whitened", n_directions=32, n_quantiles=16).fit_transform(drawings)
    metric = AlignedMetric(32, 16)
    expected = aligned(drawings, n_directions=32, n_quantiles=16)
    np.testing.assert_allclose(metric.pairwise(rows), expected, atol=1e-7)
    np.testing.assert_allclose(metric.pairwise(rows[:1], rows[1:]), expected[:1, 1:], atol=1e-7)
    np.testing.assert_allclose(pairwise_distances(rows, metric=metric), expected, atol=1e-6)


def test_what_cannot_be_aligned(rng):
    cloud = cloud_of(rng, 30, 3)
    with pytest.raises(ValueError, match="X must lie in the plane to be aligned; got clouds in 3 dimensions"):
        aligned([cloud], space="euclidean")
    with pytest.raises(ValueError, match="space must be 'image' or 'euclidean' to be aligned; got 'circular'"):
        aligned([cloud], space="circular")
    with pytest.raises(ValueError, match=r"X\[0\] must have positive mass; got zeros only"):
        aligned(np.zeros((1, 4, 4)))
    for wrong in (-1, 181, "45", np.nan, 1j, True, [3]):
        with pytest.raises(ValueError, match="max_rotation must be an angle between 0 and 180 degrees, or None; got"):
            aligned(np.ones((1, 4, 4)), max_rotation=wrong)
    with pytest.raises(ValueError, match="X must have rows of 8 directions x 4 quantiles; got shape \\(1, 30\\)"):
        AlignedMetric(8, 4)(np.zeros(30), np.zeros(30))
    with pytest.raises(ValueError, match="Y must be finite; got NaN"):
        AlignedMetric(8, 4).pairwise(np.zeros((1, 32)), np.full((1, 32), np.nan))
    with pytest.raises(ValueError, match="n_quantiles must be a positive integer; got 0"):
        AlignedMetric(8, 0)


def test_measures_may_come_one_by_one(rng):
    clouds = rng.normal(size=(3, 20, 2))
    found = sliced_wasserstein((cloud for cloud in clouds), space="euclidean", n_directions=4)
    np.testing.assert_array_equal(found, sliced_wasserstein(clouds, space="euclidean", n_directions=4))


@pytest.mark.parametrize("distance", [sliced_wasserstein, aligned])
def test_errors_name_the_argument(rng, distance):
    good, bad = rng.normal(size=(30, 2)), np.full((5, 2), np.nan)
    with pytest.raises(ValueError, match=r"^Y\[1\] must be finite"):
        distance([good], [good, bad], "euclidean")
    with pytest.raises(ValueError, match=r"^X\[1\] must be finite"):
        distance([good, bad], [good], "euclidean")


def test_only_what_spans_the_plane_can_be_aligned(rng):
    good, line = rng.normal(size=(30, 2)), np.outer(np.arange(5.0), [1, 2])
    with pytest.raises(ValueError, match=r"^Y\[1\] must span all 2 dimensions"):
        aligned([good], [good, line], "euclidean")
    with pytest.raises(ValueError, match=r"^X\[1\] must span all 2 dimensions"):
        aligned([good, line], [good], "euclidean")


def test_the_highest_frequency_counts_once():
    x = np.cos(np.pi * np.arange(8))[:, np.newaxis] * np.linspace(-1, 1, 5)
    assert AlignedMetric(8, 5)(x.ravel(), x.ravel() / 2) == pytest.approx(np.sqrt(np.mean(x**2)) / 2)
