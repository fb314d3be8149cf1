"""Which pictures belong to which table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..estimators import NRCDT
from . import figures
from .clustering import k_means
from .columns import column_label
from .results import Figure
from .tasks import Task, halves, start_seed

CURVE_DIRECTIONS = 2048
POSES = 4

Drawn = Iterator[tuple[str, str, Any]]


def illustrate(task: Task, folder: Path) -> list[Figure]:
    """Draw the pictures of a table into a folder."""
    drawn = []
    for name, caption, picture in _PICTURES.get(task.table.name, _no_pictures)(task):
        figures.save(picture, folder, name)
        drawn.append(Figure(name, caption))
    return drawn


def _no_pictures(task: Task) -> Drawn:
    yield from ()


def _images(task: Task) -> Drawn:
    data = task.features.data.dataset
    caption = f"Dataset of the table: {len(data.names)} classes"
    caption += ", templates above, samples below." if data.templates is not None else "."
    picture = figures.image_gallery(data.templates, data.samples, data.labels, data.names)
    yield f"dataset-{task.table.dataset}", caption, picture


def _academic(task: Task) -> Drawn:
    yield from _images(task)
    names = ["max", "abs_max", "abs_min", "abs_range", "range", "tv"]
    yield _curves(task, names, {name: task.features(name, 256) for name in names}, "256 angles")
    templates = task.features.data.dataset.templates
    quantiles = NRCDT(n_radii=task.table.n_radii).fit(templates).quantiles(templates)
    titles = [f"template {name}" for name in task.features.data.dataset.names]
    caption = "Normalised quantile functions (NR-CDTs) of the templates, 256 angles."
    yield "surfaces-academic", caption, figures.quantile_surfaces(quantiles, titles)


def _curves(task: Task, names: list[str], features: dict[str, Any], how: str) -> tuple[str, str, Any]:
    data = task.features.data.dataset
    n = task.features.n_templates
    blocks = {name: (features[name][:n], features[name][n:]) for name in names}
    caption = f"Features of all samples (thin) and templates (thick), {how}."
    return f"curves-{task.table.dataset}", caption, figures.feature_curves(blocks, data.labels, data.names)


def _fine_curves(task: Task, unit: str) -> tuple[str, str, Any]:
    names = ["max", "abs_max", "range"]
    return _curves(task, names, task.features.each(names, CURVE_DIRECTIONS), f"{CURVE_DIRECTIONS} {unit}")


def _animals(task: Task) -> Drawn:
    data = task.features.data.dataset
    chosen = [*data.templates, *(data.samples[np.flatnonzero(data.labels == k)[0]] for k in range(len(data.names)))]
    captions = [*data.names, *("transformed" for _ in data.names)]
    yield (
        "dataset-animals",
        "Templates, and one transformed sample of each.",
        figures.cloud_gallery(chosen, captions, len(data.names)),
    )
    yield _fine_curves(task, "Fibonacci points")


def _shapes(task: Task) -> Drawn:
    data = task.features.data.dataset
    yield "dataset-abc", f"The {len(data.names)} templates.", figures.cloud_gallery(data.templates)


def _poses(task: Task) -> Drawn:
    data = task.features.data.dataset
    chosen = [np.flatnonzero(data.labels == k)[:POSES] for k in range(min(POSES, len(data.names)))]
    clouds = [data.samples[i] for members in chosen for i in members]
    yield "dataset-faust", "Some people in some poses, a pose per row.", figures.cloud_gallery(clouds, None, POSES)


def _rotations(task: Task) -> Drawn:
    data = task.features.data.dataset
    rows = {}
    for k, name in enumerate(data.names):
        rows[f"template {name}"] = data.templates[k]
        for i, member in enumerate(np.flatnonzero(data.labels == k)[:3]):
            rows[f"sample {name}.{i + 1}"] = data.samples[member]
    caption = "The first 20 rotations of every measure, each turning a cone that points to the north pole."
    yield "dataset-rotation", caption, figures.rotation_cones(rows)
    yield _fine_curves(task, "Super-Fibonacci points")


def _clusters(task: Task) -> Drawn:
    train, test = halves(task.labels)
    names = task.features.data.dataset.names
    views = {}
    for method in task.rows[0].printed:
        features = task.features(method)
        run = k_means(features[train], features[test], len(names), start_seed(task, 0, 0))
        views[column_label(method)] = figures.View(
            features[train], features[test], run.centres, task.labels[train], task.labels[test], run.train, run.test
        )
    dimensions: Literal[2, 3] = 2 if len(names) <= 3 else 3
    caption = f"{len(names)}-means of one seed, in the first {dimensions} principal components of each feature space."
    yield f"clusters-{task.table.dataset}", caption, figures.cluster_scatter(views, names, dimensions)


_PICTURES: dict[str, Callable[[Task], Drawn]] = {
    "nt-academic": _academic,
    "nt-polygon": _images,
    "nt-watermark": _images,
    "nn-linmnist": _images,
    "kmeans-academic": _clusters,
    "kmeans-polygon": _clusters,
    "kmeans-linmnist": _clusters,
    "kmeans-faust": _clusters,
    "nt-animal": _animals,
    "nt-abc": _shapes,
    "nn-faust": _poses,
    "nt-rotation": _rotations,
}
