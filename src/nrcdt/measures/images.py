"""Images: arrays, flattened rows, or lists of arrays of any sizes."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, Where
from .paper import warn_of_paper
from .values import LARGEST, RANK_TOLERANCE, SMALLEST, Checked, as_floats, check_finite, float_type, is_rows, samples_of

BARE_SIDE = 32  # pixels, from which on a table looks like an image


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
        remedy = "Convert colour pictures to grey first." if array.ndim == 3 else "Pass one array per image."
        raise InputError(name, "be a two-dimensional image with at least one pixel", f"shape {array.shape}", remedy)
    if array.dtype in RANK_TOLERANCE and 0 < (high := float(_last(array))) < np.inf:
        return high
    low, high = check_finite(array, name)
    if low < 0 and not signed:
        raise InputError(
            name,
            "not have negative mass",
            f"a minimum of {low:g}",
            "Negative values in data cannot be transported: shift, clip or take absolute values.",
        )
    if high == 0 and not signed:
        raise InputError(
            name,
            "have positive mass",
            "zeros only",
            "Drop the sample, or check that ink is bright; a single image goes as [X].",
        )
    return high


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
    """Give flattened rows their two dimensions back."""
    n_rows, n_columns = rows.shape
    if n_columns < 2:
        raise InputError("X", "have at least two pixels per row", "n_features = 1", "A single pixel has no shape.")
    side = math.isqrt(n_columns)
    if image_shape is None:
        image_shape = (side, side) if side * side == n_columns else (1, n_columns)
        if _looks_like_one_image(n_rows, n_columns, side * side == n_columns):
            warnings.warn(
                f"X has shape {rows.shape} and is read as {n_rows} flattened images of shape {image_shape}. "
                "If it is a single image, pass X[numpy.newaxis]; otherwise set image_shape to silence this warning.",
                UserWarning,
                stacklevel=2,
            )
    height, width = check_shape(image_shape, "image_shape")
    if height * width != n_columns:
        raise InputError(
            "image_shape",
            f"have {n_columns} pixels, as the rows of X do",
            (height, width),
            "Give (height, width) of one image.",
        )
    return rows.reshape(n_rows, height, width)


def _looks_like_one_image(n_rows: int, n_columns: int, in_squares: bool) -> bool:
    """Tell tables that are as high as wide, or that are large, about as high as wide, and no rows of square images."""
    if n_rows == n_columns:
        return n_rows > 1
    low, high = sorted((n_rows, n_columns))
    return low >= BARE_SIDE and high <= 4 * low and not in_squares


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


class Images(Sequence[Array]):
    """Images in one array of shape (n_images, height, width), checked in order, each before it is first handed out.

    Examples
    --------
    >>> images = Images(np.array([[[1.0, 2.0]], [[0.0, 0.0]]]))
    >>> images[0]
    array([[1., 2.]])
    >>> images[:]
    Traceback (most recent call last):
    nrcdt.errors.InputError: X[1] must have positive mass; got zeros only. Drop the sample, or check that ink is bright;
    a single image goes as [X].
    """

    def __init__(self, stack: Array, n_checked: int = 0) -> None:
        self.stack, self._n_checked, self._copied = stack, n_checked, False

    @property
    def dtype(self) -> Any:
        """The dtype that all images share."""
        return self.stack.dtype

    def __len__(self) -> int:
        return len(self.stack)

    def __getitem__(self, where: Any) -> Any:
        n = len(self.stack)
        start, stop, _ = where.indices(n) if isinstance(where, slice) else (0, range(n)[where] + 1, 1)
        if max(start, stop) > self._n_checked:
            self._check(max(start, stop))
        if not isinstance(where, slice):
            return self.stack[where]
        stack = self.stack[where]
        return Images(stack, len(stack))

    def _check(self, stop: int) -> None:
        """Check the images before one, all at once where nothing is wrong with them."""
        start = self._n_checked
        usual = np.zeros(stop - start, bool)
        if self.dtype in RANK_TOLERANCE:
            highest = _last(self.stack[start:stop], (1, 2)).astype(np.float64)
            usual = (highest > SMALLEST) & (highest < LARGEST)
        for i in start + np.flatnonzero(~usual):
            image = _check_compact(self.stack[i], Where("X", int(i)))
            if image.dtype in RANK_TOLERANCE:  # brought to a size that can be computed with
                self.stack, self._copied = self.stack if self._copied else self.stack.copy(), True
                self.stack[i] = image
        self._n_checked = stop


def batch_of_images(X: Any, image_shape: tuple[int, int] | None = None) -> Images | Checked:
    """Return images as `check_images` does, each of them checked when it is first asked for."""
    stacked = isinstance(X, np.ndarray) and X.ndim == 3
    if not stacked and is_rows(X):
        X = images_from_rows(X if _is_compact(X) else as_floats(X, "X"), image_shape)
    if not (isinstance(X, np.ndarray) and X.ndim == 3 and X.size and X.dtype.kind in "biuf") or np.ma.isMA(X):
        samples = samples_of(X, "images of shape (height, width)")
        warn_of_paper(samples)
        return Checked(samples, _check_compact)
    if X.shape[2] in (3, 4) and min(X.shape[:2]) >= BARE_SIDE:
        warnings.warn(
            f"X has shape {X.shape} and is read as {len(X)} images of shape {X.shape[1:]}. If it is a single picture "
            "in colour, convert it to grey and pass it as [X]; clouds of points want another space, as 'euclidean'.",
            UserWarning,
            stacklevel=2,
        )
    warn_of_paper(X)
    return Images(X if _is_compact(X) else as_floats(X, "X"))


def _check_compact(image: Any, name: Where | str) -> Array:
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
