"""What a run brings back: one cell per printed number and a verdict on it, and cells that the paper does not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

HELD, NOT_HELD = "held", "not held"
AGREES, DIFFERS = "agrees", "differs"
REPORTED, NOT_RUN = "reported", "not run"
ADDED = "added"
OTHER_STARTS = "other starts"
VERDICTS = (HELD, NOT_HELD, AGREES, DIFFERS, REPORTED, NOT_RUN)
WANTED_SHARE = 0.95
WANTED_DIRECTIONS = 16

_TEXT = Path(__file__).with_name("rule.txt").read_text(encoding="utf-8")
RULE = _TEXT.format(share=WANTED_SHARE, directions=WANTED_DIRECTIONS)


class Measurement(NamedTuple):
    """A number we measured.

    `std` is over splits or seeds, None for a single run; `n` counts the samples tested or the seeds tried; `low` and
    `high` are the interval of all seeds, where the rule asks for it; `repeats` the splits that were averaged, over
    `n_draws` draws of the dataset.
    """

    value: float
    std: float | None = None
    n: int | None = None
    repeats: int | None = None
    n_draws: int = 1
    low: float | None = None
    high: float | None = None


class Cell(NamedTuple):
    """One cell of a table: what is printed, what we measured, and the verdict.

    `directions` is the number of directions of an NR-CDT cell, and None for baselines; `note` marks misprints and
    the like. What the verdict rests on: `printed_std`; the `tolerance`, and the smaller one by the error over splits
    alone; or the interval from `low` to `high` of all seeds.
    """

    row: str
    column: str
    printed: float | None = None
    measured: float | None = None
    std: float | None = None
    n: int | None = None
    verdict: str = NOT_RUN
    directions: int | None = None
    note: str = ""
    printed_std: float | None = None
    tolerance: float | None = None
    split_tolerance: float | None = None
    low: float | None = None
    high: float | None = None


class Figure(NamedTuple):
    """A picture of a run: `NAME.png` and `NAME.svg` in its folder."""

    name: str
    caption: str


class Result(NamedTuple):
    """One table of a run: its cells in printed order, its pictures, sentences about its data, and files left out."""

    name: str
    title: str
    cells: list[Cell]
    figures: list[Figure]
    notes: list[str]
    seconds: float
    failed: bool = False
    n_skipped: int = 0


def count_verdicts(cells: Iterable[Cell]) -> Counter[str]:
    """Count the verdicts.

    Examples
    --------
    >>> count_verdicts([Cell("64", "max", verdict=HELD)])[HELD]
    1
    """
    return Counter(cell.verdict for cell in cells)


def decisive(cells: Iterable[Cell]) -> list[Cell]:
    """Return the judged NR-CDT cells with enough directions, which decide whether a run succeeds."""
    return [
        cell
        for cell in cells
        if cell.verdict in (HELD, NOT_HELD) and cell.directions is not None and cell.directions >= WANTED_DIRECTIONS
    ]


def share_held(cells: Iterable[Cell]) -> float | None:
    """Return the share of the decisive cells that hold; None if there are none."""
    counts = count_verdicts(decisive(cells))
    total = counts[HELD] + counts[NOT_HELD]
    return counts[HELD] / total if total else None


def held_by_splits(cells: Iterable[Cell]) -> int:
    """Count the decisive cells that hold by the error over splits alone, or have no other error."""
    return sum(
        cell.verdict == HELD
        and (
            cell.printed_std is None
            or cell.split_tolerance is None
            or (cell.measured or 0) >= (cell.printed or 0) - cell.split_tolerance
        )
        for cell in decisive(cells)
    )


def wanted_share_holds(cells: Iterable[Cell]) -> bool:
    """Tell whether enough of the decisive cells hold, if there are any."""
    share = share_held(cells)
    return share is None or share >= WANTED_SHARE


def describe_verdicts(cells: Iterable[Cell]) -> str:
    """Return the counts of verdicts in words; what is not compared with the paper is counted apart.

    Examples
    --------
    >>> describe_verdicts([Cell("64", "max", verdict=HELD), Cell("64", "R-CDT", verdict=DIFFERS)])
    '2 cells: 1 held, 1 differs'
    """
    counts = count_verdicts(cells)
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    apart = "".join(f"; {counts[verdict]} {verdict}" for verdict in (ADDED, OTHER_STARTS) if counts[verdict])
    return f"{sum(counts[verdict] for verdict in VERDICTS)} cells: {', '.join(parts)}{apart}"
