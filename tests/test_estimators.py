"""NRCDT and RCDT as scikit-learn transformers."""

import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.transform import Rotation
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances_argmin
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from conftest import cloud_of, uneven_directions
from nrcdt import NORMALIZATIONS, NRCDT, RCDT, nrcdt, rcdt, sliced_wasserstein
from nrcdt.aggregate import AGGREGATIONS
from nrcdt.datasets import salt, watermarks
from nrcdt.directions import circle, fibonacci, shells
from nrcdt.errors import InputError, SampleError
from nrcdt.threads import map_threads

SMALL = {"n_directions": 10, "n_quantiles": 12}
LINES = SMALL | {"image_shape": (1, -1)}  # scikit-learn's tables have any number of columns
EMPTY_IMAGE = {"check_estimators_dtypes": "casts a row to integers that are all zero: an empty image, which is refused"}


@pytest.mark.parametrize("estimator", [NRCDT(**LINES), RCDT(**LINES), NRCDT(aggregate=["max", "tv"], **LINES)])
def test_estimator_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=EMPTY_IMAGE, on_fail=None, on_skip=None)
    status = [result["status"] for result in results]
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
    assert status.count("passed") >= 45
    assert status.count("xfail") == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize(
    "settings",
    [{}, {"n_directions": 9}, {"reference": "expon"}, {"reference": "norm"}, {"directions": circle(10)[[1, 2, 7]]}],
    ids=str,
)
def test_extremes_are_those_of_the_quantiles(rng, dtype, settings):
    images = (9 * rng.random((3, 6, 8))).astype(dtype) * (rng.random((3, 6, 8)) < 0.5)
    images[2] = 0
    images[2, [1, 4]] = 1  # half of the ink before a gap: a plateau
    settings = SMALL | {"n_quantiles": 15} | settings
    tolerance = 1e-12 if dtype != np.float32 else 1e-5
    names = [name for name, one in AGGREGATIONS.items() if one.extremes]
    for aggregate in (*names, names):
        model = NRCDT(aggregate=aggregate, **settings).fit(images)
        blocks = [AGGREGATIONS[name].function(model.quantiles(images), None, None) for name in np.ravel(aggregate)]
        expected = np.hstack(
            [block / block.dtype.type(scale) for block, scale in zip(blocks, model.scales_, strict=True)]
        )
        assert model.transform(images).dtype == expected.dtype
        np.testing.assert_allclose(model.transform(images), expected, rtol=0, atol=tolerance)


def clouds_of(rng, d=2):
    return [cloud_of(rng, n, d) for n in (30, 100, 55, 64, 65)]


def batches(rng):
    images = rng.random((5, 9, 9))
    return {
        "image": images,
        "image list": [images[0], images[1, :4], images[2, :, :5], images[3, :4], images[4]],
        "euclidean": clouds_of(rng, 3),
        "circular": clouds_of(rng),
        "rotation": [Rotation.random(n, rng=rng).as_matrix() for n in (20, 70, 5, 33, 64)],
    }


@pytest.mark.parametrize("name", ["image", "image list", "euclidean", "circular", "rotation"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_jobs", [None, 2, -1])
def test_a_sample_has_the_same_features_in_any_company(rng, monkeypatch, name, dtype, n_jobs):
    """Bit for bit: alone, in a batch, in any order, in chunks of any size, with any number of threads."""
    batch = [sample.astype(dtype) for sample in batches(rng)[name]]
    model = NRCDT(name.split()[0], aggregate=["max", "mean", "range"], n_jobs=n_jobs, **SMALL).fit(batch)
    together = model.transform(batch)
    assert together.dtype == dtype
    alone = np.concatenate([model.transform([sample]) for sample in batch])
    np.testing.assert_array_equal(alone, together)
    np.testing.assert_array_equal(model.transform(batch[::-1])[::-1], together)
    monkeypatch.setattr("nrcdt.transform.CHUNK_BYTES", 10_000)
    np.testing.assert_array_equal(model.transform(batch * 3)[5:10], together)


def test_images_in_all_forms(rng):
    images = rng.random((4, 6, 6))
    expected = nrcdt(images, **SMALL)
    for form in (images.reshape(4, 36), list(images), images.tolist(), pd.DataFrame(images.reshape(4, 36))):
        np.testing.assert_array_equal(nrcdt(form, **SMALL), expected)
    np.testing.assert_array_equal(nrcdt(images.reshape(4, 36), image_shape=(6, 6), **SMALL), expected)
    wide = nrcdt(images.reshape(4, 36), image_shape=(4, 9), **SMALL)
    np.testing.assert_array_equal(wide, nrcdt(images.reshape(4, 4, 9), **SMALL))


def test_brightness_does_not_matter(rng):
    images = rng.random((2, 8, 8))
    np.testing.assert_allclose(nrcdt(images * 7.3, **SMALL), nrcdt(images, **SMALL), atol=1e-12)
    np.testing.assert_array_equal(nrcdt((images * 99).astype(np.uint8), **SMALL).dtype, np.float64)


def test_a_bare_image_is_warned_about(rng):
    with pytest.warns(UserWarning, match="If it is a single image"):
        nrcdt(rng.random((9, 9)) + 0.1, **SMALL)


@pytest.mark.parametrize("shape", [(40, 50, 3), (32, 40, 4), (31, 40, 3), (40, 50, 1)])
def test_a_bare_picture_is_warned_about(rng, shape):
    with pytest.warns(UserWarning, match=r"X has shape .* and is read as .* If it is a single"):
        NRCDT(**SMALL).fit(rng.random(shape))


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("shape", [(40, 64), (31, 36), (60, 289), (40, 50, 5), (31, 11, 4), (1, 40, 40)])
def test_tables_and_batches_are_not_warned_about(rng, shape):
    sparse = rng.random(shape) * (rng.random(shape) < 0.2)  # or the paper would be named
    assert len(NRCDT(**SMALL).fit_transform(sparse)) == shape[0]


@pytest.mark.parametrize("fit", ["fit", "fit_transform"])
def test_where_fit_fails_nothing_is_half_fitted(rng, fit):
    """An old plan for the plane would take clouds in space for what they are not."""
    model = NRCDT("euclidean", **SMALL).fit(rng.random((3, 20, 2)))
    with pytest.raises(ValueError, match="n_directions must be"):
        getattr(model.set_params(n_directions=-1), fit)(rng.random((3, 20, 3)))
    for X in (rng.random((3, 20, 2)), rng.random((3, 20, 3))):
        with pytest.raises(NotFittedError):
            model.transform(X)


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("noise", [False, True])
def test_one_small_image_passes_a_hundred_functions_at_most(rng, as_list, noise):
    """Also where it is warned about: who transforms images one by one pays for every call."""
    image = rng.random((1, 16, 16)) if noise else np.eye(16)[np.newaxis]
    model, package = NRCDT(), str(Path(sys.modules["nrcdt"].__file__).parent) + os.sep
    model.fit_transform(image)
    calls = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(package):
            calls.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        model.fit_transform(list(image) if as_list else image)
    finally:
        sys.setprofile(None)
    assert 50 < len(calls) <= 100


def test_names_and_output(rng):
    images = rng.random((3, 5, 5))
    model = NRCDT(aggregate=["max", "tv", (np.abs, np.median)], **SMALL).fit(images)
    names = model.get_feature_names_out()
    assert names[[0, 12, 35]].tolist() == ["max_0", "tv_0", "median_absolute_11"]
    frame = model.set_output(transform="pandas").transform(images)
    assert list(frame.columns) == names.tolist()
    assert RCDT(**SMALL).fit(images).get_feature_names_out()[-1] == "rcdt_9_11"


def test_lists_are_scaled_by_what_was_seen_in_fit(rng):
    images = rng.random((6, 5, 5))
    model = NRCDT(aggregate=["max", "tv"], **SMALL).fit(images[:4])
    features = model.transform(images)
    plain = nrcdt(images, aggregate="tv", **SMALL)
    scale = np.sqrt(np.mean(plain[:4] ** 2))
    np.testing.assert_allclose(features[:, 12:], plain / scale)
    np.testing.assert_allclose(model.scales_[1], scale)
    assert NRCDT(**SMALL).fit(images).scales_ == [1.0]
    one = NRCDT(aggregate=["tv"], **SMALL).fit(images[:4])
    np.testing.assert_array_equal(one.transform(images), features[:, 12:])


def test_fit_keeps_no_features(rng, monkeypatch):
    monkeypatch.setattr("nrcdt.transform.CHUNK_BYTES", 50_000)
    images = rng.random((300, 6, 6))
    model = NRCDT(n_directions=8, n_quantiles=400, aggregate=["max", "tv", "mean"])
    model.fit(images[:1])
    tracemalloc.start()
    model.fit(images)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < model.transform(images).nbytes / 4


@pytest.mark.parametrize("frame", ["fixed", "whitened"])
@pytest.mark.parametrize("normalize", ["standardize", "median", "center", "global"])
def test_float32_clouds_far_from_the_origin_lose_nothing_more(rng, frame, normalize):
    """As exact as moving the mean to the origin by hand, which single precision coordinates allow."""
    cloud = (rng.normal(size=(300, 3)) + 30_000).astype(np.float32)
    wide = cloud.astype(np.float64)
    settings = {"frame": frame, "normalize": normalize} | SMALL
    far = nrcdt([cloud, (cloud, rng.random(300))], "euclidean", **settings)
    np.testing.assert_allclose(far[0], nrcdt([wide], "euclidean", **settings)[0], atol=2e-6)
    slices = rcdt([cloud], "euclidean", **SMALL)[0]
    np.testing.assert_allclose(slices, rcdt([wide], "euclidean", **SMALL)[0], rtol=1e-6)


def test_small_angles_survive_float32(rng):
    close = Rotation.from_rotvec(1e-3 * rng.normal(size=(60, 3))).as_quat(scalar_first=True)
    settings = {"space": "rotation", "directions": [[1.0, 0, 0, 0]], "n_quantiles": 59}
    np.testing.assert_allclose(rcdt([close.astype(np.float32)], **settings), rcdt([close], **settings), atol=1e-8)


def test_quantiles_for_whoever_asks(rng):
    images = rng.random((3, 5, 5))
    assert NRCDT(**SMALL).fit(images).quantiles(images).shape == (3, 10, 12)
    model = RCDT(**SMALL).fit(images)
    np.testing.assert_array_equal(model.transform(images), model.quantiles(images).reshape(3, -1))
    np.testing.assert_array_equal(model.quantiles(images), rcdt(images, **SMALL))


def test_clone_and_pickle(rng):
    images = rng.random((3, 5, 5))
    model = NRCDT(aggregate=["max", "range"], reference="norm", **SMALL).fit(images)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(images), model.transform(images))
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        clone(model).transform(images)


def test_pipeline_and_grid_search(rng):
    images = rng.random((30, 6, 6))
    images[15:, 1:5, 1:5] = 0
    labels = np.repeat([0, 1], 15)
    pipeline = make_pipeline(NRCDT(**SMALL), KNeighborsClassifier(1))
    grid = {"nrcdt__n_directions": [4, 8], "nrcdt__aggregate": ["max", ["max", "tv"]]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(images.reshape(30, 36), labels)
    assert search.best_score_ > 0.8
    assert GridSearchCV(pipeline, grid, cv=3).fit(images, labels).best_score_ == search.best_score_


def test_given_directions(rng):
    images = rng.random((2, 5, 5))
    np.testing.assert_array_equal(
        nrcdt(images, directions=circle(10), n_quantiles=12), nrcdt(images, n_directions=10, n_quantiles=12)
    )
    model = NRCDT(directions=(circle(4), [1, 1, 2, 4]), aggregate="mean").fit(images)
    np.testing.assert_allclose(model.direction_weights_, [0.125, 0.125, 0.25, 0.5])


def test_own_space(rng):
    def heights(points, directions):
        return directions[:, np.newaxis] * points[:, 2]

    clouds = [rng.normal(size=(20, 5)), (rng.normal(size=(7, 5)), np.arange(1, 8))]
    features = nrcdt(clouds, (heights, np.array([1.0, 2.0, -1.0])), n_quantiles=6)
    assert features.shape == (2, 6)
    np.testing.assert_allclose(
        features[0],
        nrcdt([clouds[0][:, [2, 2]] * [1, 1]], (lambda x, d: d[:, None] * x[:, 0], [1.0, -1.0]), n_quantiles=6)[0],
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"space": "plane"}, "space must be one of image, euclidean, circular, .*; got 'plane'"),
        ({"frame": "moving"}, "frame must be one of fixed, whitened; got 'moving'"),
        ({"normalize": "minmax"}, "normalize must be one of 'standardize', .*'global', None; got 'minmax'"),
        ({"aggregate": "median"}, "aggregate must be one of max, .*; got 'median'"),
        ({"reference": "beta"}, "reference must be a distribution without open parameters"),
        ({"n_radii": 0}, "n_radii must be a positive integer; got 0. Or say 'auto'"),
        ({"n_directions": 0}, "n_directions must be a positive integer; got 0"),
        ({"n_directions": 2.5}, "n_directions must be a positive integer; got 2.5"),
        ({"n_quantiles": 0}, "n_quantiles must be a positive integer; got 0"),
        ({"n_quantiles": 1}, "n_quantiles must be at least 2 to have a spread; got 1"),
        ({"directions": np.ones((3, 3))}, r"directions must have shape \(n_directions, 2\) in the image space; got"),
        ({"directions": 2 * circle(4)}, "directions must be unit vectors; got length 2 in row 0"),
        ({"directions": (circle(2), [1, np.inf])}, "the weights of directions must be finite"),
        ({"directions": (circle(2), [1, -1])}, "the weights of directions must be non-negative with positive sum"),
        (
            {"directions": (circle(8), [1] * 4 + [9] * 4), "aggregate": "spectrum"},
            "'spectrum' .* weighted, in the image",
        ),
        ({"n_directions": 1, "aggregate": "bispectrum"}, "'bispectrum' .* sorted by angle, at least two"),
        ({"directions": (circle(4), [0] * 4)}, "the weights of directions must be non-negative with positive sum"),
        ({"directions": (circle(4), [1, 2])}, "the weights of directions must be one number per direction, 4"),
        ({"directions": circle(6)[[0, 2, 1, 3]], "aggregate": "tv"}, "'tv' must have directions in order around a"),
        ({"image_shape": (2, 3)}, "image_shape must have 25 pixels"),
        ({"directions": np.zeros((0, 2))}, "directions must be at least one"),
        ({"directions": circle(3) * np.nan}, "directions must be finite; got NaN"),
        ({"normalize": ["center"]}, "normalize must be one of"),
        ({"n_quantiles": True}, "n_quantiles must be a positive integer; got True"),
        ({"n_jobs": 0}, "n_jobs must be a number of threads, or -1 for all cores; got 0"),
    ],
)
def test_settings_that_are_refused(rng, settings, message):
    with pytest.raises(ValueError, match=message):
        NRCDT(**settings).fit(rng.random((3, 25)))


def test_weights_of_directions_may_be_large(rng):
    images = rng.random((3, 5, 5))
    large, usual = (
        NRCDT(directions=(circle(4), [size, size, size / 2, size]), aggregate="mean", n_quantiles=12).fit(images)
        for size in (1e308, 1.0)
    )
    np.testing.assert_allclose(large.transform(images), usual.transform(images), rtol=1e-12)


def test_parameters_set_after_fit_count_from_the_next_fit_on(rng):
    """Names and columns always agree."""
    images = rng.random((3, 5, 5))
    model = NRCDT(**SMALL).fit(images)
    before = model.transform(images)
    model.set_params(aggregate=["max", "tv"], n_quantiles=5, n_directions=4, frame="whitened", normalize="center")
    np.testing.assert_array_equal(model.transform(images), before)
    assert len(model.get_feature_names_out()) == before.shape[1]
    after = model.fit(images).transform(images)
    assert len(model.get_feature_names_out()) == after.shape[1] == 10


@pytest.mark.parametrize("fitted", ["array", "list", "rows"])
def test_rows_are_the_images_that_fit_saw(rng, fitted):
    images = rng.random((3, 4, 9))
    known = {"array": images, "list": list(images), "rows": images.reshape(3, -1)}[fitted]
    model = NRCDT(**SMALL, image_shape=(4, 9)).fit(known)
    np.testing.assert_array_equal(model.transform(images.reshape(3, 36)), model.transform(images))
    model = NRCDT(**SMALL).fit(images)  # 36 columns would be taken for squares where nothing is known
    np.testing.assert_array_equal(model.transform(images.reshape(3, 36)), model.transform(images))
    with pytest.raises(
        ValueError, match=r"X must have 36 columns where it is a table, as images of shape \(4, 9\) were"
    ):
        model.transform(rng.random((5, 5)))


def test_phi_must_be_real(rng):
    with pytest.raises(ValueError, match=r"X\[0\]: phi of every point and direction must hold real numbers"):
        nrcdt(rng.random((2, 9, 2)), (lambda points, directions: 1j * directions @ points.T, circle(4)))
    with pytest.raises(ValueError, match="the directions beside phi must hold real numbers in a regular array"):
        nrcdt(rng.random((2, 9, 2)), (lambda points, directions: directions @ points.T, (circle(4), np.ones(4))))


def test_tv_needs_order(rng):
    with pytest.raises(ValueError, match=r"'tv' must have .* got directions of shape \(64, 3\) in the euclidean space"):
        nrcdt([cloud_of(rng, 30, 3)], "euclidean", n_directions=64, aggregate="tv")
    with pytest.raises(
        ValueError, match=r"'spectrum' must have .* Leave directions out, take more of them, or use 'max'"
    ):
        nrcdt([cloud_of(rng, 30, 3)], "euclidean", n_directions=4, aggregate="spectrum")
    with pytest.raises(ValueError, match="'tv' must have directions in order"):
        nrcdt([Rotation.random(9, rng=rng).as_matrix()], "rotation", aggregate=["max", "tv"])
    assert nrcdt([cloud_of(rng)], "circular", aggregate="tv").shape == (1, 256)


def test_other_dimensions_than_in_fit(rng):
    model = NRCDT("euclidean", **SMALL).fit([cloud_of(rng, 30, 3)])
    with pytest.raises(ValueError, match=r"X\[0\] must have 3 coordinates as in fit; got 2"):
        model.transform([cloud_of(rng, 30, 2)])


def test_the_flat_sample_is_named(rng, monkeypatch):
    """A ring seen from its centre, far down the batch and in a chunk of its own."""
    monkeypatch.setattr("nrcdt.transform.CHUNK_BYTES", 1)
    clouds = [cloud_of(rng, 20) for _ in range(6)]
    clouds[4] = circle(24)
    with pytest.raises(ValueError, match=r"X\[4\] must have spread in every slice; got none in direction 2"):
        nrcdt(clouds, "circular", directions=np.array([[0.5, 0.0], [0.0, 0.5], [0.0, 0.0]]))


def test_inverse_transform(rng):
    image = np.zeros((24, 24))
    image[6:14, 5:18] = 1
    model = RCDT(n_directions=180, n_quantiles=180).fit(image[np.newaxis])
    back = model.inverse_transform(model.transform(image[np.newaxis]))
    assert back.shape == (1, 24, 24)
    assert back.sum() == pytest.approx(1)
    assert np.abs(back[0] - image / image.sum()).sum() < 0.12
    for wrong in (RCDT(normalize="standardize", **SMALL).fit(image[np.newaxis]),):
        with pytest.raises(
            ValueError, match="inverse_transform must have space='image', normalize=None, frame='fixed' and trim=0"
        ):
            wrong.inverse_transform(np.zeros((1, 120)))


def test_importing_is_light():
    code = "import sys, nrcdt; print([m for m in ('numba', 'torch', 'matplotlib', 'pandas') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_fitting_again_forgets_the_columns(rng):
    model = NRCDT(**SMALL).fit(rng.random((3, 64))).fit(rng.random((3, 10, 10)))
    assert model.transform(rng.random((3, 100))).shape == (3, 12)


def test_generators_and_mixed_precision(rng):
    images = rng.random((4, 8, 8))
    np.testing.assert_array_equal(nrcdt((image for image in images), **SMALL), nrcdt(images, **SMALL))
    small = images.astype(np.float32)
    model = NRCDT(aggregate=["max", "tv"], **SMALL).fit(images)
    mixed = model.transform([images[0], small[1]])
    np.testing.assert_array_equal(mixed[1], model.transform(small[1:2])[0])


def test_half_a_turn_on_a_plateau():
    """Two blobs of equal mass: the middle level lies on a plateau, whose right end counts from either side."""
    image = np.zeros((32, 32))
    image[2:10, 2:10] = 1
    image[22:26, 22:26] = 4
    for aggregate in ("max", "range", "tv"):
        a, b = nrcdt([image, image[::-1, ::-1]], n_directions=64, n_quantiles=255, aggregate=aggregate)
        np.testing.assert_allclose(a, b, atol=1e-9)
    mirrored = rcdt([image], n_directions=8, n_quantiles=3)[0, 4:]
    np.testing.assert_allclose(mirrored, rcdt([image], directions=circle(8)[4:], n_quantiles=3)[0], atol=1e-9)


def test_extreme_sizes(rng):
    cloud, image = cloud_of(rng, 50), rng.random((6, 6))
    np.testing.assert_allclose(nrcdt(image[np.newaxis] * 1e300, **SMALL), nrcdt(image[np.newaxis], **SMALL))
    np.testing.assert_allclose(nrcdt(image[np.newaxis] * 1e-300, **SMALL), nrcdt(image[np.newaxis], **SMALL))
    weighted = nrcdt([(cloud, np.full(50, 1e307))], "euclidean", **SMALL)
    np.testing.assert_allclose(weighted, nrcdt([cloud], "euclidean", **SMALL))
    for scale in (1e160, 1e-170):
        with pytest.raises(ValueError, match=r"X\[1\] must have a size between 1e-100 and 1e\+100 in float64; got"):
            nrcdt([cloud, cloud * scale], "euclidean", **SMALL)
    single, weights = (cloud / np.abs(cloud).max()).astype(np.float32), rng.random(50)
    large = rcdt([(single * np.float32(0.9e36), weights)], "euclidean", **SMALL)
    np.testing.assert_allclose(large / 0.9e36, rcdt([(single, weights)], "euclidean", **SMALL), atol=1e-5)
    with pytest.raises(ValueError, match=r"X\[0\] must have a size between 1e-100 and 1e\+36 in float32; got 2e\+38"):
        nrcdt([single * np.float32(2e38)], "euclidean", **SMALL)
    assert np.isfinite(nrcdt([(cloud * 1e25).astype(np.float32)], "circular", **SMALL)).all()


def test_phi_must_be_finite(rng):
    with pytest.raises(ValueError, match=r"phi of every point and direction must have a size between .*Choose other"):
        nrcdt([rng.normal(size=(9, 3))], (lambda x, d: d @ x.T * 1e300, np.eye(3)))
    with pytest.raises(ValueError, match="phi of every point and direction must be finite; got NaN"):
        nrcdt([rng.normal(size=(9, 3))], (lambda x, d: d @ x.T * np.nan, np.eye(3)))
    with pytest.raises(ValueError, match="directions must be unit vectors"):
        nrcdt([np.eye(4)], "rotation", directions=2 * np.eye(4))


def test_masks_are_not_ignored(rng):
    image = np.ma.masked_less(rng.random((1, 4, 4)), 0.5)
    with pytest.raises(ValueError, match="must not be masked; got masked values"):
        nrcdt(image.reshape(1, 16))
    with pytest.raises(ValueError, match="must not be masked; got masked values"):
        nrcdt(image, **SMALL)


@pytest.mark.parametrize("ragged", [[[[1, 2], [3]]], [[1, 2, 3, 4], [1, 2, 3]]])
def test_ragged_lists(ragged):
    with pytest.raises(ValueError, match=r"X(\[0\])? must hold real numbers in a regular array"):
        nrcdt(ragged, **SMALL)


def test_inverse_transform_wants_its_own_shape(rng):
    model = RCDT(**SMALL).fit(rng.random((1, 5, 5)))
    with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 120\), .* got \(2, 7\)"):
        model.inverse_transform(np.zeros((2, 7)))


def test_rooms_are_found_without_an_import():
    check = "import nrcdt; nrcdt.plot.sinogram; nrcdt.datasets.watermarks; assert 'plot' in dir(nrcdt)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_fibonacci_is_the_default_in_space(rng):
    model = NRCDT("euclidean", n_directions=32).fit([cloud_of(rng, 30, 3)])
    np.testing.assert_array_equal(model.directions_, fibonacci(32))


def test_trimmed_features_forgive_specks():
    drawings = watermarks(8, size=64)[0]
    specked = salt(drawings, 2, 1.0, random_state=0)
    right = {}
    for trim in (0, 0.1):
        model = NRCDT(trim=trim, n_directions=32).fit(drawings)
        nearest = pairwise_distances_argmin(model.transform(specked), model.transform(drawings))
        right[trim] = np.sum(nearest == np.arange(8))
    assert right[0.1] >= right[0] + 2


def test_errors_about_samples_travel_between_processes(rng):
    def phi(points, directions):
        return directions @ points

    with pytest.raises(SampleError, match=r"X\[0\]: matmul") as caught:
        nrcdt([cloud_of(rng)], (phi, circle(4)))
    inside = traceback.extract_tb(caught.value.__cause__.__traceback__)
    assert inside[-1].name == "phi"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.sample) == (SampleError, str(caught.value), 0)


@pytest.mark.parametrize("dtype", [">f8", ">f4", np.longdouble, "<f8"])
def test_faint_images_of_any_float_type(rng, dtype):
    image = rng.random((5, 6)).astype(np.float32)
    faint = (image.astype(dtype) * (1e-30 if dtype == ">f4" else 1e-300))[np.newaxis]
    np.testing.assert_allclose(nrcdt(faint, **SMALL), nrcdt(image[np.newaxis].astype(float), **SMALL), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, bool, np.float16])
def test_images_of_whole_numbers_need_no_memory_as_floats(rng, dtype):
    images = (rng.random((40, 64, 64)) * 200).astype(dtype)
    transform = NRCDT(n_directions=4, n_quantiles=8).fit(images[:1])
    expected = transform.transform(images.astype(np.float64))
    for X in (images, images.reshape(40, -1), list(images)):
        transform.fit_transform(X[:1])  # kernels are loaded, which takes memory of its own
        tracemalloc.start()
        np.testing.assert_array_equal(transform.transform(X), expected)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < images.size * 8 / 2


def test_an_array_of_images_of_different_sizes_is_a_list(rng):
    images = np.empty(2, object)
    images[:] = [rng.random((4, 4)), rng.random((5, 6))]
    np.testing.assert_array_equal(nrcdt(images, n_directions=4), nrcdt(list(images), n_directions=4))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_phi_without_a_value_names_the_sample(rng, n_jobs, monkeypatch):
    monkeypatch.setattr("nrcdt.transform.CHUNK_BYTES", 1)
    clouds = rng.normal(size=(3, 20, 2))
    clouds[2] += 10

    def phi(points, directions):
        return np.where(points[:, 0].max() > 5, np.nan, directions @ points.T)

    with pytest.raises(ValueError, match=r"^X\[2\]: phi of every point and direction must be finite; got NaN"):
        nrcdt(clouds, (phi, circle(8)), n_jobs=n_jobs)


@pytest.mark.slow
def test_threads_keep_the_order(rng, monkeypatch):
    """Also where one chunk takes long. The first of several bad samples is named, and later ones are not begun."""
    monkeypatch.setattr("nrcdt.transform.CHUNK_BYTES", 1)
    clouds, begun, bad = rng.normal(size=(300, 20, 2)), [], ()
    clouds[:, 0, 0] = np.arange(300)

    def phi(points, directions):
        begun.append(points[0, 0])
        time.sleep(0.05 if points[0, 0] == 7 else 0.002)
        return np.full((2, 20), np.nan) if points[0, 0] in bad else directions @ points.T

    model = NRCDT((phi, circle(2)), n_quantiles=5, n_jobs=3).fit(clouds)
    np.testing.assert_array_equal(model.transform(clouds), model.set_params(n_jobs=None).transform(clouds))
    bad = (3, 4, 5)
    begun.clear()
    with pytest.raises(ValueError, match=r"^X\[3\]: phi of every point"):
        model.set_params(n_jobs=3).transform(clouds)
    assert len(begun) < 300


@pytest.mark.slow
def test_after_an_error_nothing_more_is_begun():
    """Also where the item that failed is not the oldest one under way."""
    begun = []

    def work(item):
        begun.append(item)
        time.sleep(1 if item == 0 else 0.1)
        if item == 1:
            raise ValueError("one")

    with pytest.raises(ValueError, match="one"):
        list(map_threads(work, range(50), 3))
    assert len(begun) < 10


def test_the_first_item_that_fails_is_the_one_named():
    """Also where a later one has failed before the first was begun; and what is between them is not lost."""
    done = []

    def work(item):
        if item in (3, 8):
            time.sleep(0.1 if item == 3 else 0)
            raise ValueError(f"item {item}")
        time.sleep(0.01)
        done.append(item)

    for _ in range(5):
        done.clear()
        with pytest.raises(ValueError, match="item 3"):
            list(map_threads(work, range(20), 4))
        assert {0, 1, 2} <= set(done)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_whatever_ends_a_helper_ends_the_work(error):
    """A helper that is gone would be waited for."""

    def work(item):
        time.sleep(0.01)
        if threading.current_thread() is not threading.main_thread():
            raise error

    with pytest.raises(error):
        list(map_threads(work, range(20), 2))


def test_threads_end_with_the_work():
    """After the last result, after an error, and where nobody wants the rest."""
    before, begun = threading.active_count(), []

    def work(item):
        begun.append(item)
        time.sleep(0.05)
        if item is None:
            raise ValueError("none")
        return item

    list(map_threads(work, range(5), 3))
    assert threading.active_count() == before
    results = map_threads(work, range(100), 3)
    next(results)
    results.close()
    assert threading.active_count() == before
    assert len(begun) < 20
    with pytest.raises(ValueError, match="none"):
        list(map_threads(work, [1, None, 2, 3], 2))
    assert threading.active_count() == before


def test_an_interrupt_comes_before_other_errors():
    """It ends the caller's item, while an earlier one goes on in a helper and fails."""

    def work(item):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.2)
        raise ValueError("late")

    with pytest.raises(KeyboardInterrupt):
        list(map_threads(work, range(4), 2))


@pytest.fixture
def _interruptible():
    """Ctrl-C interrupts, also where the tests were started by something that ignores it, as nohup does."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_interrupts_stay_interrupts(rng, n_jobs):
    """A compiled function that returns after Ctrl-C raises something else."""
    images = rng.random((300, 96, 96))
    model = NRCDT(n_jobs=n_jobs).fit(images[:1])

    def interrupted(wait):
        threading.Timer(wait, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        model.transform(images)
        time.sleep(5)

    for wait in (0.02, 0.05, 0.08):
        with pytest.raises(KeyboardInterrupt):
            interrupted(wait)


@pytest.mark.parametrize(("dtype", "wanted"), [(">f4", "float32"), (">f8", "float64"), (">i2", "float64")])
def test_other_byte_orders(rng, dtype, wanted):
    """Float32 stays float32, and no copy of the batch is kept."""
    images = (100 * rng.random((400, 32, 32))).astype(dtype)
    model = NRCDT(**SMALL).fit(images[:2])
    tracemalloc.start()
    features = model.transform(images)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert features.dtype == wanted
    assert peak < images.nbytes / 2
    np.testing.assert_array_equal(features, model.transform(images.astype(images.dtype.newbyteorder("="))))
    clouds = rng.normal(size=(2, 20, 2)).astype(dtype if "f" in dtype else ">f4")
    assert NRCDT("euclidean", **SMALL).fit_transform(clouds).dtype == clouds.dtype.newbyteorder("=")


def test_iterators_are_read_once(rng):
    images = rng.random((3, 8, 8))
    model = NRCDT(**SMALL)
    np.testing.assert_array_equal(model.fit_transform(iter(images)), model.transform(images))


def test_threads_begin_while_items_come():
    begun = threading.Event()

    def items():
        yield begun.set
        assert begun.wait(10)
        yield lambda: None

    assert list(map_threads(lambda work: work(), items(), 2)) == [None, None]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_bad_image_is_named_before_the_work_is_done(rng, n_jobs, monkeypatch):
    """One thread has not begun at all, several have done no more than fits into the time of the check."""
    monkeypatch.setattr("nrcdt.transform.CHUNK_BYTES", 1)
    images, done = rng.random((50, 8, 8)), []

    def slow_max(quantiles):
        done.append(len(quantiles))
        time.sleep(0.2)
        return quantiles.max(axis=1)

    model = NRCDT(n_directions=8, aggregate=slow_max, n_jobs=n_jobs).fit(images[:1])
    images[[40, 45], 3, 3] = np.nan
    for call, n_done in ((model.transform, 0 if n_jobs is None else 5), (model.fit, 0)):
        done.clear()
        with pytest.raises(ValueError, match=r"^X\[40\] must be finite; got NaN"):
            call(images)
        assert len(done) <= n_done


@pytest.mark.parametrize("image_shape", [5, (-5, -5), "ab", (5.0, 5.0), (None, 5), (5, 4)])
def test_shapes_of_flattened_images(image_shape):
    with pytest.raises(ValueError, match=r"^image_shape must .* Give"):
        NRCDT(image_shape=image_shape).fit(np.ones((3, 25)))


@pytest.mark.parametrize("frame", ["fixed", "whitened"])
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("aggregate", [name for name, one in AGGREGATIONS.items() if one.extremes])
def test_features_of_images_are_those_of_their_quantiles(rng, frame, normalize, aggregate):
    images = rng.random((3, 6, 8))
    settings = {"frame": frame, "normalize": normalize} | SMALL
    quantiles = RCDT(**settings).fit(images).quantiles(images)
    expected = AGGREGATIONS[aggregate].function(quantiles, None, None)
    np.testing.assert_allclose(nrcdt(images, aggregate=aggregate, **settings), expected, atol=1e-12)


@pytest.mark.parametrize("space", ["euclidean", "circular"])
def test_global_is_an_integral_over_weighted_directions(rng, space):
    directions, weights = uneven_directions()
    settings = {"directions": (directions, weights), "n_quantiles": 20}
    cloud, share = [cloud_of(rng)], weights / weights.sum()
    raw = rcdt(cloud, space, **settings)[0]
    means = raw.mean(axis=1, keepdims=True) if space == "euclidean" else share @ raw.mean(axis=1)
    spread = np.sqrt(share @ ((raw - means) ** 2).mean(axis=1))
    found = rcdt(cloud, space, normalize="global", **settings)[0]
    np.testing.assert_allclose(found, (raw - means) / spread, atol=1e-10)


def test_mean_and_std_are_over_weighted_directions(rng):
    directions, weights = uneven_directions()
    settings = {"directions": (directions, weights), "n_quantiles": 12}
    images, share = rng.random((2, 6, 6)), weights / weights.sum()
    quantiles = rcdt(images, normalize="standardize", **settings)
    mean = np.einsum("k,ikj->ij", share, quantiles)
    std = np.sqrt(np.einsum("k,ikj->ij", share, (quantiles - mean[:, np.newaxis]) ** 2))
    np.testing.assert_allclose(nrcdt(images, aggregate="mean", **settings), mean, atol=1e-12)
    np.testing.assert_allclose(nrcdt(images, aggregate="std", **settings), std, atol=1e-12)


def test_one_level_needs_no_spread(rng):
    for normalize in ("center", None):
        assert nrcdt(rng.random((2, 5, 5)), n_quantiles=1, normalize=normalize).shape == (2, 1)


def test_float32_that_comes_first_rounds_nobody_else(rng):
    images = rng.random((2, 8, 8))
    mixed = nrcdt([images[0].astype(np.float32), images[1]], **SMALL)
    assert mixed.dtype == np.float64
    np.testing.assert_array_equal(mixed[1], nrcdt(images[1:], **SMALL)[0])


def test_a_small_spread_is_a_spread(rng):
    """Of the order of a thousandth of the mean, in single precision."""
    close = Rotation.from_rotvec([1.0, 0.4, 0.2]) * Rotation.from_rotvec(1e-2 * rng.normal(size=(60, 3)))
    settings = {"space": "rotation", "directions": [[1.0, 0, 0, 0]], "n_quantiles": 9}
    quaternions = close.as_quat(scalar_first=True)
    narrow = nrcdt([quaternions.astype(np.float32)], **settings)
    np.testing.assert_allclose(narrow, nrcdt([quaternions], **settings), atol=1e-2)


@pytest.mark.parametrize("normalize", ["standardize", "global"])
def test_small_samples_beside_huge_ones(rng, normalize):
    cloud = cloud_of(rng)
    near, far = nrcdt([cloud, 1e20 * cloud], "euclidean", normalize=normalize, **SMALL)
    np.testing.assert_allclose(near, far, atol=1e-9)


def test_blocks_of_zeros_stay_zeros(rng):
    features = nrcdt(rng.random((2, 5, 5)), aggregate=["max", lambda quantiles: 0 * quantiles[:, 0]], **SMALL)
    assert np.isfinite(features).all()
    assert not features[:, 12:].any()


def test_trimmed_slices_have_no_inverse(rng):
    model = RCDT(trim=0.1, **SMALL).fit(rng.random((1, 6, 6)))
    with pytest.raises(ValueError, match=r"trim=0; got .* trim=0\.1"):
        model.inverse_transform(np.zeros((1, 120)))


def test_the_inverse_uses_the_weights_of_fit():
    image = np.zeros((24, 24))
    image[7:16, 5:19] = 1 / (9 * 14)
    model = RCDT(directions=uneven_directions(400), n_quantiles=300).fit([image])
    assert np.abs(model.inverse_transform(model.transform([image]))[0] - image).sum() < 0.15
    model.direction_weights_ = np.full(400, 1 / 400)
    assert np.abs(model.inverse_transform(model.transform([image]))[0] - image).sum() > 0.2


def test_names_of_an_earlier_fit_are_forgotten(rng):
    frame = pd.DataFrame(rng.random((3, 16)), columns=[f"p{i}" for i in range(16)])
    assert not hasattr(NRCDT(**SMALL).fit(frame).fit(rng.random((3, 4, 4))), "feature_names_in_")


def test_frames_with_words_are_refused(rng):
    frame = pd.DataFrame(rng.random((3, 3)), columns=list("abc")).assign(name=["crown", "key", "bell"])
    with pytest.raises(ValueError, match=r"X must hold numbers; got could not convert .* Leave out columns of words"):
        NRCDT(**SMALL).fit(frame)


def test_types_that_are_kept_are_declared():
    assert NRCDT().__sklearn_tags__().transformer_tags.preserves_dtype == ["float64", "float32"]


def test_default_centres_are_one_ring(rng):
    model = NRCDT("circular", n_directions=32).fit([cloud_of(rng)])
    np.testing.assert_array_equal(model.directions_, shells(32, 2, (0.75,)))


def test_weights_on_a_ring_are_copies(rng):
    cloud, counts = cloud_of(rng, 60), rng.integers(1, 6, 60)
    weighted, copied = nrcdt([(cloud, counts), np.repeat(cloud, counts, axis=0)], "circular", **SMALL)
    np.testing.assert_allclose(weighted, copied, atol=1e-9)


@pytest.mark.parametrize("twins", [(nrcdt, NRCDT), (rcdt, RCDT)], ids=["nrcdt", "rcdt"])
def test_functions_have_the_parameters_of_their_classes(twins):
    function, estimator = (inspect.signature(one).parameters for one in twins)
    assert list(function) == ["X", *estimator]
    assert [one.default for one in function.values()][1:] == [one.default for one in estimator.values()]
    settings = set(inspect.signature(RCDT).parameters)
    assert settings < set(inspect.signature(sliced_wasserstein).parameters)


@pytest.mark.parametrize(
    ("code", "wanted"),
    [("import nrcdt\nnrcdt.sliced", "sliced_wasserstein"), ("from nrcdt import NRCDT\nNRCDT(n_dir", "n_directions=")],
)
def test_editors_complete_names_and_parameters(code, wanted):
    jedi = pytest.importorskip("jedi")
    assert wanted in [found.name for found in jedi.Script(code).complete()]


def test_phi_cannot_change_what_it_is_given(rng):
    cloud, directions = rng.normal(size=(30, 2)), circle(6)
    kept = cloud.copy(), directions.copy()

    def centring(points, directions):
        points -= points.mean(axis=0)
        return directions @ points.T

    def doubling(points, directions):
        directions *= 2
        return directions @ points.T

    for phi in (centring, doubling):
        for X in ([cloud], [cloud, cloud]):
            with pytest.raises(
                InputError, match=r"^X\[0\]: phi must not change its points or directions; got: .*on a copy"
            ):
                nrcdt(X, (phi, directions), n_quantiles=5)
    np.testing.assert_array_equal(cloud, kept[0])
    np.testing.assert_array_equal(directions, kept[1])


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("error", [KeyError, ZeroDivisionError, IndexError])
def test_errors_in_functions_of_users_note_the_sample(rng, n_jobs, error, monkeypatch):
    clouds = rng.normal(size=(7, 20, 2))
    clouds[4] += 10

    def phi(points, directions):
        if points.min() > 5:
            raise error("no such atom")
        return directions @ points.T

    def highest(quantiles):
        if quantiles.max() > 5:
            raise error("no such atom")
        return quantiles.max(axis=1)

    settings = {"n_quantiles": 5, "normalize": None, "n_jobs": n_jobs}
    for chunk in (1, 2**22):
        monkeypatch.setattr("nrcdt.transform.CHUNK_BYTES", chunk)
        for space, aggregate in (((phi, circle(6)), "max"), ("euclidean", highest), ("euclidean", ["max", highest])):
            with pytest.raises(error, match="no such atom") as caught:
                nrcdt(clouds, space, aggregate=aggregate, **settings)
            assert caught.value.__notes__ == ["This happened to sample 4."]
    assert pickle.loads(pickle.dumps(caught.value)).__notes__ == caught.value.__notes__


def test_an_error_before_there_are_samples_says_so(rng):
    with pytest.raises(KeyError) as caught:
        nrcdt(rng.random((2, 5, 5)), aggregate=lambda quantiles: {}["absent"])
    assert caught.value.__notes__ == ["This happened to a sample that was made up to count features."]


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("value", "got"), [(np.nan, "NaN"), (np.inf, "infinity in float"), (-np.inf, "infinity in")])
def test_an_aggregation_must_be_finite(rng, n_jobs, dtype, value, got, monkeypatch):
    images = rng.random((6, 8, 8)).astype(dtype)
    images[4] = 0
    images[4, 2, 3:5] = 1  # two pixels: narrow slices, which no other image has

    def spoilt(quantiles):
        narrow = np.ptp(quantiles, axis=2).max(axis=1) < 0.6
        return np.where(narrow[:, np.newaxis], value, quantiles.max(axis=1))

    def spoilt_along(quantiles, axis):
        return spoilt(quantiles)

    settings = SMALL | {"normalize": None, "n_jobs": n_jobs}
    for chunk in (1, 2**22):
        monkeypatch.setattr("nrcdt.transform.CHUNK_BYTES", chunk)
        for aggregate in (spoilt, ["max", spoilt], (np.positive, spoilt_along), ["tv", (np.positive, spoilt_along)]):
            message = (
                rf"^what aggregate \w+ returns for X\[4\] must be finite; got {got}.*\. Mend the function, or drop"
            )
            with pytest.raises(InputError, match=message):
                nrcdt(images, aggregate=aggregate, **settings)


def test_an_aggregation_must_be_finite_in_the_precision_of_the_data(rng):
    images = rng.random((2, 8, 8))
    large = {"aggregate": lambda quantiles: 1e200 * quantiles.max(axis=1).astype(np.float64)}
    assert np.isfinite(nrcdt(images, **large, **SMALL)).all()
    with pytest.raises(InputError, match=r"must be finite; got infinity in float32\. Mend the function"):
        nrcdt(images.astype(np.float32), **large, **SMALL)
