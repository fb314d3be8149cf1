"""One convention for maps: pictures, points and registrations move the same way."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy.ndimage import affine_transform

from conftest import affine_map, cloud_of
from nrcdt import datasets, registration
from nrcdt.datasets import watermarks
from nrcdt.rasters import smoothed
from nrcdt.registration import (
    Registration,
    about_centre,
    overlap,
    prepare_image,
    register,
    register_all,
    rotation_angle,
    warp,
)

MAP = np.array([[0.9, 0.3, 4.0], [-0.2, 1.1, 7.0]])
DRAWINGS, NAMES = watermarks(16, size=128)
TOWER = DRAWINGS[NAMES.index("tower")]


@pytest.fixture(scope="module")
def found():
    """A drawing, a copy on a larger canvas, the registration and the true map."""
    true = np.array([[0.9, 0.35, 30.0], [-0.2, 0.8, 45.0]])
    target = warp(TOWER, true, (150, 190))
    return TOWER, target, register(TOWER, target), true


def ink_of(image):
    return np.argwhere(image > 0.5)[:, ::-1]


def test_maps_may_be_written_in_several_ways_everywhere(found):
    drawing, target, there, _ = found
    assert overlap(drawing, target, there) == overlap(drawing.tolist(), target, there.homogeneous) == there.overlap
    assert rotation_angle(there) == rotation_angle(there.matrix) == rotation_angle(there.homogeneous)
    space = np.column_stack([np.diag([2.0, 1, 1])[[1, 0, 2]], np.ones(3)])
    assert rotation_angle(space) == rotation_angle(np.vstack([space, [0, 0, 0, 1]])) == pytest.approx(90)
    with pytest.raises(ValueError, match=r"matrix must have shape \(..., d, d \+ 1\) or .*; got shape \(2, 2\)"):
        rotation_angle(np.eye(2))
    with pytest.raises(ValueError, match="b must have positive mass; got zeros only"):
        overlap(drawing, 0 * drawing, there)
    with pytest.raises(ValueError, match="matrix must be invertible"):
        overlap(drawing, drawing, np.zeros((2, 3)))


def test_there_is_one_warp():
    assert datasets.warp is registration.warp
    assert datasets.about_centre is registration.about_centre


@pytest.mark.parametrize("shape", [(20, 24), (31, 18)])
def test_warp_is_what_scipy_says_of_the_inverse_in_rows_and_columns(rng, shape):
    image = np.pad(rng.random((8, 11)), 7)
    back = np.linalg.inv(np.vstack([MAP, [0, 0, 1]]))
    exchange = np.eye(3)[[1, 0, 2]]
    theirs = affine_transform(image, exchange @ back @ exchange, output_shape=shape, order=1)
    np.testing.assert_allclose(warp(image, MAP, shape), theirs, atol=1e-12)


def test_maps_may_be_written_in_several_ways(rng):
    image = rng.random((9, 12))
    wanted, square = warp(image, MAP), np.vstack([MAP, [0, 0, 1]])
    for same in (square, MAP.tolist(), square.tolist(), Registration(MAP, 0.0, 1.0, False)):
        np.testing.assert_array_equal(warp(image, same), wanted)
    np.testing.assert_array_equal(warp(image.tolist(), MAP), wanted)


@pytest.mark.parametrize("n_channels", [3, 4])
def test_the_channels_of_a_colour_picture_move_alike(rng, n_channels):
    image = rng.random((9, 12, n_channels))
    moved = warp(image, MAP, (10, 14), (1, 2))
    assert moved.shape == (10, 14, n_channels)
    for n in range(n_channels):
        np.testing.assert_array_equal(moved[..., n], warp(image[..., n], MAP, (10, 14), (1, 2)))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.float16, np.float32, np.float64])
def test_the_kind_of_numbers_stays(rng, dtype):
    image = (200 * rng.random((9, 12)) > 100) if dtype is bool else (200 * rng.random((9, 12))).astype(dtype)
    moved, exact = warp(image, MAP), warp(image.astype(np.float64), MAP)
    assert moved.dtype == dtype
    if dtype is bool:
        np.testing.assert_array_equal(moved, exact > 0.5)
    else:
        np.testing.assert_allclose(moved, exact, atol=0.5 + 1e-9 if moved.dtype.kind in "iu" else 0.1)
    assert moved.any()


def test_half_a_pixel_between_whole_numbers():
    image = np.array([[200, 100, 0, 0]], np.uint8)
    assert warp(image, [[1, 0, 0.5], [0, 1, 0]])[0].tolist() == [0, 150, 50, 0]
    assert warp(image > 50, [[1, 0, 0.25], [0, 1, 0]])[0].tolist() == [False, True, False, False]


def test_what_shrinks_keeps_all_of_its_pixels():
    stripes = np.tile([1.0, 0.0], (64, 32))
    small = warp(stripes, [[0.25, 0, 0], [0, 0.25, 0]], (16, 16))
    np.testing.assert_allclose(small[2:-2, 2:-2], 0.5, atol=0.01)
    assert smoothed(stripes, 0.71 * np.eye(2, 3)) is stripes
    assert smoothed(stripes, 0.69 * np.eye(2, 3)) is not stripes


def test_blurs_add_as_squares():
    # A dot of half a pixel's blur, halved: half a pixel of the result, one of the image; so as much again was added.
    x = np.arange(33.0) - 16
    dot = np.zeros((33, 33))
    dot[16, 16] = 1
    profile = smoothed(dot, 0.5 * np.eye(2, 3)).sum(axis=0)
    assert profile @ x**2 / profile.sum() == pytest.approx(0.25 * 3, rel=0.02)


def test_what_shrinks_to_nothing_takes_no_time():
    # Truncated at four standard deviations, an unbounded blur of 1e8 pixels would not fit into memory.
    assert warp(TOWER, 1e-9 * np.eye(2, 3)).shape == TOWER.shape


def test_about_the_centre():
    image = np.zeros((7, 9))
    image[3, 6] = 1
    quarter = about_centre([[0, -1], [1, 0]], [0, 0], image.shape)
    assert np.argwhere(warp(image, quarter) > 0.5).tolist() == [[5, 4]]  # from the right to below
    shifted = about_centre(np.eye(2), [2, -1], image.shape)
    assert np.argwhere(warp(image, shifted) > 0.5).tolist() == [[2, 8]]


def test_a_registration_lays_one_picture_over_the_other(found):
    drawing, target, there, _ = found
    over = warp(drawing, there)
    assert over.shape == target.shape
    assert np.abs(over - target).mean() < 0.01 < np.abs(drawing[:, :128] - target[:128, :128]).mean()
    back = warp(target, there.inverse)
    assert back.shape == drawing.shape
    assert np.abs(back - drawing).mean() < 0.02
    assert warp(drawing, there, (40, 50)).shape == (40, 50)


def test_points_of_the_ink_land_on_the_ink(found):
    drawing, target, there, true = found
    ink = ink_of(drawing)
    moved = there.apply(ink)
    assert np.abs(moved - (ink @ true[:, :2].T + true[:, 2])).max() < 0.2
    x, y = np.rint(moved).astype(int).T
    assert np.mean(target[y, x] > 0.3) > 0.95
    assert np.mean(target.T[np.clip(y, 0, 189), np.clip(x, 0, 149)] > 0.3) < 0.3  # not as rows and columns
    np.testing.assert_array_equal(there.apply(ink[0].tolist()), moved[0])


def test_warp_and_apply_agree(rng):
    for _ in range(5):
        x, y = rng.integers(20, 40, 2)
        image = np.zeros((60, 60))
        image[y - 1 : y + 2, x - 1 : x + 2] = 1
        there = Registration(about_centre(rng.normal(size=(2, 2)) + 1.5 * np.eye(2), [0, 0], (60, 60)), 0, 1, False)
        moved = warp(image, there, (300, 300), (-120, -120))
        rows, columns = np.indices(moved.shape)
        middle = np.array([(columns * moved).sum(), (rows * moved).sum()]) / moved.sum() - 120
        np.testing.assert_allclose(middle, there.apply([x, y]), atol=0.05)


def test_the_inverse_undoes(found, rng):
    ink = ink_of(found[0])
    there = found[2]
    np.testing.assert_allclose(there.inverse.apply(there.apply(ink)), ink, atol=1e-9)
    np.testing.assert_allclose(there.inverse.inverse.matrix, there.matrix, rtol=1e-9)
    assert there.inverse.inverse[1:] == there[1:]
    assert there.inverse.shapes == (there.shapes[1], there.shapes[0])
    again = register(found[1], found[0])
    np.testing.assert_allclose(again.apply(found[3][:, 2]), there.inverse.apply(found[3][:, 2]), atol=0.01)


@pytest.mark.parametrize("d", [2, 3])
def test_products_of_square_matrices_do_one_map_after_the_other(rng, d):
    points = rng.normal(size=(7, d))
    maps = [np.column_stack(affine_map(rng, d)) for _ in "ab"]
    first, second = (Registration(matrix, 0.0, 1.0, False) for matrix in maps)
    both = second.homogeneous @ first.homogeneous
    assert both.shape == (d + 1, d + 1)
    together = Registration(both[:d], 0.0, 1.0, False)
    np.testing.assert_allclose(together.apply(points), second.apply(first.apply(points)), atol=1e-12)
    np.testing.assert_allclose(first.inverse.homogeneous, np.linalg.inv(first.homogeneous), atol=1e-12)


def test_three_pictures_in_a_row(found):
    drawing, target, there, true = found
    further = np.array([[0.0, -1.0, 149.0], [1.0, 0.0, 0.0]])
    third = warp(target, further, (190, 150))
    whole = register(target, third).homogeneous @ there.homogeneous
    np.testing.assert_allclose(whole[:2], further[:, :2] @ true + [[0, 0, 149], [0, 0, 0]], atol=0.6)
    assert np.abs(warp(drawing, whole, third.shape) - third).mean() < 0.01


def test_clouds_in_space_have_it_too(rng):
    cloud, (matrix, shift) = cloud_of(rng, 200, 3), affine_map(rng, 3)
    other = cloud @ matrix.T + shift
    there = register(cloud, other, "euclidean")
    assert there.homogeneous.shape == (4, 4)
    assert there.shapes is None
    np.testing.assert_allclose(there.apply(cloud), other, atol=1e-6)
    np.testing.assert_allclose(there.inverse.apply(other), cloud, atol=1e-6)


def test_a_picture_and_the_cloud_of_its_pixels_are_registered_alike(found):
    drawing, target, there, _ = found
    clouds = [(np.argwhere(image)[:, ::-1], image[image > 0]) for image in (drawing, target)]
    other = register(*clouds, "euclidean")
    assert type(other) is type(there)
    assert [type(value) for value in other[1:4]] == [type(value) for value in there[1:4]]
    assert other.matrix.dtype == there.matrix.dtype == np.float64
    assert other.reflected == there.reflected
    np.testing.assert_allclose(other.matrix[:, :2], there.matrix[:, :2], atol=0.01)
    np.testing.assert_allclose(other.apply(ink_of(drawing)), there.apply(ink_of(drawing)), atol=0.3)


def test_a_registration_can_be_kept_and_compared(found):
    there = found[2]
    for same in (pickle.loads(pickle.dumps(there)), copy.deepcopy(there), there._replace()):
        assert same == there
        assert (same != there) is False
        assert isinstance(same, Registration)
    assert there != there.inverse
    assert there != there._replace(matrix=there.matrix + 1)
    assert there != tuple(there)
    assert there != "tower"


def test_a_registration_says_what_it_is(found):
    text = repr(Registration(MAP, 0.0123456, 0.98765, True, ((9, 12), (10, 14))))
    assert text.splitlines() == [
        "Registration(matrix=[[ 0.9,  0.3,  4. ],",
        "                     [-0.2,  1.1,  7. ]],",
        "             residual=0.0123, overlap=0.988, reflected=True, shapes=((9, 12), (10, 14)))",
    ]
    assert "shapes" not in repr(Registration(np.eye(3, 4), 0.0, 1.0, False))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, 2, 0], [2, 4, 0]], r"matrix must be invertible; got \[\[1.0, 2.0\], \[2.0, 4.0\]\], which flattens"),
        (np.ones((3, 3)), r"matrix must be affine, with the last row \(0, 0, 1\); got \[1.0, 1.0"),
        ([[1, 0, 0], [0, 1, 0], [1e-6, 0, 1]], "matrix must be affine, with the last row .* Others bend lines"),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 2]], "matrix must be affine, with the last row"),
        ([[1, 0, np.nan], [0, 1, 0]], "matrix must be finite; got NaN or infinity"),
        ([[1, 0, np.inf], [0, 1, 0], [0, 0, 1]], "matrix must be finite; got NaN or infinity"),
        (np.eye(2), r"matrix must have shape \(2, 3\) or \(3, 3\), .* got shape \(2, 2\). about_centre\(matrix, shift"),
        (np.eye(3, 4), r"matrix must have shape \(2, 3\) or \(3, 3\), and act on \(x, y, 1\); got shape \(3, 4\)"),
        (TOWER, r"got shape \(128, 128\). .*; the image goes first"),
        ([[1, 0], [0, 1, 0]], "matrix must hold real numbers in a regular array"),
        ("a", "matrix must hold real numbers in a regular array"),
    ],
)
def test_maps_that_move_no_picture(matrix, message):
    with pytest.raises(ValueError, match=message):
        warp(np.ones((5, 6)), matrix)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (
            np.ones(5),
            r"image must have shape \(height, width\), or \(height, width, 3 or 4\) in colour; got shape \(5,\)",
        ),
        (np.ones((2, 5, 5)), r"got shape \(2, 5, 5\). Move the pictures of a batch one by one"),
        (np.ones((0, 5)), r"got shape \(0, 5\)"),
        (np.full((5, 5), np.nan), "image must be finite; got NaN or infinity"),
        (
            Registration(MAP, 0, 1, False),
            r"image must be a picture; got a Registration. It goes first: warp\(image, mat",
        ),
        (np.ones((5, 5), complex), "image must hold real numbers"),
        (np.ma.masked_equal(np.eye(5), 1), "image must not be masked"),
    ],
)
def test_pictures_that_cannot_be_moved(image, message):
    with pytest.raises(ValueError, match=message):
        warp(image, MAP)


def test_other_arguments_that_are_wrong(found):
    image = np.ones((5, 6))
    with pytest.raises(ValueError, match="shape must be two positive whole numbers; got 4"):
        warp(image, MAP, 4)
    with pytest.raises(ValueError, match=r"shape must be two positive whole numbers; got \(0, 4\)"):
        warp(image, MAP, (0, 4))
    for corner in ((1, 2, 3), (np.nan, 0)):
        with pytest.raises(ValueError, match=r"corner must be two finite numbers \(x, y\); got"):
            warp(image, MAP, corner=corner)
    with pytest.raises(ValueError, match=r"matrix and shift must have shapes \(2, 2\) and \(2,\); got shapes \(2, 3\)"):
        about_centre(MAP, [0, 0], (5, 6))
    with pytest.raises(
        ValueError, match=r"points must have shape \(n_points, 2\) or \(2,\); got shape \(3,\). A row is"
    ):
        found[2].apply([1, 2, 1])
    with pytest.raises(ValueError, match=r"got shape \(128, 128\). A row is \(x, y\); warp moves pictures"):
        found[2].apply(TOWER)
    with pytest.raises(ValueError, match=r"got shape \(5, 2\). A row is \(x, y, z\)"):
        Registration(np.eye(3, 4), 0, 1, False).apply(np.ones((5, 2)))


def test_a_registration_moves_the_picture_that_it_was_found_for(found):
    drawing, target, there, _ = found
    message = r"image must be as large as the picture that was registered, \(128, 128\); got \(150, 190\). "
    with pytest.raises(ValueError, match=message + r"registration.inverse moves the other picture"):
        warp(target, there)
    assert warp(target, there.matrix).shape == target.shape
    assert warp(np.stack([drawing] * 3, axis=-1), there).shape == (150, 190, 3)


def test_shapes_are_those_of_the_whole_pictures(found):
    drawing, target, there, _ = found
    assert there.shapes == (drawing.shape, target.shape) == ((128, 128), (150, 190))
    assert register(prepare_image(drawing), prepare_image(target)) == there
    assert register_all(drawing, [target, TOWER])[0] == there


@pytest.mark.parametrize("d", [2, 3])
def test_clouds_are_not_taken_for_pictures(rng, d):
    cloud = rng.random((9, d))
    for one in (cloud, cloud - 0.5, (cloud, np.ones(9)), cloud.tolist()):
        message = f'a must be an image; got 9 points of {d} coordinates, as it seems. Clouds .* space="euclidean"'
        with pytest.raises(ValueError, match=message):
            register(one, TOWER)
    with pytest.raises(ValueError, match=r"images\[1\] must be an image; got 9 points"):
        register_all(TOWER, [TOWER, cloud])
    assert register(np.pad(cloud, ((0, 0), (0, 4 - d))), TOWER).shapes[0] == (9, 4)


def test_pictures_are_not_taken_for_clouds():
    with pytest.raises(ValueError, match=r'b must have 2 or 3 coordinates .* got 128. Pictures .* space="image"'):
        register(np.eye(3, 2), TOWER, "euclidean")
    with pytest.raises(TypeError, match=r"space must be 'image' or 'euclidean'; got a ndarray. Many images go to reg"):
        register(TOWER, TOWER, TOWER)


def test_bright_paper_is_noticed_where_it_is_passed():
    paper = 255 - (255 * TOWER).astype(np.uint8)
    calls = {
        "a": lambda: register(paper, TOWER),
        "b": lambda: register(TOWER, paper),
        "image": lambda: prepare_image(paper.tolist()),
        r"images\[1\]": lambda: register_all(TOWER, [TOWER, paper]),
        r"images\[0\], images\[1\]": lambda: register_all(TOWER, [paper, paper]),
    }
    for name, call in calls.items():
        with pytest.warns(
            UserWarning, match=rf"^{name} should have paper of exactly 0; got .* nrcdt\.ink\.remove_paper r"
        ) as caught:
            call()
        assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = np.pad(np.zeros((20, 30)), 2, constant_values=1.0)  # a border by itself is a drawing
        for drawing in (TOWER, frame, np.pad(np.ones((20, 20)), 1)):
            prepare_image(drawing)
