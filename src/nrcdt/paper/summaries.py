"""What a report says, in whatever form: the outcome, the counts, cells in grids, numbers as texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from .cells import (
    ADDED,
    AGREES,
    DIFFERS,
    HELD,
    NOT_HELD,
    NOT_RUN,
    OTHER_STARTS,
    REPORTED,
    WANTED_DIRECTIONS,
    WANTED_SHARE,
    Cell,
    Result,
    count_verdicts,
    decisive,
    held_by_splits,
    wanted_share_holds,
)
from .verdicts import holds_by_median

DASH, TIMES = "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"
NOT_PRINTED = "not in the paper"
# What became of a cell: its mark in tables, the meaning of the mark, and how such cells are counted.
_WORDS = (
    (HELD, "✓", "held", "held"),
    (NOT_HELD, "✗", "not held", "not held"),
    (AGREES, "=", "baseline, agrees", "baselines agree"),
    (DIFFERS, "≠", "baseline, differs", "baselines differ"),
    (REPORTED, "·", "reported, not judged", "reported only"),
    (NOT_RUN, DASH, "not run here", "not run here"),
    (ADDED, "+", "added, not judged", NOT_PRINTED),
    (OTHER_STARTS, "~", "other starts, not judged", OTHER_STARTS),
)
MARKS = {verdict: mark for verdict, mark, _, _ in _WORDS}
MEANINGS = {verdict: meaning for verdict, _, meaning, _ in _WORDS}
RUN_TIMES = "run-times"
FASTER = f"{TIMES} printed over measured: how many times faster"
FILES = "Beside this report: the cells of every table as NAME.json, every figure as NAME.png and NAME.svg."
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def all_cells(results: list[Result]) -> list[Cell]:
    """Return the cells of all tables."""
    return [cell for result in results for cell in result.cells]


def headline(cells: list[Cell]) -> str:
    """Say how many cells hold."""
    verdicts = count_verdicts(cells)
    judged = verdicts[HELD] + verdicts[NOT_HELD]
    return f"{verdicts[HELD]} of {judged} judged cells hold" if judged else "No cell was judged"


def run_outcome(cells: list[Cell]) -> str:
    """Say whether the reproduction succeeds."""
    deciding = decisive(cells)
    if not deciding:
        return f"No judged cell has {WANTED_DIRECTIONS} directions or more, so that nothing is decided."
    success = "counts as successful" if wanted_share_holds(cells) else "does not count as successful"
    n_held = count_verdicts(deciding)[HELD]
    return (
        f"The reproduction {success}: of the {len(deciding)} cells that decide (features of this package, at least "
        f"{WANTED_DIRECTIONS} directions), {n_held} hold, or {n_held / len(deciding):.1%}; {WANTED_SHARE:.0%} are "
        f"wanted. By the error over splits alone, which leaves out the chance in which samples were drawn, "
        f"{held_by_splits(cells)} of them would hold.{_by_the_median(deciding)}"
    )


def _by_the_median(deciding: list[Cell]) -> str:
    """Say how many clusterings hold by the median of the runs; nothing where nothing was clustered."""
    held = [holds_by_median(cell) for cell in deciding if cell.low is not None]
    return f" Of {len(held)} k-means cells, {sum(held)} would hold by the median of our runs." if held else ""


def verdict_counts(cells: list[Cell]) -> dict[str, int]:
    """Count the cells by what became of them; no printed number is compared twice."""
    verdicts = count_verdicts(cells)
    compared = [cell for cell in cells if None not in (cell.printed, cell.measured) and cell.verdict != OTHER_STARTS]
    return {"cells compared": len(compared), **{name: verdicts[verdict] for verdict, *_, name in _WORDS}}


def table_outcome(result: Result) -> str:
    """Say in one line how a table went."""
    verdicts = count_verdicts(result.cells)
    judged, baselines = verdicts[HELD] + verdicts[NOT_HELD], verdicts[AGREES] + verdicts[DIFFERS]
    parts = [f"{verdicts[HELD]} of {judged} hold"] if judged else []
    parts += [f"{verdicts[AGREES]} of {baselines} baselines agree"] if baselines else []
    parts += [f"{verdicts[one]} {one}" for one in (REPORTED, NOT_RUN, ADDED, OTHER_STARTS) if verdicts[one]]
    return ", ".join(parts)


def duration(result: Result) -> str:
    """Say how long a table took; nothing if it was not run."""
    if result.seconds <= 0:
        return ""
    minutes = result.seconds / 60
    return f"Computed in {minutes:.0f} min." if minutes >= 2 else f"Computed in {significant(result.seconds, 2)} s."


def significant(value: float, digits: int = 3) -> str:
    """Write a number with so many significant digits, never as a power of ten.

    Examples
    --------
    >>> significant(322.4234), significant(0.00153, 2)
    ('322', '0.0015')
    """
    return np.format_float_positional(float(f"{value:.{digits}g}"), trim="-")


def _format(result: Result) -> Callable[[float], str]:
    """Return how numbers of a table are written: with the decimals the paper needs, run times with three digits."""
    if result.name == RUN_TIMES:
        return significant
    printed = [cell.printed for cell in result.cells if cell.printed is not None]
    decimals = max((_decimals(value) for value in printed), default=3)
    return lambda value: f"{round(value, decimals) + 0.0:.{decimals}f}"


def _decimals(value: float) -> int:
    return next((n for n in (3, 4, 5) if abs(round(value, n) - value) < 1e-9), 6)


class CellTexts(NamedTuple):
    """The numbers of one cell as texts; empty where there is nothing to show."""

    measured: str
    std: str
    printed: str
    ratio: str


def cell_texts(result: Result, cell: Cell) -> CellTexts:
    """Write the numbers of a cell; of a run time also how many times faster we are."""
    write = _format(result)
    measured = DASH if cell.measured is None else write(cell.measured)
    std = "" if cell.std is None else f"±{write(cell.std)}"
    printed_std = "" if cell.printed_std is None else f"±{write(cell.printed_std)}"
    printed = "" if cell.printed is None else write(cell.printed) + printed_std
    ratio = ""
    if result.name == RUN_TIMES and cell.printed and cell.measured:
        ratio = TIMES + significant(cell.printed / cell.measured, 2)
    return CellTexts(measured, std, printed, ratio)


def cells_with_verdict(results: list[Result], verdict: str) -> tuple[list[str], list[tuple[Result, list[str]]]]:
    """List the cells with a verdict: the names of the columns, and per cell its table and the other entries."""
    head = ["table", "row", "column", "printed", "measured", "n", "note"]
    found = [(result, cell) for result in results for cell in result.cells if cell.verdict == verdict]
    rows = [(result, _cell_entries(result, cell)) for result, cell in found]
    if not any(entries[-1] for _, entries in rows):
        return head[:-1], [(result, entries[:-1]) for result, entries in rows]
    return head, rows


def _cell_entries(result: Result, cell: Cell) -> list[str]:
    texts = cell_texts(result, cell)
    n = "" if cell.n is None else str(cell.n)
    return [cell.row, cell.column, texts.printed, f"{texts.measured} {texts.std}".strip(), n, cell.note]


def footnotes(cells: Iterable[Cell]) -> dict[str, str]:
    """Give every distinct note a letter."""
    texts = dict.fromkeys(cell.note for cell in cells if cell.note)
    return {text: LETTERS[i] if i < len(LETTERS) else str(i + 1) for i, text in enumerate(texts)}


def compare_extra_columns(result: Result) -> str:
    """Say how columns that the paper does not have compare with the best of the paper's; nothing if there are none."""
    columns = dict.fromkeys(cell.column for cell in result.cells if cell.verdict == ADDED)
    found = [f"{column} is {_compare_column(result, column)}" for column in columns]
    return f"Against the best of the paper's columns, row by row: {'; '.join(found)}." if found else ""


def _compare_column(result: Result, column: str) -> str:
    own = [cell for cell in result.cells if cell.column == column and cell.verdict == ADDED]
    paper = [[cell for cell in result.cells if cell.row == one.row and cell.verdict != ADDED] for one in own]
    ours = np.array([one.measured or 0 for one in own])
    gains = ours - [max(cell.measured or 0 for cell in row) for row in paper]
    one_sample = np.array([1 / (one.n or 1) + 1e-9 for one in own])
    places = np.where(np.abs(gains) <= one_sample, "as good", np.where(gains > 0, "better", "worse"))
    counts = [(place, int(np.sum(places == place))) for place in ("better", "as good", "worse")]
    found = ", ".join(f"{place} in {n}" for place, n in counts if n)
    bounds = dict.fromkeys(f"{round(gain, 3) + 0.0:+.3f}" for gain in (gains.min(), gains.max()))
    n_above = int(np.sum(ours > [max(cell.printed or 0 for cell in row) for row in paper]))
    return f"{found} of {len(own)} rows ({' to '.join(bounds)}) and above the best printed number in {n_above}"


class Grid(NamedTuple):
    """Cells by row and column, both in the order of their first appearance."""

    rows: list[str]
    columns: list[str]
    cells: dict[tuple[str, str], list[Cell]]

    def is_added(self, column: str) -> bool:
        """Tell whether the paper does not have a column."""
        return any(cell.verdict == ADDED for row in self.rows for cell in self.cells.get((row, column), []))


def grids(cells: Iterable[Cell]) -> list[Grid]:
    """Arrange cells in grids; rows that share no column, as baselines without directions, get a grid of their own."""
    rows: dict[str, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.row, []).append(cell)
    grids: list[Grid] = []
    for row, own in rows.items():
        columns = list(dict.fromkeys(cell.column for cell in own))
        grid = next((grid for grid in grids if set(grid.columns) & set(columns)), None)
        if grid is None:
            grids.append(grid := Grid([], [], {}))
        grid.rows.append(row)
        grid.columns.extend(column for column in columns if column not in grid.columns)
        for cell in own:
            grid.cells.setdefault((row, cell.column), []).append(cell)
    return grids
