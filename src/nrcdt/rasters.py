"""Images as rasters: averaged down, cut to their ink, told from their paper, moved.

A map of pixel coordinates (x, y) is a matrix of shape (2, 3) that acts on (x, y, 1); the centre of the first pixel is
(0, 0). Everything that moves an image does so by such a map, forwards: from where the ink is to where it goes.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

from .arrays import Array
from .errors import InputError
from .kernels import kernels_for

MAX_SIDE = 256  # of an image that was cut to its ink
SMOOTHED = 0.7  # maps that shrink to less skip pixels
POLARITIES = ("auto", "dark", "light")
# Two inks that lie over each other: told apart by people who do not see red or green, on white and on black.
FIRST, SECOND = (31, 111, 178), (222, 110, 18)


def tiles(image: Array, side: int) -> Array:
    """View an image as squares, of shape (n_down, side, n_across, side); what is left over is cut off.

    Examples
    --------
    >>> tiles(np.arange(10.0).reshape(2, 5), 2).mean(axis=(1, 3))
    array([[3., 5.]])
    """
    n_down, n_across = (n // side for n in image.shape)
    return image[: n_down * side, : n_across * side].reshape(n_down, side, n_across, side)


def averaged(image: Array, *edges: Array) -> Array:
    """Average over cells between edges of rows, then of columns; a pixel counts by its share in a cell, outside is 0.

    Examples
    --------
    >>> averaged(np.array([[1.0, 2, 3], [3, 4, 5]]), np.array([0, 2]), np.array([0, 1.5, 3]))
    array([[2.33333333, 3.66666667]])
    """
    for places in edges:  # the second time of the image turned over, which turns it back
        image = _averaged_rows(image, places).T
    return image


def _averaged_rows(rows: Array, places: Array) -> Array:
    """Take differences of the running sum, interpolated between rows: as fast for large cells as for small ones."""
    n = len(rows)
    total = np.zeros((n + 1, rows.shape[1]))
    np.cumsum(rows, axis=0, dtype=np.float64, out=total[1:])
    inside = np.clip(places, 0, n)
    whole = np.minimum(inside.astype(int), n - 1)
    share = (inside - whole)[:, np.newaxis]
    sums = np.diff(total[whole] * (1 - share) + total[whole + 1] * share, axis=0)
    return np.asarray(sums / np.diff(places)[:, np.newaxis])


def reduced(image: Array, size: int) -> tuple[Array, float]:
    """Average until the longest side has `size` pixels; smaller images stay. Returns float32, and the scale.

    Examples
    --------
    >>> reduced(np.arange(12.0).reshape(2, 6), 3)
    (array([[3.5, 5.5, 7.5]], dtype=float32), 0.5)
    """
    scale = min(1.0, size / max(image.shape))
    if scale < 1:
        image = averaged(image, *(np.linspace(0, n, max(1, round(scale * n)) + 1) for n in image.shape))
    return np.ascontiguousarray(image, dtype=np.float32), scale


def box_around(mask: Array) -> tuple[slice, slice]:
    """Return the rows and the columns from the first to the last that hold any of a mask; all of them if none does.

    Examples
    --------
    >>> box_around(np.diag([False, True, True, False]))
    (slice(1, 3, None), slice(1, 3, None))
    """
    box = []
    for axis in (1, 0):
        held = np.flatnonzero(mask.any(axis=axis))
        box.append(slice(int(held[0]), int(held[-1]) + 1) if len(held) else slice(0, mask.shape[1 - axis]))
    return box[0], box[1]


def ink_only(image: Array) -> Array:
    """Cut an image to the box around its ink, and reduce it by a whole factor to at most 256 pixels, as float32.

    Examples
    --------
    >>> image = np.zeros((1000, 2000)); image[100:400, 500:1000] = 1
    >>> ink_only(image).shape
    (150, 250)
    """
    image = image[box_around(image)]
    side = -(-max(image.shape) // MAX_SIDE)
    whole = np.pad(image, [(0, -n % side) for n in image.shape])
    return np.asarray(tiles(whole, side).mean(axis=(1, 3)), dtype=np.float32)


def check_polarity(polarity: str, name: str) -> None:
    """Refuse what is neither dark nor light, nor leaves that open."""
    if polarity not in POLARITIES:
        raise InputError(name, f"be one of {', '.join(POLARITIES)}", repr(polarity))


def ink_on_paper(grey: Array, polarity: str = "auto") -> tuple[Array, str]:
    """Return how far pixels lie on the side of ink from the paper level, the median, and which side that is.

    "auto" takes the side that deviates more.

    Examples
    --------
    >>> ink_on_paper(np.array([[9.0, 9, 9], [9, 2, 10]]))
    (array([[0., 0., 0.],
           [0., 7., 0.]]), 'dark')
    """
    deviation = np.median(grey) - grey
    dark = np.maximum(deviation, 0)
    if polarity == "auto":
        polarity = "dark" if 2 * np.vdot(dark, dark) >= np.vdot(deviation, deviation) else "light"
    return np.asarray(dark if polarity == "dark" else dark - deviation), polarity


def inverse(matrix: Array) -> Array:
    """Return the inverse of an affine map, of shape (d, d + 1)."""
    back = np.linalg.inv(matrix[:, :-1])
    return np.column_stack([back, -back @ matrix[:, -1]])


def smoothed(image: Array, matrix: Array) -> Array:
    """Blur an image that a map shrinks, so that all of its pixels count when it is resampled; others stay."""
    # What shrinks to less than a pixel is one blur anyway.
    scale = max(np.sqrt(abs(np.linalg.det(matrix[:, :2]))), 1 / max(image.shape))
    if scale >= SMOOTHED:
        return image
    # Half a pixel of blur is what pixels have; one of the result is 1 / scale of them, and blurs add as squares.
    return np.asarray(gaussian_filter(image, 0.5 * np.sqrt(scale**-2 - 1)))


def resample(image: Array, matrix: Array, shape: tuple[int, ...], corner: tuple[float, float] = (0, 0)) -> Array:
    """Move an image by a map of pixel coordinates, with bilinear interpolation and zeros from outside.

    Parameters
    ----------
    image : array of shape (height, width)
    matrix : array of shape (2, 3)
    shape : (height, width) of the image that comes out
    corner : (x, y) of its first pixel

    Examples
    --------
    >>> image = np.zeros((4, 4)); image[1, 2] = 1
    >>> np.argwhere(resample(image, np.array([[2.0, 0, 0], [0, 2.0, 1]]), (6, 6)) == 1)
    array([[3, 4]])
    """
    back = inverse(matrix)
    back[:, 2] += back[:, :2] @ corner
    return np.asarray(kernels_for(image).resample(np.ascontiguousarray(image), back, np.empty(shape)))


def overlaid(first: Array, second: Array) -> Array:
    """Print two inks, from 0 to 1, over each other on white: a picture (height, width, 3), uint8, dark where both are.

    Examples
    --------
    >>> overlaid(np.array([[0.0, 1, 0, 1]]), np.array([[0.0, 0, 1, 1]]))[0].tolist()
    [[255, 255, 255], [31, 111, 178], [222, 110, 18], [0, 0, 0]]
    """
    inks = np.clip(np.stack([first, second], axis=-1), 0, 1)
    levels = 255 - inks @ (255.0 - np.array([FIRST, SECOND]))
    return np.asarray(np.rint(np.clip(levels, 0, 255)), np.uint8)
