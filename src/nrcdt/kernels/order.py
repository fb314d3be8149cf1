"""Order statistics of many projections.

The values are thrown into buckets of a few values each. Then a network that only compares neighbours runs over all of
them, and is done after BIG_BUCKET phases; the few fuller buckets are sorted on their own first, by merging blocks. The
numbers of four buckets travel in one 64-bit word, which saves three loads in four; the values are filled up with
infinities, which stay at the end.

Throwing and counting wait for stores to scattered places, projecting and comparing for arithmetic. So two directions
are under way at a time: the next is projected while this one is thrown, and counted while this one is compared.

Weights come last: the bucket of a value says where among the sorted values it lies, up to a few places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, uint32, uint64

from ..arrays import Array
from .invert import STEP_TOLERANCE, accumulate
from .vectors import (
    BLOCK,
    BYTES,
    EIGHT,
    NUMBERS,
    ROUNDS,
    compare_neighbours,
    count_up_to,
    extremes,
    load_block,
    merge_blocks,
    nothing_compared,
    project_and_number,
    running_sum,
    sort_block,
    store_block,
)

# Up to about 450 values in double and 900 in single precision a plain sort in place is faster: measured in the plane
# and in space, for 64 and 256 directions and quantiles. With weights the buckets win from the start.
FEW_BYTES = 3600
BIG_BUCKET = 1 + 2 * ROUNDS
BUCKETS_PER_VALUE = 0.75
SAMPLE = 256
MARGIN, FAR = 1.1, 3.0  # buckets reach a little beyond the sample, but not further than so many times the middle
FILL = 32  # the values are filled up to a multiple of this: of blocks, and of what the network takes in one step
MORE_BUCKETS = 8  # for what the values are filled up with: so many that none is big
LINE = 64  # bytes of a line of the cache
MASK, S16, S32, S48 = uint64(0xFFFF), uint64(16), uint64(32), uint64(48)


class Scratch(NamedTuple):
    """Arrays that every direction uses again.

    `values` and the numbers of their buckets, one by one and in words of four, are kept for two directions. `ends` are
    those of the buckets while they are filled; `bounds` keeps them for the weights. `big` says where big buckets start
    and end, and `spare` is where they are merged. The network writes in front of what it reads, so `room` begins
    earlier than `bucketed`.
    """

    sampled: Array
    projected: Array
    values: Array
    numbers: Array
    words: Array
    ends: Array
    bounds: Array
    big: Array
    spare: Array
    room: Array
    bucketed: Array


@njit(cache=True, nogil=True)
def _aligned(n, like):
    """Zeros of the dtype of an array, beginning with a line of the cache."""
    room = np.zeros(n + LINE // like.itemsize, like.dtype)
    skip = (-room.ctypes.data) % LINE // like.itemsize
    return room[skip : skip + n]


@njit(cache=True, nogil=True)
def _filled(n, unit):
    return (n + unit - 1) // unit * unit


@njit(cache=True, nogil=True)
def _stride(n):
    """Every how many values one is taken as a sample of the range."""
    return max(1, n // SAMPLE)


@njit(cache=True, nogil=True)
def _n_buckets(n):
    return max(16, min(int(n * BUCKETS_PER_VALUE), 65535 - MORE_BUCKETS))


@njit(cache=True, nogil=True)
def _scratch(n, like):
    full, delay = _filled(n, FILL), 2 * ROUNDS * 2 * BYTES // like.itemsize
    n_ends = _filled(_n_buckets(n) + MORE_BUCKETS, NUMBERS)
    numbers, room = _aligned(2 * full, np.empty(0, np.uint16)), _aligned(full + 2 * delay, like)
    room[:] = np.inf
    return Scratch(
        np.empty(_filled((n - 1) // _stride(n) + 1, BLOCK), like.dtype),
        _aligned(full, like).reshape(1, full),
        _aligned(2 * full, like),
        numbers,
        numbers.view(np.uint64),
        _aligned(n_ends, np.empty(0, np.uint32)),
        np.zeros(n_ends + 1, np.uint32),
        np.empty((n_ends + NUMBERS, 2), np.uint32),
        np.empty(full, like.dtype),
        room,
        room[delay:],
    )


@njit(cache=True, nogil=True)
def _copy(cloud, points, sample):
    """Copy the points, whose coordinates are rows, and a sample of them, which goes round until it is full."""
    n = cloud.shape[1]
    stride = _stride(n)
    for r in range(cloud.shape[0]):
        for i in range(n):
            points[r, i] = cloud[r, i]
        place = 0
        for i in range(sample.shape[1]):
            sample[r, i] = cloud[r, place]
            place += stride
            if place >= n:
                place -= n


@njit(cache=True, nogil=True)
def _project(points, direction, out):
    """Inner products with one direction; the coordinates are the rows of `points`."""
    x, a = points[0], direction[0]
    for i in range(out.shape[0]):
        out[i] = x[i] * a
    for r in range(1, points.shape[0]):
        x, a = points[r], direction[r]
        for i in range(out.shape[0]):
            out[i] += x[i] * a


@njit(cache=True, nogil=True)
def _in_space(points, direction, room):
    """Points of up to three coordinates, and a direction of three, with the same inner products.

    Where there are more, the inner products in `room` are the only coordinate.
    """
    d, kind = points.shape[0], points.dtype.type
    if d > 3:
        _project(points, direction, room[0])
        return room, (kind(1), kind(0), kind(0))
    return points, (direction[0], direction[1] if d > 1 else kind(0), direction[2] if d > 2 else kind(0))


@njit(cache=True, nogil=True, error_model="numpy")
def _lay(sample, n_buckets):
    """Lay the buckets over what a sample spans: one width in the middle, another outside it.

    The middle holds most of the sample but not its extremes, so that a few values far away do not widen all buckets. It
    gets the more buckets, the more it holds, and no fewer per unit than there are outside. What is returned numbers the
    values: the middle, half its width, buckets per unit outside, how many more inside, half of the buckets, the last.
    """
    lowest, highest, low, high = extremes(sample)
    middle = 0.5 * (low + high)
    span, reach = max(highest - middle, middle - lowest), 0.5 * (high - low)
    if not reach > 0.0:
        reach = span if span > 0.0 else 1.0
    inside = 0
    for i in range(sample.shape[0]):
        inside += 1 if abs(sample[i] - middle) < reach else 0
    share = 0.1 + 0.8 * inside / sample.shape[0]
    end = max(min(MARGIN * span, FAR * reach), MARGIN * reach)
    outer = min((1.0 - share) * n_buckets / (2.0 * (end - reach)), 0.5 * n_buckets / end)
    extra = max((0.5 * n_buckets - outer * end) / reach, 0.0)
    kind = sample.dtype.type
    return kind(middle), kind(reach), kind(outer), kind(extra), kind(0.5 * n_buckets), kind(n_buckets - 1)


@njit(cache=True, nogil=True)
def _throw_four(word, values, i, ends, out):
    """Move four values to the ends of their buckets."""
    one, u1, u2, u3 = uint32(1), uint64(1), uint64(2), uint64(3)
    b0, b1, b2, b3 = word & MASK, (word >> S16) & MASK, (word >> S32) & MASK, word >> S48
    p0 = ends[b0]
    ends[b0] = p0 + one
    p1 = ends[b1]
    ends[b1] = p1 + one
    p2 = ends[b2]
    ends[b2] = p2 + one
    p3 = ends[b3]
    ends[b3] = p3 + one
    v0, v1, v2, v3 = values[i], values[i + u1], values[i + u2], values[i + u3]
    out[p0] = v0
    out[p1] = v1
    out[p2] = v2
    out[p3] = v3


@njit(cache=True, nogil=True)
def _throw(s, here, points, direction, scale, n, there):
    """Throw the values of this direction into their buckets; project and number those of the next."""
    full, block = uint64(points.shape[1]), uint64(BLOCK)
    for i in range(uint64(0), full, block):
        project_and_number(points, direction, i, scale, s.values, s.numbers, there + i)
        for j in range(here + i, here + i + block, uint64(4)):
            _throw_four(s.words[j // uint64(4)], s.values, j, s.ends, s.bucketed)
    for j in range(there + uint64(n), there + full):
        s.values[j] = np.inf
        s.numbers[j] = np.uint16(_n_buckets(n) + j % MORE_BUCKETS)


@njit(cache=True, nogil=True)
def _compare(s, full, there):
    """Run the network over the values in their buckets; count the buckets of the next direction."""
    one, four = uint32(1), uint64(4)
    width = uint64(2 * BYTES // s.room.itemsize)
    compared = nothing_compared(s.room)
    for i in range(uint64(0), full, width):
        compared = compare_neighbours(compared, s.bucketed, s.room, i)
        first = (there + i) // four
        for q in range(uint64(0), width // four):
            word = s.words[first + q]
            s.ends[word & MASK] += one
            s.ends[(word >> S16) & MASK] += one
            s.ends[(word >> S32) & MASK] += one
            s.ends[word >> S48] += one
    for i in range(full, full + uint64(2 * ROUNDS) * width, width):
        compared = compare_neighbours(compared, s.bucketed, s.room, i)


@njit(cache=True, nogil=True)
def _start(ends, big):
    """Turn the sizes of buckets into their starts; list where big buckets start and end, return how many there are."""
    total, n_big, one = uint32(0), uint64(0), uint64(1)
    for b in range(uint64(0), uint64(ends.shape[0]), uint64(NUMBERS)):
        total, above = running_sum(ends, b, total, uint32(BIG_BUCKET))
        if above:
            for lane in range(uint64(0), uint64(NUMBERS)):  # without a branch: what is not big is written over
                big[n_big, 0] = b + lane
                n_big += (above >> lane) & one
    for i in range(n_big):
        b = uint64(big[i, 0])
        big[i, 0], big[i, 1] = ends[b], ends[b + one]
    return n_big


@njit(cache=True, nogil=True)
def _merge(values, start, middle, end, out):
    """Merge two sorted runs of whole blocks, which lie one behind the other, the second of which may be empty."""
    block, i, j = uint64(BLOCK), start + uint64(BLOCK), middle
    rest = load_block(values, start)
    for k in range(start, end - block, block):
        if j >= end or (i < middle and values[i] <= values[j]):
            following, i = load_block(values, i), i + block
        else:
            following, j = load_block(values, j), j + block
        done, rest = merge_blocks(rest, following)
        store_block(done, out, k)
    store_block(rest, out, end - block)


@njit(cache=True, nogil=True)
def _sort_blocks(values, spare):
    """Sort whole blocks: each for itself first, then neighbouring runs are merged until there is one."""
    n, run, source, target, moved = uint64(values.shape[0]), uint64(BLOCK), values, spare, False
    for i in range(uint64(0), n, run):
        sort_block(values, i)
    while run < n:
        for i in range(uint64(0), n, uint64(2) * run):
            _merge(source, i, min(i + run, n), min(i + uint64(2) * run, n), target)
        source, target, run, moved = target, source, uint64(2) * run, not moved
    if moved:
        values[:] = spare[:n]


@njit(cache=True, nogil=True)
def _sort_big(s, n_big):
    """Sort the big buckets, in blocks; values of the next bucket may be sorted with them, as all of them are larger."""
    for i in range(n_big):
        start = uint64(s.big[i, 0])
        n = uint64(s.big[i, 1]) - start
        if n <= uint64(BLOCK):
            sort_block(s.bucketed, start)
        else:
            _sort_blocks(s.bucketed[start : start + uint64(_filled(n, BLOCK))], s.spare)


@njit(cache=True, nogil=True)
def _ranks(levels, n):
    ranks = np.empty(levels.shape[0], np.uint32)
    for j in range(levels.shape[0]):
        ranks[j] = min(int(levels[j] * n * (1.0 + STEP_TOLERANCE)), n - 1)
    return ranks


@njit(cache=True, nogil=True)
def _pick(values, ranks, out):
    for j in range(uint64(0), uint64(ranks.shape[0])):
        out[j] = values[ranks[j]]


@njit(cache=True, nogil=True)
def _keep_bounds(s):
    """Remember where the buckets lie, before the next direction is counted."""
    for b in range(s.ends.shape[0]):
        s.bounds[b + 1] = s.ends[b]


@njit(cache=True, nogil=True)
def _behind(values, start, end, x):
    """The first place from `start` up to `end` with a sorted value above x."""
    return start + uint64(np.searchsorted(values[start:end], x, side="right"))


@njit(cache=True, nogil=True)
def _weigh(s, here, weights, out):
    """Put the weights where the values lie that they belong to; equal values leave theirs at the last of them.

    What lies behind a bucket is above its values, so a count of less than EIGHT stays inside.
    """
    one = uint64(1)
    out[:] = 0.0
    for i in range(uint64(0), uint64(weights.shape[0])):
        x, b = s.values[here + i], uint64(s.numbers[here + i])
        start = uint64(s.bounds[b])
        behind = start + count_up_to(s.bucketed, start, x)
        if behind == start + uint64(EIGHT):
            behind = _behind(s.bucketed, behind, uint64(s.bounds[b + one]), x)
        out[behind - one] += weights[i]


@njit(cache=True, nogil=True)
def _walk(values, cumulative, n, levels, out):
    """Take for every level the first value with which the weights exceed that share of all of them."""
    i, one, last = uint64(0), uint64(1), uint64(n - 1)
    for j in range(levels.shape[0]):
        bound = levels[j] * cumulative[n] * (1.0 + STEP_TOLERANCE)
        while cumulative[i + one] <= bound:
            i += count_up_to(cumulative, i + one, bound)
        out[j] = values[min(i, last)]


@njit(cache=True, nogil=True)
def _quantiles(clouds, directions, weights, levels, out):
    """Quantiles of the k-th cloud, or of the only one, in the k-th direction.

    The first turn of the loop sorts nothing yet, the last begins its direction again in vain.
    """
    n_directions, (d, n) = directions.shape[0], clouds.shape[1:]
    s, full = _scratch(n, out), _filled(n, FILL)
    points, sample = _aligned(d * full, out).reshape(d, full), np.empty((d, s.sampled.shape[0]), out.dtype)
    sorted_weights, cumulative = np.empty(weights.shape[0]), np.full(weights.shape[0] + 2 + EIGHT, np.inf)
    ranks, n_big = _ranks(levels, n), uint64(0)
    for k in range(n_directions + 1):
        if k < clouds.shape[0]:
            _copy(clouds[k], points, sample)
        here, there = uint64(k % 2 * full), uint64((k + 1) % 2 * full)
        direction = directions[min(k, n_directions - 1)]
        _project(sample, direction, s.sampled)
        scale = _lay(s.sampled, _n_buckets(n))
        rows, heading = _in_space(points, direction, s.projected)
        _throw(s, here, rows, heading, scale, n, there)
        if weights.shape[0]:
            _keep_bounds(s)
        s.ends[:] = uint32(0)
        _sort_big(s, n_big)
        _compare(s, uint64(full), there)
        if k > 0 and weights.shape[0]:
            _weigh(s, here, weights, sorted_weights)
            accumulate(sorted_weights, cumulative)
            _walk(s.bucketed, cumulative, n, levels, out[k - 1])
        elif k > 0:
            _pick(s.bucketed, ranks, out[k - 1])
        n_big = _start(s.ends, s.big)
    return out


@njit(cache=True, nogil=True)
def projected_points(points, directions):
    values = np.empty((directions.shape[0], points.shape[1]), points.dtype)
    for k in range(directions.shape[0]):
        _project(points, directions[k], values[k])
    return values


def _is_small(n, weights, out):
    """Tell whether there are so few values that NumPy sorts them faster, which holds whatever the directions."""
    return weights.shape[0] == 0 and n * out.itemsize <= FEW_BYTES


def _pick_sorted(values, levels, out):
    values.sort(axis=1)
    n = values.shape[1]
    ranks = np.minimum((levels * n * (1.0 + STEP_TOLERANCE)).astype(np.intp), n - 1)
    return np.take(values, ranks, axis=1, out=out, mode="clip")


def step_quantiles(values, weights, levels, out):
    if _is_small(values.shape[1], weights, out):
        return _pick_sorted(values.copy(), levels, out)
    return _quantiles(values[:, np.newaxis], np.ones((values.shape[0], 1), values.dtype), weights, levels, out)


def projected_quantiles(points, directions, weights, levels, out):
    if _is_small(points.shape[1], weights, out):
        return _pick_sorted(projected_points(points, directions), levels, out)
    return _quantiles(points[np.newaxis], directions, weights, levels, out)
