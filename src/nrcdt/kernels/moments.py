"""Quantile functions, one row at a time: their mean, variance, shift and scale, and the bounds of several."""

from __future__ import annotations

import math

from numba import njit


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
def first_flat(means, spreads, tolerance):
    for i in range(means.shape[0]):
        largest, widest = 0.0, 0.0
        for k in range(means.shape[1]):
            largest, widest = max(largest, abs(means[i, k])), max(widest, spreads[i, k])
        for k in range(means.shape[1]):
            if not spreads[i, k] > tolerance * (largest + widest):
                return i * means.shape[1] + k
    return -1


@njit(cache=True, nogil=True)
def shift_and_scale(quantiles, shifts, scales):
    for i in range(quantiles.shape[0]):
        for k in range(quantiles.shape[1]):
            row, shift, scale = quantiles[i, k], shifts[i, k], scales[i, k]
            for j in range(row.shape[0]):
                row[j] = (row[j] - shift) * scale
    return quantiles


@njit(cache=True, nogil=True, error_model="numpy")
def stretch_bounds(row, weights, lowest, highest):
    """Stretch two bounds so that a row, standardised, lies between them; return its mean and variance."""
    mean = _weighted_sum(row, weights)
    variance = _weighted_squares(row, weights, mean)
    scale = 1.0 / math.sqrt(variance)
    for j in range(row.shape[0]):
        q = (row[j] - mean) * scale
        lowest[j] = q if q < lowest[j] else lowest[j]
        highest[j] = q if q > highest[j] else highest[j]
    return mean, variance


@njit(cache=True, nogil=True)
def mirror_bounds(lowest, highest):
    """Stretch two bounds so that they hold the mirror images of everything between them: -q(1 - t) for q(t)."""
    n = lowest.shape[0]
    for j in range(n):
        highest[j] = max(highest[j], -lowest[n - 1 - j])
    for j in range(n):
        lowest[j] = -highest[n - 1 - j]
