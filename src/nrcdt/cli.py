"""The command line: parses and calls. Heavy imports wait inside the commands, so that help comes at once."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import nrcdt

if TYPE_CHECKING:
    from .files import Kind
    from .slices import Array

BATCH_SAMPLES = 32
BATCH_BYTES = 256_000_000
BENCHMARKS = Path("benchmarks", "run.py")
SOME_FAILED, NOTHING_WRITTEN = 1, 2
FAILURES = (ValueError, OSError, MemoryError)
OUTPUT, ERRORS = Console(), Console(stderr=True)

app = typer.Typer(no_args_is_help=True, add_completion=False, help=nrcdt.__doc__)


class Ink(StrEnum):
    """Which side of the paper level is ink."""

    auto = "auto"
    dark = "dark"
    light = "light"


# Options that commands share.
Paths = Annotated[list[Path], typer.Argument(metavar="PATH", help="Files, or folders of files, of one kind.")]
InkSide = Annotated[Ink, typer.Option(help="Which side of the paper level is ink.")]
Surface = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Take N surface points of meshes instead of vertices.")
]
SpaceName = Annotated[
    str | None, typer.Option(help="euclidean, circular, rotation, ... for points and meshes.", show_default=False)
]
Jobs = Annotated[int, typer.Option(help="Threads; -1 for all cores.")]
Frame = Annotated[str, typer.Option(help="fixed, or whitened (fewer directions suffice).")]
Aggregate = Annotated[
    list[str] | None,
    typer.Option(help="max, tv, spectrum, ... (see the docs); may be repeated. Left out: max."),
]


def _say(message: str) -> None:
    """Print one line as it is: no markup in file names, no breaks."""
    OUTPUT.print(message, markup=False, highlight=False, soft_wrap=True)


def _complain(message: str) -> None:
    ERRORS.print(message, style="red", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _one_red_line() -> Iterator[None]:
    """Show errors of the library as one line, and leave with code 2."""
    try:
        yield
    except (*FAILURES, ImportError) as error:
        _complain(_reason(error))
        raise typer.Exit(NOTHING_WRITTEN) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nrcdt {nrcdt.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("nrcdt-demo"),
    classes: Annotated[int, typer.Option(min=1, help="Number of watermarks.")] = 10,
    samples: Annotated[int, typer.Option(min=1, help="Distorted copies of each.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the distortions.")] = 0,
) -> None:
    """Recognise synthetic watermarks after random affine maps, and write a page about it."""
    with _one_red_line():
        from .demo import run

        page = run(out, classes, samples, seed)
    _say(f"Open {page} in a browser. Next, with your own pictures: nrcdt features my-scans/ -o features.parquet")


@app.command()
def features(
    paths: Paths,
    out: Annotated[Path, typer.Option("--out", "-o", help="Table: .parquet, .npz or .csv.")],
    ink: InkSide = Ink.auto,
    surface: Surface = None,
    space: SpaceName = None,
    directions: Annotated[int, typer.Option(min=1, help="Number of directions.")] = 256,
    quantiles: Annotated[int, typer.Option(min=1, help="Number of quantiles.")] = 256,
    aggregate: Aggregate = None,
    frame: Frame = "fixed",
    normalize: Annotated[
        str, typer.Option(help="standardize, winsorize, median, center, global or none.")
    ] = "standardize",
    trim: Annotated[float, typer.Option(help="Share left out at either end of slices; 0.1 against specks.")] = 0.0,
    jobs: Jobs = 1,
) -> None:
    """Write a table of affine-invariant features of pictures, point clouds or meshes.

    A file that cannot be read or transformed is named in red, and the rest goes on.

    Exit code: 0 all files are in the table, 1 some failed, 2 nothing to write.
    """
    began = time.perf_counter()
    with _one_red_line():
        from .files import collect
        from .tables import check_target, write_features

        check_target(out)
        files, left_out = collect(paths)
        kind = _one_kind(files)
        if left_out:
            _say(f"left out: {len(left_out)} files of other kinds, such as {_name(left_out[0])}")
        chosen_space = _space_for(kind, space)
        chosen = list(dict.fromkeys(aggregate or ["max"]))
        how = None if normalize == "none" else normalize
        settings: dict[str, Any] = {"n_directions": directions, "n_quantiles": quantiles, "n_jobs": jobs}
        settings |= {"frame": frame, "normalize": how, "trim": trim}
        work = _Work(chosen_space, chosen, settings)
        _walk(files, work, _reader(kind, ink.value, surface))
        if work.names:
            write_features(out, work.names, work.columns(), work.features())
    n_failed = len(files) - len(work.names)
    place = f" to {out}" if work.names else ""
    _say(f"{len(work.names)} written{place}, {n_failed} failed, {time.perf_counter() - began:.1f} s")
    if n_failed:
        raise typer.Exit(SOME_FAILED if work.names else NOTHING_WRITTEN)


def _one_kind(files: list[Path]) -> Kind:
    from .files import SUFFIXES, kind_of

    if not files:
        known = " ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
        raise ValueError(f"PATH must hold at least one file with a known suffix; got none. Known are {known}.")
    first = {kind_of(path): path for path in reversed(files)}
    if len(first) > 1:
        found = ", ".join(f"{kind} {_name(path)}" for kind, path in first.items())
        raise ValueError(f"PATH must hold files of one kind; got {found}. Run once for each kind, as in scans/*.png.")
    return next(iter(first))


def _space_for(kind: Kind, space: str | None) -> str:
    from .spaces import SPACES, find_space

    fitting = ["image"] if kind == "image" else [name for name, one in SPACES.items() if not one.densities]
    if space is None:
        return fitting[0]
    if find_space(space).name not in fitting:
        raise ValueError(f"--space must be one of {', '.join(fitting)} for files of kind {kind}; got {space}.")
    return space


def _reader(kind: Kind, ink: str, surface: int | None) -> Callable[[Path], Any]:
    from .files import read_cloud, read_image, read_mesh

    if kind == "image":
        return lambda path: read_image(path, ink)
    return read_cloud if kind == "cloud" else lambda path: read_mesh(path, surface)


def _name(path: Path) -> str:
    """Path as text that can be printed and stored, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "replace")


def _walk(files: list[Path], work: _Work, read: Callable[[Path], Any]) -> None:
    """Read files one by one, and transform them in batches that fit in memory."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERRORS, transient=True) as progress:
        bar = progress.add_task("features", total=len(files))
        for path in files:
            try:
                sample = read(path)
                dimension = work.check(sample)
            except FAILURES as error:
                _report(path, error)
            else:
                work.take(path, sample, dimension)
            progress.advance(bar)
        work.flush()


def _report(path: Path, error: BaseException) -> None:
    _complain(f"{_name(path)}: {_reason(error).replace('X[0]', 'the sample')}")


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


class _Work:
    """Samples on their way to a table, a batch at a time.

    The scales of several aggregations are roots of mean squares over all samples: they are applied at the end.
    """

    def __init__(self, space: str, aggregations: list[str], settings: dict[str, Any]) -> None:
        from .estimators import NRCDT
        from .spaces import find_space

        self.space = find_space(space)
        self.model = NRCDT(space, aggregate=aggregations, **settings)
        self.dimension: int | None = None
        self.names: list[str] = []
        self._rows: list[Array] = []
        self._batch: list[tuple[Path, Any]] = []
        self._n_bytes = 0

    def check(self, sample: Any) -> int:
        """Return the dimension of a sample, or raise a ValueError that says what is wrong with it."""
        dimension = self.space.dimension(self.space.check([sample])[0])
        if self.dimension not in (None, dimension):
            raise ValueError(
                f"the sample must have {self.dimension} coordinates like the first file; got {dimension}. "
                "Run once for each dimension."
            )
        return dimension

    def take(self, path: Path, sample: Any, dimension: int) -> None:
        """Put a checked sample into the batch; the first one settles the dimension."""
        if self.dimension is None:
            # Fitted to a sample that is surely good: whatever goes wrong here is wrong with the settings.
            self.model.fit([_good_sample(self.space.densities, dimension)])
            self.model.scales_[:] = 1
            self.dimension = dimension
        self._batch.append((path, sample))
        self._n_bytes += (sample[0] if isinstance(sample, tuple) else sample).nbytes
        if len(self._batch) == BATCH_SAMPLES or self._n_bytes > BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Transform the batch; if that fails, one by one, to find out whose fault it was."""
        batch, self._batch, self._n_bytes = self._batch, [], 0
        try:
            self._transform(batch)
        except FAILURES:
            for one in batch:
                try:
                    self._transform([one])
                except FAILURES as error:
                    _report(one[0], error)

    def _transform(self, batch: list[tuple[Path, Any]]) -> None:
        if batch:
            self._rows.append(self.model.transform([sample for _, sample in batch]))
            self.names += [_name(path) for path, _ in batch]

    def columns(self) -> list[str]:
        """Return the names of the features."""
        return [str(name) for name in self.model.get_feature_names_out()]

    def features(self) -> Array:
        """Return all features, as `NRCDT.fit_transform` does for all samples at once."""
        import numpy as np

        from .aggregate import block_scales, join_blocks

        blocks = np.split(np.concatenate(self._rows), np.cumsum(self.model.block_sizes_)[:-1], axis=1)
        return join_blocks(blocks, block_scales(blocks))


def _good_sample(densities: bool, dimension: int) -> Array:
    import numpy as np

    points = np.random.default_rng(0).normal(size=(64, dimension))
    return np.ones((8, 8)) if densities else points / np.linalg.norm(points, axis=1, keepdims=True)


@app.command()
def audit(
    paths: Paths,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report.")] = Path("nrcdt-audit"),
    samples: Annotated[int, typer.Option(min=1, help="Randomly mapped copies of each class, at least.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random maps.")] = 0,
    target: Annotated[float, typer.Option(help="Accuracy that is asked for.")] = 1.0,
    ink: InkSide = Ink.auto,
    surface: Surface = None,
    space: SpaceName = None,
    directions: Annotated[int, typer.Option(min=1, help="Number of directions to ask about.")] = 256,
    quantiles: Annotated[int, typer.Option(min=1, help="Number of quantiles to ask about.")] = 256,
    frame: Frame = "fixed",
    aggregate: Aggregate = None,
    jobs: Jobs = -1,
) -> None:
    """Find out which classes collide, and how few directions and quantiles keep the others apart.

    The class of a file is the sub-folder it lies in; a file that lies in none is a class of its own.
    Writes audit.html and audit.json.

    Exit code: 0 all files were audited, 1 some failed, 2 nothing was written.
    """
    with _one_red_line():
        from .audit.page import check_folder, write
        from .files import collect

        check_folder(out)
        files, left_out = collect(paths)
        kind = _one_kind(files)
        if left_out:
            _say(f"left out: {len(left_out)} files of other kinds, such as {_name(left_out[0])}")
        how = {"frame": frame, "n_jobs": jobs}
        work = _KeptWork(_space_for(kind, space), list(dict.fromkeys(aggregate or ["max"])), how)
        _walk(files, work, _cut_reader(_reader(kind, ink.value, surface), kind))
        sizes = {"n_directions": directions, "n_quantiles": quantiles}
        found = _audit(work, paths, n_samples=samples, random_state=seed, target=target, **how, **sizes)
        page = write(found, out)
    _show_audit(found, page)
    if len(work.paths) < len(files):
        raise typer.Exit(SOME_FAILED)


class _KeptWork(_Work):
    """Keeps the samples that could be read and transformed."""

    def __init__(self, space: str, aggregations: list[str], settings: dict[str, Any]) -> None:
        super().__init__(space, aggregations, settings)
        self.paths: list[Path] = []
        self.samples: list[Any] = []

    def _transform(self, batch: list[tuple[Path, Any]]) -> None:
        super()._transform(batch)
        self.paths += [path for path, _ in batch]
        self.samples += [sample for _, sample in batch]


def _cut_reader(read: Callable[[Path], Any], kind: Kind) -> Callable[[Path], Any]:
    """Cut pictures to their ink as soon as they are read, so that large scans do not pile up."""
    from .audit.maps import ink_only

    return (lambda path: ink_only(read(path))) if kind == "image" else read


def _audit(work: _KeptWork, paths: list[Path], **settings: Any) -> Any:
    from .audit import audit as run
    from .audit.files import class_names

    names = work.model.aggregate
    settings["aggregate"] = names if len(names) > 1 else names[0]
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERRORS, transient=True) as progress:
        bar = progress.add_task("audit", total=None)

        def show(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total)

        return run(work.samples, class_names(work.paths, paths), work.space.name, progress=show, **settings)


def _show_audit(found: Any, page: Path) -> None:
    from .audit.page import outcome, rich_tables

    for table in rich_tables(found):
        OUTPUT.print(table)
    _say(f"{outcome(found)}\n{found.code}\nOpen {page} in a browser.")


@app.command()
def bench(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("nrcdt-bench"),
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, for a first impression.")] = False,
) -> None:
    """Measure speed and accuracy on this machine."""
    with _one_red_line():
        out.mkdir(parents=True, exist_ok=True)
        benchmarks = _load_benchmarks()
    benchmarks.main(out, quick)


@app.command()
def paper(
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="TABLE", help="Tables by name, or all. Left out, or list: their names."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results, pictures and the report.")] = Path("nrcdt-paper"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer samples, splits and rows: a minute for all.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of datasets, splits and clusterings.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of data that cannot be shipped. Left out: NRCDT_DATA.", show_default=False),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder where features are kept. Left out: the user's cache.", show_default=False),
    ] = None,
) -> None:
    """Run tables of the paper, and lay the printed numbers beside ours.

    Writes TABLE.json, pictures and report.html.

    Exit code: 0 the numbers hold, 1 too few of them or a table failed, 2 nothing was run.
    """
    with _one_red_line():
        from .paper.cache import default_folder
        from .paper.run import Settings, find_tables

        if not tables or "list" in tables:
            _list_tables()
            return
        chosen = find_tables(tables)
        settings = Settings(_folder(out, "--out"), quick, seed, data, _folder(cache or default_folder(), "--cache"))
        code = _run_tables(chosen, settings, tables)
    if code:
        raise typer.Exit(code)


def _folder(path: Path, option: str) -> Path:
    """Make a folder before any work is done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{option} must be a folder that can be written; got {path}: {error.strerror}.") from None
    return path


def _list_tables() -> None:
    from .paper.tables import TABLES

    for table in TABLES.values():
        _say(f"{table.name:16} {table.title}")


def _run_tables(tables: list[Any], settings: Any, names: list[str]) -> int:
    """Run tables under a progress bar, say how each did, and return the exit code."""
    from .paper.results import NOT_RUN, share_held, summary, wanted_share_holds
    from .paper.run import finish, n_steps, run_table

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    results = []
    with Progress(*columns, console=ERRORS, transient=True) as progress:
        bar = progress.add_task("paper", total=sum(n_steps(table, settings.quick) for table in tables))
        for table in tables:
            progress.update(bar, description=table.name)
            began = progress.tasks[bar].completed
            result = run_table(table, settings, lambda: progress.advance(bar))
            progress.update(bar, completed=began + n_steps(table, settings.quick))
            results.append(result)
            if all(cell.verdict == NOT_RUN for cell in result.cells):
                _complain(f"{table.name}: not run. {' '.join(result.notes)}")
            else:
                _say(f"{table.name}: {summary(result.cells)}, {result.seconds:.1f} s")
        progress.update(bar, description="report")
        page = finish(settings, results, names)
    cells = [cell for result in results for cell in result.cells]
    share = share_held(cells)
    verdict = "No cell decides." if share is None else f"{share:.1%} of the decisive cells hold."
    _say(f"all: {summary(cells)}. {verdict} Open {page} in a browser.")
    _say(f"Features are kept in {settings.cache} for the next run; delete that folder whenever you like.")
    if all(cell.verdict == NOT_RUN for cell in cells):
        return NOTHING_WRITTEN
    return 0 if wanted_share_holds(cells) and not any(result.failed for result in results) else SOME_FAILED


def _load_benchmarks() -> ModuleType:
    package = Path(nrcdt.__file__).parent
    script = next((one for folder in (package, package.parents[1]) if (one := folder / BENCHMARKS).is_file()), None)
    spec = spec_from_file_location("nrcdt_benchmarks", script) if script else None
    if script is None or spec is None or spec.loader is None:
        raise ValueError(
            f"the benchmarks must lie in {package / BENCHMARKS.parent} or in a checkout of the project; got neither. "
            "Clone the repository and install it with pip install -e '.[bench]'."
        )
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(script.parent))  # as if it were run as a script, so that it finds its neighbours
    spec.loader.exec_module(module)
    return module
