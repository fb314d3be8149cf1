"""The obvious loops: what the kernels compute, line by line, and the judge of every faster version.

Slow on purpose. Positions are in strips: an image of pixel side `pixel` lies in the unit disc, and `n_radii` strips of
width 2 / n_radii cover [-1, 1] in every direction.
"""

import numpy as np

from nrcdt.arrays import Array
from nrcdt.kernels.align import DAMPING, FLOOR, SLACK
from nrcdt.kernels.invert import STEP_TOLERANCE
from nrcdt.kernels.pixels import AXIS, NUDGE
from nrcdt.sorted_slices import SortedSlices


def shadow_cumulative(z: Array, a: float, b: float) -> Array:
    """Share of a pixel's mass below z, where its shadow starts at 0 and the pixel's sides cast |a| and |b|."""
    short, long = sorted((abs(a), abs(b)))
    z = np.clip(z, 0.0, short + long)
    if short < 1e-12 * long:
        return np.asarray(np.clip(z / long, 0.0, 1.0))
    rising = z**2 / (2 * short * long)
    flat = (z - short / 2) / long
    falling = 1 - (short + long - z) ** 2 / (2 * short * long)
    return np.where(z < short, rising, np.where(z <= long, flat, falling))


def shadow_density(z: Array, a: float, b: float) -> Array:
    """Density of the same shadow: a trapezoid, or a box when the direction is an axis."""
    short, long = sorted((abs(a), abs(b)))
    inside = (z >= 0) & (z < short + long)
    if short < 1e-12 * long:
        return np.where((z >= 0) & (z < long), 1 / long, 0.0)
    rise = np.minimum(z, short + long - z) / (short * long)
    return np.where(inside, np.minimum(rise, 1 / long), 0.0)


def _shares(position: float, a: float, b: float, n_radii: int, lines: bool) -> Array:
    """Share of a pixel's mass in every strip, or its density on the middle line of every strip."""
    start = position + n_radii / 2 - (abs(a) + abs(b)) / 2
    if lines:
        start += NUDGE if min(abs(a), abs(b)) < AXIS * max(abs(a), abs(b)) else 0.0
        return shadow_density(np.arange(n_radii) + 0.5 - start, a, b) * n_radii / 2
    edges = np.arange(n_radii + 1.0)
    edges[0], edges[-1] = -np.inf, np.inf
    return np.diff(shadow_cumulative(edges - start, a, b))


def _positions(shape: tuple[int, ...], a: float, b: float) -> Array:
    """Where the centres of the pixels project to, in strips from the middle."""
    height, width = shape
    return (np.arange(width) - (width - 1) / 2) * a + (np.arange(height)[:, np.newaxis] - (height - 1) / 2) * b


def strip_sums(image: Array, directions: Array, pixel: float, lines: bool, out: Array) -> Array:
    """Sum the shadows of all pixels of an image, per direction and strip."""
    n_radii = out.shape[1]
    out[:] = 0.0
    for k, direction in enumerate(directions):
        a, b = direction * pixel * n_radii / 2
        for mass, position in zip(image.flat, _positions(image.shape, a, b).flat, strict=True):
            out[k] += mass * _shares(position, a, b, n_radii, lines)
    return out


def back_project(sinogram: Array, directions: Array, pixel: float, lines: bool, out: Array) -> Array:
    """Apply the transpose of `strip_sums`: each pixel collects what its shadow falls on."""
    n_radii = sinogram.shape[1]
    out[:] = 0.0
    for row, direction in zip(sinogram, directions, strict=True):
        a, b = direction * pixel * n_radii / 2
        for i, position in np.ndenumerate(_positions(out.shape, a, b)):
            out[i] += _shares(position, a, b, n_radii, lines) @ row
    return out


def linear_quantiles(masses: Array, levels: Array, lower: float, width: float, out: Array) -> Array:
    """Invert the cumulative mass of each row of strips, taken as linear within a strip.

    The inverse is the right one: on a plateau its right end. Where `out` has twice the rows, the second half gets the
    mirror images of the slices, for levels that are symmetric; their right ends are the left ones here.
    """
    n_slices = len(masses)
    for k, row in enumerate(masses):
        out[k] = _invert(row, levels, lower, width)
        if len(out) == 2 * n_slices:
            out[n_slices + k] = _invert(row[::-1], levels, -lower - width * len(row), width)
    return out


def _invert(row: Array, levels: Array, lower: float, width: float) -> Array:
    cumulative = np.concatenate([[0.0], np.cumsum(row)])
    quantiles = np.empty(len(levels))
    for j, level in enumerate(levels):
        t = level * cumulative[-1]
        above = np.flatnonzero((cumulative[1:] > t * (1 + STEP_TOLERANCE)) & (row != 0))
        r = above[0] if len(above) else np.flatnonzero(row)[-1]
        share = (t - cumulative[r]) / (cumulative[r + 1] - cumulative[r])
        quantiles[j] = lower + width * (r + np.clip(share, 0.0, 1.0))
    return quantiles


def shadow_quantiles(image: Array, directions: Array, pixel: float, n_radii: int, levels: Array, out: Array) -> Array:
    """Invert the shadows of an image with positive mass: `strip_sums`, then `linear_quantiles`.

    Twins may differ at levels closer than `STEP_TOLERANCE` to 0 or 1.
    """
    masses = strip_sums(image, directions, pixel, False, np.empty((len(directions), n_radii)))
    return linear_quantiles(masses, levels, -1.0, 2 / n_radii, out)


def step_quantiles(values: Array, weights: Array, levels: Array, out: Array) -> Array:
    """Invert the step function of each row of atoms: the first atom at which the cumulative weight exceeds the level.

    No weights (an empty array) mean equal weights.
    """
    if len(weights) == 0:
        weights = np.ones(values.shape[1])
    for k, row in enumerate(values):
        order = np.argsort(row, kind="stable")
        cumulative = np.cumsum(weights[order])
        for j, level in enumerate(levels):
            above = np.flatnonzero(cumulative > level * cumulative[-1] * (1 + STEP_TOLERANCE))
            out[k, j] = row[order[above[0] if len(above) else -1]]
    return out


def projected_quantiles(points: Array, directions: Array, weights: Array, levels: Array, out: Array) -> Array:
    """Invert the step functions of the projections of `points` (its rows are coordinates) on each direction."""
    return step_quantiles(projected_points(points, directions), weights, levels, out)


def projected_points(points: Array, directions: Array) -> Array:
    """Inner products of the columns of `points` with each direction, coordinate by coordinate."""
    values = np.zeros((len(directions), points.shape[1]), points.dtype)
    for row, column in zip(points, directions.T, strict=True):
        values += column[:, np.newaxis] * row
    return values


def step_distances(left: SortedSlices, right: SortedSlices, pairs: Array, weights: Array, p: int, out: Array) -> Array:
    """Add to `out` the weighted sums over the directions of the p-th powers of Wasserstein-p distances of pairs.

    Between neighbouring levels of either side both quantile functions are constant. Twins may differ where levels are
    closer than `LEVEL_TOLERANCE`, but not equal.
    """
    for q, (i, j) in enumerate(pairs):
        for k, weight in enumerate(weights):
            (a, a_levels), (b, b_levels) = _slice_of(left, i, k), _slice_of(right, j, k)
            levels = np.union1d(a_levels, b_levels)
            widths = np.diff(levels, prepend=0.0)
            gaps = np.abs(a[np.searchsorted(a_levels, levels)] - b[np.searchsorted(b_levels, levels)])
            out[q] += weight * (widths * gaps**p).sum()
    return out


def _slice_of(slices: SortedSlices, i: int, k: int) -> tuple[Array, Array]:
    """Points of cloud i in direction k, and their levels."""
    where = slice(slices.offsets[i], slices.offsets[i + 1])
    return slices.values[k, where].astype(np.float64), slices.levels[k % len(slices.levels), where]


def row_moments(quantiles: Array, weights: Array, means: Array, variances: Array) -> tuple[Array, Array]:
    """Mean and variance of each quantile function, as integrals against the reference (Algorithm 1, lines 4 and 5)."""
    wide = quantiles.astype(np.float64)
    means[:] = (wide * weights).sum(axis=-1)
    variances[:] = ((wide - means[..., np.newaxis]) ** 2 * weights).sum(axis=-1)
    return means, variances


def first_flat(means: Array, spreads: Array, tolerance: float) -> int:
    """Position of the first slice whose spread is next to nothing beside the size of its sample; -1 if there is none.

    The size is the sum of the largest mean, in absolute value, and the largest spread.
    """
    for i, (row, spread) in enumerate(zip(means, spreads, strict=True)):
        flat = np.flatnonzero(~(spread > tolerance * (np.abs(row).max() + spread.max())))
        if len(flat):
            return int(i * means.shape[1] + flat[0])
    return -1


def shift_and_scale(quantiles: Array, shifts: Array, scales: Array) -> Array:
    """Subtract and multiply each quantile function in place (Algorithm 1, line 6)."""
    quantiles[:] = (quantiles.astype(np.float64) - shifts[..., np.newaxis]) * scales[..., np.newaxis]
    return quantiles


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
    """Smallest and largest standardised quantile over the directions: `shadow_quantiles`, moments, shift and scale.

    Where there is room for twice as many means and variances as directions, their opposites count too.
    """
    quantiles = shadow_quantiles(image, directions, pixel, n_radii, levels, np.empty((len(means), len(levels))))
    row_moments(quantiles, weights, means, variances)
    shift_and_scale(quantiles, means, 1 / np.sqrt(variances))
    out[0], out[1] = quantiles.min(axis=0), quantiles.max(axis=0)
    return out


def pull(
    points: Array,
    matrix: Array,
    field: Array,
    corner: Array,
    centre: Array,
    radius: float,
    back: bool,
    out: Array,
) -> float:
    """Add to `out`, of shape (6, 7), the normal equations that pull points to where a field of distances is zero.

    Points (x, y) go through `matrix`, of shape (2, 3), and are looked up in the field, whose first pixel is `corner`.
    The unknowns are e and s of a further map y -> y + e (y - centre) + s, row by row, after the one from a to b. With
    `back` the points are those of b and `matrix` is the inverse: distances and slopes then count in pixels of b.
    Distances well above `radius` have next to no weight. Returns the mean distance, cut off at `radius`.
    """
    linear = matrix[:, :2]
    scale = 1 / np.sqrt(abs(np.linalg.det(linear))) if back else 1.0
    cost = 0.0
    for point in points:
        place = linear @ point + matrix[:, 2]
        distance, slope = _distance_at(field, place - corner)
        gradient = -scale * slope @ linear if back else slope
        lever = (point if back else place) - centre
        distance *= scale
        row = np.concatenate([gradient[0] * lever, gradient[1] * lever, gradient])
        weight = 1 / (1 + (distance / radius) ** 2) ** 2 / len(points)
        out[:, :6] += weight * np.outer(row, row)
        out[:, 6] += weight * distance * row
        cost += min(distance, radius)
    return float(cost / len(points))


def settle(
    matrix: Array,
    points_a: Array,
    field_a: Array,
    corner_a: Array,
    points_b: Array,
    field_b: Array,
    corner_b: Array,
    centre: Array,
    radius: float,
    n_steps: int,
) -> tuple[Array, float]:
    """Take steps with a map from a to b, of shape (2, 3), that bring the points of each to the zeros of the other.

    Returns the map, and the sum of the two mean distances before the last step, cut off at `radius`: see `pull`.
    """
    cost = 0.0
    for _ in range(n_steps):
        whole = np.vstack([matrix, [0, 0, 1]])
        equations = np.zeros((6, 7))
        cost = pull(points_a, matrix, field_b, corner_b, centre, radius, False, equations)
        cost += pull(points_b, np.linalg.inv(whole)[:2], field_a, corner_a, centre, radius, True, equations)
        equations[np.arange(6), np.arange(6)] = DAMPING * np.diag(equations) + FLOOR
        step = np.linalg.solve(equations[:, :6], -equations[:, 6])
        change = np.eye(2) + step[:4].reshape(2, 2)
        shift = change @ (matrix[:, 2] - centre) + centre + step[4:]
        matrix = np.column_stack([change @ matrix[:, :2], shift])
    return matrix, cost


def resample(image: Array, matrix: Array, out: Array) -> Array:
    """Fill `out` with bilinear values of an image at matrix (x, y, 1), of shape (2, 3); zero outside of it."""
    largest = np.array(image.shape[::-1]) - 1
    for i, j in np.ndindex(*out.shape):
        place = matrix @ (j, i, 1)
        inside = np.clip(place, 0, largest)
        left, top = inside.astype(int)
        right, bottom = np.minimum((left + 1, top + 1), largest)
        fx, fy = inside - (left, top)
        corners = image[np.ix_((top, bottom), (left, right))]
        value = np.array([1 - fy, fy]) @ corners @ np.array([1 - fx, fx])
        out[i, j] = value if np.abs(place - inside).max() <= SLACK else 0.0
    return out


def _distance_at(field: Array, place: Array) -> tuple[float, Array]:
    """Bilinear value and slopes of a field at (x, y); beyond its rim the value grows with the distance from it."""
    largest = np.array(field.shape[::-1]) - 1
    inside = np.clip(place, 0, largest)
    j, i = np.minimum(inside.astype(int), largest - 1)
    fx, fy = inside - (j, i)
    square = field[i : i + 2, j : j + 2]
    value = np.array([1 - fy, fy]) @ square @ np.array([1 - fx, fx])
    slope_x = np.array([1 - fy, fy]) @ (square[:, 1] - square[:, 0])
    slope_y = (square[1] - square[0]) @ np.array([1 - fx, fx])
    return float(value + np.linalg.norm(place - inside)), np.array([slope_x, slope_y])
