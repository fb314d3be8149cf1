"""Why a baseline differs from the printed number: what the paper leaves open is varied, and measured again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ..slices import Array
from .data import READ
from .results import AGREES, Measurement
from .tables import Row
from .tasks import (
    Task,
    cluster_scores,
    n_printed,
    nearest,
    over_splits,
    separate,
    split_values,
    start_seed,
    template_accuracy,
)
from .verdicts import judge, tolerance

LENGTHS = (0.12, 0.25, 0.5, 0.7, 1)
DRAWS = 8
STARTS = 25
MACHINES: dict[str, dict[str, Any]] = {
    "an intercept": {"fit_intercept": True},
    "squared hinge loss": {"loss": "squared_hinge"},
    "C = 0.01": {"C": 0.01},
    "C = 100": {"C": 100.0},
    "a tolerance of 0.1": {"tol": 0.1},
}
SLACK = 1e-3
NOTHING_OPEN = "There are no samples, splits or starts to draw otherwise"

Wanted = list[tuple[Row, str]]
Values = dict[tuple[str, str], list[float]]
Vary = Callable[[Task, Wanted, Values], dict[tuple[str, str], str]]


def causes(task: Task, wanted: Wanted) -> dict[tuple[str, str], str]:
    """Say for every cell that differs what its printed number depends on, with measured bounds.

    A variation fills in what it measures, and says for each cell what it varied; cells without a word have nothing of
    the kind. What one does not explain is put to the next; what none explains, to other machines; what
    these do not explain, to other numbers of directions.
    """
    sentences: dict[tuple[str, str], str] = defaultdict(str)
    open_cells = wanted
    for vary in _VARIATIONS.get(task.table.task, []):
        if not open_cells:
            break
        values: Values = defaultdict(list)
        what = vary(task, open_cells, values)
        unexplained = []
        for row, column in open_cells:
            key, printed = (row.label, column), row.printed[column].value
            if key not in what:
                unexplained.append((row, column))
                continue
            low, high = min(values[key]), max(values[key])
            explains = low - SLACK <= printed <= high + SLACK
            answer = ", between which the printed number lies. " if explains else ", which does not reach it. "
            sentences[key] += f"{what[key]} we measure {low:.3f} to {high:.3f}{answer}"
            unexplained += [] if explains else [(row, column)]
        open_cells = unexplained
    for row, column in open_cells:
        sentence, explains = _other_machines(task, row, column) if task.table.task == "svm" else ("", False)
        sentences[row.label, column] += sentence if explains else sentence + _beside(task, row, column, wanted)
    return {key: sentence.rstrip(". ") or NOTHING_OPEN for key, sentence in sentences.items()}


def _other_machines(task: Task, row: Row, column: str) -> tuple[str, bool]:
    """Measure with other settings of the machine; tell whether one of them explains a number.

    Each stands for itself: between two of them lies nothing.
    """
    features, found, explains = task.features(column, row.directions), [], False
    for name, machine in MACHINES.items():
        measured = over_splits(task, row.train or 1, partial(separate, features, task.labels, **machine))
        agrees = _agrees(task, row, column, measured)
        found.append(f"{measured.value:.3f} with {name}{', which agrees' * agrees}")
        explains |= agrees
    return f"Other machines than ours give {', '.join(found)}. ", explains


def _agrees(task: Task, row: Row, column: str, measured: Measurement) -> bool:
    printed = row.printed[column]
    return judge(printed, measured, tolerance(printed, measured, n_printed(task, row)), baseline=True) == AGREES


def _beside(task: Task, row: Row, column: str, differing: Wanted) -> str:
    """Compare with half and twice as many directions: a number may break a column that we reproduce otherwise."""
    if row.directions is None:
        return ""
    near = (row.directions // 2, row.directions * 2)
    same = [other for other in task.rows if other.train == row.train and column in other.printed]
    beside = [other for other in same if other.directions in near and (other, column) not in differing]
    if len(beside) < len(near):
        return ""
    value, around = row.printed[column].value, [other.printed[column].value for other in beside]
    here, *there = (_in_draws(task, other, column) for other in (row, *beside))
    change = max(float(np.abs(one.mean(axis=1) - here.mean(axis=1)).max()) for one in there)
    printed = " and ".join(f"{other.printed[column].value:.3f} for {other.directions}" for other in beside)
    jumps = " and ".join(f"{abs(value - other):.3f}" for other in around)
    bound = f"more than {here.max():.3f}" if value > here.mean() else f"less than {here.min():.3f}"
    text = (
        f"The paper prints {printed} directions, {jumps} away, which we reproduce; ours changes by {change:.4f} at "
        f"most from one to the other, and none of our {here.size} runs gives {bound}"
    )
    steady = change < min(abs(value - other) for other in around)
    if not steady or not _breaks(value, around) or here.min() <= value <= here.max():
        return text
    fitting = _one_digit_away(value, min(around), max(around))
    digit = f"; {' or '.join(fitting)}, one digit away, would fit" if fitting else ""
    return f"{text}: most likely a misprint{digit}"


def _breaks(value: float, around: list[float]) -> bool:
    """Tell whether two neighbours are nearer to each other than to what stands between them."""
    return abs(around[0] - around[1]) < min(abs(value - other) for other in around)


def _one_digit_away(value: float, low: float, high: float) -> list[str]:
    """Return the numbers of three decimals between two bounds that differ from `value` in one digit."""
    printed = f"{value:.3f}"
    others = {printed[:i] + digit + printed[i + 1 :] for i in (2, 3, 4) for digit in "0123456789"} - {printed}
    return sorted(other for other in others if low <= float(other) <= high)


def _other_lengths(task: Task, wanted: Wanted, values: Values) -> dict[tuple[str, str], str]:
    """Measure whole columns, to see how many differences one unit of length is behind."""
    agreeing: dict[str, dict[float, int]] = {}
    for column in _methods(wanted):
        counts = agreeing[column] = dict.fromkeys(LENGTHS, 0)
        for row in (row for row in task.rows if column in row.printed):
            features = task.features(column, row.directions)
            for factor in LENGTHS:
                measured = over_splits(task, row.train or 1, partial(separate, features * factor, task.labels))
                values[row.label, column].append(measured.value)
                counts[factor] += _agrees(task, row, column, measured)
    return {(row.label, column): _of_lengths(task, agreeing[column]) for row, column in wanted}


def _of_lengths(task: Task, agreeing: dict[float, int]) -> str:
    best = max(agreeing, key=lambda factor: (agreeing[factor], factor == 1))
    factors = f"{', '.join(map(str, LENGTHS[:-1]))} and {LENGTHS[-1]}"
    drawings = ", and so the size of drawings that are not at hand" if task.table.dataset == "academic" else ""
    agree = f"{agreeing[best]} numbers of the column agree at {best}, {agreeing[1]} at 1"
    return (
        f"C = 1 makes the unit of length count, which the paper does not state{drawings}: "
        f"with lengths times {factors} ({agree})"
    )


def _other_runs(task: Task, wanted: Wanted, values: Values) -> dict[tuple[str, str], str]:
    n_draws = min(DRAWS, task.n_draws)
    for draw in range(n_draws):
        features = task.redraw(draw)
        for column in _methods(wanted):
            for start in range(STARTS):
                seed = start_seed(task, draw, start)
                for label, value in cluster_scores(task, features(column), seed).items():
                    values[label, column].append(value)
    what = f"One run is printed: in {STARTS} runs on {'each of ' if n_draws > 1 else ''}{n_draws} draws of the dataset"
    return {(row.label, column): what for row, column in wanted}


def _methods(wanted: Wanted) -> Iterable[str]:
    return dict.fromkeys(column for _, column in wanted)


def _other_draws(task: Task, wanted: Wanted, values: Values) -> dict[tuple[str, str], str]:
    said = {}
    for row, column in wanted:
        varied = ["samples"] * (task.table.dataset not in READ) + ["splits"] * (row.train is not None)
        if varied:
            values[row.label, column] += _in_draws(task, row, column).mean(axis=1).tolist()
            said[row.label, column] = f"One draw of {' and '.join(varied)} is printed: in {DRAWS} draws"
    return said


def _in_draws(task: Task, row: Row, column: str) -> Array:
    """Measure a cell in draws of the dataset, where it is drawn, and of the splits; of shape (n_draws, n_splits)."""
    fixed = task.table.dataset in READ
    features = (task.features if fixed else task.redraw(draw) for draw in range(DRAWS))
    drawn = (task._replace(features=one, seed=task.seed + draw) for draw, one in enumerate(features))
    return np.array([_accuracies(one, row, column) for one in drawn])


def _accuracies(task: Task, row: Row, column: str) -> list[float]:
    if row.train is None:
        return [template_accuracy(task, column, row.directions).value]
    classify = separate if task.table.task == "svm" else nearest
    accuracy = partial(classify, task.features(column, row.directions), task.labels)
    return split_values(task, row.train, accuracy, range(task.n_splits))


_VARIATIONS: dict[str, list[Vary]] = {
    "nearest template": [_other_draws],
    "nearest neighbour": [_other_draws],
    "svm": [_other_lengths, _other_draws],
    "k-means": [_other_runs],
}
