"""Levels at which quantile functions are sampled: the points of a reference measure (eq. (3) of the paper)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .errors import InputError
from .measures import positive_integer
from .measures.values import is_number
from .slices import Levels


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
    if not (is_number(trim) and 0 <= trim < 0.5):
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
