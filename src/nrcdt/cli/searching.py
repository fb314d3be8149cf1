"""The commands of `nrcdt catalogue` that look for relatives, and `nrcdt serve`: parse and call."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from ..errors import InputError
from . import options
from .console import NOTHING_WRITTEN, OUTPUT, check_output, complain, named, one_red_line, progress_bar, say

if TYPE_CHECKING:
    from ..catalogue.model import Filter
    from ..catalogue.ranking import Hit
    from ..catalogue.store import Store

N_NAMED = 20
WHOLE = ("rank", "id", "score", "overlap")
# Left out in this order where the window is narrow.
SPARE = ("reference", "method", "motif", "place")


def query(
    catalogue: options.File,
    picture: Annotated[Path, typer.Argument(metavar="PICTURE", help="Photograph, scan or drawing of a mark.")],
    n: Annotated[int, typer.Option("-n", min=1, help="Number of hits.")] = 10,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also save the hits: .csv or .json.")] = None,
    polarity: options.Side = options.Polarity.auto,
    drawing: options.Drawing = False,
    crop: options.Crop = None,
    bar_mm: options.BarLength = None,
    text: options.Text = "",
    motif: options.Motif = None,
    method: options.Method = None,
    place: options.Place = None,
    since: options.Since = None,
    until: options.Until = None,
) -> None:
    """Find the relatives of a mark, whatever its rotation, size, shear or mirror image."""
    with one_red_line():
        from ..catalogue.workers import Workers

        check_output(out, ".csv", ".json")
        with Workers(1) as readers:
            # The worker takes two seconds to start: meanwhile, what takes as long to load.
            from ..catalogue import Catalogue
            from ..catalogue.export_rows import hit_row
            from ..catalogue.intake import Settings
            from ..catalogue.maintenance import write_list

            with Catalogue(catalogue, readonly=True, readers=readers) as marks:
                wanted = options.filter_of(text, motif, method, place, since, until)
                _refuse_unknown(marks.store, wanted)
                with named(picture):
                    seen = marks.prepare(picture, Settings(polarity.value, crop, (), not drawing, bar_mm))
                answer = marks.answer(seen, n, wanted)
        _show_hits(answer.hits, seen)
        say(answer.sentence)
        if out is not None:
            write_list(out, (hit_row(hit.rank, hit) for hit in answer.hits))


def _refuse_unknown(store: Store, wanted: Filter) -> None:
    """Refuse to look among marks that cannot be there."""
    for name, values in (("motif", wanted.motif), ("method", wanted.method), ("place", wanted.place)):
        known = [value for value, _ in store.values_of(name) if value]
        for value in set(values) - set(known):
            some = ", ".join(known[:N_NAMED]) + (", ..." if len(known) > N_NAMED else "")
            raise InputError(f"--{name}", "be one that marks have", repr(value), f"There are: {some or 'none'}.")
    first, last = wanted.year_from, wanted.year_to
    if first is not None and last is not None and first > last:
        raise InputError("--from", "not be after --to", f"{first} and {last}", "Exchange them.")


def _show_hits(hits: Sequence[Hit], found: Any) -> None:
    from ..catalogue.calibration import DOUBTFUL

    for step in found.steps:
        say(f"  {step}")
    if found.confidence < DOUBTFUL:
        say(f"The ink was found with a confidence of {found.confidence:.2f} only: try --crop or --polarity.")
    if not hits:
        return
    rows = [_cells(hit) for hit in hits]
    filled = [name for name in rows[0] if any(row[name] for row in rows)]
    shown = _fitting(filled, rows)
    table = Table(*(Column(name, overflow="fold", no_wrap=name in WHOLE) for name in shown))
    for row in rows:
        table.add_row(*(row[name].replace("[", r"\[") for name in shown))
    OUTPUT.print(table)
    if missing := [name for name in filled if name not in shown]:
        say(f"There is more to see, but no room: {', '.join(missing)}. Widen the window, or save the hits with --out.")


def _fitting(names: list[str], rows: list[dict[str, str]]) -> list[str]:
    """Leave columns out until the table fits the window, or none can be spared."""
    widths = {name: 3 + max(len(name), *(len(row[name]) for row in rows)) for name in names}
    for spare in SPARE:
        if spare in widths and sum(widths.values()) >= OUTPUT.width:
            del widths[spare]
    return list(widths)


def _cells(hit: Hit) -> dict[str, str]:
    """Return a row of the table; columns that are empty throughout are left out."""
    mark, size = hit.mark, hit.mark.size_mm
    cells = {"rank": str(hit.rank), "id": mark.uid[:8]}
    cells |= {name: getattr(mark, name) for name in ("name", "motif", "date", "place", "method", "reference")}
    cells["size, mm"] = f"{size[0]:.0f} x {size[1]:.0f}" if size else ""
    measured = {"score": hit.score, "overlap": hit.overlap}
    return cells | {name: "" if value is None else f"{value:.2f}" for name, value in measured.items()}


def compare(
    catalogue: options.File,
    a: options.MarkName,
    b: options.MarkName,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save a picture of one laid over the other.")] = None,
) -> None:
    """Lay a mark over another, and tell by which rotation, scale and shear."""
    with options.opened(catalogue) as store:
        from ..catalogue.overlay import compared, save_overlay

        check_output(out, ".png")
        found = compared(store, store.find(a), store.find(b))
        for line in found.sentences():
            say(line)
        if out is not None:
            save_overlay(store, found, out)


def cluster(
    catalogue: options.File,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save all marks with groups: .csv or .json.")] = None,
    groups: Annotated[int | None, typer.Option(min=1, help="Number of groups.", show_default=False)] = None,
    reach: Annotated[float, typer.Option(help="Without --groups: how far apart members may be; 1 is usual.")] = 0.6,
) -> None:
    """Put marks that are alike into groups."""
    with options.opened(catalogue) as store:
        from ..catalogue.clusters import clusters
        from ..catalogue.export_rows import about
        from ..catalogue.index import Index
        from ..catalogue.maintenance import write_list

        check_output(out, ".csv", ".json")
        ids, found = clusters(Index(store), groups, reach)
        numbered = zip(found.tolist(), store.numbered(ids), strict=True)
        rows = [{"group": group} | about(mark) for group, mark in numbered]
        rows.sort(key=itemgetter("group", "motif", "name"))
        _show_groups(rows)
        if out is not None:
            write_list(out, rows)


def _show_groups(rows: list[dict[str, Any]]) -> None:
    alone = 0
    for group, members in groupby(rows, key=itemgetter("group")):
        named = [row["name"] + (f" ({row['motif']})" if row["motif"] else "") for row in members]
        if len(named) > 1:
            say(f"group {group}: {len(named)} marks: {', '.join(named[:8])}{', ...' if len(named) > 8 else ''}")
        else:
            alone += 1
    say(f"{alone} mark{' stands' if alone == 1 else 's stand'} alone.")


def evaluate(
    catalogue: options.File,
    queries: Annotated[int, typer.Option(min=1, help="At most so many marks are asked for.")] = 200,
    copies: Annotated[int, typer.Option(min=0, help="Simulated photographs of marks of the collection.")] = 50,
    without: Annotated[
        list[str] | None, typer.Option(help="Motif that is none, such as 'other': not asked for; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the numbers: .json.")] = None,
) -> None:
    """Measure how well the catalogue answers: every mark is left out and looked for among the others."""
    with options.opened(catalogue) as store:
        from ..catalogue.evaluation import evaluate as run
        from ..catalogue.evaluation import rich_table, save
        from ..catalogue.ranking import Search

        check_output(out, ".json")
        with progress_bar("eval", None) as advance:
            found = run(Search(store), queries, copies, advance, without or ())
        if not found.rows and not found.copies:
            complain("Nothing can be measured: no motif has two marks, and no copies were asked for.")
            raise typer.Exit(NOTHING_WRITTEN)
        OUTPUT.print(rich_table(found))
        for line in found.sentences():
            say(line)
        if out is not None:
            save(found, out)


def serve(path: Path, host: str, port: int, token: str | None, names: Sequence[str], jobs: int, note: str = "") -> None:
    """Serve a catalogue until interrupted."""
    try:
        from ..catalogue.web import serve as run
    except ImportError as error:
        raise ImportError(f"nrcdt serve needs more packages: pip install 'nrcdt[catalogue]' ({error}).") from None

    def open_this(address: str) -> None:
        say(f"{note}Open {address} in a browser; Ctrl-C ends.")

    run(path, host, port, token, hosts=names, n_workers=jobs or None, say=open_this)


def serve_synthetic(folder: Path, port: int) -> None:
    """Make a synthetic catalogue in a folder, unless there is one, and serve it."""
    with one_red_line():
        from ..catalogue.synthetic import N_SHOWN, demonstration

        with progress_bar("drawing", N_SHOWN) as advance:
            path = demonstration(folder, advance)
        serve(path, "127.0.0.1", port, None, (), 0, f"Photographs to look for are in {folder / 'photographs'}. ")
