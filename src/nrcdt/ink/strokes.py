"""Strokes of the motif among everything that stands out: thresholds, specks, foreign groups, scale bars."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.ndimage import binary_dilation, find_objects, gaussian_filter, label, maximum_filter

from ..arrays import Array
from .lines import Line
from .paper import Residual, robust_deviation

UNIT = 256  # pixels of a sheet for which lengths are meant; they shrink with smaller pictures
# Hysteresis: half of the ink level is the edge of a blurred stroke, a quarter still its rim; 4 standard deviations of
# noise are exceeded by 2 of 65,536 pixels, and 2 of them by some beside any stroke.
LOW, HIGH, LOW_NOISE, HIGH_NOISE = 0.25, 0.5, 2.0, 4.0
NOISY, SMOOTH = 0.05, 0.7  # of the ink level, from which noise is smoothed by so many pixels first
SHORTEST, SMALLEST = 9, 20  # pixels of length and area: discs of radius 2, the largest simulated specks, are smaller
SHORTEST_STROKE, SLENDER = 6.5, 0.3  # where neither noise nor lines leave rests: shorter strokes, if so slim
IN_BAND = 0.8  # of its area, from which a piece is what a line left behind
NEAR = 8  # pixels, within which pieces belong together
SHARE, SUSPECT, DOUBTFUL = 0.08, 0.3, 0.5  # of the largest group's ink; weights of ink on the rim as motif, and kept
# Scale bars: width and unbroken part of their length, degrees askew, distance from an edge as a share of the sheet.
SLIM, UNBROKEN, UPRIGHT, MARGIN = 0.25, 0.8, 4.0, 0.25
SHORTEST_BAR, LONGEST_BAR = 0.12, 0.5  # of the sheet
BESIDE, BESIDE_BAND = 4, 0.5  # pixels from a chain line; the part of a bar so near, by which it is a rest of the line
ALL_ROUND = np.ones((3, 3))


class Strokes(NamedTuple):
    """Strokes of the motif.

    Attributes
    ----------
    mask : array (height, width) of booleans
    share : how much of all ink they are; what touches the rim counts half
    dropped : pieces that are no part of them, by reason
    bar : length of a scale bar in pixels, or None
    on_rim : whether the motif touches the rim, and may be cut off
    """

    mask: Array
    share: float
    dropped: dict[str, int]
    bar: float | None
    on_rim: bool


def stroke_mask(found: Residual) -> Array:
    """Pixels above a low threshold that hang together with one above a high threshold."""
    if not found.level:
        return np.zeros(found.image.shape, bool)
    if found.noise > NOISY * found.level:
        image = gaussian_filter(found.image, SMOOTH)
        found = Residual(image, robust_deviation(image), found.level)
    image, noise, level = found
    labels, n_pieces = label(image > max(LOW * level, LOW_NOISE * noise), ALL_ROUND)
    strong = np.zeros(n_pieces + 1, bool)
    strong[labels[image > max(HIGH * level, HIGH_NOISE * noise)]] = True
    strong[0] = False
    return np.asarray(strong[labels])


def select_strokes(found: Residual, lines: list[Line], bands: Array | None, border: Array | None) -> Strokes:
    """Keep the motif: no specks, no rests of lines, no scale bar, no groups that are small or cut off by the rim.

    Parameters
    ----------
    found : Residual, without lines
    lines, bands : lines that were taken out, and the mask of where, or None
    border : mask of what surrounds the sheet, or None
    """
    mask = stroke_mask(found)
    scale = min(1.0, max(mask.shape) / UNIT)
    clean = not lines and found.noise <= NOISY * found.level
    pieces, dropped = _filter_components(mask, bands, scale, clean)
    if not pieces.any():
        return Strokes(pieces, 0.0, dropped, None, False)
    groups, n_groups = label(maximum_filter(pieces, 2 * max(1, round(NEAR * scale)) + 1))
    groups[~pieces] = 0
    masses = np.bincount(groups.ravel(), found.image.ravel(), n_groups + 1)
    masses[0] = 0
    on_rim = _on_rim(groups, n_groups, border)
    main = int(np.argmax(np.where(on_rim, SUSPECT * masses, masses)))
    cut = on_rim & ~on_rim[main]  # if the motif itself is on the rim, the picture was cut to its size
    keep = (masses >= SHARE * masses[main]) & ~cut
    bars = _bars(groups, np.flatnonzero(~cut & (np.arange(n_groups + 1) != main))[1:], bands)
    keep[list(bars)] = False
    kept = keep[groups] & pieces
    meant = [length for length, across in bars.values() if _is_scale_bar(length, across, lines, max(mask.shape))]
    dropped |= {"groups": n_groups - int(keep.sum()) - len(bars), "free lines": len(bars) - len(meant)}
    share = float((masses * keep * np.where(on_rim, DOUBTFUL, 1)).sum() / found.image[mask].sum())
    return Strokes(kept, share, dropped, max(meant, default=None), bool(on_rim[main]))


def _on_rim(groups: Array, n_groups: int, border: Array | None) -> Array:
    """Tell which groups touch the rim of the picture, or the border around the sheet."""
    cut = np.zeros(n_groups + 1, bool)
    for side in (groups[:2], groups[-2:], groups[:, :2], groups[:, -2:]):
        cut[side] = True
    if border is not None:
        cut[groups[binary_dilation(border, iterations=2)]] = True
    cut[0] = False
    return cut


def _filter_components(mask: Array, bands: Array | None, scale: float, clean: bool) -> tuple[Array, dict[str, int]]:
    """Drop pieces that are tiny, or little more than what a line left behind; on clean paper slim ones are strokes."""
    labels, n_pieces = label(mask, ALL_ROUND)
    areas = np.bincount(labels.ravel(), minlength=n_pieces + 1)[1:]
    lengths = np.array([np.hypot(*(side.stop - side.start for side in box)) for box in find_objects(labels)])
    specks = (areas < SMALLEST * scale**2) | (lengths < SHORTEST * scale)
    if clean:
        specks &= (areas > SLENDER * lengths**2) | (lengths < SHORTEST_STROKE * scale)
    rests = np.zeros(n_pieces, bool)
    if bands is not None:
        rests = ~specks & (np.bincount(labels[bands], minlength=n_pieces + 1)[1:] > IN_BAND * areas)
    keep = np.concatenate([[False], ~specks & ~rests])
    return keep[labels], {"specks": int(specks.sum()), "rests": int(rests.sum())}


def _bars(groups: Array, candidates: Array, bands: Array | None) -> dict[int, tuple[float, bool]]:
    """Find the groups, among the candidates, that are straight bars and not what a chain line left behind."""
    if bands is not None and len(candidates):
        bands = maximum_filter(bands, 2 * BESIDE + 1)
    found = {}
    for group in candidates:
        mask = groups == group
        bar = _fit_bar(mask)
        if bar and (bands is None or bands[mask].mean() < BESIDE_BAND):
            found[int(group)] = bar
    return found


def _fit_bar(mask: Array) -> tuple[float, bool] | None:
    """Return the length of a bar, and whether it runs across rather than down; None for other shapes.

    A bar is slim, straight, unbroken, upright or level, and near an edge.
    """
    y, x = np.nonzero(mask)
    points = np.stack([x, y], axis=1) - [x.mean(), y.mean()]
    axis = np.linalg.eigh(points.T @ points)[1][:, 1]
    along, beside = points @ axis, points @ [-axis[1], axis[0]]
    length, width = float(np.ptp(along)) + 1, float(np.ptp(beside)) + 1
    tilt = np.degrees(np.arcsin(min(1.0, np.abs(axis).min())))
    unbroken = len(np.unique(np.rint(along))) >= UNBROKEN * length
    edge = min(min(c.mean(), n - 1 - c.mean()) / n for c, n in zip((y, x), mask.shape, strict=True))
    straight = width <= SLIM * length and unbroken and tilt <= UPRIGHT and edge <= MARGIN
    return (length, bool(abs(axis[0]) > 0.5)) if straight and length >= SHORTEST_BAR * max(mask.shape) else None


def _is_scale_bar(length: float, across: bool, lines: list[Line], size: int) -> bool:
    """Tell a scale bar from a piece of a line: it is shorter, and runs in another direction than lines of the paper."""
    return length <= LONGEST_BAR * size and not any(line.across == across for line in lines)
