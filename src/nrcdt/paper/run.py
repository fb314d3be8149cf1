"""The runner: one path for every table, from its data to its verdicts, pictures and files."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .. import __version__
from ..datasets import MissingData, data_folder
from ..errors import InputError
from .cache import Cache
from .cells import ADDED, DIFFERS, OTHER_STARTS, REPORTED, Cell, Figure, Measurement, Result
from .column_names import column_label, is_baseline
from .data import load
from .discrepancies import explain_discrepancies
from .experiments import EXPERIMENTS, QUICK_SPLITS, Experiment, Measured, n_printed
from .features import Features
from .illustrate import illustrate
from .report import write_cells, write_report
from .tables import TABLES, Row, Table
from .verdicts import N_SPLITS, judge, tolerance

QUICK_DIRECTIONS = (16, 64)
NO_CAUSE = "causes are measured in full runs only"


class Settings(NamedTuple):
    """What a run is made with."""

    out: Path
    quick: bool = False
    seed: int = 0
    data_folder: Path | None = None
    cache: Path | None = None


def find_tables(names: Iterable[str]) -> list[Table]:
    """Look up tables by name; "all" stands for all of them.

    Examples
    --------
    >>> [table.name for table in find_tables(["nt-rotation"])]
    ['nt-rotation']
    """
    wanted = list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in TABLES and name != "all"]
    if unknown:
        raise InputError(
            "TABLE", f"be all or one of {', '.join(TABLES)}", ", ".join(unknown), "nrcdt paper list says what they are."
        )
    return list(TABLES.values()) if "all" in wanted else [TABLES[name] for name in wanted]


def chosen_rows(table: Table, quick: bool) -> list[Row]:
    """Return the rows to run: all, or a few of them for a glance, of which one has what the paper does not have."""
    if not quick:
        return table.rows
    rows = [row for row in table.rows if row.directions in (None, *QUICK_DIRECTIONS)]
    return [row if row.directions in (None, QUICK_DIRECTIONS[0]) else row._replace(added=()) for row in rows]


def n_steps(table: Table, quick: bool) -> int:
    """Return how often a table advances its progress bar."""
    rows = chosen_rows(table, quick)
    if table.experiment == "k-means":
        return len(rows[0].printed) * table.n_draws
    n_cells = sum(len(row.columns) for row in rows)
    return n_cells * table.n_draws if table.experiment in ("nearest neighbour", "svm") else n_cells


def run_table(table: Table, settings: Settings, advance: Callable[[], None], describe: Callable[[str], None]) -> Result:
    """Measure one table, judge its cells, draw its pictures, and write `NAME.json`.

    `advance` is called as cells get done, `describe` with what is being done.
    """
    began = time.perf_counter()
    describe(table.name)
    try:
        # Threads inside scikit-learn wait for each other so often that a busy machine takes ten times as long.
        with threadpool_limits(1):
            experiment = _experiment(table, settings, advance)
            cells = judged_cells(experiment, EXPERIMENTS[table.experiment](experiment))
            describe(f"{table.name}: causes")
            cells = _explain_differing_baselines(experiment, cells, settings.quick)
            describe(f"{table.name}: pictures")
            figures, notes = _pictures(experiment, settings)
    except Exception as error:  # one table that fails must not cost the others, nor pass for a success
        result = _not_run(table, settings, error)
    else:
        data = experiment.features.data
        seconds, n_skipped = time.perf_counter() - began, len(data.dataset.skipped)
        notes = [*data.notes, *notes]
        result = Result(table.name, table.title, cells, figures, notes, seconds, n_skipped=n_skipped)
    write_cells(settings.out, result)
    return result


def _is_absent(error: Exception) -> bool:
    """Tell whether data has to be fetched, or an optional package to be installed, as the error then says."""
    no_package = isinstance(error, ImportError) and isinstance(error.__cause__, ModuleNotFoundError)
    return no_package or isinstance(error, MissingData)


def _pictures(experiment: Experiment, settings: Settings) -> tuple[list[Figure], list[str]]:
    try:
        return illustrate(experiment, settings.out), []
    except ImportError as error:  # numbers do not need them
        if not _is_absent(error):
            raise
        return [], [str(error)]


def _not_run(table: Table, settings: Settings, error: Exception) -> Result:
    cells = [_cell(table, row, column) for row in chosen_rows(table, settings.quick) for column in row.printed]
    absent = _is_absent(error)
    why = str(error) if absent else f"failed with {type(error).__name__}: {error}"
    return Result(table.name, table.title, cells, [], [why], 0.0, failed=not absent)


def _experiment(table: Table, settings: Settings, advance: Callable[[], None]) -> Experiment:
    cache = Cache(settings.cache or settings.out / "cache")

    def draw_features(draw: int) -> Features:
        """Load a dataset; draws of neighbouring seeds have nothing in common."""
        seed = settings.seed if draw == 0 else int(np.random.SeedSequence([settings.seed, draw]).generate_state(1)[0])
        return Features(table, load(table, quick=settings.quick, seed=seed, folder=settings.data_folder), cache)

    n_splits = max(QUICK_SPLITS, table.n_draws) if settings.quick and table.experiment != "k-means" else N_SPLITS
    rows, first = chosen_rows(table, settings.quick), draw_features(0)
    return Experiment(
        table=table,
        rows=rows,
        features=first,
        redraw=lambda draw: draw_features(draw) if draw else first,
        n_splits=n_splits,
        n_draws=table.n_draws,
        seed=settings.seed,
        advance=advance,
    )


def judged_cells(experiment: Experiment, measured: Measured) -> list[Cell]:
    """Lay measured numbers beside the printed ones; what is not printed comes last."""
    rows = {row.label: row for row in experiment.rows}
    printed = [(row.label, column) for row in experiment.rows for column in row.printed]
    added = [(row.label, column) for row in experiment.rows for column in row.added]
    cells = [_judged(experiment, rows[label], column, measured[label, column]) for label, column in printed]
    cells += [_with(_cell(experiment.table, rows[key[0]], key[1]), measured[key], ADDED) for key in added]
    return cells + [_other_starts(rows, *key, measured[key]) for key in measured if key not in {*printed, *added}]


def _cell(table: Table, row: Row, column: str) -> Cell:
    """Cell that is not measured, with what is printed there; those of baselines have no directions."""
    baseline = is_baseline(column) or table.experiment == "run times"
    cell = Cell(row.label, column_label(column), directions=None if baseline else row.directions or table.n_directions)
    number = row.printed.get(column)
    return cell._replace(printed=number.value, note=number.note, printed_std=number.std) if number else cell


def _with(cell: Cell, found: Measurement, verdict: str) -> Cell:
    return cell._replace(measured=found.value, std=found.std, n=found.n, verdict=verdict)


def _judged(experiment: Experiment, row: Row, column: str, found: Measurement) -> Cell:
    """Cell of a printed number that was measured, with a verdict where the data allow one."""
    table, number = experiment.table, row.printed[column]
    cell = _with(_cell(table, row, column), found, REPORTED)._replace(low=found.low, high=found.high)
    if not experiment.features.data.judged or table.experiment == "run times":
        return cell
    falling = (row.score or "").startswith("VI")
    n_tested = n_printed(experiment, row)
    gap = tolerance(number, found, n_tested)
    verdict = judge(number, found, gap, baseline=cell.directions is None, smaller_is_better=falling)
    if found.low is not None:
        return cell._replace(verdict=verdict)
    alone = tolerance(number, found, n_tested, samples=number.std is None)
    return cell._replace(verdict=verdict, tolerance=gap, split_tolerance=alone)


def _other_starts(rows: dict[str, Row], label: str, column: str, found: Measurement) -> Cell:
    """Cell of a clustering with other starts, beside the printed number that was compared with the paper's starts."""
    printed = rows[label.partition(", ")[0]].printed[column].value
    return _with(Cell(label, column_label(column), printed), found, OTHER_STARTS)


def _explain_differing_baselines(experiment: Experiment, cells: list[Cell], quick: bool) -> list[Cell]:
    """Add to every baseline that differs what its printed number depends on, which takes too long for a glance."""
    keys = [(row, column) for row in experiment.rows for column in row.printed]
    differing = [key for key, cell in zip(keys, cells, strict=False) if cell.verdict == DIFFERS]
    notes = {(row.label, column): NO_CAUSE for row, column in differing}
    if not quick:
        notes = explain_discrepancies(experiment, differing)
    found = {(label, column_label(column)): note for (label, column), note in notes.items()}
    return [cell._replace(note=found.get((cell.row, cell.column), cell.note)) for cell in cells]


def about(settings: Settings, names: Iterable[str]) -> dict[str, str]:
    """Say how a report was made, without the paths of the machine."""
    given = data_folder(settings.data_folder) is not None
    options = " --quick" * settings.quick + " --data FOLDER" * given
    return {
        "command": f"nrcdt paper {' '.join(names)}{options} --seed {settings.seed}",
        "data folder": "given" if given else "none",
        "version": f"nrcdt {__version__}, Python {platform.python_version()}, {platform.machine()}",
    }


def finish(settings: Settings, results: list[Result], names: Iterable[str]) -> Path:
    """Write the report of all results, with FOLDER for the data folder of this machine; return its path."""
    folder = str(data_folder(settings.data_folder))
    public = [result._replace(notes=[note.replace(folder, "FOLDER") for note in result.notes]) for result in results]
    return write_report(settings.out, public, about(settings, names))
