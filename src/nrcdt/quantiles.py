"""Quantile functions: the cumulative distribution transform (CDT) and its inverse.

The CDT of a measure is its quantile function after the distribution function of a reference measure (eq. (3) of the
paper). It is sampled at m points of the reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array
from .errors import InputError, LocatedError, Where
from .levels import reference_levels
from .measures import Cloud, Points, as_floats, check_finite, check_image, check_points, positive_integer
from .slices import PhiValues, StripDensity


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
        masses = [check_image(row[np.newaxis], name).astype(np.float64) for row, name in zip(rows, names, strict=True)]
        quantiles = StripDensity(masses, *edges).quantiles(levels)[:, 0].astype(array.dtype)
    else:
        clouds = [_check_line(row, weights, name) for row, name in zip(rows, names, strict=True)]
        one = np.zeros((1, 1))
        quantiles = np.concatenate(
            [PhiValues(Points.of([cloud]), one, _on_the_line).quantiles(levels)[0] for cloud in clouds]
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
