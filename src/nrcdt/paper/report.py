"""The report of a run: a page and a text with every printed number beside the measured one, and cells as files."""

from __future__ import annotations

import json
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..pages import environment, render
from ..pages.pictures import png_address
from ..whole_files import write_whole
from . import summaries
from .cells import DIFFERS, NOT_HELD, RULE, Cell, Figure, Result
from .extra_columns import MEANING
from .summaries import NOT_PRINTED, Grid

Group = tuple[str, list[tuple[str, str]]]  # neighbours that share a part: its name, and the labels with and without it


def write_cells(folder: Path, result: Result) -> Path:
    """Write the cells of a table to `NAME.json`, one line each, numbers rounded to six decimals.

    Examples
    --------
    >>> import tempfile
    >>> cell = Cell("angles 64", "max", 1.0, 29 / 30, None, 30, "held", 64)
    >>> path = write_cells(Path(tempfile.mkdtemp()), Result("small", "A small table", [cell], [], [], 0.5))
    >>> read_cells(path)[0].measured
    0.966667
    """
    lines = [json.dumps({key: _rounded(value) for key, value in cell._asdict().items()}) for cell in result.cells]
    path = folder / f"{result.name}.json"
    write_whole(path, ("[\n" + ",\n".join(lines) + "\n]\n").encode())
    return path


def _rounded(value: Any) -> Any:
    """Return numbers as JSON has them, without a negative zero."""
    if isinstance(value, float | np.floating):
        return round(float(value), 6) + 0.0
    return int(value) if isinstance(value, np.integer) else value


def read_cells(path: Path | str) -> list[Cell]:
    """Read cells that `write_cells` wrote."""
    try:
        return [Cell(**entry) for entry in json.loads(Path(path).read_text(encoding="utf-8"))]
    except (json.JSONDecodeError, TypeError) as error:
        raise InputError("path", "be a file of write_cells", f"{path}: {error}", "Run the table again.") from error


def write_report(folder: Path, results: list[Result], about: dict[str, str]) -> Path:
    """Write `report.html` and `report.md` into a folder.

    The page holds its pictures and needs nothing else; the text refers to the pictures beside it.

    Parameters
    ----------
    folder : where `NAME.png` of every figure is
    results : one per table
    about : lines for the end, such as version, command, seed

    Returns
    -------
    path of the page

    Examples
    --------
    >>> import tempfile
    >>> cell = Cell("angles 64", "max", 1.0, 1.0, None, 30, "held", 64)
    >>> page = write_report(Path(tempfile.mkdtemp()), [Result("small", "A small table", [cell], [], [], 0.5)], {})
    >>> "1 of 1 judged cells hold" in page.read_text(encoding="utf-8")
    True
    """
    values = {
        "results": results,
        "cells": summaries.all_cells(results),
        "about": about,
        "summaries": summaries,
        "rule": " ".join(RULE.split()),
        "meaning": " ".join(MEANING.split()),
        "not_held": summaries.cells_with_verdict(results, NOT_HELD),
        "differing": summaries.cells_with_verdict(results, DIFFERS),
    }
    page = folder / "report.html"
    write_whole(page, _page(folder, values).encode())
    write_whole(folder / "report.md", _markdown(values).encode())
    return page


def _page(folder: Path, values: dict[str, Any]) -> str:
    """Return the report as a page; pictures are read from the folder."""
    return render(
        "reproduction.html",
        title=f"nrcdt: {summaries.headline(values['cells'])}",
        column_groups=_column_groups,
        row_groups=lambda grid: _grouped(grid.rows, first=True),
        picture=partial(_picture, folder),
        **values,
    )


def _picture(folder: Path, figure: Figure) -> str | None:
    path = folder / f"{figure.name}.png"
    return png_address(path.read_bytes()) if path.is_file() else None


def _column_groups(grid: Grid) -> list[Group]:
    added = [(column, column) for column in grid.columns if grid.is_added(column)]
    groups = _grouped([column for column in grid.columns if not grid.is_added(column)], first=False)
    return [*groups, (NOT_PRINTED, added)] if added else groups


def _grouped(labels: list[str], *, first: bool) -> list[Group]:
    """Group neighbours that share the part before the first (or after the last) comma, if all labels have one."""
    ungrouped = [("", [(label, label) for label in labels])]
    if not all(", " in label for label in labels):
        return ungrouped
    parts = [label.split(", ", 1) if first else label.rsplit(", ", 1)[::-1] for label in labels]
    runs = groupby(zip(labels, parts, strict=True), key=lambda entry: entry[1][0])
    groups = [(name, [(label, rest) for label, (_, rest) in entries]) for name, entries in runs]
    return groups if len({name for name, _ in groups}) == len(groups) < len(labels) else ungrouped


def _markdown(values: dict[str, Any]) -> str:
    templates = environment().overlay(autoescape=False, keep_trailing_newline=True)
    templates.filters["plain"] = _plain
    return templates.get_template("reproduction.md").render(values)


_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;"} | {mark: f"\\{mark}" for mark in "\\|*`"})


def _plain(text: str) -> str:
    """Escape what Markdown would take for markup."""
    return " ".join(text.translate(_ESCAPED).split())
