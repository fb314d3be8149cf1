"""Pixels seen from a direction: where they lie, in strips, and which of them have ink."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from .vectors import LANES

# Along an axis shadows are boxes: a line on a pixel border is counted to the pixel before it.
AXIS, NUDGE = 1e-15, 1e-9
BLOCK = 512  # pixels
PILES, STRIDE = 16, 5
RUN = 16  # pixels


@njit(cache=True, nogil=True)
def whole_vectors(n):
    """Round up to a number that vectors divide."""
    return (n + LANES - 1) // LANES * LANES


@njit(cache=True, nogil=True)
def geometry(direction, pixel, n_radii):
    """Steps of the shadow's start per pixel in x and y, and the two widths of the shadow, in strips."""
    a = direction[0] * pixel * n_radii / 2.0
    b = direction[1] * pixel * n_radii / 2.0
    a = 0.0 if abs(a) < AXIS * abs(b) else a
    b = 0.0 if abs(b) < AXIS * abs(a) else b
    return a, b, min(abs(a), abs(b)), max(abs(a), abs(b))


@njit(cache=True, nogil=True)
def shadow_start(short, long, n_radii, lines):
    """Where the shadow of a pixel at the centre starts, counted from the first strip or, of lines, half a strip before.

    Along an axis shadows are boxes: a line on a pixel border is counted to the pixel before it.
    """
    start = 0.5 * (n_radii - short - long)
    if not lines:
        return start
    return start + 0.5 + (NUDGE if short < AXIS * long else 0.0)


@njit(cache=True, nogil=True)
def _count_ink(pixels, counts):
    """Count the pixels that are not zero in each run of 16."""
    for k in range(counts.shape[0]):
        run = pixels[k * RUN : (k + 1) * RUN]
        for j in range(run.shape[0]):
            counts[k] += run[j] != 0.0


@njit(cache=True, nogil=True)
def inked_pixels(image):
    """Coordinates from the centre and masses of the pixels that are not zero.

    They are dealt out from 16 piles in turn, five piles apart: shadows of neighbours overlap, and an addition to a
    strip has to wait for the one before. Massless pixels in the centre fill up the piles.
    """
    height, width = image.shape
    pixels = image.ravel()
    counts = np.zeros((pixels.shape[0] + RUN - 1) // RUN, np.int64)
    _count_ink(pixels, counts)
    n_rounds = (counts.sum() + PILES - 1) // PILES
    x, y, mass = np.zeros((n_rounds, PILES)), np.zeros((n_rounds, PILES)), np.zeros((n_rounds, PILES))
    turn = pile = place = 0
    for k in range(counts.shape[0]):
        if counts[k] == 0:
            continue
        for j in range(k * RUN, min((k + 1) * RUN, pixels.shape[0])):
            if pixels[j] != 0.0:
                x[turn, place], y[turn, place] = j % width - 0.5 * (width - 1), j // width - 0.5 * (height - 1)
                mass[turn, place] = pixels[j]
                turn += 1
                if turn == n_rounds:
                    turn, pile = 0, pile + 1
                    place = STRIDE * pile % PILES
    return x.ravel(), y.ravel(), mass.ravel()


@njit(cache=True, nogil=True)
def reach(box, a, b):
    """Smallest and largest position of a centre in a box of pixels (x from, x to, y from, y to)."""
    low = min(a * box[0], a * box[1]) + min(b * box[2], b * box[3])
    high = max(a * box[0], a * box[1]) + max(b * box[2], b * box[3])
    return low, high


@njit(cache=True, nogil=True)
def strips_across(extent):
    """Strips that shadows may start in, with one to spare on either side."""
    return int(extent) + 4


@njit(cache=True, nogil=True)
def longest_shadow(box, strips_per_pixel):
    """Return how many strips the shadow of a box of pixels may reach in any direction, whole vectors at its end."""
    across = math.hypot(box[1] - box[0], box[3] - box[2]) * strips_per_pixel
    return strips_across(across + 1.0) + whole_vectors(int(math.sqrt(2.0) * strips_per_pixel) + 3)
