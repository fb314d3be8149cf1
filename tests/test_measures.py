"""Bad input is named: the sample, the rule, the remedy."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.sparse import csr_matrix

from nrcdt import NRCDT, RCDT, nrcdt, sliced_wasserstein
from nrcdt.baselines import AffineMoments
from nrcdt.datasets import distorted, watermarks
from nrcdt.errors import InputError
from nrcdt.measures import (
    Cloud,
    check_clouds,
    check_image,
    check_images,
    check_points,
    check_rank,
    check_rotations,
    check_sphere,
    floats,
)

GOOD = np.ones((3, 4))
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def broken(value):
    image = GOOD.copy()
    image[1, 2] = value
    return image


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((3, 4)), r"X\[1\] must have positive mass; got zeros only. Drop"),
        (broken(np.nan), r"X\[1\] must be finite; got NaN. Replace"),
        (broken(-np.nan), r"X\[1\] must be finite; got NaN. Replace"),
        (broken(np.nan).astype(np.float32), r"X\[1\] must be finite; got NaN. Replace"),
        (broken(np.inf), r"X\[1\] must be finite; got infinity. Replace"),
        (broken(-np.inf), r"X\[1\] must be finite; got infinity. Replace"),
        (broken(-1.0), r"X\[1\] must not have negative mass; got a minimum of -1. .*shift, clip"),
        (np.ones((3, 4, 3)), r"X\[1\] must be a two-dimensional image .* got shape \(3, 4, 3\). Convert colour"),
        (np.ones((0, 4)), r"X\[1\] must be a two-dimensional image with at least one pixel"),
        ([["a", "b"]], r"X\[1\] must hold real numbers in a regular array"),
        (GOOD + 1j, r"X\[1\] must hold real numbers .* complex data not supported"),
    ],
)
def test_bad_images(image, message):
    with pytest.raises(ValueError, match=message):
        check_images([GOOD, image])


def test_a_zero_with_a_sign_is_a_zero():
    assert np.signbit(check_images([broken(-0.0)])[0][1, 2])


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (3, ValueError, r"X must be a batch of images of shape \(height, width\); got 3. For one sample"),
        (np.ones(5), ValueError, r"got shape \(5,\). For one sample pass X\[numpy.newaxis\]"),
        ([], ValueError, "X must hold at least one sample; got none"),
        (csr_matrix(GOOD), TypeError, "X must be dense; got a sparse matrix. Call its toarray method"),
    ],
)
def test_bad_batches(X, error, message):
    with pytest.raises(error, match=message):
        check_images(X)


def test_signed_images_where_only_the_radon_transform_is_taken():
    assert check_image(broken(-1.0), "image", signed=True)[1, 2] == -1
    with pytest.raises(ValueError, match="image must be finite"):
        check_image(broken(np.nan), "image", signed=True)


def test_rows():
    assert check_images(np.ones((5, 16)))[0].shape == (4, 4)
    for shape in ((1, 15), (1, -1)):
        assert check_images(np.ones((5, 15)), shape)[0].shape == (1, 15)
    assert check_images(np.ones((5, 15)), (3, 5))[4].shape == (3, 5)
    assert check_images([[1, 2, 3, 4], [5, 6, 7, 8]])[0].shape == (2, 2)
    with pytest.raises(ValueError, match=r"image_shape must have 15 pixels, .* got \(4, 4\). Give \(height, width\)"):
        check_images(np.ones((5, 15)), (4, 4))
    with pytest.raises(ValueError, match="at least two pixels per row; got n_features = 1"):
        check_images(np.ones((5, 1)))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (
            (20, 3072),
            r"must be given .* no square; got None .*\(20, 3072\). 3072 = 3 x 32 x 32 looks like colour:",
        ),
        ((20, 3072), "convert it to grey first. Give "),
        (
            (5, 15),
            r"15\). Give \(height, width\), or \(1, -1\) for lines of pixels; a single image goes",
        ),
        ((60, 41), r"a single image goes as X\[numpy.newaxis\]"),
        ((64, 48), r"X of shape \(64, 48\)\. Give \(height"),  # no colour picture is of 4 x 4 pixels
        ((50, 2), r"no square; got None for X of shape \(50, 2\). If X is a cloud .* \[X\] with space='euclidean'"),
        ((50, 3), r"If X is a cloud of points, pass \[X\] with space='euclidean'"),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, pd.DataFrame])
def test_rows_that_are_no_squares_need_a_shape(shape, message, form):
    X = form(np.ones(shape))
    for read in (check_images, NRCDT().fit, AffineMoments().fit, RCDT().fit):
        with pytest.raises(InputError, match=message):
            read(X)


def readings(read, *X):
    """What is said about how data are read."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(*X)
    return [str(one.message) for one in caught if "read as" in str(one.message)]


def clouds(*shape, sign=1):
    return sign * np.random.default_rng(0).random(shape)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, list, np.ndarray.tolist])
def test_points_are_no_images(d, form):
    with pytest.raises(InputError, match=r"X\[0\] must not .* are no pixels: for points say space='euclidean'\.$"):
        check_images(form(clouds(5, 100, d, sign=-1)))
    (message,) = readings(check_images, form(clouds(5, 100, d)))
    assert re.match(
        r"X .* read .* images.*\. If it is a single picture .*; for points say space='euclidean'\.", message
    )


def test_what_might_be_points_or_a_picture_in_colour():
    (message,) = readings(check_images, [clouds(90, 2), clouds(50, 3)])
    assert message.startswith("X holds arrays as narrow as (90, 2), read as images. If")
    (message,) = readings(check_images, [clouds(3, 2), clouds(90, 2), clouds(1, 2)])  # few points among many
    assert message.startswith("X holds arrays as narrow as (90, 2), read as images. If")
    for few in (clouds(5, 7, 2), clouds(5, 4, 3)):  # no picture is two or three pixels wide
        (message,) = readings(check_images, few)
        assert "for points say space='euclidean'" in message
    for X in ([clouds(90, 2), clouds(5, 5)], clouds(5, 40, 11), clouds(5, 3, 3), clouds(5, 2, 3), clouds(5, 15, 4)):
        assert readings(check_images, X) == []
    with pytest.raises(InputError, match=r"absolute values; for points say space='euclidean'\.$"):
        check_images(clouds(5, 100, 8, sign=-1))
    with pytest.raises(InputError, match=r"X\[0\] must be an image; got a pair. For \(points, weights\) say space="):
        check_images([(clouds(90, 2), clouds(90))])
    (message,) = readings(check_images, clouds(50, 4))
    assert message.startswith(
        "X has shape (50, 4) and is read as 50 flattened images of shape (2, 2). If it is a single"
    )
    assert "if it is a cloud of points, the same with space='euclidean'" in message


@pytest.mark.parametrize("d", [2, 3, 4, 9, 25])
@pytest.mark.parametrize("sign", [1, -1])
def test_two_clouds_as_other_libraries_take_them(d, sign):
    x, y = clouds(4 * d + 14, d, sign=sign), clouds(4 * d + 24, d, sign=sign)
    if sign == 1 and d in (4, 9, 25):
        (message,) = readings(sliced_wasserstein, x, y)
        assert "if it is a cloud of points, the same with space='euclidean'" in message
    else:
        with pytest.raises(InputError, match="space='euclidean'"):
            sliced_wasserstein(x, y)
    with pytest.raises(InputError, match=r"X must be a batch of clouds .* or \[X\]"):
        sliced_wasserstein(x, y, "euclidean")


def test_pictures_are_no_clouds():
    for X in (clouds(3, 64, 64), clouds(3, 28, 64), list(clouds(3, 28, 28))):
        (message,) = readings(check_clouds, X)
        assert "coordinates. For pictures say space='image'." in message
        with pytest.raises(InputError, match=r"transpose it if columns are; for pictures say space='image'"):
            NRCDT("euclidean", frame="whitened").fit_transform(X)
    for check in (check_clouds, NRCDT("circular").fit):
        (message,) = readings(check, clouds(3, 64, 28))
        assert message == "X[0] is read as 64 points with 28 coordinates. For pictures say space='image'."
    signed = clouds(3, 64, 28)
    signed[2] -= 0.5
    for X in (signed, clouds(3, 200, 28), clouds(3, 28, 7), [(clouds(64, 28), clouds(64))]):
        assert readings(check_clouds, X) == []


@pytest.mark.parametrize("shape", [(300, 400), (100, 64), (48, 64), (90, 81)])
@pytest.mark.parametrize("dtype", [float, np.uint8])
def test_a_picture_alone_is_told_from_rows_by_what_is_in_it(shape, dtype):
    drawing = 1 + np.asarray(
        Image.fromarray(254 * watermarks(3, size=256)[0][1]).resize(shape[::-1], Image.Resampling.BILINEAR)
    )
    (message,) = readings(check_images, drawing.astype(dtype))
    assert "If it is a single image, pass X[numpy.newaxis]" in message
    drawings = distorted(watermarks(5, size=24)[0], 40, random_state=0)[0].reshape(-1, 576)
    assert readings(check_images, (255 * drawings).astype(dtype)) == []
    assert readings(check_images, drawing.astype(dtype), (1, -1)) == []


@pytest.mark.parametrize(
    ("shape", "remedy"),
    [
        ((3, 1, 8, 8), "Drop its axis of length one"),
        ((3, 8, 8, 1), "Drop its axis of length one"),
        ((3, 8, 8, 4), "Convert colour pictures to grey first"),
        ((3, 3, 8, 8), "Convert colour pictures to grey first"),
        ((2, 3, 8, 8, 8), "Pass one array per image"),
        ((3, 8, 8, 8), "Pass one array per image"),
    ],
)
def test_axes_that_are_too_many(shape, remedy):
    with pytest.raises(InputError, match=rf"X\[0\] must be a two-dimensional image .*\. {remedy}"):
        check_images(np.ones(shape))


class Tensor:
    """Looks like an array of another library: all that counts is what numpy makes of it."""

    def __init__(self, array):
        self.array, self.ndim, self.shape = array, array.ndim, array.shape

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __iter__(self):
        return map(Tensor, self.array)


def test_other_containers_hold_the_same_images():
    images = clouds(3, 8, 8)
    rows = images.reshape(3, 64)
    integers = pd.DataFrame((100 * rows).astype(int)).astype("Int64")
    for form in (Tensor(images), Tensor(rows), list(map(Tensor, images)), pd.DataFrame(rows), rows.astype(object)):
        np.testing.assert_array_equal(NRCDT(n_directions=8).fit_transform(form), nrcdt(images, n_directions=8))
    for form in (pd.Series(list(images)), np.ma.array(images), np.ma.array(rows), images.astype(object)):
        np.testing.assert_array_equal(NRCDT(n_directions=8).fit_transform(form), nrcdt(images, n_directions=8))
    whole = np.floor(100 * images)
    np.testing.assert_array_equal(nrcdt(integers, n_directions=8), nrcdt(whole, n_directions=8))


ROWS = clouds(3, 64)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ma.masked_less(ROWS, 0.5), "X must not be masked"),
        (list(np.ma.masked_less(ROWS, 0.5)), r"X must not be masked"),
        ([list(np.ma.masked_less(clouds(8, 8), 0.5))], r"X\[0\] must not be masked"),
        (np.ma.masked_less(ROWS.reshape(3, 8, 8), 0.5), r"X\[0\] must not be masked"),
        (ROWS.reshape(3, 8, 8).astype(str), r"X\[0\] must hold real numbers .*; got <U.* data not supported"),
        (ROWS.astype(str), "not compatible with arrays of bytes/strings"),
        (
            ROWS.reshape(3, 8, 8).astype("m8[s]"),
            r"X\[0\] must hold real numbers .*; got timedelta64\[s\] data",
        ),
        (ROWS.reshape(3, 8, 8).astype("M8[s]"), r"X\[0\] must hold real numbers .*; got datetime64\[s\] data"),
        (ROWS.reshape(3, 8, 8) + 0j, "complex data not supported"),
        (ROWS + 0j, "Complex data not supported"),
        (np.where(ROWS < 0.1, None, ROWS), r"X\[0\] must be finite; got NaN"),
        (pd.DataFrame(ROWS).astype("Float64").mask(ROWS < 0.1), r"X\[0\] must be finite; got NaN"),
        (pd.DataFrame({"image": list(ROWS.reshape(3, 8, 8)), "y": 1}), "X must hold numbers"),
        (None, "X must be a batch of images .*; got None"),
        ([None], r"X\[0\] must be a two-dimensional image"),
        ("abc", r"X\[0\] must hold real numbers"),
        (["a.png", "b.png"], r"X\[0\] must hold real numbers"),
        ({"a": clouds(8, 8)}, r"X\[0\] must hold real numbers"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
def test_nothing_is_misread_in_silence(X, message):
    with pytest.raises(ValueError, match=message):
        NRCDT().fit(X)


def test_text_and_times_are_no_coordinates_nor_weights():
    cloud = clouds(30, 2)
    for X in ([cloud.astype(str)], [(cloud, ["1"] * 30)], [cloud.astype("m8[s]")]):
        with pytest.raises(InputError, match=r"must hold real numbers in a regular array; got .* data not supported"):
            check_clouds(X)


def test_a_bare_image_is_warned_about():
    with pytest.warns(UserWarning, match=r"If it is a single image, pass X\[numpy.newaxis\]"):
        check_images(np.ones((9, 9)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_images(np.ones((9, 9)), (3, 3))
        check_images(np.ones((8, 9)))
        check_images(np.ones((1, 9, 9)))


def test_dtypes():
    assert check_images([GOOD.astype(np.float32)])[0].dtype == np.float32
    assert check_images([GOOD.astype(np.uint8)])[0].dtype == np.uint8
    assert floats(GOOD.astype(np.uint8)).dtype == np.float64
    assert floats(GOOD.astype(np.float32)).dtype == np.float32
    assert floats(check_images([GOOD > 0])[0]).dtype == np.float64
    assert floats(check_images([GOOD.astype(np.float16)])[0]).dtype == np.float64


@pytest.mark.parametrize(
    ("cloud", "message"),
    [
        (SQUARE.ravel(), r"X\[1\] must be a cloud of shape \(n_points, d\); got shape \(8,\)"),
        (SQUARE[:, :1], r"X\[1\] must have 2 coordinates like X\[0\]; got 1. Transform"),
        (SQUARE[:0], r"X\[1\] must hold at least one point; got shape \(0, 2\). Drop"),
        (SQUARE[:, :0], r"X\[1\] must hold at least one point; got shape \(4, 0\). Drop"),
        (np.hstack([SQUARE, SQUARE]), r"X\[1\] must have 2 coordinates like X\[0\]; got 4. Transform"),
        (SQUARE * np.nan, r"X\[1\] must be finite; got NaN"),
        (
            (SQUARE, [1, 2, 3]),
            r"the weights of X\[1\] must be one number per point; got shape \(3,\) for points of shape \(4, 2\)",
        ),
        ((5.0, [1]), r"the weights of X\[1\] must be one number per point; got shape \(1,\) for points of shape \(\)"),
        ((SQUARE, [1, 2, 3, -1]), r"the weights of X\[1\] must be non-negative .* minimum of -1 and a maximum of 3"),
        ((SQUARE, [0, 0, 0, 0]), r"the weights of X\[1\] must be non-negative with positive sum"),
        ((SQUARE, [1, 2, 3, np.inf]), r"the weights of X\[1\] must be finite; got infinity"),
    ],
)
def test_bad_clouds(cloud, message):
    with pytest.raises(ValueError, match=message):
        check_clouds([SQUARE, cloud])


@pytest.mark.parametrize(
    ("cloud", "flat"),
    [
        (np.ones((7, 2)), "a single point. Drop"),
        (np.outer(np.arange(5), [1.0, 2.0]), "a line"),
        (np.outer(np.arange(5), [1.0, 2.0]) + 1e6, "a line"),
        (SQUARE[:1], "a single point"),
        ((SQUARE, [1, 1, 0, 0]), "a line"),
        (([[0.0, 0], [1, 0], [0, 1]], [1, 1, 1e-30]), "a line"),
    ],
)
def test_flat_clouds_are_measures_that_do_not_span_space(cloud, flat):
    _, checked = check_clouds([SQUARE, cloud])
    with pytest.raises(ValueError, match=f"the cloud must span all 2 dimensions; got points on {flat}"):
        check_rank(checked, "the cloud")


def test_a_plane_in_space(rng):
    flat = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 3))
    for scale in (1.0, 1e-8, 1e8):
        with pytest.raises(ValueError, match=r"X\[0\] must span all 3 dimensions; got points on a plane"):
            check_rank(Cloud(scale * flat, None), "X[0]")
    with pytest.raises(ValueError, match="a plane"):
        check_rank(Cloud(flat.astype(np.float32), None), "X[0]")


def test_thin_clouds_are_not_flat(rng):
    thin = rng.normal(size=(50, 3)) * [1, 1, 1e-6]
    for scale in (1.0, 1e-8, 1e8):
        check_rank(Cloud(scale * thin, None), "X[0]")


def test_weights():
    plain, half, dropped = check_clouds([SQUARE, (SQUARE, None), (SQUARE, [1, 0, 1, 1])])
    assert plain.weights is None
    assert half.weights is None
    assert len(dropped.points) == 3
    np.testing.assert_array_equal(dropped.weights, [1, 1, 1])


ROTATIONS = np.stack([np.eye(3), np.diag([1.0, -1.0, -1.0])])


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (2 * ROTATIONS, r"X\[1\] must hold rotations: orthogonal with determinant \+1; .* at position 0. Project"),
        (-ROTATIONS, r"X\[1\] must hold rotations"),
        (np.stack([ROTATIONS[0], np.ones((3, 3))]), r"got another matrix at position 1"),
        (np.array([[1.0, 0, 0, 0], [1.0, 1, 0, 0]]), r"X\[1\] .* unit length; got length 1.41421 in row 1. Divide"),
        (np.ones((2, 3)), r"X\[1\] must hold matrices .* or unit quaternions .* got shape \(2, 3\). Quaternions are"),
        (np.ones((0, 4)), r"X\[1\] must hold at least one point"),
        (ROTATIONS * np.nan, r"X\[1\] must be finite"),
    ],
)
def test_bad_rotations(sample, message):
    with pytest.raises(ValueError, match=message):
        check_rotations([ROTATIONS, sample])


def test_matrices_and_quaternions_agree(rng):
    from scipy.spatial.transform import Rotation

    random = Rotation.random(20, rng=rng)
    a, b = check_rotations([random.as_matrix(), np.roll(random.as_quat(), 1, axis=1)])
    np.testing.assert_allclose(np.abs((a.points * b.points).sum(axis=1)), 1)
    plain, weighted = check_rotations([random, (random, np.ones(20))])
    np.testing.assert_allclose(plain.points, random.as_quat(scalar_first=True))
    np.testing.assert_array_equal(weighted.weights, 1)
    for bare in (random, random.as_matrix()):
        with pytest.raises(ValueError, match=r"Quaternions are \(w, x, y, z\); a single sample goes as \[X\]"):
            check_rotations(bare)
    assert check_rotations(random.as_matrix()[np.newaxis].astype(np.float32))[0].points.dtype == np.float32


def test_a_bare_table_of_points_is_a_single_sample(rng):
    for table in (SQUARE, pd.DataFrame(SQUARE)):
        with pytest.raises(ValueError, match=r"For one sample pass X\[numpy.newaxis\] or \[X\]"):
            check_clouds(table)


def test_points_of_any_shape(rng):
    assert check_points([rng.normal(size=(5, 2, 2))])[0].points.shape == (5, 2, 2)


@pytest.mark.parametrize(("check", "one"), [(check_rotations, [1.0, 0, 0, 0]), (check_sphere, [1.0, 0, 0])])
def test_lengths_are_mended_within_the_tolerance_and_no_further(check, one):
    np.testing.assert_allclose(check([[np.multiply(1 + 5e-5, one)]])[0].points[0], one, rtol=1e-12)
    with pytest.raises(ValueError, match="of unit length"):
        check([[np.multiply(1 + 5e-4, one)]])
