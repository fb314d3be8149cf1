"""How far features can move when quantiles can: an interval for every feature, by the kind of aggregation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aggregate import AGGREGATIONS, Aggregation
from ..arrays import Array
from ..errors import InputError
from ..plan import Plan

Interval = tuple[Array, Array]
Rule = Callable[[Aggregation, Array, Array, Plan], Interval]


def feature_interval(aggregation: Aggregation, quantiles: Array, radii: Array, plan: Plan) -> Interval:
    """Return bounds of the features of one sample, each of shape (n_features,).

    Parameters
    ----------
    aggregation : one of the table, or made by `angular_quantiles`, `spectrum` or `bispectrum`
    quantiles, radii : arrays of shape (n_directions, n_quantiles)
    plan : whose directions and weights these are

    Examples
    --------
    >>> plan = Plan.resolve("euclidean", n_directions=4, n_quantiles=2)
    >>> quantiles = np.array([[-1.0, 1.0], [-2.0, 2.0], [-1.0, 1.0], [-2.0, 2.0]])
    >>> feature_interval(AGGREGATIONS["max"], quantiles, np.full((4, 2), 0.5), plan)
    (array([-1.5,  1.5]), array([-0.5,  2.5]))
    """
    rule = RULES.get(_kind(aggregation))
    if rule is None:
        raise InputError(
            "aggregate",
            f"be one of {', '.join(AGGREGATIONS)}, whose bounds are known",
            aggregation.name,
            "How far a function of your own moves, only you can tell.",
        )
    if not np.isfinite(radii).all():
        n_features = _apply(aggregation, quantiles, plan).shape[0]
        return np.full(n_features, -np.inf), np.full(n_features, np.inf)
    return rule(aggregation, quantiles, radii, plan)


def _kind(aggregation: Aggregation) -> Any:
    """What tells aggregations apart, whatever their parameters."""
    return getattr(aggregation.function, "func", aggregation.function)


def _apply(aggregation: Aggregation, quantiles: Array, plan: Plan) -> Array:
    found: Array = aggregation.function(quantiles[np.newaxis], plan.direction_weights, plan.directions)[0]
    return found


def _sizes(quantiles: Array, radii: Array) -> Interval:
    """Smallest and largest magnitude."""
    sizes = np.abs(quantiles)
    return np.maximum(sizes - radii, 0), sizes + radii


def _monotone(aggregation: Aggregation, quantiles: Array, radii: Array, plan: Plan) -> Interval:
    """What grows where quantiles grow: max, mean, angular quantiles."""
    return _apply(aggregation, quantiles - radii, plan), _apply(aggregation, quantiles + radii, plan)


def _monotone_in_sizes(aggregation: Aggregation, quantiles: Array, radii: Array, plan: Plan) -> Interval:
    """What grows where magnitudes grow: they are their own magnitudes."""
    low, high = _sizes(quantiles, radii)
    return _apply(aggregation, low, plan), _apply(aggregation, high, plan)


def _range(aggregation: Aggregation, quantiles: Array, radii: Array, plan: Plan) -> Interval:
    return _spans(quantiles - radii, quantiles + radii)


def _abs_range(aggregation: Aggregation, quantiles: Array, radii: Array, plan: Plan) -> Interval:
    return _spans(*_sizes(quantiles, radii))


def _spans(low: Array, high: Array) -> Interval:
    least = low.max(axis=0) - high.min(axis=0)
    return np.maximum(least, 0), high.max(axis=0) - low.min(axis=0)


def _around(features: Array, radii: Array) -> Interval:
    return np.maximum(features - radii, 0), features + radii


def _std(aggregation: Aggregation, quantiles: Array, radii: Array, plan: Plan) -> Interval:
    """A norm of a projection."""
    return _around(_apply(aggregation, quantiles, plan), np.sqrt(plan.direction_weights @ radii**2))


def _total_variation(aggregation: Aggregation, quantiles: Array, radii: Array, plan: Plan) -> Interval:
    """Every quantile has a part in two steps."""
    return _around(_apply(aggregation, quantiles, plan), 2 * radii.sum(axis=0))


def _spectrum(aggregation: Aggregation, quantiles: Array, radii: Array, plan: Plan) -> Interval:
    """Magnitudes of Fourier coefficients; the 2 l + 1 harmonics of degree l have squares of that sum everywhere."""
    factors, lowest = aggregation.function.args  # type: ignore[attr-defined]
    degrees = np.arange(lowest, len(factors))
    harmonics = np.ones(len(degrees)) if plan.directions.shape[1] == 2 else np.sqrt(2 * degrees + 1)
    moved = np.outer(np.abs(factors[lowest:]) * harmonics, radii.mean(axis=0)).ravel()
    features = _apply(aggregation, quantiles, plan)
    return features - moved, features + moved


def _bispectrum(aggregation: Aggregation, quantiles: Array, radii: Array, plan: Plan) -> Interval:
    """Products of three coefficients, and what their magnitudes' cube roots make of that.

    z / |z|^(2/3) moves by no more than 4^(1/3) d^(1/3) where z moves by d, and by no more than d / (|z| - d)^(2/3).
    """
    n_frequencies, pairs = aggregation.function.args  # type: ignore[attr-defined]
    found = np.abs(np.fft.rfft(quantiles, axis=0, norm="forward"))
    sizes = np.zeros((n_frequencies + 1, quantiles.shape[1]))
    sizes[: len(found)] = found[: n_frequencies + 1]
    largest = sizes + radii.mean(axis=0)
    f, g = np.array(pairs).T
    products = sizes[f] * sizes[g] * sizes[f + g]
    moved = largest[f] * largest[g] * largest[f + g] - products
    rest = products - moved
    nearby = np.where(rest > 0, moved / np.where(rest > 0, rest, 1) ** (2 / 3), np.inf)
    bounds = np.minimum(np.cbrt(4 * moved), nearby).ravel()
    features = _apply(aggregation, quantiles, plan)
    return features - bounds, features + bounds


RULES: dict[Any, Rule] = {
    _kind(AGGREGATIONS[name]): rule
    for name, rule in {
        "max": _monotone,
        "mean": _monotone,
        "angular_quantiles": _monotone,
        "abs_max": _monotone_in_sizes,
        "abs_min": _monotone_in_sizes,
        "mean_abs": _monotone_in_sizes,
        "range": _range,
        "abs_range": _abs_range,
        "std": _std,
        "tv": _total_variation,
        "spectrum": _spectrum,
        "bispectrum": _bispectrum,
    }.items()
}
