"""Quantiles of shadows: how much of an image lies before each edge of the strips, inverted direction by direction.

A pixel whose shadow starts in strip k counts partly before the next few edges, by the share of its shadow that they
leave behind, and wholly before all later ones. The share is a clamped quadratic in the distance of the edge, the same
for all pixels of a direction: it is computed for four edges at a time, and nothing is looked up or decided.

The mass of a single strip is a difference here, and where it vanishes not exactly zero. Quantiles mind only at levels
closer than 1e-12 to 0 or 1; whoever wants the strips themselves takes `strip_sums`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from .invert import inversion_scratch, invert, walk
from .moments import mirror_bounds, stretch_bounds
from .pixels import BLOCK, geometry, inked_pixels, longest_shadow, reach, shadow_start, strips_across, whole_vectors
from .reference import STEP_TOLERANCE
from .vectors import LANES, add_shares

THINNEST = 1e-100  # strips that a shadow rises over along an axis, where it is a box


@njit(cache=True, nogil=True, fastmath={"contract"})
def _locate(x, y, a, b, origin, strips, edges):
    """Find for each pixel the strip that its shadow starts in, and how far behind the start the next edge lies."""
    for i in range(x.shape[0]):
        p = x[i] * a + y[i] * b + origin
        strip = np.floor(p)
        strips[i] = np.int32(strip)
        edges[i] = strip + 1.0 - p


@njit(cache=True, nogil=True)
def _count(strips, edges, mass, short, long, width, partly, wholly):
    """Count pixels in `partly`, times 2 short long, before the next `width` edges, and in `wholly` from then on.

    One vector has a loop of its own, with none inside.
    """
    if width == LANES:
        for i in range(mass.shape[0]):
            k = uint64(strips[i])
            add_shares(partly, k, edges[i], mass[i], short, long)
            wholly[k + uint64(LANES)] += mass[i]
    else:
        for i in range(mass.shape[0]):
            k = uint64(strips[i])
            for n in range(uint64(0), uint64(width), uint64(LANES)):
                add_shares(partly, k + n, edges[i] + n, mass[i], short, long)
            wholly[k + uint64(width)] += mass[i]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _accumulate(partly, wholly, scale, cumulative):
    """Put the cumulative mass together; four at a time, since every addition to a sum waits for the one before."""
    n_strips = partly.shape[0]
    whole = n_strips // 4 * 4
    total = cumulative[0] = 0.0
    for j in range(0, whole, 4):
        two = wholly[j] + wholly[j + 1]
        three = two + wholly[j + 2]
        cumulative[j + 1] = total + wholly[j] + scale * partly[j]
        cumulative[j + 2] = total + two + scale * partly[j + 1]
        cumulative[j + 3] = total + three + scale * partly[j + 2]
        total += three + wholly[j + 3]
        cumulative[j + 4] = total + scale * partly[j + 3]
    for j in range(whole, n_strips):
        total += wholly[j]
        cumulative[j + 1] = total + scale * partly[j]
    cumulative[n_strips + 1] = cumulative[n_strips]


@njit(cache=True, nogil=True)
def _cover(x, y, mass, box, direction, pixel, n_radii, scratch, cumulative):
    """Write the cumulative mass of one direction; return the number of the first strip, and how many there are."""
    strips, edges, sums = scratch
    a, b, short, long = geometry(direction, pixel, n_radii)
    short = max(short, THINNEST)
    origin = shadow_start(short, long, n_radii, False)
    low, high = reach(box, a, b)
    first = math.floor(origin + low) - 1
    width = whole_vectors(int(short + long) + 1)
    n_strips = strips_across(high - low) + width
    partly, wholly = sums[0, :n_strips], sums[1, :n_strips]
    partly[:] = 0.0
    wholly[:] = 0.0
    for i in range(0, mass.shape[0], BLOCK):
        part = slice(i, min(i + BLOCK, mass.shape[0]))
        _locate(x[part], y[part], a, b, origin - first, strips, edges)
        _count(strips, edges, mass[part], short, long, width, partly, wholly)
    _accumulate(partly, wholly, 0.5 / (short * long), cumulative)
    return first, n_strips


@njit(cache=True, nogil=True)
def _ends(cumulative, n_strips):
    """Return the first and the last strip with mass, as far as rounding lets one tell."""
    faint = STEP_TOLERANCE * cumulative[n_strips]
    last = n_strips - 1
    while last > 0 and cumulative[last] >= cumulative[n_strips] - faint:
        last -= 1
    first = 0
    while first < last and cumulative[first + 1] <= faint:
        first += 1
    return first, last


@njit(cache=True, nogil=True)
def _prepare(image, pixel, n_radii, n_levels):
    """Return the inked pixels, the box around them, and the arrays that `_cover` and `invert` work in."""
    x, y, mass = inked_pixels(image)
    box = (x.min(), x.max(), y.min(), y.max())
    longest = longest_shadow(box, 0.5 * pixel * n_radii)
    scratch = np.empty(BLOCK, np.int32), np.empty(BLOCK), np.empty((2, longest))
    return x, y, mass, box, scratch, inversion_scratch(longest, n_levels)


@njit(cache=True, nogil=True)
def shadow_quantiles(image, directions, pixel, n_radii, levels, out):
    x, y, mass, box, scratch, inversion = _prepare(image, pixel, n_radii, levels.shape[0])
    n_slices = directions.shape[0]
    mirrored = out.shape[0] == 2 * n_slices
    cumulative, strip = inversion[0], 2.0 / n_radii
    for k in range(n_slices):
        start, n_strips = _cover(x, y, mass, box, directions[k], pixel, n_radii, scratch, cumulative)
        mirror = out[n_slices + k] if mirrored else out[k, :0]
        lower = start * strip - 1.0
        if not invert(n_strips, levels, lower, strip, inversion, out[k], mirror):
            first, last = _ends(cumulative, n_strips)
            walk(cumulative, cumulative[n_strips], first, last, levels, lower, strip, out[k], mirror)
    return out


@njit(cache=True, nogil=True)
def shadow_extremes(image, directions, pixel, n_radii, levels, weights, means, variances, out):
    x, y, mass, box, scratch, inversion = _prepare(image, pixel, n_radii, levels.shape[0])
    n_slices = directions.shape[0]
    mirrored = means.shape[0] == 2 * n_slices
    cumulative, strip = inversion[0], 2.0 / n_radii
    row, mirror, nothing = np.empty(levels.shape[0]), np.empty(levels.shape[0]), np.empty(0)
    lowest, highest = np.full(levels.shape[0], np.inf), np.full(levels.shape[0], -np.inf)
    out[0], out[1] = np.inf, -np.inf
    for k in range(n_slices):
        start, n_strips = _cover(x, y, mass, box, directions[k], pixel, n_radii, scratch, cumulative)
        lower = start * strip - 1.0
        if invert(n_strips, levels, lower, strip, inversion, row, nothing):
            means[k], variances[k] = stretch_bounds(row, weights, lowest, highest)
            if mirrored:
                means[n_slices + k], variances[n_slices + k] = -means[k], variances[k]
            continue
        first, last = _ends(cumulative, n_strips)
        walk(cumulative, cumulative[n_strips], first, last, levels, lower, strip, row, mirror)
        means[k], variances[k] = stretch_bounds(row, weights, out[0], out[1])
        if mirrored:
            means[n_slices + k], variances[n_slices + k] = stretch_bounds(mirror, weights, out[0], out[1])
    if mirrored:
        mirror_bounds(lowest, highest)
    for j in range(levels.shape[0]):
        out[0, j], out[1, j] = min(out[0, j], lowest[j]), max(out[1, j], highest[j])
    return out
