"""Simulated photographs of drawings on old paper: uneven light, noise, specks, gaps, chain and laid lines.

A disturbance takes one image with bright ink on 0, values in [0, 1], and returns grey values in [0, 1]. Lengths are
those of a sheet of 256 x 256 pixels and grow with the longer side of the image.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.ndimage import gaussian_filter

from ..arrays import Array
from ..errors import InputError
from .affine import check_batch, eight_bits
from .synthetic import draw_segment

Rng = np.random.Generator
UNIT = 256
TILTS = (-4.0, 4.0)


def photograph(
    images: Array,
    disturbance: str = "all",
    *,
    tilt: tuple[float, float] = TILTS,
    random_state: int | Rng | None = None,
) -> Array:
    """Make of drawings what a camera would see of them on paper.

    Parameters
    ----------
    images : array of shape (n, height, width), bright ink on 0, values in [0, 1]
    disturbance : name in `PHOTOGRAPHS`
        "veil", "uneven_light", "noise", "inverted", "specks", "gaps", "laid_lines", "chain_lines", or "all" of these.
    tilt : range in degrees
        Each sheet is turned by an angle from this range: at 0 chain lines run down and laid lines across. Any angle is
        (-90, 90). The drawing itself stays.
    random_state : seed or generator

    Returns
    -------
    array of the same shape, float64, grey values in [0, 1] that are multiples of 1/255; ink is lighter than paper, but
    darker under "inverted" and in half of the pictures under "all"

    Examples
    --------
    >>> from nrcdt.datasets import watermarks
    >>> pictures = photograph(watermarks(2, size=64)[0], "chain_lines", random_state=0)
    >>> pictures.shape, bool(pictures.mean() > 0.02)
    ((2, 64, 64), True)
    """
    images = check_batch(images).astype(np.float64)
    if disturbance not in PHOTOGRAPHS:
        raise InputError("disturbance", f"be one of {', '.join(PHOTOGRAPHS)}", repr(disturbance))
    rng = np.random.default_rng(random_state)
    pictures = [PHOTOGRAPHS[disturbance](image, rng, rng.uniform(*tilt)) for image in images]
    return eight_bits(np.clip(np.reshape(pictures, images.shape), 0, 1))


def veil(image: Array, rng: Rng, tilt: float = 0) -> Array:
    """Lay a grey veil over an image: paper rises by 0.02 to 0.1."""
    grey = rng.uniform(0.02, 0.1)
    return (1 - grey) * image + grey


def uneven_light(image: Array, rng: Rng, tilt: float = 0) -> Array:
    """Halve the contrast and light the sheet from one side."""
    return 0.5 * image + 0.25 + light(image.shape, rng, 0.3)


def noise(image: Array, rng: Rng, tilt: float = 0) -> Array:
    """Add Gaussian noise of 0.1, on paper grey enough to show both sides of it."""
    return 0.6 * image + 0.2 + 0.06 * rng.normal(size=image.shape)


def strong_noise(image: Array, rng: Rng, tilt: float = 0) -> Array:
    """Add twice that noise."""
    return 0.6 * image + 0.2 + 0.12 * rng.normal(size=image.shape)


def inverted(image: Array, rng: Rng, tilt: float = 0) -> Array:
    """Turn light and dark around, at low contrast."""
    return 1 - (0.4 + rng.uniform(0.15, 0.3) * image)


def specks(image: Array, rng: Rng, tilt: float = 0) -> Array:
    """Strew 20 to 40 discs over the sheet."""
    return with_specks(image, rng, int(rng.integers(20, 41)))


def gaps(image: Array, rng: Rng, tilt: float = 0) -> Array:
    """Punch six round holes into the strokes."""
    return with_gaps(image, rng, 6)


def laid_lines(image: Array, rng: Rng, tilt: float = 0) -> Array:
    """Add the dense ripple of the mould's wires."""
    amplitude = rng.uniform(0.1, 0.25)
    return (image + amplitude * (1 + ripple(image.shape, rng, tilt))) / (1 + 2 * amplitude)


def chain_lines(image: Array, rng: Rng, tilt: float = 0) -> Array:
    """Draw the few strong lines at which the wires were bound."""
    return np.maximum(image, chains(image.shape, rng, tilt))


def all_together(image: Array, rng: Rng, tilt: float = 0) -> Array:
    """Disturb a drawing as a sheet of old paper would, then photograph it."""
    sheet = np.maximum(with_gaps(image, rng, 4), chains(image.shape, rng, tilt))
    sheet = with_specks(sheet + 0.15 * ripple(image.shape, rng, tilt), rng, 30)
    contrast = rng.uniform(0.2, 0.4)
    picture = contrast * gaussian_filter(sheet, 0.6 * unit(image.shape)) + 0.25
    picture = veil(picture, rng) + light(image.shape, rng, 0.2)
    picture = picture + 0.08 * contrast * rng.normal(size=image.shape)
    return picture if rng.random() < 0.5 else 1 - picture


SINGLE = (veil, uneven_light, noise, strong_noise, inverted, specks, gaps, laid_lines, chain_lines)
PHOTOGRAPHS: dict[str, Callable[[Array, Rng, float], Array]] = {one.__name__: one for one in SINGLE}
PHOTOGRAPHS["all"] = all_together


def unit(shape: tuple[int, ...]) -> float:
    """Pixels of an image for one pixel of a sheet of 256 x 256."""
    return max(shape) / UNIT


def light(shape: tuple[int, ...], rng: Rng, strength: float) -> Array:
    """Light from one side plus a bright spot: a linear gradient of `strength` and a parabola."""
    x, y = _places(shape, rng.uniform(0, 360))
    x0, y0 = rng.uniform(-0.5, 0.5, size=2)
    return np.asarray(strength * (x / 2 + 0.25 - 0.12 * ((x - x0) ** 2 + (y - y0) ** 2)))


def ripple(shape: tuple[int, ...], rng: Rng, tilt: float) -> Array:
    """Waves from -1 to 1 across the sheet, with a period of 4 to 7 pixels, slightly bent."""
    along, across = _places(shape, tilt)
    half = max(shape) / 2
    period = rng.uniform(4, 7) * unit(shape)
    bend = unit(shape) * np.sin(np.pi * rng.uniform(1, 3) * along + rng.uniform(0, 2 * np.pi))
    return np.asarray(np.sin(2 * np.pi * (half * across + bend) / period + rng.uniform(0, 2 * np.pi)))


def chains(shape: tuple[int, ...], rng: Rng, tilt: float) -> Array:
    """Five to eight lines down the sheet, wavy by a pixel, of uneven strength and at uneven distances."""
    across, along = _places(shape, tilt)
    n_lines = int(rng.integers(5, 9))
    places = (np.arange(n_lines) + 0.5 + rng.uniform(-0.2, 0.2, n_lines)) / n_lines
    ends = across.min(), across.max()
    sheet = np.zeros(shape)
    for place in ends[0] + places * (ends[1] - ends[0]):
        waves = rng.uniform(1, 3, 2) * np.pi
        phases = rng.uniform(0, 2 * np.pi, 2)
        bend = unit(shape) * np.sin(waves[0] * along + phases[0])
        distance = (across - place) * max(shape) / 2 - bend
        strength = rng.uniform(0.4, 0.9) * (0.85 + 0.15 * np.sin(waves[1] * along + phases[1]))
        profile = strength * np.exp(-0.5 * (distance / (rng.uniform(0.7, 1.1) * unit(shape))) ** 2)
        np.maximum(sheet, profile, out=sheet)
    return sheet


def with_specks(image: Array, rng: Rng, n_specks: int) -> Array:
    """Strew discs of radius 0.5 to 2 pixels and grey 0.5 to 1 over a sheet."""
    dots = np.zeros_like(image)
    height, width = image.shape
    for centre in rng.uniform([0, 0], [width - 1, height - 1], size=(n_specks, 2)):
        dot = np.zeros_like(image)
        draw_segment(dot, centre, centre, rng.uniform(0.5, 2) * unit(image.shape))
        np.maximum(dots, rng.uniform(0.5, 1) * dot, out=dots)
    return np.maximum(image, dots)


def with_gaps(image: Array, rng: Rng, n_gaps: int) -> Array:
    """Punch holes of radius 3 to 6 pixels into the strokes."""
    ink = np.argwhere(image > image.max() / 2)
    y, x = np.indices(image.shape)
    paper = image.copy()
    for row, column in ink[rng.integers(len(ink), size=n_gaps)] if len(ink) else []:
        paper[np.hypot(y - row, x - column) < rng.uniform(3, 6) * unit(image.shape)] = 0
    return paper


def _places(shape: tuple[int, ...], tilt: float) -> tuple[Array, Array]:
    """Coordinates of the pixels in a frame turned by `tilt` degrees; the longer side of the sheet spans [-1, 1]."""
    height, width = shape
    half = max(shape) / 2
    x = (np.arange(width) - (width - 1) / 2) / half
    y = (np.arange(height)[:, np.newaxis] - (height - 1) / 2) / half
    cosine, sine = np.cos(np.radians(tilt)), np.sin(np.radians(tilt))
    return cosine * x + sine * y, cosine * y - sine * x
