"""The commands of `nrcdt catalogue` that keep the collection: parse and call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from . import options
from .console import SOME_FAILED, complain, one_red_line, printable, progress_bar, say
from .searching import cluster, compare, evaluate, query

if TYPE_CHECKING:
    from ..catalogue import Catalogue
    from ..catalogue.importers import Entry, Problem
    from ..catalogue.ingest import Count
    from ..catalogue.model import Mark
    from ..catalogue.store import Store

INTERRUPTED = 130

app = typer.Typer(
    no_args_is_help=True, help="A collection of marks in one file: add pictures, find the relatives of a new one."
)


@app.command()
def add(
    catalogue: options.File,
    source: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="Folder of folders named after motifs, a CSV table, or a picture."),
    ] = None,
    polarity: options.Side = options.Polarity.auto,
    drawing: options.Drawing = False,
    crop: options.Crop = None,
    bar_mm: options.BarLength = None,
    keep: Annotated[bool, typer.Option("--keep", help="Store the files themselves, too.")] = False,
    root: Annotated[Path | None, typer.Option(help="Folder that the files of a table have to be in.")] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="First compute all features again, from the stored ink.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Read pictures that have not changed, too.")] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0 for all cores.")] = 0,
) -> None:
    """Add pictures; make the catalogue if there is none. Files that have not changed are skipped.

    The folder that holds a picture names its motif. A CSV table has a column path and, where known, name, motif, date,
    place, method, reference, dpi; exports of WZIS are such tables. What has changed in the table reaches the catalogue,
    except for what was edited there.

    Exit code: 0 all pictures are in the catalogue, 1 some failed, 2 nothing was done.
    """
    with one_red_line():
        from ..catalogue import Catalogue
        from ..catalogue.importers import listed

        if source is None and not renew:
            raise InputError("FOLDER", "be given", "none", "Name a folder or a CSV table, or say --renew.")
        items = [] if source is None else list(listed(source, root))
        reading: dict[str, Any] = {"polarity": polarity.value, "drawing": drawing, "crop": crop, "bar_mm": bar_mm}
        with Catalogue(catalogue) as marks:
            if renew and (source is None or catalogue.is_file()):
                say(f"{marks.renew(progress_bar)} marks: features computed again")
            if source is None:
                return
            count = _add(marks, items, source, keep=keep, again=again, n_jobs=jobs or None, **reading)
            _tell(marks.store, items, count)
    if count.failed:
        raise typer.Exit(SOME_FAILED)


def _add(marks: Catalogue, items: list[Entry | Problem], source: Path, **options: Any) -> Count:
    try:
        return marks.add(items, report=_report, progress=progress_bar, **options)
    except InputError as error:
        if error.where.argument != "pictures":
            raise
        raise InputError("FOLDER", error.rule, f"none in {printable(source)}", error.remedy) from None
    except KeyboardInterrupt:
        complain(f"Interrupted: {len(marks)} marks are in {marks.path}. The same command goes on from here.")
        raise typer.Exit(INTERRUPTED) from None


def _tell(store: Store, items: list[Entry | Problem], count: Count) -> None:
    """Say what was added, and what a user should know about it."""
    from ..catalogue.importers import Entry

    entries = [item for item in items if isinstance(item, Entry)]
    for remark in filter(None, (entry.remark for entry in entries)):
        complain(remark)
    _tell_odd_dates([entry.date for entry in entries])
    doubles = store.doubles() if count.added else []
    if doubles:
        first, second = doubles[0]
        say(f"Pictures that are in the catalogue more than once: {len(doubles)}, such as {first} and {second}")
    corrected = f"{count.corrected} corrected, " if count.corrected else ""
    say(
        f"{count.added} added, {count.replaced} replaced, {corrected}{count.unchanged} unchanged, "
        f"{count.failed} failed; {len(store)} marks in {store.path}"
    )


def _tell_odd_dates(dates: list[str]) -> None:
    """Say how many dates tell no year."""
    from ..catalogue.dates import years

    odd = [date for date in dates if date and years(date) == (None, None)]
    if odd:
        say(
            f"Dates that tell no year: {len(odd)}, such as {odd[0]!r}; filters by year leave these marks out. "
            "Write 1450, 1450-62, before 1450 or 15th century."
        )


def _report(problem: Problem) -> None:
    if problem.left_out:
        say(f"left out: {problem.file}")
    else:
        complain(f"{problem.file}: {problem.reason}")


for command in (query, compare, cluster):
    app.command()(command)


@app.command()
def edit(
    catalogue: options.File,
    mark: options.MarkName,
    name: Annotated[str | None, typer.Option(help="Name by which the mark can be asked for.")] = None,
    motif: Annotated[str | None, typer.Option(help="What it shows, such as crown.")] = None,
    date: Annotated[str | None, typer.Option(help="Date, such as 1432, 1450-62, before 1450 or 15th century.")] = None,
    place: Annotated[str | None, typer.Option(help="Where the paper was used or made.")] = None,
    method: Annotated[str | None, typer.Option(help="How the picture was made, such as tracing.")] = None,
    reference: Annotated[str | None, typer.Option(help="Number in a repertory, such as Briquet 1234.")] = None,
    note: Annotated[str | None, typer.Option(help="Whatever else is worth knowing.")] = None,
    dpi: Annotated[str | None, typer.Option(help="Resolution of the picture, in dots per inch.")] = None,
) -> None:
    """Change what is known about a mark; without options, show it. An empty text, "", means unknown."""
    given = {"name": name, "motif": motif, "date": date, "place": place}
    given |= {"method": method, "reference": reference, "note": note, "dpi": dpi}
    changes = {key: value for key, value in given.items() if value is not None}
    with options.opened(catalogue, readonly=not changes) as store:
        found = store.find(mark)
        _show_mark(store.edit(found.uid, changes) if changes else found)
        _tell_odd_dates([changes.get("date", "")])


def _show_mark(mark: Mark) -> None:
    from ..catalogue.export_rows import about

    for key, value in (mark.extra | about(mark)).items():
        if value not in ("", None, {}):
            say(f"{key:12} {value}")


@app.command()
def remove(
    catalogue: options.File,
    marks: Annotated[list[str], typer.Argument(metavar="MARK...", help="Ids, names, references or files of marks.")],
) -> None:
    """Take marks out of the catalogue; the files they came from stay."""
    with options.opened(catalogue, readonly=False) as store:
        found = {store.find(mark).uid for mark in marks}
        store.remove(found)
        say(f"{len(found)} removed; {len(store)} marks are left")


@app.command()
def merge(
    catalogue: options.File,
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Catalogue to take marks and judgements from.")],
) -> None:
    """Take over marks, judgements, and what was unknown here from another catalogue, which stays as it is."""
    with options.opened(catalogue, readonly=False) as store, options.opened(other) as second:
        from ..catalogue.calibration import calibrate_again
        from ..catalogue.maintenance import merge as run
        from ..catalogue.ranking import Search

        with progress_bar("merge", len(second)) as advance:
            merged = run(store, second, advance)
        for conflict in merged.conflicts:
            complain(f"kept as it is: {conflict}")
        say(
            f"{merged.new} taken over, {merged.old} were there, {merged.filled} of them completed, "
            f"{merged.judgements} judgements taken over; {len(store)} marks in {catalogue}"
        )
        calibrate_again(Search(store), progress_bar)


@app.command()
def export(
    catalogue: options.File,
    out: Annotated[Path, typer.Argument(metavar="TABLE", help="Table to write: .csv or .json.")],
    text: options.Text = "",
    motif: options.Motif = None,
    method: options.Method = None,
    place: options.Place = None,
    since: options.Since = None,
    until: options.Until = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a table that exists.")] = False,
) -> None:
    """Write what is known about marks, with sizes and judgements."""
    with options.opened(catalogue) as store:
        from ..catalogue.maintenance import export as run

        wanted = options.filter_of(text, motif, method, place, since, until)
        say(f"{run(store, out, wanted, force=force)} marks written to {out}")


@app.command()
def backup(
    catalogue: options.File,
    out: Annotated[Path, typer.Argument(metavar="COPY", help="New file to copy the catalogue to.")],
) -> None:
    """Copy the catalogue, even while it is in use."""
    with options.opened(catalogue) as store:
        from ..catalogue.maintenance import backup as run

        run(store, out)
        say(f"copied to {out}")


@app.command()
def verify(catalogue: options.File) -> None:
    """Check everything in the catalogue.

    Exit code: 0 all is well, 1 something is damaged, 2 the file cannot be read.
    """
    with options.opened(catalogue) as store:
        from ..catalogue.maintenance import missing_files
        from ..catalogue.maintenance import verify as run

        with progress_bar("verify", len(store)) as advance:
            faults = list(run(store, advance))
        missing, n = missing_files(store), len(store)
    for fault in faults:
        complain(fault)
    if missing:
        gone = f"{len(missing)} files that marks were read from are no longer there"
        say(f"{gone}, such as {missing[0]}; marks are kept.")
    say(f"{n} marks checked, {len(faults)} faults")
    if faults:
        raise typer.Exit(SOME_FAILED)


@app.command()
def stats(catalogue: options.File) -> None:
    """Tell what is in the catalogue."""
    with options.opened(catalogue) as store:
        from ..catalogue.maintenance import stats as run

        for key, value in run(store).items():
            say(f"{key:16} {value}")


app.command("eval")(evaluate)
