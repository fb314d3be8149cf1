"""Quantile functions: the cumulative distribution transform (CDT) and its inverse.

The CDT of a measure is its quantile function after the distribution function of a reference measure (eq. (3) of the
paper). It is sampled at m points of the reference.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from .errors import InputError, LocatedError, Where
from .kernels import kernels_for
from .measures import Cloud, as_floats, check_finite, check_image, check_points, check_size, positive_integer
from .slices import Array, Atoms, Bins, Shadows
from .spaces import euclidean


class Levels(NamedTuple):
    """Sampling points of the reference: their levels in (0, 1), and the share of the reference that each stands for.

    `symmetric` tells whether 1 - t is a level whenever t is.
    """

    values: Array
    weights: Array
    symmetric: bool


def reference_levels(n_quantiles: int, reference: Any = "uniform", trim: float = 0.0) -> Levels:
    """Return the levels at which quantile functions are sampled.

    Parameters
    ----------
    n_quantiles : int
    reference : "uniform", the name of a continuous distribution of `scipy.stats`, or such a distribution
        The sampling points are equispaced inside its support; on an unbounded support, between its 1 / (m + 1) and
        m / (m + 1) quantiles. Means and spreads are integrals against it.
    trim : share of every slice that is left out at either end

    Examples
    --------
    >>> reference_levels(3).values
    array([0.25, 0.5 , 0.75])
    >>> reference_levels(3, trim=0.1).values
    array([0.3, 0.5, 0.7])
    >>> reference_levels(3, "norm").weights.round(3)
    array([0.308, 0.384, 0.308])
    """
    n_quantiles = positive_integer(n_quantiles, "n_quantiles", "256 is a good start.")
    if isinstance(trim, bool) or not isinstance(trim, (int, float, np.number)) or not 0 <= trim < 0.5:
        raise InputError("trim", "be at least 0 and less than 0.5", repr(trim), "0.1 helps against clutter.")
    levels = _untrimmed(n_quantiles, reference)
    return levels if trim == 0 else levels._replace(values=trim + (1 - 2 * trim) * levels.values)


def _untrimmed(n_quantiles: int, reference: Any) -> Levels:
    uniform = np.arange(1, n_quantiles + 1) / (n_quantiles + 1)
    if isinstance(reference, str) and reference == "uniform":
        return Levels(uniform, np.full(n_quantiles, 1 / n_quantiles), True)
    distribution = _distribution(reference)
    lower, upper = distribution.support()
    if np.isfinite([lower, upper]).all():
        points = lower + (upper - lower) * uniform
    else:
        points = np.linspace(distribution.ppf(uniform[0]), distribution.ppf(uniform[-1]), n_quantiles)
    half = (points[1] - points[0]) / 2 if n_quantiles > 1 else 1.0
    mass = distribution.cdf(points + half) - distribution.cdf(points - half)
    values = np.asarray(distribution.cdf(points))
    if not (np.isfinite(mass).all() and mass.sum() > 0 and (np.diff(values) >= 0).all()):
        raise InputError(
            "reference",
            "be a distribution with valid parameters",
            f"{reference!r}, which has no probabilities at its own quantiles",
            "Check its location, scale and shape.",
        )
    return Levels(values, mass / mass.sum(), bool(np.allclose(values, 1 - values[::-1], rtol=0, atol=1e-14)))


def _distribution(reference: Any) -> Any:
    from scipy import stats

    found: Any = getattr(stats, reference, None) if isinstance(reference, str) else reference
    if isinstance(found, stats.rv_continuous) or (isinstance(found, type) and hasattr(found, "icdf")):
        try:
            found = found()
        except (TypeError, ValueError):
            raise InputError(
                "reference",
                "be a distribution without open parameters",
                repr(reference),
                "Pass an object such as scipy.stats.beta(2, 2).",
            ) from None
    if hasattr(found, "icdf"):  # the newer ones of scipy
        found = SimpleNamespace(cdf=found.cdf, ppf=found.icdf, support=found.support)
    if not all(hasattr(found, method) for method in ("cdf", "ppf", "support")) or not _is_continuous(found):
        raise InputError(
            "reference",
            "be 'uniform' or one continuous distribution of scipy.stats, by name or object",
            repr(reference),
            "Try 'norm'.",
        )
    return found


def _is_continuous(distribution: Any) -> bool:
    """Tell whether this is one continuous distribution, not one per parameter of an array."""
    from scipy import stats

    if isinstance(distribution, SimpleNamespace):
        level = distribution.cdf(distribution.ppf(0.3))
        return np.ndim(level) == 0 and abs(level - 0.3) < 1e-3
    continuous = isinstance(getattr(distribution, "dist", None), stats.rv_continuous)
    return continuous and np.ndim(distribution.ppf(0.5)) == 0


def linear_quantiles(bins: Bins, levels: Levels, out: Array | None = None) -> Array:
    """Invert densities; opposite directions come from the mirror: q(t) becomes -q(1 - t), plateaus by their other end.

    Masses of shape (n_directions, n_strips) give quantiles of shape (n_directions, n_quantiles), with twice the
    directions where `bins.mirrored`.
    """
    if isinstance(bins.masses, Shadows):
        return _shadow_quantiles(bins.masses, bins.mirrored, levels, out)
    n_slices, n_strips = bins.masses.shape
    kernels = kernels_for(bins.masses)
    if out is None:
        out = np.empty((n_slices * (2 if bins.mirrored else 1), len(levels.values)))
    settings = (levels.values, bins.lower, (bins.upper - bins.lower) / n_strips)
    if bins.mirrored and not levels.symmetric:
        kernels.linear_quantiles(np.ascontiguousarray(bins.masses[:, ::-1]), *settings, out[n_slices:])
        kernels.linear_quantiles(bins.masses, *settings, out[:n_slices])
    else:
        kernels.linear_quantiles(bins.masses, *settings, out)
    return out


def _shadow_quantiles(shadows: Shadows, mirrored: bool, levels: Levels, out: Array | None) -> Array:
    image, pixel, directions, n_strips = shadows
    if out is None:
        out = np.empty((len(directions) * (2 if mirrored else 1), len(levels.values)))
    if mirrored and not levels.symmetric:
        directions = np.concatenate([directions, -directions])
    kernels = kernels_for(image)
    return np.asarray(kernels.shadow_quantiles(image, directions, pixel, n_strips, levels.values, out))


def standardized_extremes(bins: Bins, levels: Levels, means: Array, variances: Array, out: Array) -> Array:
    """Smallest and largest quantile over the directions of an image, its slices standardised; shape (2, n_quantiles).

    Mean and variance of the slices go into `means` and `variances`.
    """
    image, pixel, directions, n_strips = bins.masses
    if bins.mirrored and not levels.symmetric:
        directions = np.concatenate([directions, -directions])
    settings = (directions, pixel, n_strips, levels.values, levels.weights)
    return np.asarray(kernels_for(image).shadow_extremes(image, *settings, means, variances, out))


def step_quantiles(atoms: Atoms, levels: Levels, out: Array | None = None) -> Array:
    """Invert the step functions of pushed-forward points exactly; of shape (n_directions, n_quantiles)."""
    dtype = atoms.points.dtype
    kernels = kernels_for(atoms.points)
    weights = np.empty(0) if atoms.weights is None else atoms.weights.astype(np.float64)
    if out is None:
        out = np.empty((len(atoms.directions), len(levels.values)), dtype)
    if atoms.phi is euclidean.phi:
        points = np.ascontiguousarray(atoms.points.T)
        directions = np.ascontiguousarray(atoms.directions, dtype)
        return np.asarray(kernels.projected_quantiles(points, directions, weights, levels.values, out))
    values = as_floats(atoms.phi(atoms.points, atoms.directions), "phi of every point and direction")
    values = np.ascontiguousarray(values, dtype)
    check_size(values, "phi of every point and direction")
    expected = (len(atoms.directions), len(atoms.points))
    if values.shape != expected:
        raise InputError(
            "phi",
            f"return an array of shape (n_directions, n_points) = {expected}",
            values.shape,
            "Directions are the first axis.",
        )
    return np.asarray(kernels.step_quantiles(values, weights, levels.values, out))


def cdt(
    x: Any,
    weights: Any = None,
    *,
    edges: tuple[float, float] | None = None,
    n_quantiles: int = 256,
    reference: Any = "uniform",
) -> Array:
    """Cumulative distribution transform of one measure on the line, or of several.

    Parameters
    ----------
    x : array
        Without `edges`, the points of a cloud on the line, of shape (n_points,) or (n_measures, n_points). With
        `edges`, the masses of equally wide strips, of shape (n_strips,) or (n_measures, n_strips).
    weights : array of shape (n_points,), optional
    edges : (lower, upper), optional
        Where the first strip begins and the last one ends.
    n_quantiles, reference : see `reference_levels`

    Returns
    -------
    array of shape (n_quantiles,) or (n_measures, n_quantiles)

    Examples
    --------
    >>> cdt([3.0, 1.0, 2.0, 5.0], n_quantiles=3)
    array([2., 3., 5.])
    >>> cdt([1.0, 1.0, 0.0, 2.0], edges=(0.0, 4.0), n_quantiles=3)
    array([1. , 3. , 3.5])
    """
    levels = reference_levels(n_quantiles, reference)
    array = as_floats(x, "x")
    if array.ndim not in (1, 2) or array.size == 0:
        raise InputError(
            "x",
            "be one measure on the line, or a row for each of several",
            f"shape {array.shape}",
            "Flatten it, or pass one row per measure.",
        )
    rows = np.atleast_2d(array)
    names: list[Where | str] = [Where("x", i) for i in range(len(rows))] if array.ndim > 1 else ["x"]
    if edges is not None:
        _check_edges(edges)
        if weights is not None:
            raise InputError("weights", "be left out where x holds masses", "both", "Multiply them into x.")
        masses = [check_image(row[np.newaxis], name) for row, name in zip(rows, names, strict=True)]
        quantiles = linear_quantiles(Bins(np.concatenate(masses, dtype=np.float64), *edges), levels).astype(array.dtype)
    else:
        clouds = [_check_line(row, weights, name) for row, name in zip(rows, names, strict=True)]
        quantiles = np.concatenate(
            [step_quantiles(Atoms(points, w, np.zeros(1), _on_the_line), levels) for points, w in clouds]
        )
    return quantiles if array.ndim > 1 else quantiles[0]


def _check_line(points: Array, weights: Any, name: Where | str) -> Cloud:
    if weights is not None and np.shape(weights) != points.shape:
        got = f"shape {np.shape(weights)} for points of shape {points.shape}"
        raise InputError(f"the weights of {name}", "be one number per point", got, "Pass as many.")
    try:
        return check_points([(points, weights)])[0]
    except LocatedError as error:
        raise error.about(argument=str(name), sample=None) from None


def _check_edges(edges: Any) -> None:
    try:
        lower, upper = map(float, edges)
    except (TypeError, ValueError):
        lower = upper = 0.0
    if not -np.inf < lower < upper < np.inf:
        raise InputError("edges", "be two finite numbers in increasing order", repr(edges), "Give (lower, upper).")


def _on_the_line(points: Array, directions: Array) -> Array:
    return points[np.newaxis]


def inverse_cdt(quantiles: Any, *, edges: tuple[float, float], n_radii: int = 256, reference: Any = "uniform") -> Array:
    """Masses in equally wide strips of the measures with these quantiles.

    Between the sampled levels the distribution function is linear; the two tails beyond them are extrapolated linearly,
    and mass beyond the edges is counted in the end strips.

    Parameters
    ----------
    quantiles : array of shape (..., n_quantiles), as `cdt` returns it
    edges : (lower, upper)
    n_radii : number of strips
    reference : as for `cdt`

    Returns
    -------
    array of shape (..., n_radii); each row sums to one

    Examples
    --------
    >>> inverse_cdt([1.0, 2.0, 3.0], edges=(0.0, 4.0), n_radii=4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    array = as_floats(quantiles, "quantiles")
    if array.ndim and len(array) == 0:
        raise InputError("quantiles", "be of at least one measure", "none", "Pass a row per measure.")
    n_quantiles = array.shape[-1] if array.ndim else 0
    if n_quantiles < 2:
        raise InputError("quantiles", "have at least two levels", n_quantiles, "Ask `cdt` for more.")
    _check_edges(edges)
    check_finite(array, "quantiles")
    if (np.diff(array, axis=-1) < 0).any():
        raise InputError("quantiles", "not decrease along the last axis", "decreasing ones", "Sort them.")
    levels = reference_levels(n_quantiles, reference).values
    strips = np.linspace(*edges, positive_integer(n_radii, "n_radii", "256 is a good start.") + 1)
    rows = array.reshape(-1, n_quantiles)
    first = rows[:, 0] - _tail(rows[:, 1] - rows[:, 0], levels[0], levels[1] - levels[0])
    last = rows[:, -1] + _tail(rows[:, -1] - rows[:, -2], 1 - levels[-1], levels[-1] - levels[-2])
    rows = np.column_stack([first, rows, last])
    cumulative = np.stack([np.interp(strips, row, np.r_[0.0, levels, 1.0]) for row in rows])
    cumulative[:, 0], cumulative[:, -1] = 0.0, 1.0
    return np.diff(cumulative, axis=1).reshape(*array.shape[:-1], n_radii).astype(array.dtype)


def _tail(step: Array, share: float, gap: float) -> Array:
    """How far a measure reaches beyond its outermost level: as far as a step between levels, by its share of mass."""
    return step * (share / gap) if gap > 0 else np.zeros_like(step)
