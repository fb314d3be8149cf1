"""The report as a page: it holds its pictures, suits light and dark and narrow screens, and needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template

from . import summaries as outline
from .cells import DIFFERS, NOT_HELD, RULE, Cell, Figure, Result, count
from .extra_columns import MEANING
from .summaries import FASTER, FILES, MARKS, MEANINGS, NOT_PRINTED, RUN_TIMES, Grid


def html_report(folder: Path, results: list[Result], about: dict[str, str]) -> str:
    """Return the page; pictures are read from the folder."""
    cells = outline.all_cells(results)
    return PAGE.substitute(
        headline=outline.headline(cells),
        outcome=escape(outline.outcome(cells)),
        counts="".join(f"<div><dt>{name}</dt><dd>{n}</dd></div>" for name, n in outline.counts(cells).items()),
        rule=escape(" ".join(RULE.split())),
        additions=escape(" ".join(MEANING.split())),
        legend=_legend(MARKS),
        not_held=_exceptions(results, NOT_HELD),
        differing=_exceptions(results, DIFFERS),
        contents="".join(f"<li>{_link(result)} {_quiet(outline.summary(result))}</li>" for result in results),
        sections="".join(_section(folder, result) for result in results),
        about="".join(f"<dt>{escape(key)}</dt><dd>{escape(text)}</dd>" for key, text in about.items()),
        files=FILES,
    )


def _link(result: Result) -> str:
    return f'<a href="#{escape(result.name)}">{escape(result.title)}</a>'


def _quiet(text: str) -> str:
    return f'<span class="quiet">{escape(text)}</span>'


def _style(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _legend(verdicts: Iterable[str], *, timed: bool = False) -> str:
    present = set(verdicts)
    how = "large: measured, small: printed" + (f", {FASTER}" if timed else "")
    keys = "".join(
        f'<span class="key {_style(verdict)}"><b class="mark">{mark}</b> {MEANINGS[verdict]}</span>'
        for verdict, mark in MARKS.items()
        if verdict in present
    )
    return f'<p class="legend">{keys}<span class="key">{how}</span></p>' if keys else ""


def _exceptions(results: list[Result], verdict: str) -> str:
    names, rows = outline.exceptions(results, verdict)
    if not rows:
        return "<p>None.</p>"
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f"<tr><td>{_link(result)}</td>{''.join(f'<td>{escape(entry)}</td>' for entry in entries)}</tr>"
        for result, entries in rows
    )
    return f'<div class="scroll"><table class="list"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _section(folder: Path, result: Result) -> str:
    letters = outline.footnotes(result.cells)
    comparison = outline.comparison(result)
    footnotes = "".join(f"<li><sup>{letter}</sup> {escape(text)}</li>" for text, letter in letters.items())
    return SECTION.substitute(
        name=escape(result.name),
        title=escape(result.title),
        summary=_quiet(outline.summary(result)),
        notes="".join(f"<p>{escape(note)}</p>" for note in result.notes),
        grids="".join(_grid(result, grid, letters) for grid in outline.grids(result.cells)),
        comparison=f"<p>{escape(comparison)}</p>" if comparison else "",
        legend=_legend(count(result.cells), timed=result.name == RUN_TIMES),
        footnotes=f'<ul class="footnotes">{footnotes}</ul>' if footnotes else "",
        seconds=_quiet(outline.seconds(result)),
        figures="".join(_figure(folder, figure) for figure in result.figures),
    )


def _grid(result: Result, grid: Grid, letters: dict[str, str]) -> str:
    body = []
    for group, rows in _grouped(grid.rows, first=True):
        if group:
            width = len(grid.columns) + 1
            body.append(f'<tr class="group"><th scope="rowgroup" colspan="{width}">{escape(group)}</th></tr>')
        for row, label in rows:
            cells = "".join(_grid_cell(result, grid.cells.get((row, column), []), letters) for column in grid.columns)
            body.append(f'<tr><th scope="row">{escape(label)}</th>{cells}</tr>')
    head = _grid_head(grid)
    return f'<div class="scroll"><table class="grid">{head}<tbody>{"".join(body)}</tbody></table></div>'


def _grid_head(grid: Grid) -> str:
    added = [(column, column) for column in grid.columns if grid.is_added(column)]
    groups = _grouped([column for column in grid.columns if not grid.is_added(column)], first=False)
    groups += [(NOT_PRINTED, added)] if added else []
    upper = "".join(f'<th scope="colgroup" colspan="{len(own)}">{escape(group)}</th>' for group, own in groups)
    lower = "".join(f'<th scope="col">{escape(label)}</th>' for _, own in groups for _, label in own)
    upper = f'<tr class="upper"><td></td>{upper}</tr>' if any(group for group, _ in groups) else ""
    return f"<thead>{upper}<tr><td></td>{lower}</tr></thead>"


def _grouped(labels: list[str], *, first: bool) -> list[tuple[str, list[tuple[str, str]]]]:
    """Group neighbours that share the part before the first (or after the last) comma, if all labels fall into groups.

    Returns the name of every group, and its labels, whole and without that part.
    """
    ungrouped = [("", [(label, label) for label in labels])]
    if not all(", " in label for label in labels):
        return ungrouped
    parts = [label.split(", ", 1) if first else label.rsplit(", ", 1)[::-1] for label in labels]
    runs = groupby(zip(labels, parts, strict=True), key=lambda entry: entry[1][0])
    groups = [(group, [(label, rest) for label, (_, rest) in entries]) for group, entries in runs]
    return groups if len({group for group, _ in groups}) == len(groups) < len(labels) else ungrouped


def _grid_cell(result: Result, cells: list[Cell], letters: dict[str, str]) -> str:
    if not cells:
        return "<td></td>"
    title = escape("; ".join(_cell_title(result, cell) for cell in cells))
    texts = "".join(_cell_text(result, cell, letters) for cell in cells)
    return f'<td class="{_style(cells[0].verdict)}" title="{title}">{texts}</td>'


def _cell_text(result: Result, cell: Cell, letters: dict[str, str]) -> str:
    texts = outline.shown(result, cell)
    mark = f'<b class="mark" aria-hidden="true">{MARKS[cell.verdict]}</b>'
    spoken = f'<span class="hidden">{MEANINGS[cell.verdict]}: </span>'
    std = f' <span class="std">{texts.std}</span>' if texts.std else ""
    note = f"<sup>{letters[cell.note]}</sup>" if cell.note else ""
    paper = '<span class="hidden">, printed </span>' if texts.printed else ""
    printed = " ".join(filter(None, [texts.printed, texts.ratio]))
    measured = f'<div class="measured">{mark}{spoken}{texts.measured}{std}</div>'
    return f'{measured}<div class="printed">{paper}{printed}{note}</div>'


def _cell_title(result: Result, cell: Cell) -> str:
    texts = outline.shown(result, cell)
    n = "" if cell.n is None else f", n = {cell.n}"
    ratio = f", ratio {texts.ratio[1:]}" if texts.ratio else ""
    measured = f"measured {texts.measured} {texts.std}".strip()
    return f"{MEANINGS[cell.verdict]}: {measured}{n}; printed {texts.printed or 'nothing'}{ratio}"


def _figure(folder: Path, figure: Figure) -> str:
    path, caption = folder / f"{figure.name}.png", escape(figure.caption)
    if not path.is_file():
        return f'<p class="quiet">{escape(path.name)} is missing: {caption}</p>'
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    picture = f'<img src="data:image/png;base64,{data}" alt="{caption}">'
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


SECTION = Template("""
<section id="$name">
<h2>$title</h2>
<p>$summary</p>
$notes
$grids
$legend
$comparison
$footnotes
<p>$seconds</p>
$figures
</section>
""")

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>nrcdt: $headline</title>
<style>
:root { color-scheme: light dark; --text: #22201c; --quiet: #6a655c; --page: #faf8f4; --card: #fff; --line: #e2ddd2;
  --link: #0b5c94; --right: #1a7f4b; --wrong: #c0392b; --odd: #96620a;
  --right-ground: #eaf4ec; --wrong-ground: #f9dcd7; --odd-ground: #fbeecb; }
@media (prefers-color-scheme: dark) {
  :root { --text: #ece8e0; --quiet: #a39d91; --page: #171614; --card: #000; --line: #35322d;
    --link: #7cc0f0; --right: #4cc38a; --wrong: #ff8d7e; --odd: #e8b64c;
    --right-ground: #17251c; --wrong-ground: #4a1c17; --odd-ground: #3a2e12; }
  img { filter: invert(1) hue-rotate(180deg); --line: #cacdd2; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 72rem; background: var(--page); color: var(--text);
  font: 1.05rem/1.6 Georgia, "Times New Roman", serif; }
h1 { font-size: clamp(1.6rem, 5vw, 2.4rem); line-height: 1.2; text-wrap: balance; margin: 0 0 1rem;
  font-weight: normal; }
h2 { font-size: 1.35rem; font-weight: normal; line-height: 1.3; margin: 3rem 0 .4rem; }
p { max-width: 42rem; margin: .6rem 0; }
a { color: var(--link); }
.quiet { color: var(--quiet); font-size: .92rem; }
.counts { display: grid; gap: .6rem; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); margin: 1.4rem 0; }
.counts div { display: flex; flex-direction: column-reverse; padding: .5rem .7rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .4rem; }
.counts dt { color: var(--quiet); font: .8rem/1.3 system-ui, sans-serif; }
.counts dd { margin: 0; font-size: 1.6rem; line-height: 1.2; }
.contents { padding-left: 1.2rem; } .contents li { margin: .15rem 0; }
.scroll { position: relative; overflow-x: auto; margin: 1rem 0; }
table { border-collapse: separate; border-spacing: 0; font: .95rem/1.3 system-ui, sans-serif;
  font-variant-numeric: tabular-nums; }
th { color: var(--quiet); font-weight: 500; vertical-align: bottom; }
.list th, .list td { padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; white-space: nowrap; }
.list td:first-child { white-space: normal; min-width: 8.5rem; }
.list td:nth-child(7) { white-space: normal; min-width: 14rem; }
.grid { font-size: .9rem; }
.grid td, .grid th { padding: .28rem .32rem; border-bottom: 1px solid var(--line); }
.grid td { border-left: 1px solid var(--page); white-space: nowrap; }
.grid thead th { text-align: left; font-size: .88rem; line-height: 1.2; }
.grid .upper td { border-bottom: 0; }
.grid .upper th { padding-bottom: 0; border-bottom: 0; color: var(--text); }
.grid th[scope=row], .grid thead td { position: sticky; left: 0; background: var(--page); text-align: left;
  white-space: nowrap; vertical-align: middle; padding-left: 0; }
.grid .group th { text-align: left; padding: .9rem 0 .2rem; color: var(--text); }
.printed { padding-left: .95rem; color: var(--quiet); font-size: .8rem; }
.std { color: var(--quiet); font-size: .8rem; }
.mark { display: inline-block; width: .85rem; margin-right: .1rem; font-weight: 700; text-align: center; }
sup { color: var(--odd); font-weight: 700; line-height: 1; }
.held { background: var(--right-ground); } .held .mark { color: var(--right); }
.not-held { background: var(--wrong-ground); } .not-held .mark, .not-held .measured { color: var(--wrong); }
.not-held .measured { font-weight: 700; }
.differs { background: var(--odd-ground); } .differs .mark { color: var(--odd); }
.not-run { color: var(--quiet); } .added .mark { color: var(--link); }
.legend { display: flex; flex-wrap: wrap; gap: .3rem .5rem; max-width: none; font: .85rem/1.3 system-ui, sans-serif; }
.key { padding: .1rem .5rem .1rem .3rem; border: 1px solid var(--line); border-radius: .3rem; }
.footnotes { list-style: none; padding: 0; margin: .6rem 0; font-size: .92rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
figure { margin: 1.4rem 0; max-width: 58rem; }
figure img { display: block; max-width: 100%; border: 1px solid var(--line); border-radius: .4rem; background: #fff; }
figcaption { padding: .4rem 0; color: var(--quiet); font-size: .92rem; }
.about { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .95rem; }
.about dt { color: var(--quiet); } .about dd { margin: 0; overflow-wrap: anywhere; }
</style>
</head>
<body>
<h1>$headline</h1>
<p>$outcome</p>
<dl class="counts">$counts</dl>
<h2>The rule</h2>
<p>$rule</p>
<p>$additions</p>
$legend
<h2>Not held</h2>
$not_held
<h2>Baselines that differ</h2>
$differing
<h2>Contents</h2>
<ol class="contents">$contents</ol>
$sections
<h2>About this run</h2>
<dl class="about">$about</dl>
<p class="quiet">$files</p>
</body>
</html>
""")
