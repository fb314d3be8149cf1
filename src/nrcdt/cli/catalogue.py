"""The commands of `nrcdt catalogue` that keep the collection: parse and call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import SOME_FAILED, complain, one_red_line, say
from .options import (
    BarLength,
    Drawing,
    File,
    MarkName,
    Method,
    Motif,
    Place,
    Polarity,
    Side,
    Since,
    Text,
    Until,
    filter_of,
    progress_bar,
)
from .searching import cluster, compare, evaluate, query

if TYPE_CHECKING:
    from ..catalogue.importers import Problem
    from ..catalogue.marks import Mark
    from ..catalogue.store import Catalogue

app = typer.Typer(
    no_args_is_help=True, help="A collection of marks in one file: add pictures, find the relatives of a new one."
)


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
                with progress_bar("features", len(store)) as advance:
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
    with progress_bar("add", len(items)) as advance, Workers(jobs or None) as workers:
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
        with progress_bar("calibration", min(N_STRANGERS, len(store))) as advance:
            calibrate(Search(store), advance)


for command in (query, compare, cluster):
    app.command()(command)


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
            with progress_bar("merge", len(second)) as advance:
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
            say(f"{run(store, out, filter_of(text, motif, method, place, since, until))} marks written to {out}")


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
            with progress_bar("verify", len(store)) as advance:
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


app.command("eval")(evaluate)
