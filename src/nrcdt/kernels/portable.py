"""What comes after the quantiles, in the words of the array API: the twin of `moments.py` for every other library."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace, device


def row_moments(quantiles: Any, weights: Any, means: Any = None, variances: Any = None) -> tuple[Any, Any]:
    """Mean and variance of each quantile function; nothing is written into `means` and `variances`."""
    xp = array_namespace(quantiles)
    weights = xp.asarray(weights, dtype=xp.float64, device=device(quantiles))
    wide = xp.astype(quantiles, xp.float64)
    mean = xp.sum(wide * weights, axis=-1)
    return mean, xp.sum((wide - mean[..., None]) ** 2 * weights, axis=-1)


def first_flat(means: Any, spreads: Any, tolerance: float) -> int:
    """Position of the first slice whose spread is next to nothing beside the size of its sample, or -1."""
    xp = array_namespace(means)
    size = xp.max(xp.abs(means), axis=1, keepdims=True) + xp.max(spreads, axis=1, keepdims=True)
    flat = xp.reshape(~(spreads > tolerance * size), (-1,))
    return int(xp.argmax(xp.astype(flat, xp.int8))) if bool(xp.any(flat)) else -1


def shift_and_scale(quantiles: Any, shifts: Any, scales: Any) -> Any:
    """Subtract from and multiply each quantile function; the result is a new array."""
    xp = array_namespace(quantiles)
    wide = (xp.astype(quantiles, xp.float64) - shifts[..., None]) * scales[..., None]
    return xp.astype(wide, quantiles.dtype)
