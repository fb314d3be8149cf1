"""Densities on the line, inverted: strips of mass become quantiles."""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from .vectors import LANES, NUMBERS, place_levels, running_maximum

STEP_TOLERANCE = 1e-12  # of all mass: so much more than a level asks for is still the level, rounded


@njit(cache=True, nogil=True)
def accumulate(row, cumulative):
    """Sum up a row; four at a time, since every addition to the same sum waits for the one before."""
    total = 0.0
    whole = row.shape[0] // 4 * 4
    for j in range(0, whole, 4):
        two = row[j] + row[j + 1]
        cumulative[j], cumulative[j + 1] = total, total + row[j]
        cumulative[j + 2], cumulative[j + 3] = total + two, total + (two + row[j + 2])
        total += two + (row[j + 2] + row[j + 3])
    for j in range(whole, row.shape[0]):
        cumulative[j] = total
        total += row[j]
    cumulative[row.shape[0]] = cumulative[row.shape[0] + 1] = total


@njit(cache=True, nogil=True, error_model="numpy")
def _guess(cumulative, total, n_levels, strips, n_strips, behind):
    """Write into `strips` where the levels lie if they are 1 / (n + 1), ..., n / (n + 1).

    `behind` gets the first level past each strip. There the next strip leaves its number, the last to come prevails,
    and levels that nobody came to lie in the strip of the level before.
    """
    scale = (n_levels + 1) / total
    for r in range(n_strips):
        place = cumulative[r + 1] * scale
        place = place if place > 0.0 else 0.0
        behind[r] = np.int32(place if place < n_levels else n_levels)
    strips[:] = 0
    for r in range(n_strips):
        strips[uint64(behind[r])] = r + 1
    highest = np.int32(0)
    for j in range(uint64(0), uint64(strips.shape[0]), uint64(NUMBERS)):
        highest = running_maximum(strips, j, highest)


@njit(cache=True, nogil=True)
def _interpolate(cumulative, total, levels, strips, places, lower, width, out):
    """Invert linearly in the given strips; return whether each of them holds its level well inside."""
    n, inside = levels.shape[0], True
    if n < LANES:
        return False
    for j in range(uint64(0), uint64(n - LANES), uint64(LANES)):
        inside &= place_levels(cumulative, strips, levels, j, total, 1.0 - STEP_TOLERANCE, places)
    inside &= place_levels(cumulative, strips, levels, uint64(n - LANES), total, 1.0 - STEP_TOLERANCE, places)
    for j in range(n):
        out[j] = lower + width * places[j]
    return inside


@njit(cache=True, nogil=True, error_model="numpy")
def _place(t, below, above, lower, width, r):
    """Where in strip r the cumulative mass is t."""
    share = (t - below) / (above - below)
    return lower + width * (r + min(max(share, 0.0), 1.0))


@njit(cache=True, nogil=True)
def walk(cumulative, total, first, last, levels, lower, width, out, mirror):
    """Invert level by level between two strips with mass, by the rules for plateaus; the mirror image too, if asked."""
    r = first
    for j in range(levels.shape[0]):
        t = levels[j] * total
        while r < last and cumulative[r + 1] <= t * (1.0 + STEP_TOLERANCE):
            r += 1
        out[j] = _place(t, cumulative[r], cumulative[r + 1], lower, width, r)
        left = r
        while left > first and cumulative[left] >= t * (1.0 - STEP_TOLERANCE):
            left -= 1
        if mirror.shape[0] > 0:
            mirror[mirror.shape[0] - 1 - j] = -_place(t, cumulative[left], cumulative[left + 1], lower, width, left)


@njit(cache=True, nogil=True)
def inversion_scratch(n_strips, n_levels):
    """Return the arrays that `invert` works in."""
    n_numbers = (n_levels // NUMBERS + 1) * NUMBERS
    return np.empty(n_strips, np.int32), np.empty(n_numbers, np.int32), np.empty(n_levels)


@njit(cache=True, nogil=True)
def invert(cumulative, n_strips, levels, lower, width, scratch, out, mirror):
    """Invert the cumulative mass of some strips, and its mirror image, if there is room; tell whether that went well.

    Where it did not, a level lies on a plateau or the levels are not even: `walk` takes more time and knows the rules.
    """
    behind, strips, places = scratch
    total = cumulative[n_strips]
    _guess(cumulative, total, levels.shape[0], strips, n_strips, behind)
    if not _interpolate(cumulative, total, levels, strips, places, lower, width, out):
        return False
    for j in range(mirror.shape[0]):
        mirror[j] = -out[levels.shape[0] - 1 - j]
    return True


@njit(cache=True, nogil=True)
def _ends(row):
    """Return the first and the last strip with mass."""
    last = row.shape[0] - 1
    while last > 0 and row[last] == 0.0:
        last -= 1
    first = 0
    while first < last and row[first] == 0.0:
        first += 1
    return first, last


@njit(cache=True, nogil=True)
def linear_quantiles(masses, levels, lower, width, out):
    n_slices, n_strips = masses.shape
    scratch = inversion_scratch(n_strips, levels.shape[0])
    cumulative = np.empty(n_strips + 2)
    mirrored = out.shape[0] == 2 * n_slices
    for k in range(n_slices):
        mirror = out[n_slices + k] if mirrored else out[k, :0]
        accumulate(masses[k], cumulative)
        if not invert(cumulative, n_strips, levels, lower, width, scratch, out[k], mirror):
            first, last = _ends(masses[k])
            walk(cumulative, cumulative[n_strips], first, last, levels, lower, width, out[k], mirror)
    return out
