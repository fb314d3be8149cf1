"""Shadows of pixels, and their transpose.

In strips, the shadow of a pixel starts at k + f (k whole, 0 <= f < 1). Its share in strip k + n is a quadratic in f
whose pieces are the same for all pixels of a direction. So a pixel only adds its mass times 1, t, t^2 to the cell of
its strip and piece, with t counted from the start of the piece; the strips are linear combinations of the cells.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from .reference import AXIS, NUDGE

BLOCK = 1024  # pixels
TILE = 256  # strips whose moments stay in the cache


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


@njit(cache=True, nogil=True, fastmath={"contract"})
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
def _add_shares(m0, m1, m2, length, first, last, shares, n, total):
    """Add what the cells of all four pieces, from strip `first` to `last`, give to the strip `n` further on."""
    a0, a1, a2 = shares[0, n, 0], shares[0, n, 1], shares[0, n, 2]
    b0, b1, b2 = shares[1, n, 0], shares[1, n, 1], shares[1, n, 2]
    c0, c1, c2 = shares[2, n, 0], shares[2, n, 1], shares[2, n, 2]
    d0, d1, d2 = shares[3, n, 0], shares[3, n, 1], shares[3, n, 2]
    for i in range(uint64(first), uint64(last)):
        j = i + uint64(length)
        k = j + uint64(length)
        h = k + uint64(length)
        left = (a0 * m0[i] + a1 * m1[i] + a2 * m2[i]) + (b0 * m0[j] + b1 * m1[j] + b2 * m2[j])
        right = (c0 * m0[k] + c1 * m1[k] + c2 * m2[k]) + (d0 * m0[h] + d1 * m1[h] + d2 * m2[h])
        total[i + uint64(n)] += left + right


@njit(cache=True, nogil=True)
def _geometry(direction, pixel, n_radii):
    """Steps of the shadow's start per pixel in x and y, and the two widths of the shadow, in strips."""
    a = direction[0] * pixel * n_radii / 2.0
    b = direction[1] * pixel * n_radii / 2.0
    a = 0.0 if abs(a) < AXIS * abs(b) else a
    b = 0.0 if abs(b) < AXIS * abs(a) else b
    return a, b, min(abs(a), abs(b)), max(abs(a), abs(b))


@njit(cache=True, nogil=True)
def _origin(short, long, n_radii, lines):
    """Where the shadow of a pixel at the centre starts, counted from the first strip or, of lines, half a strip before.

    Along an axis shadows are boxes: a line on a pixel border is counted to the pixel before it.
    """
    start = 0.5 * (n_radii - short - long)
    if not lines:
        return start
    return start + 0.5 + (NUDGE if short < AXIS * long else 0.0)


@njit(cache=True, nogil=True)
def _inked_pixels(image):
    """Coordinates from the centre and masses of the pixels that are not zero."""
    height, width = image.shape
    count = 0
    for i in range(height):
        for j in range(width):
            count += image[i, j] != 0.0
    x, y, mass = np.empty(count, np.float32), np.empty(count, np.float32), np.empty(count)
    count = 0
    for i in range(height):
        for j in range(width):
            if image[i, j] != 0.0:
                x[count], y[count], mass[count] = j - 0.5 * (width - 1), i - 0.5 * (height - 1), image[i, j]
                count += 1
    return x, y, mass


@njit(cache=True, nogil=True)
def _reach(box, a, b):
    """Smallest and largest position of a centre in a box of pixels (x from, x to, y from, y to)."""
    low = min(a * box[0], a * box[1]) + min(b * box[2], b * box[3])
    high = max(a * box[0], a * box[1]) + max(b * box[2], b * box[3])
    return low, high


@njit(cache=True, nogil=True)
def _cell_count(extent):
    """Strips that shadows may start in, with one to spare on either side, in whole vectors."""
    return (int(extent) + 12) // 8 * 8


@njit(cache=True, nogil=True)
def _sum_one(x, y, mass, box, direction, pixel, lines, scratch, out):
    """Sum the shadows of one image in one direction into `out`."""
    breaks, table, cells, offsets, moments, total = scratch
    n_radii = out.shape[0]
    a, b, short, long = _geometry(direction, pixel, n_radii)
    shares = table[:, : int(short + long) + 2]
    _table(short, long, lines, breaks, shares)
    origin = _origin(short, long, n_radii, lines)
    low, high = _reach(box, a, b)
    base = math.floor(origin + low) - 1
    length = _cell_count(high - low)
    end = length + shares.shape[1]
    m0, m1, m2 = moments[0, : 4 * length], moments[1, : 4 * length], moments[2, : 4 * length]
    m0[:], m1[:], m2[:], total[:end] = 0.0, 0.0, 0.0, 0.0
    for i in range(0, mass.shape[0], BLOCK):
        part = slice(i, min(i + BLOCK, mass.shape[0]))
        _locate(x[part], y[part], a, b, origin - base, breaks, float(length), cells, offsets)
        _add_moments(cells, offsets, mass[part], m0, m1, m2)
    for first in range(0, length, TILE):
        for n in range(shares.shape[1]):
            _add_shares(m0, m1, m2, length, first, min(first + TILE, length), shares, n, total)
    if base >= 0 and base + end <= n_radii:
        out[base : base + end] = total[:end]
        return
    for r in range(end):
        out[min(max(base + r, 0), n_radii - 1)] += total[r]


@njit(cache=True, nogil=True)
def strip_sums(image, directions, pixel, lines, out):
    n_directions, n_radii = out.shape
    strips_per_pixel = 0.5 * pixel * n_radii
    x, y, mass = _inked_pixels(image)
    out[:] = 0.0
    if mass.shape[0] == 0:
        return out
    box = (x.min(), x.max(), y[0], y[-1])
    longest = _cell_count(math.hypot(box[1] - box[0], box[3] - box[2]) * strips_per_pixel + 1.0)
    widest = int(math.sqrt(2.0) * strips_per_pixel) + 3
    scratch = (
        np.empty(5),
        np.empty((4, widest, 3)),
        np.empty(BLOCK, np.int32),
        np.empty(BLOCK),
        np.empty((3, 4 * longest)),
        np.empty(longest + widest),
    )
    for k in range(n_directions):
        _sum_one(x, y, mass, box, directions[k], pixel, lines, scratch, out[k])
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
    box = (-0.5 * (width - 1), 0.5 * (width - 1), -0.5 * (height - 1), 0.5 * (height - 1))
    length = _cell_count(0.5 * math.hypot(height, width) * pixel * n_radii)
    breaks, table = np.empty(5), np.empty((4, int(math.sqrt(2.0) * pixel * n_radii / 2.0) + 3, 3))
    gains = np.empty((3, 4 * length))
    cells, offsets = np.empty(width, np.int32), np.empty(width)
    x = np.arange(width) - 0.5 * (width - 1)
    out[:] = 0.0
    for k in range(n_directions):
        a, b, short, long = _geometry(directions[k], pixel, n_radii)
        shares = table[:, : int(short + long) + 2]
        _table(short, long, lines, breaks, shares)
        origin = _origin(short, long, n_radii, lines)
        base = math.floor(origin + _reach(box, a, b)[0]) - 1
        _collect_gains(sinogram[k], base, shares, gains)
        for i in range(height):
            y = np.full(width, i - 0.5 * (height - 1))
            _locate(x, y, a, b, origin - base, breaks, float(length), cells, offsets)
            for j in range(width):
                c, t = uint64(cells[j]), offsets[j]
                out[i, j] += gains[0, c] + t * (gains[1, c] + t * gains[2, c])
    if lines:
        out *= 0.5 * n_radii
    return out
