"""Ink of two pictures on top of each other: how much of it overlaps, and maps that make more of it overlap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import distance_transform_edt

from ..affine_maps import check_map
from ..arrays import Array
from ..kernels import kernels_for
from ..measures import check_image
from ..rasters import resample, smoothed
from .affine import apply_affine

REACH = 2  # pixels: how far apart strokes may lie to overlap, as the documentation promises
# How far ink is looked for, as shares of the drawing's size: from anywhere in it, by halves, down to the strokes.
SHARES = (0.35, 0.18, 0.09, 0.045, 0.03)
FINEST = 1.5  # pixels; below, the width of strokes decides
STEPS = 3  # at each of these
N_POINTS = 300  # of the ink, in the finer half of the steps; half as many before
KEPT = 3  # maps that go on to the finer half
LARGEST_CHANGE = 3.0  # of the area in one go; more, and the drawing collapses into a stroke or explodes


def ink_mask(image: Array) -> Array:
    """Tell which pixels are ink: those above half of the brightest."""
    return np.asarray(image > image.max() / 2)


def dilated(mask: Array) -> Array:
    """Add all pixels within `REACH` of a mask, whose rim of that width has to be empty."""
    for _ in range(REACH):  # a diamond twice is the disc of radius two
        out = mask.copy()
        out[1:] |= mask[:-1]
        out[:-1] |= mask[1:]
        out[:, 1:] |= mask[:, :-1]
        out[:, :-1] |= mask[:, 1:]
        mask = out
    return mask


def overlap(a: Any, b: Any, matrix: Any) -> float:
    """Intersection over union of the ink of a, moved by a map, and that of b; both widened by two pixels of b.

    Images are as for `register`, and the map as for `warp`.

    Examples
    --------
    >>> image = np.zeros((9, 9)); image[4, 2:7] = 1
    >>> overlap(image, image, np.eye(3)), round(overlap(image, image, [[1, 0, 0], [0, 1, 2]]), 2)
    (1.0, 0.35)
    """
    return ink_overlap(check_image(a, "a"), check_image(b, "b"), check_map(matrix))


def ink_overlap(a: Array, b: Array, matrix: Array) -> float:
    """Return the `overlap` of images and a map that are known to be sound."""
    corners = np.array([(x, y) for x in (0, a.shape[1] - 1) for y in (0, a.shape[0] - 1)])
    corners = apply_affine(corners, matrix)
    low, high = np.floor(corners.min(axis=0)).astype(int), np.ceil(corners.max(axis=0)).astype(int) + 1
    moved = ink_mask(resample(smoothed(a, matrix), matrix, tuple((high - low)[::-1]), tuple(low)))
    start = np.minimum(low, 0)
    stop = np.maximum(high, b.shape[::-1])
    ours, theirs = _on_sheet(moved, low, start, stop), _on_sheet(ink_mask(b), np.zeros(2, int), start, stop)
    return float(np.count_nonzero(ours & theirs) / np.count_nonzero(ours | theirs))


def _on_sheet(mask: Array, corner: Array, start: Array, stop: Array) -> Array:
    """Lay a mask on a sheet that reaches from `start` to `stop`, with a rim for widening it."""
    width, height = stop - start + 2 * REACH
    sheet = np.zeros((height, width), bool)
    x, y = corner - start + REACH
    sheet[y : y + mask.shape[0], x : x + mask.shape[1]] = mask
    return dilated(sheet)


class InkField(NamedTuple):
    """Ink of a picture as points (x, y), and the distance from it; the first pixel of the field is `corner`."""

    points: Array
    field: Array
    corner: Array
    centre: Array
    spread: float


def ink_field(image: Array) -> InkField:
    """Return the ink of a picture that is cropped to it, and the field of distances around it."""
    mask = ink_mask(image)
    points = np.argwhere(mask)[:, ::-1].astype(np.float64)
    centre = points.mean(axis=0)
    spread = float(np.sqrt(((points - centre) ** 2).sum(axis=1).mean()))
    margin = int(SHARES[0] * spread) + 2
    field = _distance_transform(np.pad(~mask, margin, constant_values=True))
    return InkField(points, field, np.full(2, -float(margin)), centre, spread)


def _distance_transform(blank: Array) -> Array:
    """Distance of every pixel to the nearest that is not blank; SciPy takes twice as long to turn places into it."""
    rows, columns = distance_transform_edt(blank, return_distances=False, return_indices=True)
    rows -= np.arange(blank.shape[0], dtype=rows.dtype)[:, np.newaxis]
    columns -= np.arange(blank.shape[1], dtype=columns.dtype)
    return np.asarray(np.sqrt((rows * rows + columns * columns).astype(np.float64)))


def subsampled(whole: InkField, n_points: int) -> InkField:
    """Keep about `n_points` of the ink, evenly."""
    return whole._replace(points=whole.points[:: max(1, len(whole.points) // n_points)])


def gauss_newton(matrix: Array, a: InkField, b: InkField, radius: float, n_steps: int) -> tuple[Array, float]:
    """Take Gauss-Newton steps: the ink of both pictures moves towards that of the other, far ink hardly.

    Returns the map and the distance of ink to ink before the last step.
    """
    sides = (a.points, a.field, a.corner, b.points, b.field, b.corner)
    found, cost = kernels_for(a.field).settle(matrix, *sides, b.centre, radius, n_steps)
    sound = 1 / LARGEST_CHANGE < _area(found) / _area(matrix) < LARGEST_CHANGE
    return (found, float(cost)) if sound else (matrix, np.inf)


def _area(matrix: Array) -> float:
    """Determinant of a map; NumPy's takes twenty times as long for two rows."""
    (a, b, _), (c, d, _) = matrix.tolist()
    return float(a * d - b * c)


def refined_maps(matrices: Array, a: InkField, b: InkField) -> tuple[Array, Array]:
    """Improve maps from a to b, of shape (n, 2, 3), by steps on the distances to the ink, both ways.

    Returns the maps, and the mean distance of ink to ink of each, cut off at a fraction of the size of the drawing;
    it is infinite for maps that collapse or turn inside out, and for those that were not worth many steps.
    """
    radii = np.maximum(FINEST, np.array(SHARES) * b.spread)
    out, costs = matrices.copy(), np.full(len(matrices), np.inf)
    few = subsampled(a, N_POINTS // 2), subsampled(b, N_POINTS // 2)
    for radius in radii[:2]:
        for n, matrix in enumerate(out):
            out[n], costs[n] = gauss_newton(matrix, *few, radius, STEPS)
    costs[np.argsort(costs, kind="stable")[KEPT:]] = np.inf
    more = subsampled(a, N_POINTS), subsampled(b, N_POINTS)
    for n in np.flatnonzero(np.isfinite(costs)).tolist():
        for radius in radii[2:]:
            out[n], costs[n] = gauss_newton(out[n], *more, radius, STEPS)
        if np.isfinite(costs[n]):
            costs[n] = gauss_newton(out[n], *more, radii[2], 1)[1]
    return out, costs


def refined_with_all_ink(matrix: Array, a: InkField, b: InkField) -> Array:
    """Take the last steps of `refined_maps` again, with all of the ink."""
    return gauss_newton(matrix, a, b, max(FINEST, SHARES[-1] * b.spread), STEPS)[0]
