"""The Radon transform one ray at a time, as the original implementation of the NR-CDT computes it.

Every strip of every direction visits every line of pixels, works out which pixels of that line it may touch, and adds
their mass times the exact share of their shadow. Nothing is shared between strips, opposite directions are computed
again, and zeros are not skipped. The loops are compiled, walk memory in order, and run on one thread.
"""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def shadow_below(z, short, long, slope, curve):
    """Share of a pixel's shadow below z: it rises over `short`, is flat up to `long`, falls until `short + long`."""
    if z <= 0.0:
        return 0.0
    if z < short:
        return curve * z * z
    if z <= long:
        return slope * (z - 0.5 * short)
    rest = short + long - z
    if rest <= 0.0:
        return 1.0
    return 1.0 - curve * rest * rest


@njit(cache=True, nogil=True)
def sum_ray(lines, edge, along, across, short, long):
    """Mass in the strip [edge, edge + 1]; one pixel along a line moves the shadow by `along`, one line by `across`."""
    n_lines, length = lines.shape
    slope = 1.0 / long
    curve = 0.0 if short == 0.0 else 0.5 / (short * long)
    half = 0.5 * (short + long)
    middle = 0.5 * (length - 1)
    total = 0.0
    for i in range(n_lines):
        line = lines[i]
        centre = (i - 0.5 * (n_lines - 1)) * across
        one_end = (edge - half - centre) / along + middle
        other_end = (edge + 1.0 + half - centre) / along + middle
        first = max(0, math.ceil(min(one_end, other_end)))
        last = min(length - 1, math.floor(max(one_end, other_end)))
        for j in range(first, last + 1):
            z = edge + half - centre - (j - middle) * along
            upper = shadow_below(z + 1.0, short, long, slope, curve)
            total += line[j] * (upper - shadow_below(z, short, long, slope, curve))
    return total


@njit(cache=True, nogil=True)
def sum_rays(rows, columns, steps, out):
    """Fill `out`; steep rays walk the rows of the image, flat rays its columns, so that a line meets few pixels."""
    n_radii = out.shape[1]
    for k in range(out.shape[0]):
        x, y = steps[k]
        short, long = min(abs(x), abs(y)), max(abs(x), abs(y))
        for r in range(n_radii):
            edge = r - 0.5 * n_radii
            if abs(x) >= abs(y):
                out[k, r] = sum_ray(rows, edge, x, y, short, long)
            else:
                out[k, r] = sum_ray(columns, edge, y, x, short, long)


def per_ray(image, directions, n_radii):
    """Return what ``nrcdt.radon(image, directions, n_radii=n_radii)`` returns, computed ray by ray."""
    rows = np.ascontiguousarray(image)
    steps = directions * (math.sqrt(2) / max(image.shape) * n_radii / 2)
    out = np.empty((len(directions), n_radii))
    sum_rays(rows, np.ascontiguousarray(rows.T), steps, out)
    return out
