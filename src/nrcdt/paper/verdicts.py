"""The rule that compares a measured number with a printed one: see `cells.RULE`."""

from __future__ import annotations

import math

from .cells import AGREES, DIFFERS, HELD, NOT_HELD, Cell, Measurement
from .tables import Number

N_SPLITS = 20
LAST_DIGIT = 1e-4  # of a printed score of k-means


def judge(
    printed: Number, measured: Measurement, gap: float, *, baseline: bool, smaller_is_better: bool = False
) -> str:
    """Return the verdict on one cell; `gap` is the `tolerance`, which an interval of seeds does not need.

    Examples
    --------
    >>> judge(Number(1.0), Measurement(0.967, n=30), 0.05, baseline=False)
    'held'
    >>> judge(Number(1.0), Measurement(0.8, n=30), 0.05, baseline=False)
    'not held'
    """
    if measured.low is None or measured.high is None:
        low, high = measured.value - gap, measured.value + gap
    else:
        low, high = measured.low - LAST_DIGIT, measured.high + LAST_DIGIT
    if baseline:
        return AGREES if low <= printed.value <= high else DIFFERS
    return NOT_HELD if (printed.value < low if smaller_is_better else printed.value > high) else HELD


def holds_by_median(cell: Cell) -> bool:
    """Tell whether a printed score of k-means is no better than the median of our runs, whatever the best of them is.

    Examples
    --------
    >>> [holds_by_median(Cell("VI train", "max", printed, 0.5, low=0.1, high=0.9)) for printed in (0.4, 0.6)]
    [False, True]
    """
    median = Measurement(cell.measured or 0.0)
    falling = cell.row.startswith("VI")
    return judge(Number(cell.printed or 0.0), median, LAST_DIGIT, baseline=False, smaller_is_better=falling) == HELD


def tolerance(printed: Number, measured: Measurement, n_printed: int, *, samples: bool = True) -> float:
    """Return twice the joint standard error, but at least one sample and one printed digit.

    Parameters
    ----------
    printed, measured : the two numbers
    n_printed : samples that the paper tested
    samples : whether the chance in which samples were drawn counts
        Splits of one draw share its samples, so that their mean does not average it out. False leaves the error of the
        mean over the splits alone.
    """
    n = measured.n or 1
    paper = _variance(printed.value, printed.std, N_SPLITS, n_printed if samples else None)
    once = samples and measured.n_draws == 1
    ours = _variance(measured.value, measured.std, measured.repeats or 1, n if once else None)
    return max(2 * math.sqrt(paper + ours), 1 / n, 1e-3)


def _variance(share: float, std: float | None, repeats: int, n: int | None) -> float:
    """Variance of the mean over repeats, or of a proportion of n samples where it is larger or the only one."""
    over_splits = 0.0 if std is None else std**2 / repeats
    return over_splits if n is None else max(over_splits, share * (1 - share) / n)
