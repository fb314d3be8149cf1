"""The commands of `nrcdt catalogue`: parse and call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from .console import ERRORS, NOTHING_WRITTEN, OUTPUT, SOME_FAILED, complain, one_red_line, say

if TYPE_CHECKING:
    from ..catalogue.importers import Problem
    from ..catalogue.marks import Filter, Mark
    from ..catalogue.ranking import Hit
    from ..catalogue.store import Catalogue

app = typer.Typer(
    no_args_is_help=True, help="A collection of marks in one file: add pictures, find the relatives of a new one."
)


class Polarity(StrEnum):
    """Which side of the paper is ink."""

    auto = "auto"
    dark = "dark"
    light = "light"


File = Annotated[Path, typer.Argument(metavar="CATALOGUE", help="The file of the catalogue.")]
MarkName = Annotated[
    str, typer.Argument(metavar="MARK", help="Id or its beginning, name, reference or file of a mark.")
]
Side = Annotated[Polarity, typer.Option(help="Which side of the paper is ink.")]
Drawing = Annotated[bool, typer.Option("--drawing", help="Clean drawings: whatever is not paper is ink.")]
BarLength = Annotated[float | None, typer.Option(help="Length of the scale bar in the pictures, in millimetres.")]
Motif = Annotated[list[str] | None, typer.Option(help="Only this motif; may be repeated.")]
Method = Annotated[list[str] | None, typer.Option(help="Only this method; may be repeated.")]
Place = Annotated[list[str] | None, typer.Option(help="Only this place; may be repeated.")]
Since = Annotated[int | None, typer.Option("--from", help="Only marks dated to this year or later.")]
Until = Annotated[int | None, typer.Option("--to", help="Only marks dated to this year or earlier.")]
Text = Annotated[str, typer.Option(help="Only marks with this in name, motif, place, reference or note.")]


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERRORS, transient=True) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda: progress.advance(bar)


def _filter(
    text: str, motif: list[str] | None, method: list[str] | None, place: list[str] | None, *years: int | None
) -> Filter:
    from ..catalogue.marks import Filter

    return Filter(text, tuple(motif or ()), tuple(method or ()), tuple(place or ()), *years)


@app.command()
def add(
    catalogue: File,
    source: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Folder of folders named after motifs, or a CSV table.")
    ] = None,
    polarity: Side = Polarity.auto,
    drawing: Drawing = False,
    bar_mm: BarLength = None,
    keep: Annotated[bool, typer.Option("--keep", help="Store the files themselves, too.")] = False,
    root: Annotated[Path | None, typer.Option(help="Folder that the files of a table have to be in.")] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="First compute all features again, from the stored ink.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes; 0 for all cores.")] = 0,
) -> None:
    """Add pictures; make the catalogue if there is none. Files that have not changed are skipped.

    The folder that holds a picture names its motif. A CSV table has a column path and, where known, name, motif, date,
    place, method, reference, dpi; exports of WZIS are such tables.

    Exit code: 0 all pictures are in the catalogue, 1 some failed, 2 nothing was done.
    """
    with one_red_line():
        from ..catalogue import adding
        from ..catalogue.prepare import Settings
        from ..catalogue.store import Catalogue

        if source is None and not renew:
            raise ValueError("FOLDER must be given; got none. Name a folder or a CSV table, or say --renew.")
        with Catalogue(catalogue, create=source is not None) as store:
            if renew:
                with _progress("features", len(store)) as advance:
                    say(f"{adding.renew(store, advance)} marks: features computed again")
            if source is None:
                return
            failed = _add(store, source, Settings(polarity.value, None, (), not drawing, bar_mm), keep, root, jobs)
            _calibrate(store)
    if failed:
        raise typer.Exit(SOME_FAILED)


def _add(store: Catalogue, source: Path, settings: Any, keep: bool, root: Path | None, jobs: int) -> int:
    from ..catalogue import adding
    from ..catalogue.importers import listed
    from ..catalogue.workers import Workers

    items = list(listed(source, root))
    with _progress("add", len(items)) as advance, Workers(jobs or None) as workers:
        count = adding.add(
            store,
            items,
            settings,
            workers,
            keep=keep,
            report=_report_problem,
            advance=advance,
        )
    say(
        f"{count.added} added, {count.replaced} replaced, {count.unchanged} unchanged, {count.failed} failed; "
        f"{len(store)} marks in {store.path}"
    )
    return count.failed


def _report_problem(problem: Problem) -> None:
    if problem.left_out:
        say(f"left out: {problem.file}")
    else:
        complain(f"{problem.file}: {problem.reason}")


def _calibrate(store: Catalogue) -> None:
    """Measure what scores strangers get, if the collection has grown or shrunk by a tenth since this was last done."""
    from ..catalogue.calibration import N_STRANGERS, calibrate
    from ..catalogue.ranking import Search

    known = store.about("strangers") or {"marks": 0}
    if len(store) > 1 and abs(len(store) - known["marks"]) > 0.1 * known["marks"]:
        with _progress("calibration", min(N_STRANGERS, len(store))) as advance:
            calibrate(Search(store), advance)


@app.command()
def query(
    catalogue: File,
    picture: Annotated[Path, typer.Argument(metavar="PICTURE", help="Photograph, scan or drawing of a mark.")],
    n: Annotated[int, typer.Option("-n", min=1, help="Number of hits.")] = 10,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also save the hits: .csv or .json.")] = None,
    polarity: Side = Polarity.auto,
    drawing: Drawing = False,
    crop: Annotated[
        tuple[int, int, int, int] | None, typer.Option(metavar="LEFT TOP RIGHT BOTTOM", help="Part to look at.")
    ] = None,
    bar_mm: BarLength = None,
    text: Text = "",
    motif: Motif = None,
    method: Method = None,
    place: Place = None,
    since: Since = None,
    until: Until = None,
) -> None:
    """Find the relatives of a mark, whatever its rotation, size, shear or mirror image."""
    with one_red_line():
        from ..catalogue.keeping import write_list
        from ..catalogue.lists import hit_row
        from ..catalogue.prepare import Settings
        from ..catalogue.ranking import Search, query_of
        from ..catalogue.store import Catalogue
        from ..catalogue.workers import Workers, read_bytes

        data = read_bytes(picture)
        with Catalogue(catalogue, readonly=True) as store, Workers(1) as workers:
            found = workers.prepare(data, Settings(polarity.value, crop, (), not drawing, bar_mm))
            wanted = _filter(text, motif, method, place, since, until)
            hits = Search(store).query(query_of(found), wanted, n=max(n, 1))
            _show_hits(store, hits[:n], found)
            if out is not None:
                write_list(out, (hit_row(rank, hit) for rank, hit in enumerate(hits[:n], 1)))


def _show_hits(store: Catalogue, hits: list[Hit], found: Any) -> None:
    from ..catalogue.calibration import verdict

    for step in found.steps:
        say(f"  {step}")
    if found.confidence < 0.5:
        say(f"The ink was found with a confidence of {found.confidence:.2f} only: try --crop or --polarity.")
    rows = [{"rank": str(rank)} | _cells(hit) for rank, hit in enumerate(hits, 1)]
    shown = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    table = Table(*shown)
    for row in rows:
        table.add_row(*(row[name].replace("[", r"\[") for name in shown))
    OUTPUT.print(table)
    say(verdict(store, hits))


def _cells(hit: Hit) -> dict[str, str]:
    """Return a row of the table; columns that are empty throughout are left out."""
    mark, size = hit.mark, hit.mark.size_mm
    cells = {"id": mark.uid[:8], "name": mark.name, "motif": mark.motif, "date": mark.date, "place": mark.place}
    cells["size, mm"] = f"{size[0]:.0f} x {size[1]:.0f}" if size else ""
    return cells | {
        "score": f"{hit.score:.2f}",
        "overlap": f"{hit.registration.overlap:.2f}" if hit.registration else "",
    }


@app.command()
def compare(
    catalogue: File,
    a: MarkName,
    b: MarkName,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save a picture of one laid over the other.")] = None,
) -> None:
    """Lay a mark over another, and tell by which rotation, scale and shear."""
    with one_red_line():
        from ..catalogue.comparing import compared, save_overlay
        from ..catalogue.store import Catalogue

        with Catalogue(catalogue, readonly=True) as store:
            found = compared(store, store.find(a), store.find(b))
            for line in found.sentences():
                say(line)
            if out is not None:
                save_overlay(store, found, out)


@app.command()
def cluster(
    catalogue: File,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save all marks with groups: .csv or .json.")] = None,
    groups: Annotated[int | None, typer.Option(min=1, help="Number of groups.", show_default=False)] = None,
    reach: Annotated[float, typer.Option(help="Without --groups: how far apart members may be; 1 is usual.")] = 0.6,
) -> None:
    """Put marks that are alike into groups."""
    with one_red_line():
        from ..catalogue.clusters import clusters
        from ..catalogue.index import Index
        from ..catalogue.keeping import write_list
        from ..catalogue.lists import about
        from ..catalogue.store import Catalogue

        with Catalogue(catalogue, readonly=True) as store:
            ids, found = clusters(Index(store), groups, reach)
            marks = store.numbered(ids)
        rows = sorted(({"group": int(g)} | about(mark) for g, mark in zip(found, marks, strict=True)), key=_by_group)
        _show_groups(rows)
        if out is not None:
            write_list(out, rows)


def _by_group(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["group"], row["motif"], row["name"]


def _show_groups(rows: list[dict[str, Any]]) -> None:
    from itertools import groupby

    alone = 0
    for group, members in groupby(rows, key=lambda row: row["group"]):
        named = [row["name"] + (f" ({row['motif']})" if row["motif"] else "") for row in members]
        if len(named) > 1:
            say(f"group {group}: {len(named)} marks: {', '.join(named[:8])}{', ...' if len(named) > 8 else ''}")
        else:
            alone += 1
    say(f"{alone} marks stand alone.")


@app.command()
def edit(
    catalogue: File,
    mark: MarkName,
    name: Annotated[str | None, typer.Option()] = None,
    motif: Annotated[str | None, typer.Option()] = None,
    date: Annotated[str | None, typer.Option()] = None,
    place: Annotated[str | None, typer.Option()] = None,
    method: Annotated[str | None, typer.Option()] = None,
    reference: Annotated[str | None, typer.Option()] = None,
    note: Annotated[str | None, typer.Option()] = None,
) -> None:
    """Change what is known about a mark; without options, show it."""
    given = {"name": name, "motif": motif, "date": date, "place": place}
    given |= {"method": method, "reference": reference, "note": note}
    with one_red_line():
        from ..catalogue.store import Catalogue

        changes = {key: value for key, value in given.items() if value is not None}
        with Catalogue(catalogue, readonly=not changes) as store:
            found = store.find(mark)
            _show_mark(store.edit(found.uid, changes) if changes else found)


def _show_mark(mark: Mark) -> None:
    from ..catalogue.lists import about

    for key, value in about(mark).items():
        if value not in ("", None, {}):
            say(f"{key:12} {value}")


@app.command()
def remove(
    catalogue: File,
    marks: Annotated[list[str], typer.Argument(metavar="MARK...", help="Ids, names, references or files of marks.")],
) -> None:
    """Take marks out of the catalogue; the files they came from stay."""
    with one_red_line():
        from ..catalogue.store import Catalogue

        with Catalogue(catalogue) as store:
            found = [store.find(mark) for mark in marks]
            store.remove(mark.uid for mark in found)
            say(f"{len(found)} removed; {len(store)} marks are left")


@app.command()
def merge(
    catalogue: File,
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Catalogue to take marks and judgements from.")],
) -> None:
    """Take over the marks and judgements of another catalogue, which stays as it is."""
    with one_red_line():
        from ..catalogue.keeping import merge as run
        from ..catalogue.store import Catalogue

        with Catalogue(catalogue) as store, Catalogue(other, readonly=True) as second:
            with _progress("merge", len(second)) as advance:
                n_new, n_old = run(store, second, advance)
            say(f"{n_new} taken over, {n_old} were there; {len(store)} marks in {catalogue}")
            _calibrate(store)


@app.command()
def export(
    catalogue: File,
    out: Annotated[Path, typer.Argument(metavar="TABLE", help="Table to write: .csv or .json.")],
    text: Text = "",
    motif: Motif = None,
    method: Method = None,
    place: Place = None,
    since: Since = None,
    until: Until = None,
) -> None:
    """Write what is known about marks, with sizes and judgements."""
    with one_red_line():
        from ..catalogue.keeping import export as run
        from ..catalogue.store import Catalogue

        with Catalogue(catalogue, readonly=True) as store:
            say(f"{run(store, out, _filter(text, motif, method, place, since, until))} marks written to {out}")


@app.command()
def backup(
    catalogue: File, out: Annotated[Path, typer.Argument(metavar="COPY", help="New file to copy the catalogue to.")]
) -> None:
    """Copy the catalogue, even while it is in use."""
    with one_red_line():
        from ..catalogue.keeping import backup as run
        from ..catalogue.store import Catalogue

        with Catalogue(catalogue, readonly=True) as store:
            run(store, out)
        say(f"copied to {out}")


@app.command()
def verify(catalogue: File) -> None:
    """Check everything in the catalogue.

    Exit code: 0 all is well, 1 something is damaged, 2 the file cannot be read.
    """
    with one_red_line():
        from ..catalogue.keeping import missing_files
        from ..catalogue.keeping import verify as run
        from ..catalogue.store import Catalogue

        with Catalogue(catalogue, readonly=True) as store:
            with _progress("verify", len(store)) as advance:
                faults = list(run(store, advance))
            missing, n = missing_files(store), len(store)
    for fault in faults:
        complain(fault)
    if missing:
        say(
            f"{len(missing)} files that marks were read from are no longer there, such as {missing[0]}; marks are kept."
        )
    say(f"{n} marks checked, {len(faults)} faults")
    if faults:
        raise typer.Exit(SOME_FAILED)


@app.command()
def stats(catalogue: File) -> None:
    """Tell what is in the catalogue."""
    with one_red_line():
        from ..catalogue.keeping import stats as run
        from ..catalogue.store import Catalogue

        with Catalogue(catalogue, readonly=True) as store:
            for key, value in run(store).items():
                say(f"{key:16} {value}")


@app.command("eval")
def evaluate(
    catalogue: File,
    queries: Annotated[int, typer.Option(min=1, help="At most so many marks are asked for.")] = 200,
    copies: Annotated[int, typer.Option(min=0, help="Simulated photographs of marks of the collection.")] = 50,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the numbers: .json.")] = None,
) -> None:
    """Measure how well the catalogue answers: every mark is left out and looked for among the others."""
    with one_red_line():
        from ..catalogue.evaluation import evaluate as run
        from ..catalogue.evaluation import rich_table, save
        from ..catalogue.ranking import Search
        from ..catalogue.store import Catalogue

        with Catalogue(catalogue, readonly=True) as store, _progress("eval", None) as advance:
            found = run(Search(store), queries, copies, advance)
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
        from ..catalogue.generate import N_SHOWN, demonstration

        with _progress("drawing", N_SHOWN) as advance:
            path = demonstration(folder, advance)
        serve(path, "127.0.0.1", port, None, (), 0, f"Photographs to look for are in {folder / 'photographs'}. ")
