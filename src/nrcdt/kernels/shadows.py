"""Shadows of pixels, and their transpose.

In strips, the shadow of a pixel starts at k + f (k whole, 0 <= f < 1). Its share in strip k + n is a quadratic in f
whose pieces are the same for all pixels of a direction. So a pixel looks its piece up in a table and adds its mass
times those quadratics, four strips at a time.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from .pixels import BLOCK, geometry, inked_pixels, longest_shadow, reach, shadow_start, strips_across, whole_vectors
from .vectors import LANES, add_quadratics


@njit(cache=True, nogil=True)
def _polynomial(z, middle, short, long, slope, curve, lines):
    """Coefficients of the shadow's cumulative mass (or its density, for `lines`) at z - t, a quadratic in t.

    The shadow starts at 0, rises over `short`, is flat up to `long`, falls until `short + long`; `middle` says on which
    of these pieces z - t lies.
    """
    rest = short + long - z
    if 0.0 < middle < short:
        return (2.0 * curve * z, -2.0 * curve, 0.0) if lines else (curve * z * z, -2.0 * curve * z, curve)
    if short <= middle <= long:
        return (slope, 0.0, 0.0) if lines else (slope * (z - 0.5 * short), -slope, 0.0)
    if long < middle < short + long:
        if lines:
            return 2.0 * curve * rest, 2.0 * curve, 0.0
        return 1.0 - curve * rest * rest, -2.0 * curve * rest, -curve
    return 1.0 if middle >= short + long and not lines else 0.0, 0.0, 0.0


@njit(cache=True, nogil=True)
def _table(short, long, lines, breaks, numbers):
    """Polynomials of one direction: ``table[i, :, n]`` is the share of strip n for a pixel in piece i.

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
    slope = 1.0 / long
    curve = 0.0 if short == 0.0 else 0.5 / (short * long)
    n_strips = int(short + long) + 2
    width = whole_vectors(n_strips)
    table = numbers[: 12 * width].reshape(4, 3, width)
    table[:, :, n_strips:] = 0.0
    for i in range(4):
        middle = 0.5 * (breaks[i] + breaks[i + 1])
        b0, b1, b2 = 0.0, 0.0, 0.0
        for n in range(n_strips):
            c0, c1, c2 = _polynomial(n + 1 - breaks[i], n + 1 - middle, short, long, slope, curve, lines)
            table[i, 0, n], table[i, 1, n], table[i, 2, n] = c0 - b0, c1 - b1, c2 - b2
            if not lines:
                b0, b1, b2 = c0, c1, c2
    return table


@njit(cache=True, nogil=True, fastmath={"contract"})
def _locate(x, y, a, b, origin, breaks, cells, offsets):
    """Find for each pixel the strip and piece that its shadow starts in (4 strip + piece), and how far in the piece."""
    b1, b2, b3 = breaks[1], breaks[2], breaks[3]
    for i in range(x.shape[0]):
        p = x[i] * a + y[i] * b + origin
        strip = np.floor(p)
        f = p - strip
        start = b1 if f >= b1 else 0.0
        piece = 1.0 if f >= b1 else 0.0
        start = b2 if f >= b2 else start
        piece = 2.0 if f >= b2 else piece
        start = b3 if f >= b3 else start
        piece = 3.0 if f >= b3 else piece
        offsets[i] = f - start
        cells[i] = np.int32(4.0 * strip + piece)


@njit(cache=True, nogil=True)
def _add_shadow(cell, t, mass, table, width, total):
    strip, piece = cell >> uint64(2), cell & uint64(3)
    row = uint64(3) * width * piece
    for n in range(uint64(0), width, uint64(LANES)):
        add_quadratics(total, strip + n, table, row + n, width, t, mass)


@njit(cache=True, nogil=True)
def _add_shadows(cells, offsets, mass, table, total):
    """Add the shadows of pixels to `total`; tables of one or two vectors have a loop of their own, with none inside."""
    width, numbers = uint64(table.shape[2]), table.ravel()
    if width == LANES:
        for i in range(mass.shape[0]):
            _add_shadow(uint64(cells[i]), offsets[i], mass[i], numbers, uint64(LANES), total)
    elif width == 2 * LANES:
        for i in range(mass.shape[0]):
            _add_shadow(uint64(cells[i]), offsets[i], mass[i], numbers, uint64(2 * LANES), total)
    else:
        for i in range(mass.shape[0]):
            _add_shadow(uint64(cells[i]), offsets[i], mass[i], numbers, width, total)


@njit(cache=True, nogil=True)
def _shadow_scratch(box, strips_per_pixel):
    """Return the arrays that `_cast` works in; the last is as long as the longest shadow of a box of pixels."""
    widest = whole_vectors(int(math.sqrt(2.0) * strips_per_pixel) + 3)
    return (
        np.empty(5),
        np.empty(12 * widest),
        np.empty(BLOCK, np.int32),
        np.empty(BLOCK),
        np.empty(longest_shadow(box, strips_per_pixel)),
    )


@njit(cache=True, nogil=True)
def _cast(x, y, mass, box, direction, pixel, n_radii, lines, scratch):
    """Sum the shadows of all pixels in one direction; return the strips they reach, and the number of the first."""
    breaks, numbers, cells, offsets, total = scratch
    a, b, short, long = geometry(direction, pixel, n_radii)
    table = _table(short, long, lines, breaks, numbers)
    origin = shadow_start(short, long, n_radii, lines)
    low, high = reach(box, a, b)
    first = math.floor(origin + low) - 1
    strips = total[: strips_across(high - low) + table.shape[2]]
    strips[:] = 0.0
    for i in range(0, mass.shape[0], BLOCK):
        part = slice(i, min(i + BLOCK, mass.shape[0]))
        _locate(x[part], y[part], a, b, origin - first, breaks, cells, offsets)
        _add_shadows(cells, offsets, mass[part], table, strips)
    return first, strips


@njit(cache=True, nogil=True)
def strip_sums(image, directions, pixel, lines, out):
    n_directions, n_radii = out.shape
    x, y, mass = inked_pixels(image)
    out[:] = 0.0
    if mass.shape[0] == 0:
        return out
    box = (x.min(), x.max(), y.min(), y.max())
    scratch = _shadow_scratch(box, 0.5 * pixel * n_radii)
    for k in range(n_directions):
        first, strips = _cast(x, y, mass, box, directions[k], pixel, n_radii, lines, scratch)
        stop = first + strips.shape[0]
        if first >= 0 and stop <= n_radii:
            out[k, first:stop] = strips
        else:
            for r in range(first, stop):
                out[k, min(max(r, 0), n_radii - 1)] += strips[r - first]
    if lines:
        out *= 0.5 * n_radii
    return out


@njit(cache=True, nogil=True)
def _collect_gains(row, base, table, gains):
    """Turn one direction of a sinogram into polynomials: what a pixel in each cell collects, as a quadratic in t."""
    gains[:] = 0.0
    for r in range(gains.shape[1] // 4):
        for n in range(table.shape[2]):
            value = row[min(max(base + r + n, 0), row.shape[0] - 1)]
            for i in range(4):
                for j in range(3):
                    gains[j, 4 * r + i] += table[i, j, n] * value


@njit(cache=True, nogil=True)
def back_project(sinogram, directions, pixel, lines, out):
    n_directions, n_radii = sinogram.shape
    height, width = out.shape
    box = (-0.5 * (width - 1), 0.5 * (width - 1), -0.5 * (height - 1), 0.5 * (height - 1))
    length = strips_across(0.5 * math.hypot(height, width) * pixel * n_radii)
    breaks = np.empty(5)
    numbers = np.empty(12 * whole_vectors(int(math.sqrt(2.0) * pixel * n_radii / 2.0) + 3))
    gains = np.empty((3, 4 * length))
    cells, offsets = np.empty(width, np.int32), np.empty(width)
    x = np.arange(width) - 0.5 * (width - 1)
    out[:] = 0.0
    for k in range(n_directions):
        a, b, short, long = geometry(directions[k], pixel, n_radii)
        table = _table(short, long, lines, breaks, numbers)
        origin = shadow_start(short, long, n_radii, lines)
        base = math.floor(origin + reach(box, a, b)[0]) - 1
        _collect_gains(sinogram[k], base, table, gains)
        for i in range(height):
            y = np.full(width, i - 0.5 * (height - 1))
            _locate(x, y, a, b, origin - base, breaks, cells, offsets)
            for j in range(width):
                c, t = uint64(cells[j]), offsets[j]
                out[i, j] += gains[0, c] + t * (gains[1, c] + t * gains[2, c])
    if lines:
        out *= 0.5 * n_radii
    return out
