"""Chain lines: nearly straight, nearly parallel lines across the sheet, in any direction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d, median_filter

from ..arrays import Array
from ..kernels import compiled
from ..rasters import tiles
from .paper import Residual

SMALLEST_SHEET = 32  # pixels
# Degrees. Half a step off, a line misses its place at the ends of 256 pixels by half a pixel, in the coarse search, at
# half of the size, by one.
COARSE_STEP, FINE_STEP = 1.5, 0.5
REACH = 6.0  # degrees by which parallels may differ from the common direction
FAINTEST, OUTLYING = 0.15, 5.0  # of the ink level, and median deviations of all parallels: what stands out
NEARLY = 0.7  # of these, which a line reaches in a direction that is half a step off
COVERED = 0.3  # of a tenth, where pixels are in fours: no line without
LONG, LONG_ENOUGH = 0.6, 0.25  # of the shorter side: to settle the direction, then to be a line in it
APART = 6  # pixels, within which two lines are one
END, FADED = 0.025, 0.35  # of its length, and of its grey, which a line that goes on up to the rim keeps there
# How far a line winds, in pixels; what a step aside costs, and above what its grey is that of ink, of the ink level.
WANDER, PRICE, BRIGHTEST = 5, 0.05, 0.6
NARROWEST, WIDEST, SIDE, EDGE = 2, 6, 1, 0.25  # pixels to either side, one beyond; where the grey falls to a quarter
STRIPE = 61  # rows over which a line looks alike, a median of which crossing strokes do not move
SMOOTH = 0.5  # pixels
# Ink on a line, of the ink level: how much of it the line may hide, below what it is none, and that in terms of noise.
HIDING, FAINT, OUTSTANDING = 0.5, 0.3, 2.0
STEEPEST = 4  # pixels along a line, by which a stroke may enter and leave it apart


class Line(NamedTuple):
    """A line x = start + slope y, y from the middle row; x and y swapped if it runs across rather than down."""

    across: bool
    slope: float
    start: float
    strength: float

    @property
    def angle(self) -> float:
        """Degrees from the vertical, in (-90, 90]: positive if it leans to the right further up."""
        lean = float(np.degrees(np.arctan(self.slope)))
        turned = 90 + lean if self.across else -lean
        return turned if turned <= 90 else turned - 180


def find_lines(found: Residual, border: Array | None) -> list[Line]:
    """List the lines that cross the whole sheet, up to its border, in one direction or at right angles to it."""
    if min(found.image.shape) < SMALLEST_SHEET or not found.level or not _may_have_lines(found, border):
        return []
    clipped = np.clip(gaussian_filter(found.image, 1.0) / found.level, -1, 1)
    if border is not None:
        clipped[border] = np.nan
    direction = _common_direction(clipped)
    if direction is None:
        return []
    return [line for turn in (0, 90) for line in _lines_near(clipped, (direction + turn) % 180)]


def _may_have_lines(found: Residual, border: Array | None) -> bool:
    """Tell, at a quarter of the size, whether ink follows any straight line for most of its length: a cheap no."""
    mask = found.image > max(FAINTEST * found.level, found.noise)
    mask = mask if border is None else mask | border
    pooled = np.asarray(tiles(mask, 4).any(axis=(1, 3)), np.float32)
    return any(scores.any() for _, scores in _all_strengths(pooled, COVERED))


def _common_direction(clipped: Array) -> float | None:
    """Direction, in degrees from that of x, in which lines stand out most; found at half of the size."""
    best, where = 0.0, None
    for directions, scores in _all_strengths(tiles(clipped, 2).mean(axis=(1, 3))):
        excess = np.maximum(scores - NEARLY * _thresholds(scores), 0).sum(axis=1)
        if excess.max() > best:
            best, where = float(excess.max()), float(directions[excess.argmax()])
    return where


def _all_strengths(image: Array, floor: float = -np.inf) -> list[tuple[Array, Array]]:
    """Directions, and strengths of the lines: of those that run down, then of those that run across."""
    lean = np.arange(-45, 45, COARSE_STEP)
    slopes = np.tan(np.radians(lean))
    return [
        (90 - lean, line_strengths(image, slopes, LONG, floor)),
        (lean % 180, line_strengths(np.ascontiguousarray(image.T), slopes, LONG, floor)),
    ]


def line_strengths(image: Array, slopes: Array, share: float, floor: float = -np.inf) -> Array:
    """Strengths of all lines x = start + slope y that cross a share of the rows; shape (n_slopes, n_starts).

    The strength is that of the second weakest tenth of a line: a stroke that follows it for half of its length does not
    count. Lines with two tenths below `floor` get 0.
    """
    height, width = image.shape
    lean = int(np.ceil(np.abs(slopes).max() * height / 2))
    out = np.empty((len(slopes), width + 2 * lean))
    return np.asarray(compiled("lines").line_scores(image, slopes, share * min(height, width), floor, out))


def _thresholds(scores: Array) -> Array:
    """Strength from which a line stands out among its parallels; shape (n_slopes, 1)."""
    middle = np.median(scores, axis=1, keepdims=True)
    deviation = np.median(np.abs(scores - middle), axis=1, keepdims=True)
    return np.asarray(np.maximum(FAINTEST, middle + OUTLYING * deviation))


def _lines_near(clipped: Array, direction: float) -> list[Line]:
    """List lines within `REACH` degrees of a direction, the strongest first, no two of them close together."""
    across = direction < 45 or direction >= 135
    lean = (direction + 45) % 180 - 45 if across else 90 - direction
    image = np.ascontiguousarray(clipped.T) if across else clipped
    slopes = np.tan(np.radians(np.arange(lean - REACH, lean + REACH + FINE_STEP / 2, FINE_STEP)))
    scores = line_strengths(image, slopes, LONG_ENOUGH)
    margin = (scores.shape[1] - image.shape[1]) // 2
    excess = scores - _thresholds(scores)
    order = np.argsort(-excess, axis=None)[: np.count_nonzero(excess > 0)]
    lines: list[Line] = []
    for a, b in zip(*np.unravel_index(order, scores.shape), strict=True):
        line = Line(across, float(slopes[a]), float(b - margin), float(scores[a, b]))
        if not any(_are_close(line, other, len(image)) for other in lines):
            lines.append(line)
    return lines


def _are_close(one: Line, other: Line, height: int) -> bool:
    """Tell whether two lines cross, or come close, on the sheet."""
    lean = (one.slope - other.slope) * (height - 1) / 2
    return abs(one.start - other.start) < abs(lean) + APART


def line_pixels(line: Line, shape: tuple[int, ...], border: Array | None) -> tuple[Array, Array]:
    """Rows, and the column in each, where a line is on the sheet: in the picture, but not on its border."""
    height, width = shape
    rows = np.arange(height)
    columns = np.rint(line.start + line.slope * (rows - (height - 1) / 2)).astype(int)
    inside = (columns >= 0) & (columns < width)
    rows, columns = rows[inside], columns[inside]
    inside = np.ones(len(rows), bool) if border is None else ~border[rows, columns]
    return rows[inside], columns[inside]


def spans_sheet(found: Residual, line: Line, border: Array | None) -> bool:
    """Tell whether a line goes on up to the rim of the sheet at both ends, as chain lines do and strokes do not."""
    image, border = (found.image.T, None if border is None else border.T) if line.across else (found.image, border)
    known, _ = line_pixels(line, image.shape, border)
    rows, path = _track_line(image / found.level, line)
    kept = (rows[:, 0] >= known[0]) & (rows[:, 0] <= known[-1])
    rows, path = rows[kept], path[kept]
    grey = image[rows, np.clip(path + np.arange(-1, 2), 0, image.shape[1] - 1)].mean(axis=1)
    end = max(4, round(END * len(grey)))
    return bool(min(grey[:end].mean(), grey[-end:].mean()) > FADED * np.median(grey))


def erase_lines(found: Residual, lines: list[Line]) -> tuple[Array, Array]:
    """Take lines out of a residual. Returns its image, and the mask of the bands that were filled anew."""
    image, bands = found.image / found.level, np.zeros(found.image.shape, bool)
    for line in lines:
        turned, band = (image.T, bands.T) if line.across else (image, bands)
        _erase_line(turned, band, line, found.noise / found.level)
    return found.level * image, bands


def _erase_line(image: Array, bands: Array, line: Line, noise: float) -> None:
    """Take one line out, in place: its own grey goes, and strokes that cross it are joined again."""
    width = image.shape[1]
    rows, path = _track_line(image, line)
    columns = path + np.arange(-WIDEST - SIDE, WIDEST + SIDE + 1)
    strip = image[rows, np.clip(columns, 0, width - 1)]
    spare = WIDEST - _line_half_width(strip)
    new = _inpaint(strip[:, spare : strip.shape[1] - spare], noise)
    inner = columns[:, spare + SIDE : columns.shape[1] - spare - SIDE]
    inside = (inner >= 0) & (inner < width)
    at = np.broadcast_to(rows, inner.shape)[inside], inner[inside]
    image[at] = new[inside]
    bands[at] = True


def _track_line(image: Array, line: Line) -> tuple[Array, Array]:
    """Rows in which a winding line is on the sheet, and its column in each; both of shape (n_rows, 1)."""
    height, width = image.shape
    middle = line.start + line.slope * (np.arange(height) - (height - 1) / 2)
    rows = np.flatnonzero((middle > -WANDER) & (middle < width - 1 + WANDER))[:, np.newaxis]
    straight = np.rint(middle[rows]).astype(int)
    columns = np.clip(straight + np.arange(-WANDER, WANDER + 1), 0, width - 1)
    strip = np.clip(gaussian_filter1d(image[rows, columns], 1.0, axis=1), 0, BRIGHTEST)
    path = compiled("lines").track(gaussian_filter1d(strip, 2.0, axis=0).astype(np.float64), PRICE)
    return rows, straight + path[:, np.newaxis] - WANDER


def _line_half_width(strip: Array) -> int:
    """Pixels to either side of its middle that a line reaches, as most of its rows show it."""
    profile = np.median(strip, axis=0)
    middle = len(profile) // 2
    shine = np.maximum(profile[middle : middle + WIDEST + 1], profile[middle - WIDEST : middle + 1][::-1])
    reach = int(np.argmax(np.append(shine < EDGE * shine[0], True))) - 1
    return min(max(reach, NARROWEST), WIDEST)


def _inpaint(strip: Array, noise: float) -> Array:
    """What a strip holds besides the line, without its outermost columns: ink that outshines it, ink that crosses."""
    strip = gaussian_filter(strip, SMOOTH)
    inner = strip[:, SIDE:-SIDE]
    line = np.clip(median_filter(inner, (min(STRIPE, len(inner)), 1), mode="nearest"), 0, None)
    gain = 1 / (1 - np.minimum(line, HIDING))
    above = (inner - line) * gain
    above[above < np.maximum(FAINT, OUTSTANDING * noise * gain)] = 0
    left, right = (side.mean(axis=1).astype(np.float64) for side in (strip[:, :SIDE], strip[:, -SIDE:]))
    joined = np.minimum(compiled("lines").bridged(left, right, inner.shape[1], STEEPEST, np.zeros(inner.shape)), inner)
    joined[joined < FAINT] = 0
    return np.asarray(np.maximum(joined, above).clip(None, 1))
