"""Bad input is named: the sample, the rule, the remedy."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

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
    assert check_images(np.ones((5, 15)))[0].shape == (1, 15)
    assert check_images(np.ones((5, 15)), (3, 5))[4].shape == (3, 5)
    assert check_images([[1, 2, 3, 4], [5, 6, 7, 8]])[0].shape == (2, 2)
    with pytest.raises(ValueError, match=r"image_shape must have 15 pixels, .* got \(4, 4\). Give \(height, width\)"):
        check_images(np.ones((5, 15)), (4, 4))
    with pytest.raises(ValueError, match="at least two pixels per row; got n_features = 1"):
        check_images(np.ones((5, 1)))


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
