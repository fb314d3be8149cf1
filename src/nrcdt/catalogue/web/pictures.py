"""Pictures that the server draws itself: ink in colour, and two inks laid over each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.ndimage import distance_transform_edt

from ...arrays import Array
from ...rasters import FIRST as FIRST
from ...rasters import SECOND as SECOND
from ...registration import warp
from ..ranking import write_ink

BOTH = (140, 135, 125)  # what two marks share; the style sheet has this and the colours of either
# Lines that are this near, in pixels of the second mark, count as the same; as for the overlap.
REACH = 2

JPEG = b"\xff\xd8\xff"
PNG = b"\x89PNG\r\n\x1a\n"


class Sheet(NamedTuple):
    """A sheet on which two marks lie over each other: its shape, and the maps (2, 3) from their pixels to its own."""

    shape: tuple[int, int]
    first: Array
    second: Array


def sheet(a: Array, b: Array, matrix: Array, size: int) -> Sheet:
    """Find a sheet that holds a second mark and, around it, the first.

    Parameters
    ----------
    a, b : images of ink
    matrix : array of shape (2, 3), from pixels of a to pixels of b
    size : length of the longer side of the sheet

    Examples
    --------
    >>> ink = np.ones((10, 20))
    >>> sheet(ink, ink, np.eye(2, 3), 40).shape
    (20, 40)
    """
    extent = np.array(b.shape[::-1], float)
    corners = np.array([(x, y, 1) for x in (-0.5, a.shape[1] - 0.5) for y in (-0.5, a.shape[0] - 0.5)])
    moved = corners @ matrix.T
    # A map that went wrong may throw the first mark far away, or make it huge.
    low = np.maximum(np.minimum(moved.min(axis=0), -0.5), -0.5 - extent)
    high = np.minimum(np.maximum(moved.max(axis=0), extent - 0.5), 2 * extent)
    scale = size / (high - low).max()
    second = np.column_stack([scale * np.eye(2), -scale * low - 0.5])
    width, height = np.ceil(scale * (high - low) - 1e-6).astype(int).tolist()
    return Sheet((height, width), composed(second, matrix), second)


def composed(outer: Array, inner: Array) -> Array:
    """Return the map (2, 3) that does one after the other.

    Examples
    --------
    >>> composed(2 * np.eye(2, 3), np.array([[1.0, 0, 3], [0, 1, 4]])).tolist()
    [[2.0, 0.0, 6.0], [0.0, 2.0, 8.0]]
    """
    return np.asarray(outer[:, :2] @ inner + np.column_stack([np.zeros((2, 2)), outer[:, 2]]))


def moved(ink: Array, matrix: Array, shape: tuple[int, int]) -> Array:
    """Move ink onto a sheet; it comes out between 0 and 1."""
    out = warp(ink.astype(np.float64), matrix, shape)
    return np.asarray(out / (out.max() or 1))


def tinted(ink: Array, colour: tuple[int, int, int]) -> bytes:
    """Draw ink, between 0 and 1, in one colour on nothing, as a PNG."""
    levels = np.empty((*ink.shape, 4), np.uint8)
    levels[..., :3] = colour
    levels[..., 3] = np.rint(255 * np.clip(ink, 0, 1))
    return write_ink(levels)


def difference(a: Array, b: Array, reach: float) -> bytes:
    """Draw two inks on one sheet: what both have in grey, what only one has in its colour; as a PNG."""
    solid = [ink > 0.5 for ink in (a, b)]
    near = [distance_transform_edt(~mask) <= reach if mask.any() else mask for mask in solid]
    levels = np.zeros((*a.shape, 4), np.uint8)
    for ink, other, colour in ((a, near[1], FIRST), (b, near[0], SECOND)):
        alpha = np.rint(255 * np.clip(ink, 0, 1)).astype(np.uint8)
        stronger = alpha > levels[..., 3]
        colours = np.where(other[..., np.newaxis], BOTH, colour)
        levels[stronger] = np.concatenate([colours, alpha[..., np.newaxis]], axis=-1)[stronger]
    return write_ink(levels)


def shown_as(data: bytes) -> str | None:
    r"""Return the type of a picture that every browser can show, or None.

    Examples
    --------
    >>> shown_as(PNG + b"..."), shown_as(b"II*\0")
    ('image/png', None)
    """
    if data.startswith(PNG):
        return "image/png"
    if data.startswith(JPEG):
        return "image/jpeg"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
