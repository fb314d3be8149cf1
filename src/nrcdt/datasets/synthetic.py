"""Synthetic watermarks, drawn stroke by stroke.

A motif is a list of strokes in the square [-1, 1] x [-1, 1], x to the right and y down. Every stroke is a polyline of
shape (n, 2); curves and arcs are polylines with many short pieces.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..errors import InputError
from ..measures import positive_integer
from ..random_maps import random_affine, warp
from ..slices import Array
from .affine import distorted, eight_bits

__all__ = ["MOTIFS", "distorted", "draw", "random_affine", "warp", "watermarks"]

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


def star(x: float, y: float, radius: float, n_rays: int) -> list[Array]:
    """Strokes from (x, y) outwards, the first one up."""
    angles = 2 * np.pi * np.arange(n_rays) / n_rays
    return [line(x, y, x + radius * np.sin(angle), y - radius * np.cos(angle)) for angle in angles]


def both(*strokes: Array) -> list[Array]:
    """Strokes and their mirror images across the vertical axis."""
    return [image for stroke in strokes for image in (stroke, stroke * [-1.0, 1.0])]


MOTIFS: dict[str, list[Array]] = {
    "bull's head": [
        *both(curve(0.22, -0.12, 0.55, -0.2, 0.62, -0.5, 0.45, -0.72)),
        *both(curve(0.18, -0.02, 0.45, 0, 0.72, -0.12, 0.6, 0.14, 0.24, 0.14)),
        *both(curve(0.24, 0.14, 0.26, 0.45, 0.15, 0.7, 0.2, 0.88, 0, 0.95)),
        curve(-0.22, -0.12, 0, -0.2, 0.22, -0.12),
        *both(circle(0.12, 0.22, 0.06)),
        line(0, -0.18, 0, -0.8),
        *star(0, -0.8, 0.2, 5),
    ],
    "crown": [
        line(-0.75, 0.35, -0.95, -0.45, -0.45, 0.05, 0, -0.6, 0.45, 0.05, 0.95, -0.45, 0.75, 0.35),
        line(-0.75, 0.35, 0.75, 0.35, 0.7, 0.65, -0.7, 0.65, -0.75, 0.35),
        *both(circle(0.95, -0.55, 0.1)),
        line(0, -0.6, 0, -1),
        line(-0.15, -0.82, 0.15, -0.82),
    ],
    "anchor": [
        circle(0, -0.8, 0.17),
        line(0, -0.63, 0, 0.9),
        line(-0.42, -0.42, 0.42, -0.42),
        arc(0, 0.15, 0.75, 0.75, 0, 180),
        *both(line(0.56, 0.32, 0.75, 0.08, 0.92, 0.34)),
        curve(0.17, -0.8, 0.6, -0.75, 0.35, -0.1, 0.02, 0, -0.3, 0.2, 0, 0.4),
    ],
    "jug": [
        curve(-0.3, -0.55, -0.28, -0.3, -0.55, 0.05, -0.55, 0.4, -0.3, 0.75),
        curve(0.3, -0.55, 0.28, -0.3, 0.55, 0.05, 0.55, 0.4, 0.3, 0.75),
        line(-0.42, 0.9, -0.3, 0.75, 0.3, 0.75, 0.42, 0.9, -0.42, 0.9),
        line(-0.3, -0.55, 0.3, -0.55),
        curve(0.29, -0.42, 0.75, -0.5, 0.9, -0.05, 0.54, 0.25),
        arc(0, -0.55, 0.3, 0.25, 180, 360),
        line(0, -0.8, 0, -1),
        line(-0.5, 0, 0.5, 0),
    ],
    "fleur-de-lis": [
        *both(curve(0, -1, 0.16, -0.72, 0.27, -0.4, 0.2, -0.05, 0.14, 0.2)),
        *both(curve(0.14, 0.2, 0.34, -0.2, 0.62, -0.42, 0.85, -0.22, 0.82, 0.05, 0.62, 0.1, 0.58, -0.08)),
        line(-0.4, 0.2, 0.4, 0.2, 0.4, 0.34, -0.4, 0.34, -0.4, 0.2),
        *both(curve(0.14, 0.34, 0.22, 0.58, 0.42, 0.72)),
        *both(curve(0.1, 0.34, 0.12, 0.62, 0, 0.95)),
    ],
    "key": [
        circle(0, -0.82, 0.2),
        *both(circle(0.28, -0.48, 0.2)),
        line(-0.05, -0.4, -0.05, 0.95, 0.05, 0.95, 0.05, -0.4),
        line(-0.12, -0.25, 0.12, -0.25),
        line(0.05, 0.4, 0.5, 0.4, 0.5, 0.56, 0.25, 0.56, 0.25, 0.68, 0.5, 0.68, 0.5, 0.85, 0.05, 0.85),
    ],
    "bell": [
        *both(curve(0, -0.7, 0.3, -0.6, 0.4, -0.2, 0.45, 0.2, 0.72, 0.55)),
        line(-0.72, 0.55, 0.72, 0.55),
        line(-0.53, 0.3, 0.53, 0.3),
        circle(0, -0.85, 0.15),
        arc(0.12, 0.55, 0.16, 0.25, 0, 180),
        *star(0, -0.1, 0.22, 4),
    ],
    "arrows": [
        line(-0.8, 0.85, 0.75, -0.8),
        line(0.35, -0.72, 0.75, -0.8, 0.7, -0.4),
        line(0.8, 0.85, -0.75, -0.8),
        line(-0.35, -0.72, -0.75, -0.8, -0.7, -0.4),
        *both(line(0.8, 0.55, 0.6, 0.64, 0.58, 0.88)),
        *both(line(0.66, 0.4, 0.46, 0.49, 0.44, 0.73)),
        circle(0, -0.75, 0.16),
    ],
    "shield": [
        line(-0.7, -0.85, 0.7, -0.85),
        *both(curve(0.7, -0.85, 0.72, -0.2, 0.5, 0.45, 0, 0.95)),
        line(-0.7, -0.6, 0.42, 0.52),
        line(-0.5, -0.85, 0.54, 0.2),
        *star(0.4, -0.5, 0.2, 5),
    ],
    "letter P": [
        line(-0.3, -0.35, -0.3, 0.6),
        line(-0.12, -0.35, -0.12, 0.6),
        curve(-0.45, -0.3, -0.12, -0.38, 0.3, -0.35, 0.5, -0.1, 0.4, 0.15, -0.12, 0.2),
        curve(-0.3, 0.6, -0.38, 0.78, -0.62, 0.95),
        curve(-0.12, 0.6, -0.05, 0.78, 0.2, 0.95),
        line(-0.5, 0.42, 0.1, 0.42),
        line(0, -0.38, 0, -0.55),
        *(circle(x, y, 0.12) for x, y in ((0, -0.94), (-0.16, -0.78), (0.16, -0.78), (0, -0.62))),
    ],
    "grapes": [
        *(circle(x, -0.2, 0.15) for x in (-0.48, -0.16, 0.16, 0.48)),
        *(circle(x, 0.08, 0.15) for x in (-0.32, 0, 0.32)),
        *(circle(x, 0.36, 0.15) for x in (-0.16, 0.16)),
        circle(0, 0.64, 0.15),
        curve(0, -0.3, 0.02, -0.6, -0.15, -0.95),
        curve(0, -0.5, 0.25, -0.85, 0.65, -0.75, 0.45, -0.45, 0, -0.5),
    ],
    "hand": [
        line(-0.3, 0.95, -0.3, 0.6),
        line(0.3, 0.95, 0.3, 0.6),
        line(-0.38, 0.78, 0.38, 0.78),
        curve(-0.3, 0.6, -0.6, 0.3, -0.78, 0.02, -0.62, -0.06, -0.36, 0.18),
        curve(-0.36, 0.18, -0.42, -0.3, -0.3, -0.36, -0.2, -0.25, -0.14, 0.05),
        curve(-0.14, 0.05, -0.14, -0.42, -0.02, -0.5, 0.08, -0.42, 0.09, 0.05),
        curve(0.09, 0.05, 0.12, -0.32, 0.22, -0.38, 0.31, -0.28, 0.28, 0.1),
        curve(0.28, 0.1, 0.38, -0.12, 0.5, -0.12, 0.53, 0, 0.42, 0.35, 0.3, 0.6),
        line(-0.02, -0.5, -0.02, -0.62),
        *star(-0.02, -0.8, 0.18, 5),
    ],
    "moon": [
        arc(0, 0, 0.9, 0.9, 50, 310),
        curve(0.58, -0.69, 0.2, -0.5, -0.08, -0.3, -0.02, -0.12, 0.14, 0.06, -0.06, 0.14),
        curve(-0.06, 0.14, 0.02, 0.26, -0.08, 0.32, -0.02, 0.5, 0.58, 0.69),
        circle(-0.3, -0.2, 0.08),
        *star(0.5, -0.1, 0.25, 6),
    ],
    "scissors": [
        line(-0.4, -0.95, 0.08, -0.05, 0.32, 0.46),
        line(-0.4, -0.95, -0.14, -0.15, -0.02, 0.05),
        line(0.4, -0.95, -0.08, -0.05, -0.32, 0.46),
        line(0.4, -0.95, 0.14, -0.15, 0.02, 0.05),
        arc(0.42, 0.7, 0.24, 0.26),
        arc(-0.42, 0.7, 0.24, 0.26),
    ],
    "cardinal's hat": [
        arc(0, -0.5, 0.95, 0.17),
        curve(-0.4, -0.64, -0.36, -0.9, 0, -1, 0.36, -0.9, 0.4, -0.64),
        *both(curve(0.3, -0.35, 0.1, -0.1, -0.3, 0.05, -0.5, 0.35)),
        *both(circle(0.5, 0.44, 0.09)),
        *both(line(0.46, 0.52, 0.36, 0.92, 0.64, 0.92, 0.54, 0.52)),
        *both(line(0.5, 0.55, 0.5, 0.92)),
        circle(0, -0.06, 0.1),
    ],
    "tower": [
        line(-0.45, 0.9, -0.4, -0.1, 0.4, -0.1, 0.45, 0.9),
        line(-0.75, 0.9, 0.75, 0.9),
        line(-0.55, -0.1, -0.55, -0.5, -0.3, -0.5, -0.3, -0.3, -0.12, -0.3, -0.12, -0.5, 0.12, -0.5),
        line(0.12, -0.5, 0.12, -0.3, 0.3, -0.3, 0.3, -0.5, 0.55, -0.5, 0.55, -0.1, -0.55, -0.1),
        line(-0.16, 0.9, -0.16, 0.5),
        arc(0, 0.5, 0.16, 0.2, 180, 360),
        line(0.16, 0.5, 0.16, 0.9),
        line(0.42, -0.5, 0.42, -1, 0.85, -0.85, 0.42, -0.7),
    ],
}


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
