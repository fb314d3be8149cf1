"""The hot loops, compiled by numba.

Plain functions over arrays that release the interpreter lock; threads are the caller's business. Every public function
has a twin of the same name in `reference.py`, which says what is computed. This file only says how it gets fast:

    strip_sums, back_project   moments of pixels per strip and one table of polynomials per direction
    linear_quantiles           one walk along the cumulative masses
    step_quantiles             buckets, then a network that compares neighbours only
    projected_quantiles        the same, with the projections made on the way
    row_moments, shift_and_scale   one row at a time, while it is in the cache

Two habits of the compiler shape the code. A choice is written ``x if x < y else y`` into another array: it becomes
one vector instruction, where ``min`` or an update in place becomes a masked store. And addresses that depend on data are
loaded in groups before anything is stored, because a store whose address is not yet known holds up later loads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, uint32, uint64

BLOCK = 1024
BIG_BUCKET = 32
SMALL_CLOUD = 64
STEP_TOLERANCE = 1e-12

FloatArray = np.ndarray[Any, np.dtype[np.floating[Any]]]
IntArray = np.ndarray[Any, np.dtype[np.integer[Any]]]


@njit(cache=True, nogil=True)
def _polynomial(z, middle, short, long, lines, coefficients):
    """Write the shadow's cumulative mass (or its density, for `lines`) at z - t as a quadratic in t.

    The shadow starts at 0, rises over `short`, is flat up to `long`, falls until `short + long`; `middle` says on which
    of these pieces z - t lies.
    """
    c0, c1, c2 = 0.0, 0.0, 0.0
    curve = 0.0 if short == 0.0 else 0.5 / (short * long)
    rest = short + long - z
    if 0.0 < middle < short:
        c0, c1, c2 = (2.0 * curve * z, -2.0 * curve, 0.0) if lines else (curve * z * z, -2.0 * curve * z, curve)
    elif short <= middle <= long:
        c0, c1 = (1.0 / long, 0.0) if lines else ((z - 0.5 * short) / long, -1.0 / long)
    elif long < middle < short + long:
        if lines:
            c0, c1 = 2.0 * curve * rest, 2.0 * curve
        else:
            c0, c1, c2 = 1.0 - curve * rest * rest, -2.0 * curve * rest, -curve
    elif middle >= short + long and not lines:
        c0 = 1.0
    coefficients[0], coefficients[1], coefficients[2] = c0, c1, c2


@njit(cache=True, nogil=True)
def _table(short, long, lines, breaks, table):
    """Fill the polynomials of one direction: `table[i, n]` is the share of strip n for a pixel in piece i.

    Seen from its strip, a pixel's shadow starts at f in [0, 1). As f grows the shares stay quadratics in f except
    where an end of a piece of the shadow passes a strip edge. That happens at three values of f: the `breaks`.
    """
    a = math.ceil(short) - short
    b = math.ceil(long) - long
    c = math.ceil(short + long) - (short + long)
    breaks[0], breaks[4] = 0.0, 1.0
    breaks[1] = min(a, b, c)
    breaks[3] = max(a, b, c)
    breaks[2] = max(min(a, b), min(max(a, b), c))
    n_strips = table.shape[1]
    for i in range(4):
        middle = 0.5 * (breaks[i] + breaks[i + 1])
        for n in range(n_strips):
            _polynomial(n + 1 - breaks[i], n + 1 - middle, short, long, lines, table[i, n])
        if not lines:
            for n in range(n_strips - 1, 0, -1):
                for j in range(3):
                    table[i, n, j] -= table[i, n - 1, j]


@njit(cache=True, nogil=True)
def _locate(x, y, a, b, origin, breaks, stride, cells, offsets):
    """Find for each pixel the cell (piece and strip) that its shadow starts in, and how far from the piece's start."""
    b1, b2, b3 = breaks[1], breaks[2], breaks[3]
    for i in range(x.shape[0]):
        p = x[i] * a + y[i] * b + origin
        strip = np.floor(p)
        f = p - strip
        start = b1 if f >= b1 else 0.0
        row = stride if f >= b1 else 0.0
        start = b2 if f >= b2 else start
        row = 2.0 * stride if f >= b2 else row
        start = b3 if f >= b3 else start
        row = 3.0 * stride if f >= b3 else row
        offsets[i] = f - start
        cells[i] = np.int32(strip + row)


@njit(cache=True, nogil=True)
def _add_moments(cells, offsets, mass, m0, m1, m2):
    for i in range(mass.shape[0]):
        j = uint64(cells[i])
        t = offsets[i]
        first = mass[i] * t
        m0[j] += mass[i]
        m1[j] += first
        m2[j] += first * t


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_shares(m0, m1, m2, n0, n1, n2, p, q, out):
    p0, p1, p2 = p[0], p[1], p[2]
    q0, q1, q2 = q[0], q[1], q[2]
    for r in range(out.shape[0]):
        out[r] += (p0 * m0[r] + p1 * m1[r] + p2 * m2[r]) + (q0 * n0[r] + q1 * n1[r] + q2 * n2[r])


@njit(cache=True, nogil=True)
def _geometry(direction, pixel, n_radii):
    """Steps of the shadow's start per pixel in x and y, and the two widths of the shadow, in strips."""
    a = direction[0] * pixel * n_radii / 2.0
    b = direction[1] * pixel * n_radii / 2.0
    return a, b, min(abs(a), abs(b)), max(abs(a), abs(b))


@njit(cache=True, nogil=True)
def _sum_one(x, y, mass, direction, reach, pixel, lines, scratch, out):
    """Sum the shadows of one image in one direction into `out`."""
    breaks, table, cells, offsets, moments, total = scratch
    n_radii = out.shape[0]
    a, b, short, long = _geometry(direction, pixel, n_radii)
    n_shares = int(short + long) + 2
    shares = table[:, :n_shares]
    _table(short, long, lines, breaks, shares)
    origin = 0.5 * (n_radii - short - long) + (0.5 if lines else 0.0)
    base = math.floor(origin - reach) - 1
    length = moments.shape[1] // 4
    moments[:] = 0.0
    total[:] = 0.0
    m0, m1, m2 = moments[0], moments[1], moments[2]
    for i in range(0, mass.shape[0], BLOCK):
        part = slice(i, min(i + BLOCK, mass.shape[0]))
        _locate(x[part], y[part], a, b, origin - base, breaks, float(length), cells, offsets)
        _add_moments(cells, offsets, mass[part], m0, m1, m2)
    for n in range(n_shares):
        for i in range(0, 4, 2):
            j, k = i * length, (i + 1) * length
            _add_shares(
                m0[j:], m1[j:], m2[j:], m0[k:], m1[k:], m2[k:], shares[i, n], shares[i + 1, n], total[n : n + length]
            )
    for r in range(length + n_shares):
        out[min(max(base + r, 0), n_radii - 1)] += total[r]


@njit(cache=True, nogil=True)
def _inked_pixels(image):
    """Coordinates from the centre, masses of the pixels that are not zero, and their largest distance squared."""
    height, width = image.shape
    count = 0
    for i in range(height):
        for j in range(width):
            count += image[i, j] != 0.0
    x, y, mass = np.empty(count, np.float32), np.empty(count, np.float32), np.empty(count)
    count = 0
    reach = 0.0
    for i in range(height):
        for j in range(width):
            if image[i, j] != 0.0:
                u, v = j - 0.5 * (width - 1), i - 0.5 * (height - 1)
                x[count], y[count], mass[count] = u, v, image[i, j]
                reach = max(reach, u * u + v * v)
                count += 1
    return x, y, mass, reach


@njit(cache=True, nogil=True)
def strip_sums(image, directions, pixel, lines, out):
    n_directions, n_radii = out.shape
    strips_per_pixel = 0.5 * pixel * n_radii
    widest = int(math.sqrt(2.0) * strips_per_pixel) + 3
    x, y, mass, reach = _inked_pixels(image)
    reach = math.sqrt(reach) * strips_per_pixel
    length = int(2.0 * reach) + 5
    scratch = (
        np.empty(5),
        np.empty((4, widest, 3)),
        np.empty(BLOCK, np.int32),
        np.empty(BLOCK),
        np.empty((3, 4 * length)),
        np.empty(length + widest),
    )
    out[:] = 0.0
    for k in range(n_directions):
        _sum_one(x, y, mass, directions[k], reach, pixel, lines, scratch, out[k])
    if lines:
        out *= 0.5 * n_radii
    return out


@njit(cache=True, nogil=True)
def _collect_gains(row, base, shares, gains):
    """Turn one direction of a sinogram into polynomials: what a pixel in each cell collects, as a quadratic in t."""
    length = gains.shape[1] // 4
    gains[:] = 0.0
    for i in range(4):
        for n in range(shares.shape[1]):
            for r in range(length):
                value = row[min(max(base + r + n, 0), row.shape[0] - 1)]
                for j in range(3):
                    gains[j, i * length + r] += shares[i, n, j] * value


@njit(cache=True, nogil=True)
def back_project(sinogram, directions, pixel, lines, out):
    n_directions, n_radii = sinogram.shape
    height, width = out.shape
    reach = 0.25 * math.hypot(height, width) * pixel * n_radii
    breaks, table = np.empty(5), np.empty((4, int(math.sqrt(2.0) * pixel * n_radii / 2.0) + 3, 3))
    gains = np.empty((3, 4 * (int(2.0 * reach) + 5)))
    cells, offsets = np.empty(width, np.int32), np.empty(width)
    x = np.arange(width) - 0.5 * (width - 1)
    out[:] = 0.0
    for k in range(n_directions):
        a, b, short, long = _geometry(directions[k], pixel, n_radii)
        shares = table[:, : int(short + long) + 2]
        _table(short, long, lines, breaks, shares)
        origin = 0.5 * (n_radii - short - long) + (0.5 if lines else 0.0)
        base = math.floor(origin - reach) - 1
        _collect_gains(sinogram[k], base, shares, gains)
        for i in range(height):
            y = np.full(width, i - 0.5 * (height - 1))
            _locate(x, y, a, b, origin - base, breaks, float(gains.shape[1] // 4), cells, offsets)
            for j in range(width):
                c, t = uint64(cells[j]), offsets[j]
                out[i, j] += gains[0, c] + t * (gains[1, c] + t * gains[2, c])
    if lines:
        out *= 0.5 * n_radii
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def linear_quantiles(masses, levels, lower, width, out):
    n_slices, n_radii = masses.shape
    cumulative = np.empty(n_radii + 1)
    for k in range(n_slices):
        last = n_radii - 1
        while last > 0 and masses[k, last] == 0.0:
            last -= 1
        r = 0
        while r < last and masses[k, r] == 0.0:
            r += 1
        total = 0.0
        for j in range(r, last + 1):
            cumulative[j] = total
            total += masses[k, j]
        cumulative[last + 1] = total
        for j in range(levels.shape[0]):
            t = levels[j] * total
            bound = t * (1.0 + STEP_TOLERANCE)
            while r < last and cumulative[r + 1] <= bound:
                r += 1
            share = (t - cumulative[r]) / (cumulative[r + 1] - cumulative[r])
            out[k, j] = lower + width * (r + min(max(share, 0.0), 1.0))
    return out


# An order statistic is found by throwing the values into buckets of equal width and sorting each bucket where it lies.
# Buckets hold a few values, so a network that only compares neighbours finishes after as many rounds as the fullest
# bucket has values; fuller buckets than BIG_BUCKET are sorted on their own first.


@njit(cache=True, nogil=True)
def _project(points, direction, out):
    """Inner products with one direction; the coordinates are the rows of `points`."""
    first = direction[0]
    for i in range(out.shape[0]):
        out[i] = points[0, i] * first
    for a in range(1, points.shape[0]):
        row, factor = points[a], direction[a]
        for i in range(out.shape[0]):
            out[i] += row[i] * factor


@njit(cache=True, nogil=True, error_model="numpy")
def _bucket_of(values, buckets, n_buckets, span):
    """Number the values by buckets that cover the range of a sample; whatever lies outside goes to the end buckets."""
    low, high = values[0], values[0]
    for i in range(0, values.shape[0], max(1, values.shape[0] // 512)):
        low = min(low, values[i])
        high = max(high, values[i])
    if not high > low:
        buckets[:] = uint32(0)
        return
    span[0] = n_buckets / (1.04 * (high - low))
    span[1] = low - (high - low) * 0.02
    span[2] = n_buckets - 1
    scale, start, top = span[0], span[1], span[2]
    zero = start - start
    for i in range(values.shape[0]):
        u = (values[i] - start) * scale
        u = u if u > zero else zero
        u = u if u < top else top
        buckets[i] = np.int32(u)


@njit(cache=True, nogil=True)
def _sort_into_buckets(values, buckets, ends, out):
    """Move the values into the order of their buckets; return the size of the fullest bucket left to sort."""
    n = values.shape[0]
    one = uint32(1)
    ends[:] = uint32(0)
    for i in range(n):
        ends[buckets[i]] += one
    total = uint32(0)
    fullest = uint32(0)
    for b in range(ends.shape[0]):
        size = ends[b]
        ends[b] = total
        total += size
        fullest = max(fullest, size)
    whole = n - n % 4
    for i in range(uint64(0), uint64(whole), uint64(4)):
        b0, b1 = buckets[i], buckets[i + uint64(1)]
        b2, b3 = buckets[i + uint64(2)], buckets[i + uint64(3)]
        p0 = ends[b0]
        ends[b0] = p0 + one
        p1 = ends[b1]
        ends[b1] = p1 + one
        p2 = ends[b2]
        ends[b2] = p2 + one
        p3 = ends[b3]
        ends[b3] = p3 + one
        v0, v1 = values[i], values[i + uint64(1)]
        v2, v3 = values[i + uint64(2)], values[i + uint64(3)]
        out[p0] = v0
        out[p1] = v1
        out[p2] = v2
        out[p3] = v3
    for i in range(whole, n):
        out[ends[buckets[i]]] = values[i]
        ends[buckets[i]] += one
    if fullest <= BIG_BUCKET:
        return fullest
    return _sort_big_buckets(ends, out)


@njit(cache=True, nogil=True)
def _sort_big_buckets(ends, out):
    start = 0
    fullest = 1
    for b in range(ends.shape[0]):
        end = int(ends[b])
        if end - start > BIG_BUCKET:
            out[start:end].sort()
        else:
            fullest = max(fullest, end - start)
        start = end
    return uint32(fullest)


@njit(cache=True, nogil=True)
def _compare_neighbours(even, odd, new_even, new_odd, n):
    """One round of odd-even transposition: (even, odd) pairs, then (odd, next even) pairs."""
    x, y = even[0], odd[0]
    new_even[0] = x if x < y else y
    for q in range(n):
        x, y = even[q], odd[q]
        upper = x if x > y else y
        x, y = even[q + 1], odd[q + 1]
        lower = x if x < y else y
        new_odd[q] = upper if upper < lower else lower
        new_even[q + 1] = upper if upper > lower else lower


@njit(cache=True, nogil=True)
def _order_statistics(values, ranks, scratch, out):
    buckets, ends, bucketed, lanes, span = scratch
    n = values.shape[0]
    if n <= SMALL_CLOUD:
        bucketed[:] = values
        bucketed.sort()
        for j in range(ranks.shape[0]):
            out[j] = bucketed[ranks[j]]
        return
    _bucket_of(values, buckets, ends.shape[0], span)
    fullest = _sort_into_buckets(values, buckets, ends, bucketed)
    even, odd, new_even, new_odd = lanes[0], lanes[1], lanes[2], lanes[3]
    half = n // 2
    for q in range(half):
        even[q] = bucketed[2 * q]
        odd[q] = bucketed[2 * q + 1]
    if n % 2:
        even[half] = bucketed[n - 1]
        odd[half] = np.inf
    for _ in range((fullest + 1) // 2):
        _compare_neighbours(even, odd, new_even, new_odd, (n + 1) // 2)
        even, odd, new_even, new_odd = new_even, new_odd, even, odd
    for j in range(ranks.shape[0]):
        pair = ranks[j] >> 1
        out[j] = odd[pair] if ranks[j] & 1 else even[pair]


@njit(cache=True, nogil=True)
def _scratch(values):
    n = values.shape[0]
    lanes = np.full((4, (n + 1) // 2 + 2), np.inf).astype(values.dtype)
    n_buckets = max(16, n // 2)
    return (
        np.empty(n, np.uint32),
        np.empty(n_buckets, np.uint32),
        np.empty_like(values),
        lanes,
        np.empty(3, values.dtype),
    )


@njit(cache=True, nogil=True)
def _ranks(levels, n):
    ranks = np.empty(levels.shape[0], np.int64)
    for j in range(levels.shape[0]):
        ranks[j] = min(int(levels[j] * n * (1.0 + STEP_TOLERANCE)), n - 1)
    return ranks


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
    if weights.shape[0]:
        for k in range(values.shape[0]):
            _weighted(values[k], weights, levels, out[k])
        return out
    ranks = _ranks(levels, values.shape[1])
    scratch = _scratch(values[0])
    for k in range(values.shape[0]):
        _order_statistics(values[k], ranks, scratch, out[k])
    return out


@njit(cache=True, nogil=True)
def projected_quantiles(points, directions, weights, levels, out):
    values = np.empty(points.shape[1], points.dtype)
    ranks = _ranks(levels, points.shape[1])
    scratch = _scratch(values)
    for k in range(directions.shape[0]):
        _project(points, directions[k], values)
        if weights.shape[0]:
            _weighted(values, weights, levels, out[k])
        else:
            _order_statistics(values, ranks, scratch, out[k])
    return out


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _weighted_sum(row, weights):
    total = 0.0
    for j in range(row.shape[0]):
        total += weights[j] * row[j]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _weighted_squares(row, weights, centre):
    total = 0.0
    for j in range(row.shape[0]):
        total += weights[j] * (row[j] - centre) ** 2
    return total


@njit(cache=True, nogil=True)
def row_moments(quantiles, weights, means, variances):
    for i in range(quantiles.shape[0]):
        for k in range(quantiles.shape[1]):
            means[i, k] = _weighted_sum(quantiles[i, k], weights)
            variances[i, k] = _weighted_squares(quantiles[i, k], weights, means[i, k])
    return means, variances


@njit(cache=True, nogil=True)
def shift_and_scale(quantiles, shifts, scales):
    for i in range(quantiles.shape[0]):
        for k in range(quantiles.shape[1]):
            row, shift, scale = quantiles[i, k], shifts[i, k], scales[i, k]
            for j in range(row.shape[0]):
                row[j] = (row[j] - shift) * scale
    return quantiles
