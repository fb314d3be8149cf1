"""Wasserstein distances on the line between weighted points that are sorted: step functions, compared exactly.

Without weights and with as many points on both sides, sorted points meet in order. Otherwise the levels of both are
merged: between two neighbouring ones both quantile functions are constant. Which loop serves a pair depends on this
pair alone, so that it has the same bits in any company.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

# Of all mass: levels this close are one level, rounded. Sums of ten thousand weights change less with their order.
LEVEL_TOLERANCE = 2.0**-46


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _mean_power(a, u, b, v, n, p):
    """Mean of |a - b|^p over n sorted points of equal weights, from a[u] and b[v] on, for p = 1 or 2."""
    total = 0.0
    if p == 2:
        for i in range(n):
            gap = np.float64(a[u + i]) - np.float64(b[v + i])
            total += gap * gap
    else:
        for i in range(n):
            total += abs(np.float64(a[u + i]) - np.float64(b[v + i]))
    return total / n


@njit(cache=True, nogil=True)
def _power(x, y, p):
    gap = abs(x - y)
    return gap * gap if p == 2 else gap


@njit(cache=True, nogil=True)
def _merged_power(a, a_levels, u, n, b, b_levels, v, m, p):
    """Integral of |a - b|^p over the levels, from each level of either side to the next: n points here, m there.

    What is read of b stays in registers until b moves on: that takes a third off the time.
    """
    j, last, one, total, level = v, v + m - uint64(1), uint64(1), 0.0, 0.0
    y, there = np.float64(b[j]), b_levels[j]
    for i in range(u, u + n):
        x, here = np.float64(a[i]), a_levels[i]
        low, high = here - LEVEL_TOLERANCE, here + LEVEL_TOLERANCE
        while there < low:
            total += (there - level) * _power(x, y, p)
            level, j = there, j + one
            y, there = np.float64(b[j]), b_levels[j]
        total += (here - level) * _power(x, y, p)
        level = here
        if there <= high and j < last:
            j += one
            y, there = np.float64(b[j]), b_levels[j]
    return max(total, 0.0)  # levels that count as one may be a rounding out of order


@njit(cache=True, nogil=True)
def step_distances(left, right, pairs, weights, p, out):
    one = uint64(1)
    for k in range(left.values.shape[0]):
        a, a_levels = left.values[k], left.levels[min(k, left.levels.shape[0] - 1)]
        b, b_levels = right.values[k], right.levels[min(k, right.levels.shape[0] - 1)]
        for q in range(uint64(pairs.shape[0])):
            i, j = uint64(pairs[q, 0]), uint64(pairs[q, 1])
            u, v = uint64(left.offsets[i]), uint64(right.offsets[j])
            n, m = uint64(left.offsets[i + one]) - u, uint64(right.offsets[j + one]) - v
            if left.even[i] and right.even[j] and n == m:
                power = _mean_power(a, u, b, v, n, p)
            else:
                power = _merged_power(a, a_levels, u, n, b, b_levels, v, m, p)
            out[q] += weights[k] * power
    return out
