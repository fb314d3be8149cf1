"""Order statistics of many projections.

The values are thrown into buckets and each bucket is sorted where it lies. Buckets hold a few values, so a network that
only compares neighbours is done after BIG_BUCKET phases; the few fuller buckets are sorted on their own first. The
numbers of four buckets travel in one 64-bit word, which saves three loads in four; the values are filled up to a
multiple of four with infinities, which stay at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, uint32, uint64

from .reference import STEP_TOLERANCE, FloatArray, IntArray

BIG_BUCKET = 9  # the first phase is made while dealing out, the others in pairs of rounds of two phases
BUCKETS_PER_VALUE = 0.5
SAMPLE = 256
MARGIN = 16
ONE, MASK, S16, S32, S48 = uint64(1), uint64(0xFFFF), uint64(16), uint64(32), uint64(48)


class Scratch(NamedTuple):
    """Arrays that every direction uses again; `values` and `numbers` look into the padded arrays."""

    sampled: FloatArray
    span: FloatArray
    padded: FloatArray
    values: FloatArray
    words: IntArray
    numbers: IntArray
    ends: IntArray
    big: IntArray
    bucketed: FloatArray
    lanes: FloatArray
    flat: FloatArray


@njit(cache=True, nogil=True)
def _scratch(n, like):
    full = (n + 3) // 4 * 4
    n_buckets = max(16, min(int(n * BUCKETS_PER_VALUE), 65535))
    padded = np.full(full, np.inf).astype(like.dtype)
    numbers = np.full(full, n_buckets - 1, np.uint16)
    lanes = np.full((4, (full // 2 + 47) // 16 * 16), np.inf).astype(like.dtype)
    lanes[:, :MARGIN] = -np.inf
    return Scratch(
        np.empty((n + _stride(n) - 1) // _stride(n), like.dtype),
        np.empty(6, like.dtype),
        padded,
        padded[:n],
        numbers.view(np.uint64),
        numbers[:n],
        np.empty(n_buckets, np.uint32),
        np.empty(n_buckets, np.uint32),
        np.empty_like(padded),
        lanes,
        lanes.ravel(),
    )


@njit(cache=True, nogil=True)
def _stride(n):
    """Every how many values one is taken as a sample of the range."""
    return max(1, n // SAMPLE)


@njit(cache=True, nogil=True)
def _project(points, direction, out):
    """Inner products with one direction; the coordinates are the rows of `points`."""
    x, a = points[0], direction[0]
    if points.shape[0] == 3:
        y, z, b, c = points[1], points[2], direction[1], direction[2]
        for i in range(out.shape[0]):
            out[i] = x[i] * a + y[i] * b + z[i] * c
        return
    for i in range(out.shape[0]):
        out[i] = x[i] * a
    for r in range(1, points.shape[0]):
        x, a = points[r], direction[r]
        for i in range(out.shape[0]):
            out[i] += x[i] * a


@njit(cache=True, nogil=True, error_model="numpy")
def _spread(sample, n_buckets, span):
    """Lay the buckets over the range of a sample: one width in the middle half of the range, another outside it.

    The middle gets half of the buckets, and more of them if it holds more of the sample.
    """
    low, high = sample[0], sample[0]
    for i in range(sample.shape[0]):
        low = sample[i] if sample[i] < low else low
        high = sample[i] if sample[i] > high else high
    middle = 0.5 * (low + high)
    reach = 0.25 * (high - low)
    inside = 0
    for i in range(sample.shape[0]):
        inside += 1 if abs(sample[i] - middle) < reach else 0
    share = max(0.5, min(0.25 + 0.5 * inside / sample.shape[0], 0.8))
    if not reach > 0.0:
        reach = 1.0
    outer = (1.0 - share) * n_buckets / (2.08 * reach)
    span[0], span[1], span[2] = middle, reach, outer
    span[3] = share * n_buckets / (2.0 * reach) - outer
    span[4], span[5] = 0.5 * n_buckets, n_buckets - 1


@njit(cache=True, nogil=True, fastmath={"contract"})
def _number(values, span, buckets):
    """Number the values by bucket. Every step is monotone also when rounded, so the buckets are in order."""
    middle, reach, outer, extra, centre, top = span[0], span[1], span[2], span[3], span[4], span[5]
    zero, minus = top - top, -reach
    for i in range(values.shape[0]):
        t = values[i] - middle
        c = t if t < reach else reach
        c = c if c > minus else minus
        u = c * extra + (t * outer + centre)
        u = u if u > zero else zero
        u = u if u < top else top
        buckets[i] = np.int32(u)


@njit(cache=True, nogil=True)
def _count(words, ends):
    ends[:] = uint32(0)
    one = uint32(1)
    for q in range(uint64(0), uint64(words.shape[0])):
        word = words[q]
        ends[word & MASK] += one
        ends[(word >> S16) & MASK] += one
        ends[(word >> S32) & MASK] += one
        ends[word >> S48] += one


@njit(cache=True, nogil=True)
def _start(ends, big):
    """Turn the sizes of the buckets into their starts; list the big buckets and return how many they are."""
    total = uint32(0)
    n_big = uint64(0)
    for b in range(uint64(0), uint64(ends.shape[0])):
        size = ends[b]
        ends[b] = total
        total += size
        if size > BIG_BUCKET:
            big[n_big] = b
            n_big += uint64(1)
    return n_big


@njit(cache=True, nogil=True)
def _scatter(words, values, ends, out):
    """Move the values into the order of their buckets."""
    one, u1, u2, u3 = uint32(1), uint64(1), uint64(2), uint64(3)
    for q in range(uint64(0), uint64(words.shape[0])):
        word = words[q]
        b0, b1, b2, b3 = word & MASK, (word >> S16) & MASK, (word >> S32) & MASK, word >> S48
        p0 = ends[b0]
        ends[b0] = p0 + one
        p1 = ends[b1]
        ends[b1] = p1 + one
        p2 = ends[b2]
        ends[b2] = p2 + one
        p3 = ends[b3]
        ends[b3] = p3 + one
        i = q << u2
        v0, v1, v2, v3 = values[i], values[i + u1], values[i + u2], values[i + u3]
        out[p0] = v0
        out[p1] = v1
        out[p2] = v2
        out[p3] = v3


@njit(cache=True, nogil=True)
def _sort_bucket(values, start, end):
    if end - start > 64:
        values[start:end].sort()
        return
    for i in range(start + 1, end):
        x = values[i]
        j = i
        while j > start and values[j - 1] > x:
            values[j] = values[j - 1]
            j -= 1
        values[j] = x


@njit(cache=True, nogil=True)
def _compare_neighbours(even, odd, new_even, new_odd, n):
    """One round of odd-even transposition: (odd, next even) pairs, then (even, odd) pairs.

    Lanes begin at MARGIN, which keeps the stores aligned; what lies before and behind them never moves.
    """
    for q in range(uint64(MARGIN), uint64(MARGIN + n)):
        x, y = odd[q - ONE], even[q]
        left = x if x > y else y
        x, y = odd[q], even[q + ONE]
        right = x if x < y else y
        new_even[q] = left if left < right else right
        new_odd[q] = left if left > right else right


@njit(cache=True, nogil=True)
def _split(values, even, odd, n):
    """Deal the values to the lanes of even and odd places, and compare the two in each pair."""
    for q in range(n):
        x, y = values[2 * q], values[2 * q + 1]
        even[MARGIN + q] = x if x < y else y
        odd[MARGIN + q] = x if x > y else y


@njit(cache=True, nogil=True)
def _order_statistics(scratch, places, out):
    """Put the order statistics of `scratch.values` at the given places of the lanes into `out`."""
    s = scratch
    _spread(s.sampled, s.ends.shape[0], s.span)
    _number(s.values, s.span, s.numbers)
    _count(s.words, s.ends)
    n_big = _start(s.ends, s.big)
    _scatter(s.words, s.padded, s.ends, s.bucketed)
    for i in range(n_big):
        b = s.big[i]
        _sort_bucket(s.bucketed, int(s.ends[b - 1]) if b > 0 else 0, int(s.ends[b]))
    half = s.padded.shape[0] // 2
    even, odd, new_even, new_odd = s.lanes[0], s.lanes[1], s.lanes[2], s.lanes[3]
    _split(s.bucketed, even, odd, half)
    for _ in range(BIG_BUCKET // 4):
        _compare_neighbours(even, odd, new_even, new_odd, half)
        _compare_neighbours(new_even, new_odd, even, odd, half)
    for j in range(places.shape[0]):
        out[j] = s.flat[places[j]]


@njit(cache=True, nogil=True)
def _places(levels, n, lanes):
    """Where in the lanes the order statistics of the levels come to lie."""
    places = np.empty(levels.shape[0], np.int64)
    for j in range(levels.shape[0]):
        rank = min(int(levels[j] * n * (1.0 + STEP_TOLERANCE)), n - 1)
        places[j] = (rank & 1) * lanes.shape[1] + (rank >> 1) + MARGIN
    return places


@njit(cache=True, nogil=True)
def _weighted(values, weights, levels, out):
    order = np.argsort(values)
    total = weights.sum()
    i = 0
    below = weights[order[0]]
    for j in range(levels.shape[0]):
        bound = levels[j] * total * (1.0 + STEP_TOLERANCE)
        while i < order.shape[0] - 1 and below <= bound:
            i += 1
            below += weights[order[i]]
        out[j] = values[order[i]]


@njit(cache=True, nogil=True)
def step_quantiles(values, weights, levels, out):
    n_directions, n = values.shape
    scratch = _scratch(n, values)
    places = _places(levels, n, scratch.lanes)
    for k in range(n_directions):
        if weights.shape[0]:
            _weighted(values[k], weights, levels, out[k])
        else:
            scratch.sampled[:] = values[k, :: _stride(n)]
            scratch.values[:] = values[k]
            _order_statistics(scratch, places, out[k])
    return out


@njit(cache=True, nogil=True)
def projected_quantiles(points, directions, weights, levels, out):
    n = points.shape[1]
    sample = points[:, :: _stride(n)].copy()
    scratch = _scratch(n, points)
    places = _places(levels, n, scratch.lanes)
    for k in range(directions.shape[0]):
        _project(points, directions[k], scratch.values)
        if weights.shape[0]:
            _weighted(scratch.values, weights, levels, out[k])
        else:
            _project(sample, directions[k], scratch.sampled)
            _order_statistics(scratch, places, out[k])
    return out
