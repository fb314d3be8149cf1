"""Disturbances that no affine map explains: dots, gaps, scratches, waves.

All take images in [0, 1] with bright ink, of shape (n, height, width), and return new ones of the same shape and dtype,
rounded to multiples of 1/255. The second argument is the strength; 0 changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.ndimage import map_coordinates

from ..arrays import Array
from ..errors import InputError
from .affine import check_batch, eight_bits
from .synthetic import draw_segment

Rng = np.random.Generator
AMPLITUDES = (0.5, 2.0)
STICK_WIDTH = 2.5


def salt(images: Array, n_dots: int = 10, radius: float = 1.5, random_state: int | Rng | None = None) -> Array:
    """Strew small bright dots over the canvas.

    Parameters
    ----------
    images : array of shape (n, height, width)
    n_dots : dots per image
    radius : of a dot, in pixels
    random_state : seed or generator

    Examples
    --------
    >>> salt(np.zeros((1, 64, 64)), 3, random_state=0).max()
    np.float64(1.0)
    """

    def strew(image: Array, rng: Rng) -> None:
        height, width = image.shape
        for centre in rng.uniform([0, 0], [width - 1, height - 1], size=(n_dots, 2)):
            draw_segment(image, centre, centre, radius)

    return _disturbed(images, "n_dots", n_dots, strew, random_state)


def bars(images: Array, n_bars: int = 3, width: int = 4, random_state: int | Rng | None = None) -> Array:
    """Remove the ink in vertical bars as high as the canvas, somewhere between the ink's left and right end.

    Parameters
    ----------
    images : array of shape (n, height, width)
    n_bars : bars per image
    width : of a bar, in pixels
    random_state : seed or generator

    Examples
    --------
    >>> bars(np.ones((1, 2, 8)), 1, width=2, random_state=0)[0].sum(axis=1)
    array([6., 6.])
    """

    def wipe(image: Array, rng: Rng) -> None:
        columns = np.flatnonzero(image.any(axis=0))
        if len(columns):
            for left in rng.integers(columns[0], max(columns[-1] - width + 1, columns[0]) + 1, size=n_bars):
                image[:, left : left + width] = 0

    return _disturbed(images, "n_bars", n_bars, wipe, random_state)


def sticks(images: Array, n_sticks: int = 10, length: float = 20, random_state: int | Rng | None = None) -> Array:
    """Scatter short strokes over the canvas: horizontal, vertical, and along both diagonals.

    Parameters
    ----------
    images : array of shape (n, height, width)
    n_sticks : strokes per image
    length : of a stroke, in pixels
    random_state : seed or generator

    Examples
    --------
    >>> sticks(np.zeros((1, 64, 64)), 3, random_state=0).max()
    np.float64(1.0)
    """

    def scatter(image: Array, rng: Rng) -> None:
        height, width = image.shape
        for centre in rng.uniform([0, 0], [width - 1, height - 1], size=(n_sticks, 2)):
            angle = rng.integers(4) * np.pi / 4
            half = length / 2 * np.array([np.cos(angle), np.sin(angle)])
            draw_segment(image, centre - half, centre + half, STICK_WIDTH / 2)

    return _disturbed(images, "n_sticks", n_sticks, scatter, random_state)


def elastic(
    images: Array,
    strength: float = 1,
    frequency: tuple[float, float] = (1.5, 2.5),
    random_state: int | Rng | None = None,
) -> Array:
    """Bend images in waves, as the polygon dataset of the paper does.

    The pixel in row j and column k takes the value found, by quadratic spline interpolation, at
    (j + a_1 sin(2 pi f_1 k / width), k + a_2 cos(2 pi f_2 j / height)).

    Parameters
    ----------
    images : array of shape (n, height, width)
    strength : the amplitudes a_1, a_2 are drawn from [0.5, 2] pixels times this number
    frequency : range of f_1, f_2, in waves per canvas
    random_state : seed or generator

    Examples
    --------
    >>> elastic(np.ones((2, 64, 64)), random_state=0).shape
    (2, 64, 64)
    """

    def bend(image: Array, rng: Rng) -> None:
        frequencies = 2 * np.pi * rng.uniform(*frequency, size=2)
        amplitudes = strength * rng.uniform(*AMPLITUDES, size=2)
        height, width = image.shape
        j, k = np.indices(image.shape)
        rows = j + amplitudes[0] * np.sin(frequencies[0] * k / width)
        columns = k + amplitudes[1] * np.cos(frequencies[1] * j / height)
        image[:] = np.clip(map_coordinates(image, [rows, columns], order=2), 0, 1)

    return _disturbed(images, "strength", strength, bend, random_state)


def _disturbed(
    images: Array, name: str, strength: float, change: Callable[[Array, Rng], None], random_state: int | Rng | None
) -> Array:
    """Change copies of all images in place, one after the other from one stream of random numbers."""
    images = check_batch(images)
    if not strength >= 0:
        raise InputError(name, "be at least 0", strength, "0 changes nothing.")
    rng = np.random.default_rng(random_state)
    changed = images.copy()
    if strength > 0:
        for position, image in enumerate(images.astype(np.float64)):
            change(image, rng)
            changed[position] = eight_bits(image)
    return changed


DISTURBANCES: dict[str, Callable[..., Any]] = {"salt": salt, "bars": bars, "sticks": sticks, "elastic": elastic}
