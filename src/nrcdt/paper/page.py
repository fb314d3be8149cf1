"""The report as a page: it holds its pictures, suits light and dark and narrow screens, and needs nothing else."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ..pages import render
from ..pages.pictures import png_address
from . import summaries
from .cells import DIFFERS, NOT_HELD, RULE, Figure, Result
from .extra_columns import MEANING
from .summaries import FASTER, FILES, MARKS, MEANINGS, NOT_PRINTED, RUN_TIMES, Grid


class Group(NamedTuple):
    """Neighbouring labels that share a part: its name, and the labels whole and without that part."""

    name: str
    labels: list[tuple[str, str]]


def html_report(folder: Path, results: list[Result], about: dict[str, str]) -> str:
    """Return the page; pictures are read from the folder."""
    cells = summaries.all_cells(results)
    return render(
        "reproduction.html",
        title=f"nrcdt: {summaries.headline(cells)}",
        summaries=summaries,
        results=results,
        all_cells=cells,
        about=about,
        rule=" ".join(RULE.split()),
        additions=" ".join(MEANING.split()),
        not_held=summaries.cells_with_verdict(results, NOT_HELD),
        differing=summaries.cells_with_verdict(results, DIFFERS),
        files=FILES,
        marks=MARKS,
        meanings=MEANINGS,
        faster=FASTER,
        run_times=RUN_TIMES,
        column_groups=_column_groups,
        row_groups=lambda grid: _grouped(grid.rows, first=True),
        picture=partial(_picture, folder),
    )


def _picture(folder: Path, figure: Figure) -> str | None:
    path = folder / f"{figure.name}.png"
    return png_address(path.read_bytes()) if path.is_file() else None


def _column_groups(grid: Grid) -> list[Group]:
    added = [(column, column) for column in grid.columns if grid.is_added(column)]
    groups = _grouped([column for column in grid.columns if not grid.is_added(column)], first=False)
    return [*groups, Group(NOT_PRINTED, added)] if added else groups


def _grouped(labels: list[str], *, first: bool) -> list[Group]:
    """Group neighbours that share the part before the first (or after the last) comma, if all labels have one."""
    ungrouped = [Group("", [(label, label) for label in labels])]
    if not all(", " in label for label in labels):
        return ungrouped
    parts = [label.split(", ", 1) if first else label.rsplit(", ", 1)[::-1] for label in labels]
    runs = groupby(zip(labels, parts, strict=True), key=lambda entry: entry[1][0])
    groups = [Group(name, [(label, rest) for label, (_, rest) in entries]) for name, entries in runs]
    return groups if len({group.name for group in groups}) == len(groups) < len(labels) else ungrouped
