"""The rule that compares a measured number with a printed one: see `results.RULE`."""

from __future__ import annotations

import math

from .results import AGREES, DIFFERS, HELD, NOT_HELD, Measurement
from .tables import Number

N_SPLITS = 20


def judge(printed: Number, measured: Measurement, *, baseline: bool, smaller_is_better: bool = False) -> str:
    """Return the verdict on one cell.

    Examples
    --------
    >>> judge(Number(1.0), Measurement(0.967, n=30), baseline=False)
    'held'
    >>> judge(Number(1.0), Measurement(0.8, n=30), baseline=False)
    'not held'
    """
    if measured.low is not None and measured.high is not None:
        worse, better = _outside(printed.value, measured.low, measured.high)
        if smaller_is_better:
            worse, better = better, worse
    else:
        gap = tolerance(printed, measured)
        worse = printed.value < measured.value - gap
        better = printed.value > measured.value + gap
    if baseline:
        return DIFFERS if worse or better else AGREES
    return NOT_HELD if better else HELD


def _outside(value: float, low: float, high: float) -> tuple[bool, bool]:
    """Tell whether a number printed with four decimals lies below or above an interval."""
    return value < low - 1e-4, value > high + 1e-4


def tolerance(printed: Number, measured: Measurement) -> float:
    """Return twice the joint standard error, but at least one sample and one printed digit."""
    n, repeats = measured.n or 1, measured.repeats or 1
    variance = _variance(measured.value, measured.std, n, repeats) + _variance(printed.value, printed.std, n, N_SPLITS)
    return max(2 * math.sqrt(variance), 1 / n, 1e-3)


def _variance(share: float, std: float | None, n: int, repeats: int) -> float:
    """Variance of a proportion of n samples, or of the mean over repeated splits, whichever is larger.

    Splits share the samples of one dataset, so their mean does not average out which samples were drawn.
    """
    proportion = share * (1 - share) / n
    return proportion if std is None else max(proportion, std**2 / repeats)
