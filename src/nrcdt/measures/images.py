"""Images: arrays, flattened rows, or lists of arrays of any sizes."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, Where, warn
from .paper import warn_of_paper
from .points import PICTURE_WIDTH
from .values import LARGEST, RANK_TOLERANCE, SMALLEST, as_floats, check_finite, float_type, is_rows, samples_of

BARE_SIDE = 32  # pixels, from which on a table may be an image: few are smaller, and many tables are
NARROW = 4  # columns, as unit quaternions have, points in space and plane fewer; of images at least four times as high
COORDINATES = 3  # columns of points in space, which may be negative
LOOK = 64  # rows of a table that tell whether they go on in one another: it costs next to nothing
FOLD = 1.5  # tells nine in ten pictures, and of batches of images none but those cut from one picture, window by window


def pixel_side(shape: tuple[int, ...]) -> float:
    """Side of a pixel when the longer side of the image spans [-1/sqrt 2, 1/sqrt 2]."""
    return math.sqrt(2) / max(shape)


def check_image(image: Any, name: Where | str, *, signed: bool = False) -> Array:
    """Return one image as a two-dimensional float array with finite, non-negative values and positive mass."""
    array = as_floats(image, name)
    high = _check_pixels(array, name, signed)
    return array if signed or SMALLEST < high < LARGEST else np.asarray(array / high)


def _check_pixels(array: Array, name: Where | str, signed: bool = False) -> float:
    """Refuse what is no image, or has no mass to be transported; return the largest value."""
    if array.ndim != 2 or array.size == 0:
        got = f"shape {array.shape}"
        raise InputError(name, "be a two-dimensional image with at least one pixel", got, _one_plane(array.shape))
    if array.dtype in RANK_TOLERANCE and 0 < (high := float(_last(array))) < np.inf:
        return high
    low, high = check_finite(array, name)
    if low < 0 and not signed:
        raise InputError(
            name,
            "not have negative mass",
            f"a minimum of {low:g}",
            _without_sign(array.shape),
        )
    if high == 0 and not signed:
        raise InputError(
            name,
            "have positive mass",
            "zeros only",
            "Drop the sample, or check that ink is bright; a single image goes as [X].",
        )
    return high


def _one_plane(shape: tuple[int, ...]) -> str:
    """Return what to do with an array that is no image."""
    if len(shape) != 3:
        return "Pass one array per image."
    if 1 in (shape[0], shape[-1]):
        return "Drop its axis of length one."
    colour = {2, 3, 4} & {shape[0], shape[-1]}
    return "Convert colour pictures to grey first." if colour else "Pass one array per image."


def _without_sign(shape: tuple[int, int]) -> str:
    """Return what to do with negative values: nothing where they are coordinates."""
    if shape[0] > 1 and shape[1] <= COORDINATES:
        return "Negative values in data are no pixels: for points say space='euclidean'."
    remedy = "Negative values in data cannot be transported: shift, clip or take absolute values"
    return f"{remedy}; for points say space='euclidean'." if shape[0] > 1 else f"{remedy}."


def looks_like_points(shape: tuple[int, ...]) -> bool:
    """Tell whether an array has as few columns as points have coordinates, and more rows; of four columns, many more.

    Examples
    --------
    >>> looks_like_points((100, 2)), looks_like_points((28, 28))
    (True, False)
    """
    if len(shape) != 2 or shape[1] > NARROW:
        return False
    return shape[0] > shape[1] if 1 < shape[1] <= COORDINATES else shape[0] >= 4 * shape[1]


def _last(array: Array, axis: tuple[int, ...] | None = None) -> Any:
    """Return the value that comes last when floats are read as whole numbers: the largest one, if it is positive.

    Infinity and NaN come later than finite numbers, and everything with a sign later still: one pass tells them all.
    """
    return array.view(np.uint64 if array.itemsize == 8 else np.uint32).max(axis=axis).view(array.dtype)


def check_shape(shape: Any, name: Where | str) -> tuple[int, int]:
    """Return the height and width of an image as two positive whole numbers."""
    try:
        height, width = map(operator.index, shape)
    except (TypeError, ValueError):
        height = width = 0
    if min(height, width) < 1:
        raise InputError(name, "be two positive whole numbers", repr(shape), "Give (height, width) of one image.")
    return height, width


def images_from_rows(rows: Array, image_shape: tuple[int, int] | None) -> Array:
    """Give flattened rows their two dimensions back; (1, -1) makes each one row of pixels, whatever its length."""
    n_rows, n_columns = rows.shape
    if n_columns < 2:
        raise InputError("X", "have at least two pixels per row", "n_features = 1", "A single pixel has no shape.")
    if image_shape is None:
        side = math.isqrt(n_columns)
        if side * side != n_columns:
            rule = "be given where rows have a length that is no square"
            raise InputError("image_shape", rule, f"None for X of shape {rows.shape}", _way_out(n_columns))
        image_shape = side, side
        if _looks_like_one_sample(rows, side):
            warn(
                f"has shape {rows.shape} and is read as {n_rows} flattened images of shape {image_shape}. "
                "If it is a single image, pass X[numpy.newaxis]; if it is a cloud of points, the same with "
                "space='euclidean'; otherwise set image_shape to silence this warning.",
                Where("X"),
            )
    height, width = (1, n_columns) if image_shape == (1, -1) else check_shape(image_shape, "image_shape")
    if height * width != n_columns:
        raise InputError(
            "image_shape",
            f"have {n_columns} pixels, as the rows of X do",
            (height, width),
            "Give (height, width) of one image.",
        )
    return rows.reshape(n_rows, height, width)


def _way_out(n_columns: int) -> str:
    """Return what to do with rows of a length that is no square."""
    side = math.isqrt(n_columns // 3)
    if n_columns <= COORDINATES:
        return "If X is a cloud of points, pass [X] with space='euclidean'."
    colour = f"{n_columns} = 3 x {side} x {side} looks like colour: convert it to grey first. "
    others = "Give (height, width), or (1, -1) for lines of pixels; a single image goes as X[numpy.newaxis]."
    return colour * (3 * side * side == n_columns and side >= BARE_SIDE) + others


def _looks_like_one_sample(rows: Array, side: int) -> bool:
    """Tell tables that rather are one image, or one cloud of points, than a flattened square image in each row.

    So are those that are as high as wide, and long ones whose rows would be tiny images. A large one, about as high as
    wide, is an image where each row is like the one before, and what would be the next row of pixels in it is not.
    """
    n_rows, n_columns = rows.shape
    if n_rows == n_columns or (side < PICTURE_WIDTH and n_rows >= 4 * n_columns):
        return bool(n_rows > 1)
    low, high = sorted((n_rows, n_columns))
    if low < BARE_SIDE or high > 4 * low:
        return False
    middle = max(0, (n_rows - LOOK) // 2)  # where there is ink
    some = rows[middle : middle + LOOK].astype(np.float64)
    pairs = (some[:, 1:], some[:, :-1]), (some[1:], some[:-1]), (some[:, side:], some[:, :-side])
    with np.errstate(all="ignore"):  # what is not finite is refused later
        across, down, folded = (float(np.abs(a - b).mean()) for a, b in pairs)
    return FOLD * max(across, down) < folded


def check_images(X: Any, image_shape: tuple[int, int] | None = None) -> list[Array]:
    """Return images from an (n, height, width) array, from flattened rows, or from a sequence of arrays.

    Arrays of whole numbers are checked and stay what they are: `floats` turns them into floats one by one.

    Examples
    --------
    >>> import numpy as np
    >>> [image.shape for image in check_images([np.ones((2, 3)), np.ones((4, 4))])]
    [(2, 3), (4, 4)]
    >>> check_images(np.ones((5, 9)))[0].shape
    (3, 3)
    """
    return list(batch_of_images(X, image_shape))


def batch_of_images(X: Any, image_shape: tuple[int, int] | None = None) -> Array | list[Array]:
    """Return images as `check_images` does: in one array where they come in one, else in a list."""
    if is_rows(X):
        X = images_from_rows(X if _is_compact(X) else as_floats(X, "X"), image_shape)
    if not (isinstance(X, np.ndarray) and X.ndim == 3 and X.size and X.dtype.kind in "biuf") or np.ma.isMA(X):
        samples = samples_of(X, "images of shape (height, width)")
        images = [_check_compact(image, Where("X", i)) for i, image in enumerate(samples)]
        if images[0].shape[1] <= NARROW:
            _warn_of_narrow(images)
        warn_of_paper(images)
        return images
    stack = _check_stack(X if _is_compact(X) else as_floats(X, "X"))
    if looks_like_points(stack.shape[1:]):
        _warn_of_points(f"has shape {stack.shape} and is read as {len(stack)} images of shape {stack.shape[1:]}.")
    warn_of_paper(stack)
    return stack


def _warn_of_narrow(images: list[Array]) -> None:
    """Warn of images that may be clouds, some of only a few points."""
    clouds = [image.shape for image in images if looks_like_points(image.shape)]
    if clouds and max(image.shape[1] for image in images) <= NARROW:
        _warn_of_points(f"holds arrays as narrow as {max(clouds)}, read as images.")


def _warn_of_points(reading: str) -> None:
    remedy = "If it is a single picture in colour, convert it to grey and pass it as [X]; for points say"
    warn(f"{reading} {remedy} space='euclidean'.", Where("X"))


def _check_stack(stack: Array) -> Array:
    """Check images in one array, all at once where nothing is wrong with them."""
    usual, given = np.zeros(len(stack), bool), stack
    if stack.dtype in RANK_TOLERANCE:
        highest = _last(stack, (1, 2)).astype(np.float64)
        usual = (highest > SMALLEST) & (highest < LARGEST)
    for i in np.flatnonzero(~usual).tolist():
        image = _check_compact(stack[i], Where("X", i))
        if image.dtype in RANK_TOLERANCE:  # brought to a size that can be computed with
            stack = stack.copy() if stack is given else stack
            stack[i] = image
    return stack


def _check_compact(image: Any, name: Where | str) -> Array:
    if isinstance(image, tuple) and len(image) == 2 and np.ndim(image[0]) == 2:
        raise InputError(name, "be an image", "a pair", "For (points, weights) say space='euclidean'.")
    if not _is_compact(image):
        return check_image(image, name)
    _check_pixels(image, name)
    return np.asarray(image)


def _is_compact(array: Any) -> bool:
    """Tell whether an array holds numbers that become floats of this machine when their turn comes."""
    plain = isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray)
    return plain and (array.dtype.kind in "biu" or array.dtype == np.float16 or not array.dtype.isnative)


def floats(measure: Any) -> Any:
    """Return a checked measure in floats, as transforms want it."""
    return measure.astype(float_type(measure.dtype)) if _is_compact(measure) else measure
