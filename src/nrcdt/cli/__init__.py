"""The command line: parses and calls. Heavy imports wait inside the commands, so that help comes at once."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Annotated, Any

import typer
from typer import Argument, Option

import nrcdt

from ..errors import InputError
from . import catalogue, searching
from .batches import Work, class_names, gather, one_kind, reader, space_for, walk
from .console import NOTHING_WRITTEN, SOME_FAILED, check_choice, complain, one_red_line, progress_bar, say, show_table
from .options import File

BENCHMARKS = Path("benchmarks", "run.py")

app = typer.Typer(no_args_is_help=True, add_completion=False, help=nrcdt.__doc__)
app.add_typer(catalogue.app, name="catalogue")


# What of a picture is ink: a side of the paper, what is left once it is cleaned, or all grey.
Ink = StrEnum("Ink", ["auto", "dark", "light", "photograph", "none"])


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("must be a number of threads, or -1 for all cores; got 0.")
    return jobs


# Options that commands share.
Port = Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0 for any that is free.")]
Paths = Annotated[list[Path], Argument(metavar="PATH", help="Files, or folders of files, of one kind.")]
InkSide = Annotated[Ink, Option(help="Which side of the paper is ink; photographs are cleaned; none: all grey.")]
Surface = Annotated[int | None, Option(min=1, metavar="N", help="Take N surface points of meshes instead of vertices.")]
SpaceName = Annotated[
    str | None, Option(help="euclidean, circular, rotation, ... for points and meshes.", show_default=False)
]
Jobs = Annotated[int, Option(help="Threads; -1 for all cores.", callback=_check_jobs)]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Name every file that is left out.")]
Frame = Annotated[str, Option(help="fixed, or whitened (fewer directions suffice).")]
Aggregate = Annotated[
    list[str] | None, Option(help="max, tv, spectrum, ... (see the docs); may be repeated. Left out: max.")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nrcdt {nrcdt.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, Option(help="Folder for the page.")] = Path("nrcdt-demo"),
    classes: Annotated[int, Option(min=1, help="Number of watermarks.")] = 10,
    samples: Annotated[int, Option(min=1, help="Distorted copies of each.")] = 20,
    seed: Annotated[int, Option(min=0, help="Seed of the distortions.")] = 0,
    serve: Annotated[
        bool, Option("--serve", help="Open a synthetic catalogue in the browser instead: see nrcdt serve.")
    ] = False,
    port: Port = 8123,
) -> None:
    """Recognise synthetic watermarks after random affine maps, and write a page about it."""
    if serve:
        searching.serve_synthetic(out, port)
        return
    with one_red_line():
        from ..demo import next_command, run

        with progress_bar("demo") as bar:
            page, table = run(_folder(out, "--out"), classes, samples, seed, bar.show)
    show_table(table)
    if find_spec("matplotlib") is None:
        say("Its figures are left out: pip install 'nrcdt[plot]' brings matplotlib.")
    say(f"Open {page} in a browser. Next, with your own pictures: {next_command()}")


@app.command()
def serve(
    path: File,
    host: Annotated[
        str, Option(help="Address to listen on; with others than this, browsers need a token.")
    ] = "127.0.0.1",
    port: Port = 8123,
    token: Annotated[
        str | None, Option(help="Secret that browsers must know; made up where needed.", show_default=False)
    ] = None,
    name: Annotated[list[str] | None, Option(help="Further names of this server; may be repeated.")] = None,
    jobs: Annotated[int, Option(min=0, help="Processes that read pictures; 0 for all cores.")] = 0,
) -> None:
    """Open a catalogue in the browser: look, query by photograph, compare, judge. Nothing leaves the machine."""
    with one_red_line():
        searching.serve(path, host, port, token, name or (), jobs)


@app.command()
def features(
    paths: Paths,
    out: Annotated[Path, Option("--out", "-o", help="Table: .parquet, .npz or .csv.")],
    ink: InkSide = Ink.auto,
    surface: Surface = None,
    space: SpaceName = None,
    directions: Annotated[int, Option(min=1, help="Number of directions.")] = 256,
    quantiles: Annotated[int, Option(min=1, help="Number of quantiles.")] = 256,
    aggregate: Aggregate = None,
    frame: Frame = "fixed",
    normalize: Annotated[str, Option(help="standardize, winsorize, median, center, global or none.")] = "standardize",
    trim: Annotated[float, Option(help="Share below 0.5 left out at either end; 0.1 against specks.")] = 0.0,
    jobs: Jobs = 1,
    verbose: Verbose = False,
) -> None:
    """Write a table of affine-invariant features of pictures, point clouds or meshes.

    A file that cannot be read or transformed is named in red, and the rest goes on. Of several pages the first is read.

    Exit code: 0 all files are in the table, 1 some failed, 2 nothing to write.
    """
    began = time.perf_counter()
    with one_red_line():
        from ..normalize import NORMALIZATIONS
        from ..tables import check_target, write_features

        check_target(out)
        found = gather(paths).without(out)
        kind = one_kind(found.files)
        chosen = space_for(kind, space), _chosen(aggregate, frame)
        names: dict[str, Any] = {name or "none": name for name in NORMALIZATIONS}
        check_choice("--normalize", [normalize], names)
        settings: dict[str, Any] = {"n_directions": directions, "n_quantiles": quantiles, "frame": frame}
        settings |= {"normalize": names[normalize], "trim": trim}
        work = Work(*chosen, settings, jobs)
        walk(found.files, work, reader(kind, ink.value, surface))
        work.say_remarks()
        left_out = found.say_left_out(verbose)
        if work.paths and work.plan is not None:
            about = work.about(kind=kind, surface=surface, **({"ink": ink.value} if kind == "image" else {}))
            write_features(out, work.names, work.plan.feature_names, work.features(), work.plan.digest, about)
    n_failed = found.n_wrong + len(found.files) - len(work.paths)
    counts = f"{len(work.paths)} written{f' to {out}' * bool(work.paths)}, {n_failed} failed"
    say(f"{counts}{work.failures(found.n_locked)}, {time.perf_counter() - began:.1f} s{left_out}")
    if n_failed:
        raise typer.Exit(SOME_FAILED if work.paths else NOTHING_WRITTEN)


@app.command()
def audit(
    paths: Paths,
    out: Annotated[Path, Option("--out", "-o", help="Folder for the report.")] = Path("nrcdt-audit"),
    samples: Annotated[int, Option(min=1, help="Randomly mapped copies of each class, at least.")] = 10,
    seed: Annotated[int, Option(min=0, help="Seed of the random maps.")] = 0,
    target: Annotated[float, Option(help="Accuracy that is asked for.")] = 1.0,
    ink: InkSide = Ink.auto,
    surface: Surface = None,
    space: SpaceName = None,
    directions: Annotated[int, Option(min=1, help="Number of directions to ask about.")] = 256,
    quantiles: Annotated[int, Option(min=1, help="Number of quantiles to ask about.")] = 256,
    frame: Frame = "fixed",
    aggregate: Aggregate = None,
    jobs: Jobs = -1,
    verbose: Verbose = False,
) -> None:
    """Find out which classes collide, and how few directions and quantiles keep the others apart.

    The class of a file is the sub-folder it lies in; a file that lies in none is a class of its own.
    Writes audit.html and audit.json.

    Exit code: 0 all files were audited, 1 some failed, 2 nothing was written.
    """
    with one_red_line():
        from ..audit import audit as run
        from ..audit.page import check_folder, outcome, tables, write

        gathered = gather(paths)
        kind = one_kind(gathered.files)
        work = Work(space_for(kind, space), _chosen(aggregate, frame), {"frame": frame}, jobs, keep=True)
        check_folder(out)
        walk(gathered.files, work, reader(kind, ink.value, surface, cut=True))
        asked: dict[str, Any] = {"n_samples": samples, "target": target, "random_state": seed, "n_jobs": jobs}
        asked |= {"n_directions": directions, "n_quantiles": quantiles, "frame": frame, "aggregate": work.aggregate}
        with progress_bar("audit") as bar:
            found = run(work.samples, class_names(work.paths, paths), work.space.name, progress=bar.show, **asked)
        page = write(found, out)
        work.say_remarks()
    for table in tables(found):
        show_table(table)
    say(f"{outcome(found)}\n{found.code}\nOpen {page} in a browser{gathered.say_left_out(verbose)}.")
    if gathered.n_wrong or len(work.paths) < len(gathered.files):
        raise typer.Exit(SOME_FAILED)


def _chosen(aggregate: list[str] | None, frame: str) -> str | list[str]:
    """Check the names of a frame and of aggregations; return the latter, each once, and a single one by itself."""
    from ..aggregate import AGGREGATIONS
    from ..frames import FRAMES

    chosen = list(dict.fromkeys(aggregate or ["max"]))
    check_choice("--aggregate", chosen, AGGREGATIONS)
    check_choice("--frame", [frame], FRAMES)
    return chosen if len(chosen) > 1 else chosen[0]


@app.command()
def bench(
    out: Annotated[Path, Option(help="Folder for the results.")] = Path("nrcdt-bench"),
    quick: Annotated[bool, Option("--quick", help="Small sizes, for a first impression.")] = False,
) -> None:
    """Measure speed on this machine, against other programs where they are installed."""
    with one_red_line():
        _folder(out, "--out")
        script = _benchmark_script()
    sys.path.insert(0, str(script.parent))  # as if it were run as a script, so that it finds its neighbours
    run_path(str(script))["main"](out, quick)


@app.command()
def paper(
    tables: Annotated[
        list[str] | None, Argument(metavar="TABLE", help="Tables by name, or all. Left out, or list: their names.")
    ] = None,
    out: Annotated[Path, Option(help="Folder for results, pictures and the report.")] = Path("nrcdt-paper"),
    quick: Annotated[bool, Option("--quick", help="Fewer samples, splits and rows: a minute for all.")] = False,
    seed: Annotated[int, Option(min=0, help="Seed of datasets, splits and clusterings.")] = 0,
    data: Annotated[
        Path | None, Option(help="Folder of data that cannot be shipped. Left out: NRCDT_DATA.", show_default=False)
    ] = None,
    cache: Annotated[
        Path | None, Option(help="Folder where features are kept. Left out: the user's cache.", show_default=False)
    ] = None,
) -> None:
    """Run tables of the paper, and lay the printed numbers beside ours.

    Writes TABLE.json, pictures and report.html.

    Exit code: 0 the numbers hold, 1 too few of them or a table failed, 2 nothing was run, or no number decides.
    """
    with one_red_line():
        from ..paper.cache import default_folder
        from ..paper.run import Settings, find_tables

        chosen = find_tables(name for name in tables or [] if name != "list")
        if not tables or "list" in tables:
            _list_tables()
            return
        settings = Settings(_folder(out, "--out"), quick, seed, data, _folder(cache or default_folder(), "--cache"))
        code = _run_tables(chosen, settings, tables)
    if code:
        raise typer.Exit(code)


def _folder(path: Path, option: str) -> Path:
    """Make a folder before any work is done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        got = f"{path}: {error.strerror}"
        raise InputError(option, "be a folder that can be written", got, "Name another.") from None
    return path


def _list_tables() -> None:
    from ..paper.tables import TABLES

    for table in TABLES.values():
        say(f"{table.name:16} {table.title}")


def _run_tables(tables: list[Any], settings: Any, names: list[str]) -> int:
    """Run tables under a progress bar, say how each did, and return the exit code."""
    from ..paper.cells import NOT_RUN, describe_verdicts, share_held, wanted_share_holds
    from ..paper.run import finish, n_steps, run_table

    steps = [n_steps(table, settings.quick) for table in tables]
    results: list[Any] = []
    with progress_bar("paper", sum(steps), spinner=True) as bar:
        for table in tables:
            result = run_table(table, settings, bar, bar.describe)
            results.append(result)
            bar.show(sum(steps[: len(results)]), sum(steps))
            if all(cell.verdict == NOT_RUN for cell in result.cells):
                complain(f"{table.name}: not run. {' '.join(result.notes)}")
            else:
                left_out = f", {result.n_skipped} files or folders left out: see the report" * (result.n_skipped > 0)
                say(f"{table.name}: {describe_verdicts(result.cells)}, {result.seconds:.1f} s{left_out}")
        bar.describe("report")
        page = finish(settings, results, names)
    cells = [cell for result in results for cell in result.cells]
    share = share_held(cells)
    verdict = "No cell decides." if share is None else f"{share:.1%} of the decisive cells hold."
    say(f"all: {describe_verdicts(cells)}. {verdict} Open {page} in a browser.")
    say(f"Features are kept in {settings.cache} for the next run; delete that folder whenever you like.")
    if all(cell.verdict == NOT_RUN for cell in cells):
        return NOTHING_WRITTEN
    if not wanted_share_holds(cells) or any(result.failed for result in results):
        return SOME_FAILED
    return NOTHING_WRITTEN if share is None else 0


def _benchmark_script() -> Path:
    """Return the script that is shipped with the package, or the one of the checkout around it."""
    package = Path(nrcdt.__file__).parent
    scripts = [folder / BENCHMARKS for folder in (package, package.parents[1])]
    for script in scripts:
        if script.is_file():
            return script
    place = f"lie in {scripts[0].parent} or in a checkout of the project"
    remedy = "Clone the repository and install it with pip install -e '.[bench]'."
    raise InputError("the benchmarks", place, "neither", remedy)
