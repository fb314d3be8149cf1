"""The loops of `cpu.py` as NumPy has them: nothing is compiled, and the features are the same up to rounding.

For whoever sets NUMBA_DISABLE_JIT, to debug or because nothing may be compiled there; 30 to 50 times as slow for
images, up to 11 times for points. What holds no vector instructions in `cpu.py` is the same function here, as Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array
from .align import pull, resample, settle
from .invert import STEP_TOLERANCE
from .pixels import geometry, shadow_start
from .portable import first_flat, row_moments, shift_and_scale
from .steps import step_distances

# What needs no twin here.
__all__ = ["first_flat", "pull", "resample", "row_moments", "settle", "shift_and_scale", "step_distances"]

BLOCK = 2**14  # shares at a time, which stay in the cache: measured on full images


def strip_sums(image: Array, directions: Array, pixel: float, lines: bool, out: Array) -> Array:
    """Sum the shadows of all pixels of an image, per direction and strip."""
    n_radii = out.shape[1]
    inked = np.nonzero(image)
    masses, (x, y) = image[inked].astype(np.float64), _centres(inked, image.shape)
    out[:] = 0.0
    for row, direction in zip(out, directions, strict=True):
        for part, strips, shares in _shadows(x, y, direction, pixel, n_radii, lines):
            shares *= masses[part, np.newaxis]
            row += np.bincount(strips.ravel(), shares.ravel(), n_radii)
    return out


def back_project(sinogram: Array, directions: Array, pixel: float, lines: bool, out: Array) -> Array:
    """Apply the transpose of `strip_sums`: each pixel collects what its shadow falls on."""
    x, y = _centres(np.indices(out.shape).reshape(2, -1), out.shape)
    collected = np.zeros(out.size)
    for row, direction in zip(sinogram, directions, strict=True):
        for part, strips, shares in _shadows(x, y, direction, pixel, len(row), lines):
            collected[part] += (shares * row[strips]).sum(axis=1)
    out[:] = collected.reshape(out.shape)
    return out


def _centres(places: Any, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Turn rows and columns of pixels into x and y from the middle of the image."""
    rows, columns = places
    return columns - 0.5 * (shape[1] - 1), rows - 0.5 * (shape[0] - 1)


def _shadows(
    x: Array, y: Array, direction: Array, pixel: float, n_radii: int, lines: bool
) -> Iterator[tuple[slice, Array, Array]]:
    """Yield some pixels, the strips that each of them throws a shadow on, and the shares of its mass in them.

    For `lines` it is the density on the middle line of the strip, which is where `shadow_start` lays its upper edge.
    """
    a, b, short, long = geometry(direction, pixel, n_radii)
    start = x * a + y * b + shadow_start(short, long, n_radii, lines)
    first = np.floor(start)
    steps = np.arange(int(short + long) + 2)
    size = max(1, BLOCK // len(steps))
    for part in (slice(i, i + size) for i in range(0, len(start), size)):
        z = (first[part] - start[part])[:, np.newaxis] + (steps + 1)
        strips = np.clip(first[part, np.newaxis] + steps, 0, n_radii - 1).astype(np.intp)
        if lines:
            yield part, strips, 0.5 * n_radii * _density(z, short, long)
        else:
            yield part, strips, np.diff(_share_before(z, short, long), axis=1, prepend=0.0)


def _share_before(z: Array, short: float, long: float) -> Array:
    """Share of a shadow before z, which starts at 0, rises over `short`, is flat up to `long`, falls as it rose."""
    z = np.clip(z, 0.0, short + long)
    if short == 0.0:
        return np.asarray(z / long)
    rise, fall = np.minimum(z, short), np.maximum(z - long, 0.0)
    return np.asarray((rise * (2.0 * z - rise) - fall**2) / (2.0 * short * long))


def _density(z: Array, short: float, long: float) -> Array:
    """Density of the same shadow at z."""
    if short == 0.0:
        return np.where((z >= 0.0) & (z < long), 1.0 / long, 0.0)
    return np.clip(np.minimum(z, short + long - z), 0.0, short) / (short * long)


def shadow_quantiles(image: Array, directions: Array, pixel: float, n_radii: int, levels: Array, out: Array) -> Array:
    """Invert the shadows of an image with positive mass."""
    masses = strip_sums(image, directions, pixel, False, np.empty((len(directions), n_radii)))
    return linear_quantiles(masses, levels, -1.0, 2.0 / n_radii, out)


def shadow_extremes(
    image: Array,
    directions: Array,
    pixel: float,
    n_radii: int,
    levels: Array,
    weights: Array,
    means: Array,
    variances: Array,
    out: Array,
) -> Array:
    """Smallest and largest standardised quantile over the directions, whose means and variances are written too."""
    quantiles = shadow_quantiles(image, directions, pixel, n_radii, levels, np.empty((len(means), len(levels))))
    means[:], variances[:] = row_moments(quantiles, weights)
    with np.errstate(divide="ignore", invalid="ignore"):  # flat slices are named by the caller
        quantiles = (quantiles - means[:, np.newaxis]) / np.sqrt(variances)[:, np.newaxis]
    out[0], out[1] = quantiles.min(axis=0), quantiles.max(axis=0)
    return out


def linear_quantiles(masses: Array, levels: Array, lower: float, width: float, out: Array) -> Array:
    """Invert the cumulative mass of rows of strips, and of their mirror images where there is room for them."""
    n_slices, n_strips = masses.shape
    for k, row in enumerate(masses):
        out[k] = _inverted(row, levels, lower, width)
        if len(out) == 2 * n_slices:
            out[n_slices + k] = _inverted(row[::-1], levels, -lower - width * n_strips, width)
    return out


def _inverted(row: Array, levels: Array, lower: float, width: float) -> Array:
    cumulative = np.concatenate([[0.0], np.cumsum(row)])
    t = levels * cumulative[-1]
    strips = np.searchsorted(cumulative[1:], t * (1.0 + STEP_TOLERANCE), side="right")
    strips = np.minimum(strips, np.flatnonzero(row)[-1])
    below, above = cumulative[strips], cumulative[strips + 1]
    return np.asarray(lower + width * (strips + np.clip((t - below) / (above - below), 0.0, 1.0)))


def step_quantiles(values: Array, weights: Array, levels: Array, out: Array) -> Array:
    """Take for every level the first value of a row with which the weights exceed it; no weights are equal ones."""
    n = values.shape[1]
    if len(weights) == 0:
        ranks = np.minimum((levels * n * (1.0 + STEP_TOLERANCE)).astype(np.intp), n - 1)
        out[:] = np.sort(values, axis=1)[:, ranks]
        return out
    for k, row in enumerate(values):
        order = np.argsort(row, kind="stable")
        cumulative = np.cumsum(weights[order])
        bounds = levels * cumulative[-1] * (1.0 + STEP_TOLERANCE)
        out[k] = row[order[np.minimum(np.searchsorted(cumulative, bounds, side="right"), n - 1)]]
    return out


def projected_quantiles(points: Array, directions: Array, weights: Array, levels: Array, out: Array) -> Array:
    """Take quantiles of the inner products of points, whose coordinates are rows, with each direction."""
    for k in range(len(directions)):
        step_quantiles(projected_points(points, directions[k : k + 1]), weights, levels, out[k : k + 1])
    return out


def projected_points(points: Array, directions: Array) -> Array:
    """Return inner products of points, whose coordinates are rows, with each direction."""
    return np.asarray(directions @ points)
