"""Straight lines down a picture: how strong each is along its whole length, and how it winds."""

from __future__ import annotations

import numpy as np
from numba import njit

N_PARTS, EVEN = 10, 0.4


@njit(cache=True, nogil=True)
def line_scores(image, slopes, shortest, floor, out):
    """Strength of every line x = start + slope y: the second weakest of the means over its ten parts.

    `out` has shape (n_slopes, n_starts), and start runs from -(n_starts - width) / 2 upwards. y counts from the middle
    row. Lines start and end where NaN does. Those of fewer than `shortest` rows, with two parts below `floor`, or whose
    second weakest part is far below the mean get 0.
    """
    height, width = image.shape
    n_starts = out.shape[1]
    first = -((n_starts - width) // 2)
    middle = (height - 1) / 2
    parts = np.empty(N_PARTS)
    for a in range(slopes.size):
        slope = slopes[a]
        for b in range(n_starts):
            start = first + b
            top, bottom = _rows_inside(start - slope * middle, slope, height, width)
            while top < bottom and np.isnan(image[top, int(start + slope * (top - middle) + 0.5)]):
                top += 1
            while top < bottom and np.isnan(image[bottom - 1, int(start + slope * (bottom - 1 - middle) + 0.5)]):
                bottom -= 1
            n_rows = bottom - top
            if n_rows < max(shortest, N_PARTS):
                out[a, b] = 0.0
                continue
            n_weak = 0
            for part in range(N_PARTS):
                low, high = top + n_rows * part // N_PARTS, top + n_rows * (part + 1) // N_PARTS
                total = 0.0
                for y in range(low, high):
                    value = image[y, int(start + slope * (y - middle) + 0.5)]
                    total += value if value == value else 0.0
                parts[part] = total / (high - low)
                n_weak += parts[part] < floor
                if n_weak == 2:
                    break
            score = 0.0 if n_weak == 2 else _second_smallest(parts)
            out[a, b] = score if score >= EVEN * parts.mean() else 0.0
    return out


@njit(cache=True, nogil=True)
def _rows_inside(origin, slope, height, width):
    """First row, and the row after the last, in which origin + slope y lies on the picture."""
    if abs(slope) < 1e-9:
        return (0, height) if -0.5 <= origin < width - 0.5 else (0, 0)
    one, other = (-0.49 - origin) / slope, (width - 0.51 - origin) / slope
    low, high = min(one, other), max(one, other)
    if high < 0.0 or low > height - 1.0:
        return 0, 0
    return max(0, int(np.ceil(low))), min(height, int(np.floor(high)) + 1)


@njit(cache=True, nogil=True)
def _second_smallest(values):
    least = second = np.inf
    for value in values:
        if value < least:
            least, second = value, least
        elif value < second:
            second = value
    return second


@njit(cache=True, nogil=True)
def track(strip, price):
    """Column of the path down a strip that collects most: it moves by at most one per row, each move for a price."""
    n_rows, n_columns = strip.shape
    best = strip[0].astype(np.float64)
    moves = np.zeros((n_rows, n_columns), np.int8)
    for y in range(1, n_rows):
        new = np.empty(n_columns)
        for x in range(n_columns):
            value, move = best[x], 0
            if x > 0 and best[x - 1] - price > value:
                value, move = best[x - 1] - price, -1
            if x + 1 < n_columns and best[x + 1] - price > value:
                value, move = best[x + 1] - price, 1
            new[x] = value + strip[y, x]
            moves[y, x] = move
        best = new
    path = np.empty(n_rows, np.int64)
    path[-1] = np.argmax(best)
    for y in range(n_rows - 1, 0, -1):
        path[y - 1] = path[y] + moves[y, path[y]]
    return path


@njit(cache=True, nogil=True)
def bridged(left, right, width, steepest, out):
    """Lay strokes across a gap of `width` columns between two rims, in the direction in which both rims have ink.

    A pixel becomes the largest, over the slopes, of the smaller of the two rim values that a straight stroke through it
    would join.
    """
    n_rows = left.size
    for step in range(-4 * steepest, 4 * steepest + 1):
        slope = step / 4
        for y in range(n_rows):
            for x in range(width):
                above = y - int(np.rint(slope * (x + 1)))
                below = y + int(np.rint(slope * (width - x)))
                if 0 <= above < n_rows and 0 <= below < n_rows:
                    value = min(left[above], right[below])
                    if value > out[y, x]:
                        out[y, x] = value
    return out
