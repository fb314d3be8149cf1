"""Affine maps as people write them, and the one function that moves a picture by one.

There is one convention. A map leads from where a thing is to where it goes. It acts on coordinates, x first: of a
picture x to the right, y down, and the centre of the first pixel is (0, 0); of a cloud its columns. It is a matrix of
shape (d, d + 1), which acts on a point followed by a one; a row of zeros and a one below it make no difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array
from .errors import InputError
from .measures import as_floats, check_shape
from .rasters import resample, smoothed

AFFINE = 1e-9  # what a last row may be off: a millionth of a pixel, a thousand pixels away


def check_map(matrix: Any) -> Array:
    """Return an affine map of the plane, of shape (2, 3), from a matrix with two or three rows, or what has one."""
    array = as_floats(getattr(matrix, "matrix", matrix), "matrix").astype(np.float64, copy=False)
    if array.shape not in ((2, 3), (3, 3)):
        raise InputError(
            "matrix",
            "have shape (2, 3) or (3, 3), and act on (x, y, 1)",
            f"shape {array.shape}",
            "about_centre(matrix, shift, image.shape) makes one of (2, 2) and a shift; the image goes first.",
        )
    if not np.isfinite(array).all():
        raise InputError("matrix", "be finite", "NaN or infinity", "Look at where it was computed.")
    if len(array) == 3 and not np.allclose(array[2], (0, 0, 1), rtol=0, atol=AFFINE):
        raise InputError("matrix", "be affine, with the last row (0, 0, 1)", array[2].tolist(), "Others bend lines.")
    if np.linalg.matrix_rank(array[:2, :2]) < 2:
        got = f"{array[:2, :2].tolist()}, which flattens the plane"
        raise InputError("matrix", "be invertible", got, "Look at where it was computed.")
    return array[:2]


def about_centre(matrix: Any, shift: Any, shape: tuple[int, int]) -> Array:
    """Return the map of pixel coordinates that does x -> matrix x + shift about the centre of an image.

    Parameters
    ----------
    matrix, shift : arrays of shape (2, 2) and (2,), as `nrcdt.datasets.random_affine` draws them
    shape : (height, width) of the image

    Returns
    -------
    matrix : array of shape (2, 3), as `warp` takes it

    Examples
    --------
    >>> about_centre([[0, -1], [1, 0]], [0, 0], (5, 9)).tolist()
    [[0.0, -1.0, 6.0], [1.0, 0.0, -2.0]]
    """
    linear, offset = as_floats(matrix, "matrix"), as_floats(shift, "shift")
    if linear.shape != (2, 2) or offset.shape != (2,):
        got = f"shapes {linear.shape} and {offset.shape}"
        raise InputError("matrix and shift", "have shapes (2, 2) and (2,)", got, "Both act on (x, y).")
    height, width = check_shape(shape, "shape")
    centre = (np.array([width, height]) - 1) / 2
    return np.column_stack([linear, centre + offset - linear @ centre])


def warp(image: Any, matrix: Any, shape: tuple[int, int] | None = None, corner: Any = (0, 0)) -> Array:
    """Move a picture by a map of pixel coordinates (x, y), with bilinear interpolation and zeros from outside.

    What is at (x, y) goes to ``matrix @ (x, y, 1)``; the centre of the first pixel is (0, 0), y points down. Pictures
    that shrink are smoothed first, so that all of their pixels count.

    Parameters
    ----------
    image : array of shape (height, width), or (height, width, 3 or 4) in colour, each channel by itself
    matrix : array of shape (2, 3) or (3, 3), or the `Registration` that `register` returns
    shape : (height, width), optional
        Of the picture that comes out. By default that of `image`; of a `Registration` that of the other picture, so
        that the two lie over each other.
    corner : (x, y) of its first pixel

    Returns
    -------
    moved : array
        Of the dtype of `image`: whole numbers are rounded, and of True and False the nearer is taken.

    Examples
    --------
    >>> image = np.zeros((4, 4)); image[1, 2] = 1
    >>> np.argwhere(warp(image, [[2, 0, 0], [0, 2, 1], [0, 0, 1]], (6, 6)) == 1)
    array([[3, 4]])
    """
    pixels, affine = _check_picture(image), check_map(matrix)
    shapes = getattr(matrix, "shapes", None)
    if shapes is not None and pixels.shape[:2] != tuple(shapes[0]):
        raise InputError(
            "image",
            f"be as large as the picture that was registered, {tuple(shapes[0])}",
            f"{pixels.shape[:2]}",
            "registration.inverse moves the other picture, registration.matrix any.",
        )
    height, width = check_shape(shape if shape is not None else shapes[1] if shapes else pixels.shape[:2], "shape")
    start = as_floats(corner, "corner")
    if start.shape != (2,) or not np.isfinite(start).all():
        raise InputError("corner", "be two finite numbers (x, y)", repr(corner))
    planes = np.moveaxis(as_floats(pixels, "image").reshape(*pixels.shape[:2], -1), 2, 0)
    moved = [resample(smoothed(plane, affine), affine, (height, width), tuple(start)) for plane in planes]
    return in_dtype(np.stack(moved, axis=-1).reshape(height, width, *pixels.shape[2:]), pixels.dtype)


def in_dtype(values: Array, dtype: Any) -> Array:
    """Return floats in a dtype, rounded if it has no fractions."""
    return (values if dtype.kind == "f" else np.rint(values)).astype(dtype, copy=False)


def _check_picture(image: Any) -> Array:
    """Return a picture, grey or in colour, in its own dtype."""
    if hasattr(image, "matrix"):
        raise InputError("image", "be a picture", f"a {type(image).__name__}", "It goes first: warp(image, matrix).")
    pixels = as_floats(image, "image")
    grey, colour = pixels.ndim == 2, pixels.ndim == 3 and pixels.shape[2] in (3, 4)
    if not (grey or colour) or pixels.size == 0:
        raise InputError(
            "image",
            "have shape (height, width), or (height, width, 3 or 4) in colour",
            f"shape {pixels.shape}",
            "Move the pictures of a batch one by one.",
        )
    if not np.isfinite(pixels).all():
        raise InputError("image", "be finite", "NaN or infinity", "Replace these values first.")
    return np.asarray(image)
