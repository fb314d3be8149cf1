"""First normalisation: what shift and scale did to the slices is undone (Algorithm 1, lines 4 to 6).

Written in the words of the array API; NumPy's arrays are overwritten, others are not.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from array_api_compat import array_namespace

from .arrays import Array, like
from .errors import InputError, Where
from .kernels import kernels_for

Normalization = Literal["standardize", "winsorize", "median", "center", "global"] | None
TAIL = 0.1
ROUNDING = 64  # roundings of the size of a sample that pass for a spread: a slice is a sum of some hundred terms

SLICEWISE = ("standardize", "winsorize", "median")  # which undo the shift and the scale of every slice

NORMALIZATIONS: dict[Normalization, str] = {
    "standardize": "every slice to mean zero and spread one",
    "winsorize": "every slice to mean zero and spread one, after its tails of a tenth each were cut down",
    "median": "every slice to median zero and distance one between its tails of a tenth each",
    "center": "every slice to mean zero",
    "global": "one mean and one spread for the whole measure",
    None: "slices as they are",
}


def normalize(
    quantiles: Array,
    how: Normalization,
    level_weights: Array,
    direction_weights: Array,
    *,
    linear: bool = True,
    noise: Array | None = None,
) -> Array:
    """Shift and scale quantile functions.

    Parameters
    ----------
    quantiles : array of shape (n_samples, n_directions, n_quantiles); overwritten
    how : one of `NORMALIZATIONS`
    level_weights, direction_weights : shares of the reference and of the directions, each summing to one
    linear : bool
        For "global": whether the mean of the measure shifts every slice by its own amount, as inner products do.
    noise : array of shape (n_samples,), optional
        Spreads that are no more than rounding of coordinates.

    Raises
    ------
    FlatSlice
        where a slice has no spread to be divided by; for "global", where none has.
    """
    if how is None:
        return quantiles
    xp, kernels = array_namespace(quantiles), kernels_for(quantiles)
    if how in ("winsorize", "median"):
        lower, middle, upper = landmarks(level_weights)
    if how == "winsorize":
        quantiles = xp.clip(quantiles, quantiles[:, :, lower, None], quantiles[:, :, upper, None])
    if how == "median":
        shifts, tail = (xp.astype(quantiles[:, :, j], xp.float64) for j in (middle, upper))
        spreads = tail - quantiles[:, :, lower]
    else:
        shape = quantiles.shape[:2]
        means, variances = kernels.row_moments(quantiles, level_weights, np.empty(shape), np.empty(shape))
        shifts, spreads = _shifts_and_spreads(how, means, variances, direction_weights, linear)
    if how != "center":
        refuse_flat(shifts, spreads, float(xp.finfo(quantiles.dtype).eps), noise, common=how == "global")
    normalized: Array = kernels.shift_and_scale(quantiles, shifts, 1 / spreads)
    return normalized


def landmarks(level_weights: Array) -> tuple[int, int, int]:
    """Positions of the first level behind the lower tail, of the middle, of the last level before the upper tail."""
    places = np.cumsum(level_weights) - level_weights / 2
    lower = int(np.searchsorted(places, TAIL))
    middle = int(np.abs(places - 0.5).argmin())
    return lower, middle, max(int(np.searchsorted(places, 1 - TAIL, side="right")) - 1, lower)


def _shifts_and_spreads(
    how: Normalization, means: Array, variances: Array, weights: Array, linear: bool
) -> tuple[Array, Array]:
    """What each slice is shifted and divided by, of shape (n_samples, n_directions)."""
    xp = array_namespace(means)
    if how in ("standardize", "winsorize"):
        return means, xp.sqrt(variances)
    every = xp.ones_like(means)
    if how == "center":
        return means, every
    weights = like(weights, means)
    shifts = means if linear else every * _average(means, weights)
    return shifts, every * xp.sqrt(_average(variances + (means - shifts) ** 2, weights))


def _average(values: Any, weights: Any) -> Any:
    """Average over directions, row by row the same however many rows there are."""
    return array_namespace(values).sum(values * weights, axis=1, keepdims=True)


def refuse_flat(
    means: Array, spreads: Array, precision: float, noise: Array | None = None, *, common: bool = False
) -> None:
    """Refuse slices without spread; means and spreads are of shape (n_samples, n_directions).

    `noise` is as for `normalize`, and `common` says that all slices of a sample have one spread.
    """
    if noise is not None:
        spreads = spreads * (spreads > like(noise, spreads)[:, None])
    first = kernels_for(means).first_flat(means, spreads, ROUNDING * precision)
    if first >= 0:
        sample, direction = divmod(first, means.shape[1])
        raise FlatSlice(
            Where("X", int(sample)),
            f"have spread in {'some' if common else 'every'} slice",
            "none in any direction" if common else f"none in direction {direction}",
            "Drop the sample, choose other directions, normalize with 'center' or None; if nearly all mass is in one "
            "point, raise n_quantiles; if the sample lies far from the origin, subtract its mean first.",
        )


class FlatSlice(InputError):
    """A slice without spread."""
