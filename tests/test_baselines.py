"""Affine moment invariants and linear optimal transport, against their definitions."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from conftest import affine_map, cloud_of, supersampled
from nrcdt.baselines import LOT, AffineMoments, affine_moments
from nrcdt.baselines.lot import inked_pixels, reduce
from nrcdt.baselines.moments import central_moments, invariants
from nrcdt.datasets import distorted, watermarks

WEIGHTS = np.array([2, 6, 4, 6])
BASELINES = [AffineMoments(), AffineMoments(scale=True), LOT(16)]
EMPTY_IMAGE = {"check_estimators_dtypes": "casts a row to integers that are all zero: an empty image, which is refused"}


def moments_of(points, weights):
    """The definition, term by term."""
    x, y = (points - np.average(points, axis=0, weights=weights)).T
    return np.array([[np.sum(weights * x**p * y**q) for q in range(4)] for p in range(4)])


def weighted_cloud(rng):
    return cloud_of(rng, 60), rng.random(60)


@pytest.mark.parametrize("reflected", [False, True])
def test_moments_are_left_alone_by_affine_maps(rng, reflected):
    points, weights = weighted_cloud(rng)
    expected = invariants(moments_of(points, weights))
    for _ in range(20):
        matrix, shift = affine_map(rng)
        if (np.linalg.det(matrix) < 0) != reflected:
            matrix[:, 0] *= -1
        moved = moments_of(points @ matrix.T + shift, weights * abs(np.linalg.det(matrix)))
        np.testing.assert_allclose(invariants(moved), expected, rtol=1e-9, atol=0)


def test_moments_of_mass_one_are_not_invariant(rng):
    """Without the mass moving along, a map multiplies the invariants by powers of its determinant."""
    points, weights = weighted_cloud(rng)
    matrix, shift = affine_map(rng)
    moved = invariants(moments_of(points @ matrix.T + shift, weights))
    np.testing.assert_allclose(moved, invariants(moments_of(points, weights)) * np.linalg.det(matrix) ** WEIGHTS)


def test_brightness_divides_the_moments(rng):
    images = rng.random((3, 7, 9))
    np.testing.assert_allclose(affine_moments(5 * images), affine_moments(images) / 5.0**WEIGHTS)


def test_second_moment_invariant_is_a_discriminant(rng):
    mu = moments_of(*weighted_cloud(rng))
    cubic = np.array([1, 3, 3, 1]) * [mu[3, 0], mu[2, 1], mu[1, 2], mu[0, 3]]
    a, b, c = np.roots(cubic)
    discriminant = (cubic[0] ** 4 * ((a - b) * (b - c) * (c - a)) ** 2).real
    assert invariants(mu)[1] == pytest.approx(-discriminant / 27 / mu[0, 0] ** 10)


def test_moment_invariants_in_round_coordinates(rng):
    """Where the covariance is a multiple of the identity, I3 and I4 are made of two complex moments."""
    points, weights = weighted_cloud(rng)
    weights /= weights.sum()
    centred = points - weights @ points
    covariance = centred.T * weights @ centred
    z = centred @ np.linalg.inv(np.linalg.cholesky(covariance)).T @ [1, 1j]
    threefold, onefold = abs(weights @ z**3) ** 2, abs(weights @ (z * abs(z) ** 2)) ** 2
    mu = moments_of(np.stack([z.real, z.imag], axis=1), weights)
    np.testing.assert_allclose(invariants(mu)[[0, 2, 3]], [1, (onefold - threefold) / 8, threefold])


def test_moments_of_pixels_are_those_of_squares(rng):
    image, k = rng.random((5, 8)), 6
    order = np.add.outer(np.arange(4), np.arange(4))
    fine, coarse = central_moments(np.kron(image, np.ones((k, k)))), central_moments(image)
    low = order <= 3
    np.testing.assert_allclose(fine[low], (coarse * float(k) ** (2 + order))[low], atol=1e-6)
    rows, columns = np.indices((30, 48))
    points = np.stack([columns.ravel(), rows.ravel()], axis=1)
    blurred = moments_of(points, np.kron(image, np.ones((k, k))).ravel())
    np.testing.assert_allclose(fine[3, 0], blurred[3, 0])
    np.testing.assert_allclose(fine[1, 1], blurred[1, 1])


def test_moments_of_squares_and_ellipses():
    square = np.zeros((20, 30))
    square[3:12, 5:14] = 1
    ellipse = supersampled((240, 240), lambda x, y: (x + 0.1) ** 2 / 0.25 + (y + x / 3) ** 2 / 0.09 < 1, 4)
    ellipse /= ellipse.max()
    first = affine_moments([square, ellipse])
    assert first[0, 0] == pytest.approx(1 / 144)
    assert first[1, 0] == pytest.approx(1 / (16 * np.pi**2), rel=1e-3)
    np.testing.assert_allclose(first[:, 1:], 0, atol=1e-10)


def test_moments_of_drawings_change_by_a_few_per_cent():
    drawings, _ = watermarks(6)
    samples, labels = distorted(drawings, 4, random_state=0, shift=(-5, 5))
    expected = affine_moments(drawings)
    changes = np.abs(affine_moments(samples) - expected[labels]) / np.abs(expected).max(axis=0)
    assert np.all(changes < 0.1)
    assert np.all(changes.mean(axis=0) < 0.02)


def test_scaled_moments(rng):
    images = rng.random((6, 8, 8))
    model = AffineMoments(scale=True).fit(images[:4])
    raw = affine_moments(images)
    np.testing.assert_allclose(model.transform(images), raw / raw[:4].std(axis=0))
    np.testing.assert_array_equal(AffineMoments().fit_transform(images), raw)
    for same in (images[:1], images[[0, 0, 0]]):
        np.testing.assert_array_equal(AffineMoments(scale=True).fit(same).scales_, 1)


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_unit_of_brightness(rng, factor):
    image = rng.random((4, 4))
    with pytest.raises(ValueError, match=r"X\[1\] must have grey values with a sum between 1e-20 and 1e\+20; got"):
        affine_moments([image, image * factor])


def shifted(drawing, dx, dy, size=64):
    image = np.zeros((size, size))
    top, left = size // 4 + dy, size // 4 + dx
    image[top : top + drawing.shape[0], left : left + drawing.shape[1]] = drawing
    return image


def targets_of(features):
    """Where the reference points go, in pixels of a 64 x 64 image."""
    pairs = features.reshape(len(features), -1, 2)
    return pairs * np.sqrt(pairs.shape[1]) * 64 / np.sqrt(2)


@pytest.mark.parametrize("drawing", [np.ones((20, 9)), np.eye(30)[:, ::2] + np.eye(30)[::-1, 1::2]])
def test_a_shift_moves_all_features(drawing):
    images = [shifted(drawing, dx, dy) for dx, dy in [(0, 0), (7, -3), (0, 11)]]
    still, one, two = targets_of(LOT(100).fit_transform(images))
    np.testing.assert_allclose(one - still, np.broadcast_to([7, -3], still.shape), atol=1e-9)
    np.testing.assert_allclose(two - still, np.broadcast_to([0, 11], still.shape), atol=1e-9)


def test_distance_of_shifted_blobs(rng):
    blob = rng.random((6, 6))
    a, again, brighter, b = LOT(81).fit_transform(
        [shifted(blob, 0, 0), shifted(blob, 0, 0), 7.3 * shifted(blob, 0, 0), shifted(blob, 3, 4)]
    )
    np.testing.assert_array_equal(a, again)
    np.testing.assert_allclose(a, brighter, atol=1e-12)
    assert np.linalg.norm(a - b) == pytest.approx(5 * np.sqrt(2) / 64)


def test_transport_is_the_best_assignment(rng):
    image = np.zeros(12 * 12)
    image[rng.choice(144, 25, replace=False)] = 1
    image = image.reshape(12, 12)
    model = LOT(25).fit(image[np.newaxis])
    points = (np.argwhere(image)[:, ::-1] - 5.5) * np.sqrt(2) / 12
    _, order = linear_sum_assignment(cdist(model.reference_, points, "sqeuclidean"))
    np.testing.assert_allclose(model.transform(image[np.newaxis])[0] * 5, points[order].ravel(), atol=1e-12)


def test_transport_keeps_the_mean(rng):
    image = rng.random((20, 33))
    cloud = inked_pixels(image)
    mean = LOT(36).fit_transform(image[np.newaxis]).reshape(36, 2).sum(axis=0) / 6
    np.testing.assert_allclose(mean, cloud.weights @ cloud.points * np.sqrt(2) / 33, atol=1e-12)


def test_reference_covers_the_canvas(rng):
    model = LOT(1000).fit(rng.random((1, 5, 5)))
    assert model.reference_.shape == (32**2, 2)
    half = 0.5**0.5 * (1 - 1 / 32)
    np.testing.assert_allclose(model.reference_[[0, 31, -1]], [[-half, -half], [half, -half], [half, half]], atol=1e-3)
    assert LOT(1).fit_transform(rng.random((1, 5, 5))).shape == (1, 2)


def test_reducing_loses_no_mass(rng):
    image = rng.random((64, 32))
    np.testing.assert_allclose(reduce(image, 16)[:, 4:12], image.reshape(16, 4, 8, 4).sum(axis=(1, 3)))
    assert not reduce(image, 16)[:, [3, 12]].any()
    assert reduce(image, 64) is image
    for shape in [(50, 50), (37, 64), (100, 3), (1, 17)]:
        image = rng.random(shape)
        small = reduce(image, 16)
        assert small.shape == (16, 16)
        assert small.sum() == pytest.approx(image.sum())
    np.testing.assert_allclose(reduce(np.ones((50, 50)), 16), (50 / 16) ** 2)


def test_large_images_are_reduced(rng):
    small = rng.random((16, 16)) * (rng.random((16, 16)) < 0.3)
    large = np.kron(small, np.ones((5, 5)))
    features = LOT(25, size=16).fit_transform([small, large])
    np.testing.assert_allclose(features[0], features[1], atol=1e-12)
    assert np.abs(np.subtract(*LOT(25, size=80).fit_transform([small, large]))).max() > 1e-4


@pytest.mark.parametrize("estimator", BASELINES, ids=str)
def test_estimator_checks(estimator):
    estimator = clone(estimator).set_params(image_shape=(1, -1))  # scikit-learn's tables have any number of columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=EMPTY_IMAGE, on_fail=None, on_skip=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
    assert [result["status"] for result in results].count("passed") >= 45


@pytest.mark.parametrize("estimator", BASELINES, ids=str)
def test_scikit_learn_basics(rng, estimator):
    images = rng.random((8, 6, 6))
    model = clone(estimator).fit(images)
    features = model.transform(images)
    assert features.dtype == np.float64
    rows = clone(estimator).set_output(transform="pandas").fit_transform(images.reshape(8, 36))
    np.testing.assert_array_equal(rows, features)
    assert list(rows.columns) == model.get_feature_names_out().tolist()
    wide = clone(estimator).set_params(image_shape=(4, 9)).fit_transform(images.reshape(8, 36))
    np.testing.assert_array_equal(wide, clone(estimator).fit_transform(images.reshape(8, 4, 9)))
    pipeline = make_pipeline(clone(estimator), KNeighborsClassifier(1)).fit(images, np.arange(8))
    assert pipeline.predict(images[::-1]).tolist() == list(range(8))[::-1]
    np.testing.assert_array_equal(model.transform([images[5]]), features[[5]])
    with pytest.raises(NotFittedError):
        clone(estimator).transform(images)


def test_names():
    images = np.ones((1, 3, 3))
    assert AffineMoments().fit(images).get_feature_names_out().tolist() == ["I1", "I2", "I3", "I4"]
    assert LOT(4).fit(images).get_feature_names_out()[[0, 1, 7]].tolist() == ["lot_0_x", "lot_0_y", "lot_3_y"]


@pytest.mark.parametrize("transform", [affine_moments, AffineMoments().fit, LOT(4).fit])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((4, 4)), r"X\[2\] must have positive mass"),
        (-np.eye(4), r"X\[2\] must not have negative mass"),
        (np.eye(4) * np.nan, r"X\[2\] must be finite; got NaN"),
        (np.ones((4, 4, 3)), r"X\[2\] must be a two-dimensional image"),
    ],
)
def test_bad_samples_are_named(transform, bad, message):
    with pytest.raises(ValueError, match=message):
        transform([np.eye(4), np.eye(5), bad])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_points": 0}, "n_points must be a positive integer; got 0"),
        ({"n_points": 2.5}, "n_points must be a positive integer; got 2.5"),
        ({"size": 0}, "size must be a positive integer; got 0"),
        ({"image_shape": (2, 3)}, "image_shape must have 25 pixels"),
    ],
)
def test_settings_that_are_refused(rng, settings, message):
    with pytest.raises(ValueError, match=message):
        LOT(**settings).fit(rng.random((3, 25)))


def test_a_plan_that_is_not_finished_is_refused(rng, monkeypatch):
    monkeypatch.setattr("nrcdt.baselines.lot.MAX_STEPS", 25)
    images = [np.eye(1), rng.random((9, 9))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(
            ValueError, match=r"X\[1\] must be transported within 25 steps; got no optimal plan. Take fewer n_points"
        ):
            LOT(16).fit_transform(images)


def test_without_pot(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(ImportError, match=r"LOT must have POT installed; got none. Run pip install 'nrcdt\[paper\]'."):
        LOT().fit(rng.random((1, 4, 4)))
    assert affine_moments(rng.random((1, 4, 4))).shape == (1, 4)


@pytest.mark.slow
def test_pot_is_loaded_on_first_use():
    code = "import sys, nrcdt.baselines; print('ot' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
