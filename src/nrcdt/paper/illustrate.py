"""Which pictures belong to which table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..estimators import NRCDT
from . import figures
from .cells import Figure
from .clustering import k_means
from .column_names import column_label
from .experiments import Experiment, halves, start_seed

CURVE_DIRECTIONS = 2048
POSES = 4

Drawn = Iterator[tuple[str, str, Any]]


def illustrate(experiment: Experiment, folder: Path) -> list[Figure]:
    """Draw the pictures of a table into a folder."""
    drawn = []
    for name, caption, picture in _PICTURES[experiment.table.pictures](experiment):
        figures.save(picture, folder, name)
        drawn.append(Figure(name, caption))
    return drawn


def _images(experiment: Experiment) -> Drawn:
    data = experiment.dataset
    caption = f"Dataset of the table: {len(data.names)} classes"
    caption += ", templates above, samples below." if data.templates is not None else "."
    picture = figures.image_gallery(data.templates, data.samples, data.labels, data.names)
    yield f"dataset-{experiment.table.dataset}", caption, picture


def _academic(experiment: Experiment) -> Drawn:
    yield from _images(experiment)
    names = ["max", "abs_max", "abs_min", "abs_range", "range", "tv"]
    yield _curves(experiment, {name: experiment.features(name, 256) for name in names}, "256 angles")
    templates = experiment.dataset.templates
    quantiles = NRCDT(n_radii=experiment.table.n_radii).fit(templates).quantiles(templates)
    titles = [f"template {name}" for name in experiment.dataset.names]
    caption = "Normalised quantile functions (NR-CDTs) of the templates, 256 angles."
    yield "surfaces-academic", caption, figures.quantile_surfaces(quantiles, titles)


def _curves(experiment: Experiment, features: dict[str, Any], how: str) -> tuple[str, str, Any]:
    data, n = experiment.dataset, experiment.features.n_templates
    blocks = {name: (rows[:n], rows[n:]) for name, rows in features.items()}
    caption = f"Features of all samples (thin) and templates (thick), {how}."
    return f"curves-{experiment.table.dataset}", caption, figures.feature_curves(blocks, data.labels, data.names)


def _fine_curves(experiment: Experiment, unit: str) -> tuple[str, str, Any]:
    features = experiment.features.columns(["max", "abs_max", "range"], CURVE_DIRECTIONS)
    return _curves(experiment, features, f"{CURVE_DIRECTIONS} {unit}")


def _animals(experiment: Experiment) -> Drawn:
    data = experiment.dataset
    chosen = [*data.templates, *(data.samples[np.flatnonzero(data.labels == k)[0]] for k in range(len(data.names)))]
    captions = [*data.names, *("transformed" for _ in data.names)]
    picture = figures.cloud_gallery(chosen, captions, len(data.names))
    yield "dataset-animals", "Templates, and one transformed sample of each.", picture
    yield _fine_curves(experiment, "Fibonacci points")


def _shapes(experiment: Experiment) -> Drawn:
    data = experiment.dataset
    yield "dataset-abc", f"The {len(data.names)} templates.", figures.cloud_gallery(data.templates)


def _poses(experiment: Experiment) -> Drawn:
    data = experiment.dataset
    chosen = [np.flatnonzero(data.labels == k)[:POSES] for k in range(min(POSES, len(data.names)))]
    clouds = [data.samples[i] for members in chosen for i in members]
    yield "dataset-faust", "Some people in some poses, a pose per row.", figures.cloud_gallery(clouds, None, POSES)


def _rotations(experiment: Experiment) -> Drawn:
    data = experiment.dataset
    rows = {}
    for k, name in enumerate(data.names):
        rows[f"template {name}"] = data.templates[k]
        for i, member in enumerate(np.flatnonzero(data.labels == k)[:3]):
            rows[f"sample {name}.{i + 1}"] = data.samples[member]
    caption = "The first 20 rotations of every measure, each turning a cone that points to the north pole."
    yield "dataset-rotation", caption, figures.rotation_cones(rows)
    yield _fine_curves(experiment, "Super-Fibonacci points")


def _clusters(experiment: Experiment) -> Drawn:
    labels = experiment.labels
    train, test = halves(labels)
    names = experiment.dataset.names
    views = {}
    for method in experiment.rows[0].printed:
        features = experiment.features(method)
        model = k_means(features[train], len(names), start_seed(experiment, 0, 0))
        rows, clusters = (features[train], features[test]), (model.labels_, model.predict(features[test]))
        views[column_label(method)] = figures.View(
            *rows, model.cluster_centers_, labels[train], labels[test], *clusters
        )
    dimensions: Literal[2, 3] = 2 if len(names) <= 3 else 3
    caption = f"{len(names)}-means of one seed, in the first {dimensions} principal components of each feature space."
    yield f"clusters-{experiment.table.dataset}", caption, figures.cluster_scatter(views, names, dimensions)


_PICTURES: dict[str, Callable[[Experiment], Drawn]] = {
    "": lambda experiment: iter(()),
    "academic": _academic,
    "images": _images,
    "clusters": _clusters,
    "animals": _animals,
    "shapes": _shapes,
    "poses": _poses,
    "rotations": _rotations,
}
