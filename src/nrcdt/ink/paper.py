"""The paper below the ink: working size, borders, background, which side of it is ink, noise and ink level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.ndimage import (
    binary_dilation,
    binary_erosion,
    binary_propagation,
    distance_transform_edt,
    label,
    percentile_filter,
    zoom,
)

from ..arrays import Array
from ..rasters import tiles

FLAT, WHITE = 0.6, 0.4  # of all pixels: so many have the grey of flat paper if it is the median, or an extreme
SAME_GREY = 0.004  # of the range: one level of eight bits
# Borders, in blocks of `BROAD` pixels: how far from the sheet's grey (of the range), what may be left of that beyond
# their edge, where light that fades keeps more, and how many blocks the edge may run askew.
BROAD, STEP, REMAINING, WEDGE = 4, 0.35, 0.4, 8
AROUND, WHOLE, STRIP = 0.3, 0.8, 0.05  # of the rim; or of one side, and then so much of the sheet
# Medians of squares twice as wide as strokes see paper; over 17 of them, 68 pixels, no stroke reaches.
COARSE, WINDOW = 4, 17
NORMAL = 1.4826  # standard deviations of a normal distribution per median absolute deviation


class Residual(NamedTuple):
    """What stands out from the paper: an image in which ink is positive, the noise of the paper, the level of ink."""

    image: Array
    noise: float
    level: float


def _enlarged(coarse: Array, shape: tuple[int, ...], order: int) -> Array:
    factors = [side / n for side, n in zip(shape, coarse.shape, strict=True)]
    return np.asarray(zoom(coarse, factors, order=order, grid_mode=True, mode="nearest"))


def flat_paper(picture: Array) -> float | None:
    """Grey of paper that has one single grey, as in a drawing from a program or a thresholded scan; None for others."""
    low, high = float(picture.min()), float(picture.max())
    for grey, share in ((float(np.median(picture[::2, ::2])), FLAT), (high, WHITE), (low, WHITE)):
        if np.count_nonzero(np.abs(picture - grey) <= SAME_GREY * (high - low)) > share * picture.size:
            return grey
    return None


def find_border(picture: Array) -> Array | None:
    """Find a dark or light border around the sheet: a mask, or None.

    It is broad, runs along a good part of the rim, and ends in a step; light that fades towards a corner does not.
    """
    if min(picture.shape) < 8 * BROAD:
        return None
    coarse = tiles(picture, BROAD).mean(axis=(1, 3))
    rise = coarse - np.median(coarse)
    step = STEP * np.ptp(coarse)
    rim = np.concatenate([rise[0], rise[-1], rise[:, 0], rise[:, -1]])
    if np.count_nonzero(np.abs(rim) > step) < 0.1 * rim.size:
        return None
    found = _parts_with_edge(rise > step, rise) | _parts_with_edge(rise < -step, -rise)
    if not _surrounds_sheet(found):
        return None
    found = binary_propagation(found, mask=(np.abs(rise) > step) & binary_dilation(found, iterations=WEDGE))
    return _enlarged(binary_dilation(found, iterations=2).astype(np.float32), picture.shape, 0) > 0.5


def _parts_with_edge(mask: Array, rise: Array) -> Array:
    """Keep parts of a coarse mask that are broad, touch the rim, and fall off within two blocks."""
    labels, _ = label(binary_erosion(mask, border_value=1))
    on_rim = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]]))
    keep = np.zeros(mask.shape, bool)
    for part in on_rim[on_rim > 0]:
        inside = labels == part
        outside = binary_dilation(inside, iterations=3) & ~binary_dilation(inside, iterations=2)
        if outside.any() and np.median(rise[outside]) < REMAINING * np.median(rise[inside]):
            keep |= inside
    return keep


def _surrounds_sheet(found: Array) -> bool:
    """Tell whether a coarse mask runs along a good part of the rim, or is a broad strip along one whole side."""
    sides = [found[0], found[-1], found[:, 0], found[:, -1]]
    around = np.concatenate(sides).mean() > AROUND
    strip = any(side.mean() > WHOLE and found.sum() > STRIP * max(found.shape) * len(side) for side in sides)
    return bool((around or strip) and found.mean() < 0.5)


def paper_samples(picture: Array, outside: Array | None) -> Array:
    """Medians of squares of `COARSE` pixels, which thin strokes hardly move; beyond the border the nearest inside."""
    coarse = np.median(tiles(picture, COARSE), axis=(1, 3))
    if outside is None:
        return coarse
    beyond = tiles(outside, COARSE).any(axis=(1, 3))
    return np.asarray(coarse[tuple(distance_transform_edt(beyond, return_distances=False, return_indices=True))])


def background(coarse: Array, shape: tuple[int, ...], rank: float, every: int) -> Array:
    """Estimate the grey of the paper in every pixel: quantiles of samples over windows far wider than any stroke.

    Of the samples in a window, every second or so along both sides is as good as all, and much faster.
    """
    window = np.zeros((WINDOW, WINDOW), bool)
    window[::every, ::every] = True
    return _enlarged(percentile_filter(coarse, 100 * rank, footprint=window, mode="nearest"), shape, 1)


def find_polarity(deviation: Array) -> tuple[str, float]:
    """Tell from the skew of the deviation from the paper which side of it is ink, and how clearly (0 to 1)."""
    squares = deviation * deviation
    skew, total = float(np.vdot(squares, deviation)), float(np.vdot(squares, np.abs(deviation)))
    return "light" if skew > 0 else "dark", abs(skew) / total if total else 0.0


def robust_deviation(image: Array) -> float:
    """Standard deviation of the paper in a residual, from the median, which ink does not move."""
    return float(NORMAL * np.median(np.abs(image[::2, ::2])))


def estimate_levels(image: Array) -> Residual:
    """Put noise and ink level beside an image in which ink is positive."""
    noise = robust_deviation(image)
    bright = image[image > max(3 * noise, 0.1 * float(image.max()))]
    return Residual(image, noise, float(np.quantile(bright, 0.8)) if bright.size else 0.0)
