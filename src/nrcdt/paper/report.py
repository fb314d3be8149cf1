"""The report of a run: a page and a text with every printed number beside the measured one, and cells as files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..tables import markdown_table
from ..whole_files import write_whole
from . import summaries
from .cells import DIFFERS, NOT_HELD, RULE, Cell, Result, count_verdicts
from .extra_columns import MEANING
from .page import html_report
from .summaries import FASTER, FILES, MARKS, MEANINGS, NOT_PRINTED, RUN_TIMES, Grid


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
    page = folder / "report.html"
    write_whole(page, html_report(folder, results, about).encode())
    write_whole(folder / "report.md", _markdown(results, about).encode())
    return page


def _markdown(results: list[Result], about: dict[str, str]) -> str:
    cells = summaries.all_cells(results)
    parts = [f"# {summaries.headline(cells)}", summaries.run_outcome(cells)]
    parts.append("\n".join(f"- {name}: {n}" for name, n in summaries.verdict_counts(cells).items()))
    parts += ["## The rule", _plain(RULE), _plain(MEANING), _legend(MARKS)]
    parts += ["## Not held", _exceptions(results, NOT_HELD)]
    parts += ["## Baselines that differ", _exceptions(results, DIFFERS)]
    parts.append("## Contents")
    parts.append("\n".join(f"- [{_plain(r.title)}](#{r.name}): {summaries.table_outcome(r)}" for r in results))
    for result in results:
        parts += _section(result)
    parts += ["## About this run", "\n".join(f"- {_plain(key)}: {_plain(text)}" for key, text in about.items())]
    parts.append(FILES)
    return "\n\n".join(part for part in parts if part) + "\n"


def _plain(text: str) -> str:
    """Escape what Markdown would take for markup."""
    for character, escaped in (("\\", "\\\\"), ("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("*", "\\*"), ("`", "\\`")):
        text = text.replace(character, escaped)
    return " ".join(text.split())


def _exceptions(results: list[Result], verdict: str) -> str:
    head, rows = summaries.cells_with_verdict(results, verdict)
    if not rows:
        return "None."
    return markdown_table(head, [[_plain(text) for text in (r.title, *entries)] for r, entries in rows])


def _section(result: Result) -> list[str]:
    letters = summaries.footnotes(result.cells)
    parts = [f'<a id="{escape(result.name)}"></a>', f"## {_plain(result.title)}", *map(_plain, result.notes)]
    for grid in summaries.grids(result.cells):
        rows = [_grid_row(result, grid, row, letters) for row in grid.rows]
        parts.append(markdown_table(["", *(_heading(grid, column) for column in grid.columns)], rows))
    parts.append(_plain(summaries.compare_extra_columns(result)))
    parts.append(_legend(count_verdicts(result.cells), timed=result.name == RUN_TIMES))
    parts += [f"[{letter}] {_plain(text)}" for text, letter in letters.items()]
    parts.append(summaries.duration(result))
    captions = {figure.name: _plain(figure.caption) for figure in result.figures}
    return parts + [f"![{caption}]({name}.png)\n\n{caption}" for name, caption in captions.items()]


def _heading(grid: Grid, column: str) -> str:
    return _plain(f"{column} ({NOT_PRINTED})" if grid.is_added(column) else column)


def _grid_row(result: Result, grid: Grid, row: str, letters: dict[str, str]) -> list[str]:
    found = [grid.cells.get((row, column), []) for column in grid.columns]
    return [_plain(row), *("; ".join(_cell(result, cell, letters) for cell in cells) for cells in found)]


def _cell(result: Result, cell: Cell, letters: dict[str, str]) -> str:
    texts = summaries.cell_texts(result, cell)
    printed = f"({texts.printed})" if texts.printed else ""
    note = f"[{letters[cell.note]}]" if cell.note else ""
    return " ".join(filter(None, [texts.measured + texts.std, printed, texts.ratio, MARKS[cell.verdict], note]))


def _legend(verdicts: Iterable[str], *, timed: bool = False) -> str:
    present = set(verdicts)
    known = ", ".join(f"{mark} {MEANINGS[verdict]}" for verdict, mark in MARKS.items() if verdict in present)
    ratio = f" {FASTER}, then" if timed else " then"
    return f"In the tables: measured (printed),{ratio} {known}." if known else ""
