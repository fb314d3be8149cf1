"""Synthetic watermarks, drawn stroke by stroke.

A motif is a list of strokes in the square [-1, 1] x [-1, 1], x to the right and y down. Every stroke is a polyline of
shape (n, 2); curves and arcs are polylines with many short pieces.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..measures import positive_integer
from .affine import eight_bits

STROKE = 2.5 / 256
MOTIF_WIDTH = 0.5
CURVE_PIECES = 8
ARC_STEP = 6


def line(*numbers: float) -> Array:
    """Polyline through x0, y0, x1, y1, ..."""
    return np.reshape(numbers, (-1, 2)).astype(np.float64)


def curve(*numbers: float) -> Array:
    """Smooth curve (Catmull-Rom spline) through x0, y0, x1, y1, ..."""
    points = line(*numbers)
    ends = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    a, b, c, d = ends[:-3], ends[1:-2], ends[2:-1], ends[3:]
    t = np.arange(CURVE_PIECES)[:, np.newaxis, np.newaxis] / CURVE_PIECES
    pieces = b + t * (c - a) / 2 + t**2 * (a - 2.5 * b + 2 * c - d / 2) + t**3 * (1.5 * (b - c) + (d - a) / 2)
    return np.concatenate([pieces.transpose(1, 0, 2).reshape(-1, 2), points[-1:]])


def arc(x: float, y: float, rx: float, ry: float, start: float = 0, stop: float = 360) -> Array:
    """Piece of an ellipse around (x, y), from one angle to another in degrees: 0 is right, 90 is down."""
    angles = np.radians(np.linspace(start, stop, 2 + int(abs(stop - start) / ARC_STEP)))
    return np.stack([x + rx * np.cos(angles), y + ry * np.sin(angles)], axis=1)


def circle(x: float, y: float, radius: float) -> Array:
    """Whole circle around (x, y)."""
    return arc(x, y, radius, radius)


def star(x: float, y: float, radius: float, n_rays: float) -> list[Array]:
    """Strokes from (x, y) outwards, the first one up; a whole number of them."""
    angles = 2 * np.pi * np.arange(n_rays) / n_rays
    return [line(x, y, x + radius * np.sin(angle), y - radius * np.cos(angle)) for angle in angles]


def both(*strokes: Array) -> list[Array]:
    """Strokes and their mirror images across the vertical axis."""
    return [image for stroke in strokes for image in (stroke, stroke * [-1.0, 1.0])]


STROKES: dict[str, Callable[..., Any]] = {"line": line, "curve": curve, "arc": arc, "circle": circle, "star": star}


def strokes_of(drawing: str) -> list[Array]:
    """Return the strokes of a drawing, worded as in `drawings.toml`.

    Examples
    --------
    >>> [stroke.tolist() for stroke in strokes_of("both line 1 0  2 3")]
    [[[1.0, 0.0], [2.0, 3.0]], [[-1.0, 0.0], [-2.0, 3.0]]]
    """
    strokes: list[Array] = []
    for words in map(str.split, drawing.splitlines()):
        mirrored = words[0] == "both"
        kind, *numbers = words[mirrored:]
        drawn = STROKES[kind](*map(float, numbers))
        drawn = drawn if kind == "star" else [drawn]
        strokes += both(*drawn) if mirrored else drawn
    return strokes


_TEXT = Path(__file__).with_name("drawings.toml").read_text(encoding="utf-8")
MOTIFS, ACADEMIC = (
    {name: strokes_of(drawing) for name, drawing in drawings.items()} for drawings in tomllib.loads(_TEXT).values()
)


def watermarks(n_classes: int = 10, size: int = 256) -> tuple[Array, list[str]]:
    """Draw the first motifs of the catalogue: bright thin lines on dark ground, half the canvas wide.

    Parameters
    ----------
    n_classes : number of motifs, at most ``len(MOTIFS)``
    size : side of the square images in pixels

    Returns
    -------
    images : array of shape (n_classes, size, size), values in [0, 1] that are multiples of 1/255
    names : list of str

    Examples
    --------
    >>> images, names = watermarks(3, size=64)
    >>> images.shape, names
    ((3, 64, 64), ["bull's head", 'crown', 'anchor'])
    """
    if positive_integer(n_classes, "n_classes", "10 is a good start.") > len(MOTIFS):
        raise InputError("n_classes", f"be between 1 and {len(MOTIFS)}", n_classes, "There are no more motifs.")
    if positive_integer(size, "size", "256 is a good start.") < 16:
        raise InputError("size", "be at least 16 pixels", size, "Thin lines need room.")
    names = list(MOTIFS)[:n_classes]
    return np.stack([eight_bits(draw(MOTIFS[name], size)) for name in names]), names


def draw(strokes: list[Array], size: int, width: float | None = None) -> Array:
    """Rasterise strokes, antialiased: a pixel is as bright as its distance to the nearest stroke is short.

    `width` is that of the strokes in pixels; left out, it is that of the watermarks.
    """
    image = np.zeros((size, size))
    half_width = (max(STROKE * size, 1) if width is None else width) / 2
    for stroke in strokes:
        pixels = (size - 1) / 2 + stroke * MOTIF_WIDTH * size / 2
        for start, stop in pairwise(pixels):
            draw_segment(image, start, stop, half_width)
    return image


def draw_segment(image: Array, start: Array, stop: Array, half_width: float) -> None:
    """Draw one straight piece between two points (x, y) into an image, in place."""
    reach = half_width + 1
    left, top = np.maximum(np.floor(np.minimum(start, stop) - reach), 0).astype(int)
    right, bottom = np.ceil(np.maximum(start, stop) + reach).astype(int) + 1
    window = image[top:bottom, left:right]
    y, x = np.mgrid[top : top + window.shape[0], left : left + window.shape[1]]
    along = stop - start
    length = max(along @ along, 1e-12)
    t = np.clip(((x - start[0]) * along[0] + (y - start[1]) * along[1]) / length, 0, 1)
    distance = np.hypot(x - start[0] - t * along[0], y - start[1] - t * along[1])
    np.maximum(window, np.clip(half_width + 0.5 - distance, 0, 1), out=window)
