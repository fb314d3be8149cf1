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
def _mean_power(a, b, p):
    """Mean of |a - b|^p over sorted points of equal weights, for p = 1 or 2."""
    total = 0.0
    if p == 2:
        for i in range(a.shape[0]):
            gap = np.float64(a[i]) - np.float64(b[i])
            total += gap * gap
    else:
        for i in range(a.shape[0]):
            total += abs(np.float64(a[i]) - np.float64(b[i]))
    return total / a.shape[0]


@njit(cache=True, nogil=True)
def _power(x, y, p):
    gap = abs(np.float64(x) - np.float64(y))
    return gap * gap if p == 2 else gap


@njit(cache=True, nogil=True)
def _merged_power(a, a_levels, b, b_levels, p):
    """Integral of |a - b|^p over the levels, from each level of either side to the next."""
    j, last, one, total, level = uint64(0), uint64(b.shape[0] - 1), uint64(1), 0.0, 0.0
    for i in range(uint64(a.shape[0])):
        x, end = a[i], a_levels[i]
        while b_levels[j] < end - LEVEL_TOLERANCE:
            total += max(b_levels[j] - level, 0.0) * _power(x, b[j], p)
            level, j = max(b_levels[j], level), j + one
        total += max(end - level, 0.0) * _power(x, b[j], p)
        level = max(end, level)
        if b_levels[j] <= end + LEVEL_TOLERANCE and j < last:
            j += one
    return total


@njit(cache=True, nogil=True)
def step_distances(left, right, pairs, weights, p, out):
    for k in range(left.values.shape[0]):
        a, a_levels = left.values[k], left.levels[min(k, left.levels.shape[0] - 1)]
        b, b_levels = right.values[k], right.levels[min(k, right.levels.shape[0] - 1)]
        for q in range(pairs.shape[0]):
            i, j = pairs[q]
            u, v = left.offsets[i], right.offsets[j]
            n, m = left.offsets[i + 1] - u, right.offsets[j + 1] - v
            if left.even[i] and right.even[j] and n == m:
                power = _mean_power(a[u : u + n], b[v : v + m], p)
            else:
                power = _merged_power(a[u : u + n], a_levels[u : u + n], b[v : v + m], b_levels[v : v + m], p)
            out[q] += weights[k] * power
    return out
