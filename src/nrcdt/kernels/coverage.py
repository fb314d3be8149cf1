"""Quantiles of shadows: how much of an image lies before each edge of the strips, inverted direction by direction.

A pixel whose shadow starts in strip k counts partly before the next few edges, by the share of its shadow that they
leave behind, and wholly before all later ones. The share is a clamped quadratic in the distance of the edge, the same
for all pixels of a direction: it is computed for four edges at a time, and nothing is looked up or decided.

The mass of a single strip is a difference here, and where it vanishes not exactly zero. Quantiles mind only at levels
closer than 1e-12 to 0 or 1; whoever wants the strips themselves takes `strip_sums`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit, uint64

from .invert import STEP_TOLERANCE, inversion_scratch, invert, walk
from .moments import mirror_bounds, stretch_bounds
from .pixels import BLOCK, geometry, inked_pixels, longest_shadow, reach, shadow_start, strips_across, whole_vectors
from .vectors import LANES, add_shares

THINNEST = 1e-100  # strips that a shadow rises over along an axis, where it is a box


class View(NamedTuple):
    """How pixels are seen from a direction, in strips; in arrays for two directions its own begin at `place`."""

    a: float
    b: float
    origin: float
    short: float
    long: float
    width: int
    lower: float
    n_strips: int
    place: int


@njit(cache=True, nogil=True)
def _view(directions, k, box, pixel, n_radii, place):
    a, b, short, long = geometry((directions[k, 0], directions[k, 1]), pixel, n_radii)
    short = max(short, THINNEST)
    low, high = reach(box, a, b)
    start = shadow_start(short, long, n_radii, False)
    first = math.floor(start + low) - 1
    width = whole_vectors(int(short + long) + 1)
    lower, n_strips = first * (2.0 / n_radii) - 1.0, strips_across(high - low) + width
    return View(a, b, start - first, short, long, width, lower, n_strips, place)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _locate(x, y, start, n, left, right, strips, edges):
    """Find for each pixel the strips that its shadows start in, and how far behind the start the next edge lies."""
    first, second = float(left.place), float(right.place)
    for i in range(n):
        p = x[start + i] * left.a + (y[start + i] * left.b + left.origin)
        q = x[start + i] * right.a + (y[start + i] * right.b + right.origin)
        strip, other = np.floor(p), np.floor(q)
        strips[0, i], strips[1, i] = np.int32(strip + first), np.int32(other + second)
        edges[0, i], edges[1, i] = strip + 1.0 - p, other + 1.0 - q


@njit(cache=True, nogil=True)
def _count(mass, start, n, left, right, strips, edges, partly, wholly):
    """Count pixels in `partly`, times 2 short long, before the next `width` edges, and in `wholly` from then on.

    Two directions take turns: an addition waits for the last ones where their strips overlap, and strips of different
    directions never do. One vector and two have loops of their own, with none inside.
    """
    left_width, right_width, next_edge = uint64(left.width), uint64(right.width), uint64(LANES)
    if left.width == LANES and right.width == LANES:
        for i in range(n):
            j, k, m = uint64(strips[0, i]), uint64(strips[1, i]), mass[start + i]
            add_shares(partly, j, edges[0, i], m, left.short, left.long)
            add_shares(partly, k, edges[1, i], m, right.short, right.long)
            wholly[j + uint64(LANES)] += m
            wholly[k + uint64(LANES)] += m
    elif left.width == 2 * LANES and right.width == 2 * LANES:
        for i in range(n):
            j, k, m = uint64(strips[0, i]), uint64(strips[1, i]), mass[start + i]
            add_shares(partly, j, edges[0, i], m, left.short, left.long)
            add_shares(partly, k, edges[1, i], m, right.short, right.long)
            add_shares(partly, j + next_edge, edges[0, i] + LANES, m, left.short, left.long)
            add_shares(partly, k + next_edge, edges[1, i] + LANES, m, right.short, right.long)
            wholly[j + uint64(2 * LANES)] += m
            wholly[k + uint64(2 * LANES)] += m
    else:
        for i in range(n):
            j, k, m = uint64(strips[0, i]), uint64(strips[1, i]), mass[start + i]
            for edge in range(uint64(0), left_width, uint64(LANES)):
                add_shares(partly, j + edge, edges[0, i] + edge, m, left.short, left.long)
            for edge in range(uint64(0), right_width, uint64(LANES)):
                add_shares(partly, k + edge, edges[1, i] + edge, m, right.short, right.long)
            wholly[j + left_width] += m
            wholly[k + right_width] += m


@njit(cache=True, nogil=True)
def _cover(x, y, mass, box, directions, pair, pixel, n_radii, scratch):
    """Count all pixels for two directions, the last of an odd number twice; return how they are seen from there.

    A block at a time: what was located is counted while it is in the cache.
    """
    strips, edges, partly, wholly = scratch
    left = _view(directions, pair, box, pixel, n_radii, 0)
    right = _view(directions, min(pair + 1, directions.shape[0] - 1), box, pixel, n_radii, partly.shape[0] // 2)
    partly[:] = 0.0
    wholly[:] = 0.0
    for begin in range(0, mass.shape[0], BLOCK):
        start, n = uint64(begin), uint64(min(BLOCK, mass.shape[0] - begin))
        _locate(x, y, start, n, left, right, strips, edges)
        _count(mass, start, n, left, right, strips, edges, partly, wholly)
    return left, right


@njit(cache=True, nogil=True, fastmath={"contract"})
def _accumulate(view, scratch, cumulative):
    """Put the cumulative mass together; four at a time, since every addition to a sum waits for the one before."""
    _, _, partly, wholly = scratch
    n_strips, scale = uint64(view.n_strips), 0.5 / (view.short * view.long)
    whole = n_strips // uint64(4) * uint64(4)
    total = cumulative[0] = 0.0
    i = uint64(view.place)
    for j in range(uint64(0), whole, uint64(4)):
        two = wholly[i] + wholly[i + uint64(1)]
        three = two + wholly[i + uint64(2)]
        cumulative[j + uint64(1)] = total + wholly[i] + scale * partly[i]
        cumulative[j + uint64(2)] = total + two + scale * partly[i + uint64(1)]
        cumulative[j + uint64(3)] = total + three + scale * partly[i + uint64(2)]
        total += three + wholly[i + uint64(3)]
        cumulative[j + uint64(4)] = total + scale * partly[i + uint64(3)]
        i += uint64(4)
    for j in range(whole, n_strips):
        total += wholly[i]
        cumulative[j + uint64(1)] = total + scale * partly[i]
        i += uint64(1)
    cumulative[n_strips + uint64(1)] = cumulative[n_strips]


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
    """Return the inked pixels, the box around them, and the arrays to count in, to sum up in and to invert in."""
    x, y, mass = inked_pixels(image)
    box = (x.min(), x.max(), y.min(), y.max())
    longest = longest_shadow(box, 0.5 * pixel * n_radii)
    scratch = np.empty((2, BLOCK), np.int32), np.empty((2, BLOCK)), np.empty(2 * longest), np.empty(2 * longest)
    return x, y, mass, box, scratch, np.empty(longest + 2), inversion_scratch(longest, n_levels)


@njit(cache=True, nogil=True)
def shadow_quantiles(image, directions, pixel, n_radii, levels, out):
    x, y, mass, box, scratch, cumulative, inversion = _prepare(image, pixel, n_radii, levels.shape[0])
    n_slices = directions.shape[0]
    mirrored = out.shape[0] == 2 * n_slices
    strip = 2.0 / n_radii
    for k in range(n_slices):
        if k % 2 == 0:
            views = _cover(x, y, mass, box, directions, k, pixel, n_radii, scratch)
        view, mirror = views[k % 2], out[n_slices + k] if mirrored else out[k, :0]
        _accumulate(view, scratch, cumulative)
        if not invert(cumulative, view.n_strips, levels, view.lower, strip, inversion, out[k], mirror):
            first, last = _ends(cumulative, view.n_strips)
            walk(cumulative, cumulative[view.n_strips], first, last, levels, view.lower, strip, out[k], mirror)
    return out


@njit(cache=True, nogil=True)
def shadow_extremes(image, directions, pixel, n_radii, levels, weights, means, variances, out):
    x, y, mass, box, scratch, cumulative, inversion = _prepare(image, pixel, n_radii, levels.shape[0])
    n_slices = directions.shape[0]
    mirrored = means.shape[0] == 2 * n_slices
    strip = 2.0 / n_radii
    row, mirror, nothing = np.empty(levels.shape[0]), np.empty(levels.shape[0]), np.empty(0)
    lowest, highest = np.full(levels.shape[0], np.inf), np.full(levels.shape[0], -np.inf)
    out[0], out[1] = np.inf, -np.inf
    for k in range(n_slices):
        if k % 2 == 0:
            views = _cover(x, y, mass, box, directions, k, pixel, n_radii, scratch)
        view = views[k % 2]
        _accumulate(view, scratch, cumulative)
        if invert(cumulative, view.n_strips, levels, view.lower, strip, inversion, row, nothing):
            means[k], variances[k] = stretch_bounds(row, weights, lowest, highest)
            if mirrored:
                means[n_slices + k], variances[n_slices + k] = -means[k], variances[k]
            continue
        first, last = _ends(cumulative, view.n_strips)
        walk(cumulative, cumulative[view.n_strips], first, last, levels, view.lower, strip, row, mirror)
        means[k], variances[k] = stretch_bounds(row, weights, out[0], out[1])
        if mirrored:
            means[n_slices + k], variances[n_slices + k] = stretch_bounds(mirror, weights, out[0], out[1])
    if mirrored:
        mirror_bounds(lowest, highest)
    for j in range(levels.shape[0]):
        out[0, j], out[1, j] = min(out[0, j], lowest[j]), max(out[1, j], highest[j])
    return out
