"""First normalisation: what shift and scale did to the slices is undone (Algorithm 1, lines 4 to 6)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .slices import Array

Normalization = Literal["standardize", "center", "global"] | None

NORMALIZATIONS: dict[Normalization, str] = {
    "standardize": "every slice to mean zero and spread one",
    "center": "every slice to mean zero",
    "global": "one mean and one spread for the whole measure",
    None: "slices as they are",
}


def normalize(
    quantiles: Array, how: Normalization, level_weights: Array, direction_weights: Array, *, linear: bool = True
) -> Array:
    """Shift and scale quantile functions in place.

    Parameters
    ----------
    quantiles : array of shape (n_samples, n_directions, n_quantiles); overwritten
    how : one of `NORMALIZATIONS`
    level_weights, direction_weights : shares of the reference and of the directions, each summing to one
    linear : bool
        For "global": whether the mean of the measure shifts every slice by its own amount, as inner products do.

    Raises
    ------
    FlatSlice
        where a slice has no spread to be divided by.
    """
    if how is None:
        return quantiles
    means = average(quantiles, level_weights)
    if how == "global" and not linear:
        quantiles -= average(means, direction_weights)[:, np.newaxis, np.newaxis]
    else:
        quantiles -= means[..., np.newaxis]
    if how == "center":
        return quantiles
    variances = average(np.square(quantiles), level_weights)
    if how == "global":
        variances = average(variances, direction_weights)[:, np.newaxis]
    spreads = np.sqrt(variances)
    _refuse_flat(means, spreads)
    quantiles /= spreads[..., np.newaxis]
    return quantiles


def average(values: Array, weights: Array) -> Array:
    """Average over the last axis; row by row the same, however many rows there are."""
    if np.ptp(weights) == 0:
        return np.asarray(values.mean(axis=-1))
    return np.asarray((values * weights.astype(values.dtype)).sum(axis=-1))


def _refuse_flat(means: Array, spreads: Array) -> None:
    size = np.abs(means).max(axis=1, keepdims=True) + spreads.max(axis=1, keepdims=True)
    flat = np.argwhere(spreads <= 64 * np.finfo(spreads.dtype).eps * size)
    if len(flat):
        raise FlatSlice(*(int(position) for position in flat[0]))


class FlatSlice(ValueError):
    """A slice without spread; carries the position of its sample in the batch."""

    def __init__(self, sample: int, direction: int) -> None:
        self.sample, self.direction = sample, direction
        super().__init__(
            f"X[{sample}] must have spread in every slice; got none in direction {direction}. "
            "Drop the sample, choose other directions, or normalize with 'center' or None."
        )
