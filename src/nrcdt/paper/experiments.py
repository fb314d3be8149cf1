"""The experiments: each measures the cells of a table from the features of its dataset."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from timeit import repeat
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin, rand_score
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from ..arrays import Array
from ..classifiers import NearestSubspace
from ..datasets import Dataset, MissingData
from ..estimators import RCDT
from ..normalize import normalize
from .cells import Measurement
from .clustering import k_means, variation_of_information
from .features import Features, span
from .tables import Row, Table

QUICK_SPLITS = 5
METRICS = {"inf": "chebyshev", "2": "euclidean", "": "euclidean"}
# As the documentation of the classifiers has them.
LEARNT_VARIANCE = 0.9999
LEARNT_STEPS = 20
# None is printed (`discrepancies` varies them). With so small a tolerance the optimum counts, not where a solver stops.
SVM = {"loss": "hinge", "C": 1.0, "fit_intercept": False, "tol": 1e-6, "max_iter": 100_000, "random_state": 0}

Measured = dict[tuple[str, str], Measurement]
Accuracy = Callable[[Array, Array, Array, Array], float]


class Experiment(NamedTuple):
    """What an experiment works on.

    `redraw` gives the features of another random draw of the dataset, `features` being the first; `advance` is called
    as work gets done.
    """

    table: Table
    rows: list[Row]
    features: Features
    redraw: Callable[[int], Features]
    n_splits: int
    n_draws: int
    seed: int
    advance: Callable[[], None]

    @property
    def dataset(self) -> Dataset:
        """What is measured on."""
        return self.features.data.dataset

    @property
    def labels(self) -> Array:
        """Classes of the samples."""
        return self.dataset.labels

    def counted_cells(self) -> Iterator[tuple[Row, str]]:
        """Walk through the cells, and count them."""
        for row in self.rows:
            for column in row.columns:
                yield row, column
                self.advance()


def nearest_template(experiment: Experiment) -> Measured:
    """Label every sample as the nearest template; without templates, one sample per class is taken, again and again."""
    cells = experiment.counted_cells()
    return {(row.label, column): template_accuracy(experiment, column, row.directions) for row, column in cells}


def template_accuracy(experiment: Experiment, column: str, n_directions: int | None) -> Measurement:
    """Return how many samples are nearest to the template of their class, by one method and norm."""
    method, _, norm = column.partition("/")
    features = experiment.features(method, n_directions, raw=norm == "inf")
    if experiment.features.n_templates == 0:
        return over_splits(experiment, 1, partial(nearest_accuracy, features, experiment.labels))
    templates, samples = np.split(np.asarray(features, np.float64), [experiment.features.n_templates])
    found = pairwise_distances_argmin(samples, templates, metric=METRICS[norm])
    return Measurement(float(np.mean(found == experiment.labels)), n=len(samples))


def nearest_accuracy(features: Array, labels: Array, train: Array, test: Array) -> float:
    """Return the accuracy of the nearest neighbour on the test samples."""
    found = pairwise_distances_argmin(features[test], features[train])
    return float(np.mean(labels[train][found] == labels[test]))


def nearest_subspace(features: Array, labels: Array, train: Array, test: Array) -> float:
    """Return the accuracy of the nearest subspace on the test samples."""
    return float(_trained(NearestSubspace(), features[train], labels[train]).score(features[test], labels[test]))


def learnt_neighbour(features: Array, labels: Array, train: Array, test: Array) -> float:
    """Return the accuracy of the nearest neighbour in the metric of a neighbourhood components analysis."""
    metric = NeighborhoodComponentsAnalysis(init="identity", max_iter=LEARNT_STEPS, random_state=0)
    model = make_pipeline(PCA(LEARNT_VARIANCE), metric, KNeighborsClassifier(1, algorithm="brute"))
    features = features.astype(np.float64)
    return float(_trained(model, features[train], labels[train]).score(features[test], labels[test]))


CLASSIFIERS: dict[str, Accuracy] = {"subspace": nearest_subspace, "nca": learnt_neighbour}


def svm_accuracy(features: Array, labels: Array, train: Array, test: Array, **settings: Any) -> float:
    """Return the accuracy of a support vector machine on the test samples; `settings` differ from those of `SVM`."""
    rows = features[train].astype(np.float64)
    points, change = span(rows @ rows.T)  # where the normal lies: the same labels, from far fewer columns
    model = _trained(LinearSVC(**SVM | settings), points, labels[train])
    return float(model.score(features[test] @ (rows.T @ change), labels[test]))


def _trained(model: Any, rows: Array, labels: Array) -> Any:
    """Fit a model; where so many steps or sweeps are not enough, what was learnt is taken as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows, labels)


def average_over_draws(accuracy: Accuracy, experiment: Experiment) -> Measured:
    """Average over random splits, which take turns with the draws of the dataset; columns may name a classifier."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for draw in range(experiment.n_draws):
        drawn = experiment._replace(features=experiment.redraw(draw))
        for row, column in experiment.counted_cells():
            method, _, classifier = column.partition("/")
            features = drawn.features(method, row.directions)
            measure = partial(CLASSIFIERS.get(classifier, accuracy), features, drawn.labels)
            splits = range(draw, experiment.n_splits, experiment.n_draws)
            values[row.label, column] += split_values(drawn, row.train or 1, measure, splits)
    n_train = {row.label: row.train or 1 for row in experiment.rows}
    return {key: _average(experiment, n_train[key[0]], found, experiment.n_draws) for key, found in values.items()}


def _average(experiment: Experiment, n_train: int, values: list[float], n_draws: int = 1) -> Measurement:
    n_tested = len(experiment.labels) - n_train * len(np.unique(experiment.labels))
    spread = float(np.std(values))
    return Measurement(float(np.mean(values)), spread, n=n_tested, repeats=len(values), n_draws=n_draws)


def n_printed(experiment: Experiment, row: Row) -> int:
    """Samples that the paper tested: all of its dataset, of which a quick run takes a part, but for the training."""
    n_classes = len(experiment.dataset.names)
    n_samples = experiment.table.n_samples * n_classes or len(experiment.labels)
    return n_samples - (row.train or 0) * n_classes


def over_splits(experiment: Experiment, n_train: int, accuracy: Callable[[Array, Array], float]) -> Measurement:
    """Average over random choices of `n_train` training samples per class; the other samples are tested."""
    return _average(experiment, n_train, split_values(experiment, n_train, accuracy, range(experiment.n_splits)))


def split_values(
    experiment: Experiment, n_train: int, accuracy: Callable[[Array, Array], float], splits: Iterable[int]
) -> list[float]:
    """Return the accuracy of each of some random splits."""
    rngs = [np.random.default_rng([experiment.seed, split]) for split in splits]
    chosen = [random_split(experiment.labels, n_train, rng) for rng in rngs]
    return [accuracy(*split) for split in chosen]


def random_split(labels: Array, n_train: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Choose `n_train` samples of every class; return their positions and all others.

    Examples
    --------
    >>> train, test = random_split(np.array([0, 0, 0, 1, 1, 1]), 2, np.random.default_rng(0))
    >>> len(train), len(test)
    (4, 2)
    """
    classes = _members(labels)
    fewest = min(map(len, classes))
    if fewest <= n_train:
        raise MissingData(
            f"every class must have more than the {n_train} samples to train with; got {fewest} in one. Add files."
        )
    train = np.concatenate([rng.permutation(members)[:n_train] for members in classes])
    return train, np.setdiff1d(np.arange(len(labels)), train)


def clustering(experiment: Experiment) -> Measured:
    """Cluster the first half of every class by k-means, assign the second half; repeat with other draws and starts."""
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for draw in range(experiment.n_draws):
        features = experiment.redraw(draw)
        for method in experiment.rows[0].printed:
            points = features(method)
            seeds = [start_seed(experiment, draw, start) for start in range(experiment.n_splits // experiment.n_draws)]
            for seed in seeds:
                for label, value in cluster_scores(experiment, points, seed).items():
                    scores[label, method].append(value)
            for label, value in cluster_scores(experiment, points, seeds[0], greedy=True).items():
                scores[f"{label}, greedy, ten starts", method].append(value)
            experiment.advance()
    return {key: _interval(values) for key, values in scores.items()}


def start_seed(experiment: Experiment, draw: int, start: int) -> int:
    """Return the seed of a start of k-means, another one for every run."""
    return int(np.random.SeedSequence([experiment.seed, draw, start]).generate_state(1)[0])


def cluster_scores(experiment: Experiment, points: Array, seed: int, *, greedy: bool = False) -> dict[str, float]:
    """Return every row's score of one run of k-means."""
    train, test = halves(experiment.labels)
    model = k_means(points[train], len(np.unique(experiment.labels)), seed, greedy=greedy)
    halves_found = {"train": (train, model.labels_), "test": (test, model.predict(points[test]))}
    scores = {}
    for row in experiment.rows:
        name, _, half = (row.score or "").partition("-")
        members, found = halves_found[half]
        score = rand_score if name == "RI" else variation_of_information
        scores[row.label] = float(score(experiment.labels[members], found))
    return scores


def _members(labels: Array) -> list[Array]:
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def halves(labels: Array) -> tuple[Array, Array]:
    """Return the positions of the first and of the second half of every class."""
    first = np.concatenate([members[: len(members) // 2] for members in _members(labels)])
    return first, np.setdiff1d(np.arange(len(labels)), first)


def _interval(values: list[float]) -> Measurement:
    return Measurement(
        float(np.median(values)), float(np.std(values)), n=len(values), low=min(values), high=max(values)
    )


def run_times(experiment: Experiment) -> Measured:
    """Time the stages on all templates and samples together, as the paper does."""
    measured: Measured = {}
    images = experiment.features.measures
    for row in experiment.rows:
        for column, stage in _stages(experiment, row.directions or 1).items():
            stage()
            seconds = repeat(stage, number=1, repeat=experiment.n_splits)
            measured[row.label, column] = Measurement(float(np.median(seconds)), float(np.std(seconds)), n=len(images))
            experiment.advance()
    return measured


def _stages(experiment: Experiment, n_directions: int) -> dict[str, Callable[[], Any]]:
    images, n_templates = experiment.features.measures, experiment.features.n_templates
    model = RCDT(n_directions=n_directions, n_radii=experiment.table.n_radii, n_jobs=-1).fit(images)
    quantiles = model.quantiles(images)
    weights = np.full(quantiles.shape[2], 1 / quantiles.shape[2]), model.direction_weights_
    rows = quantiles.reshape(len(quantiles), -1).astype(np.float64)
    features = experiment.features("max", n_directions)
    return {
        "rcdt": partial(model.quantiles, images),
        "normalization": lambda: normalize(quantiles.copy(), "standardize", *weights, linear=True),
        "nearest_template/rcdt": partial(pairwise_distances_argmin, rows[n_templates:], rows[:n_templates]),
        "nearest_template/nrcdt": partial(pairwise_distances_argmin, features[n_templates:], features[:n_templates]),
    }


EXPERIMENTS: dict[str, Callable[[Experiment], Measured]] = {
    "nearest template": nearest_template,
    "nearest neighbour": partial(average_over_draws, nearest_accuracy),
    "svm": partial(average_over_draws, svm_accuracy),
    "k-means": clustering,
    "run times": run_times,
}
