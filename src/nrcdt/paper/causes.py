"""Why a baseline differs from the printed number: what the paper leaves open is varied, and measured again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

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

DRAWS = 8
STARTS = 25
COSTS = (1, 0.7, 0.5, 0.4)
MACHINES: dict[str, dict[str, Any]] = {
    **{f"C = {C}": {"C": C} for C in COSTS},
    **{f"C = {C} and a stop after {n} sweeps": {"C": C, "max_iter": n} for C in COSTS for n in (100, 30)},
    "an intercept": {"fit_intercept": True},
    "squared hinge loss": {"loss": "squared_hinge"},
}
OURS = "C = 1"
SLACK = 1e-3
NOTHING_OPEN = "There are no samples, splits or starts to draw otherwise"
NO_CAUSE_FOUND = "No cause found"

Wanted = list[tuple[Row, str]]


class Found(NamedTuple):
    """What a variation has shown of a cell."""

    sentence: str
    explains: bool


Vary = Callable[[Task, Wanted], dict[tuple[str, str], Found]]


def causes(task: Task, wanted: Wanted) -> dict[tuple[str, str], str]:
    """Say for every cell that differs what its printed number depends on, with measured bounds.

    What one variation does not explain is put to the next, and what none explains to other numbers of directions. A
    variation says nothing of cells in which there is nothing of its kind to vary.
    """
    said: dict[tuple[str, str], list[str]] = {(row.label, column): [] for row, column in wanted}
    open_cells = wanted
    for vary in _VARIATIONS.get(task.table.task, []):
        found = vary(task, open_cells) if open_cells else {}
        for key, one in found.items():
            said[key].append(one.sentence)
        explained = {key for key, one in found.items() if one.explains}
        open_cells = [(row, column) for row, column in open_cells if (row.label, column) not in explained]
    for row, column in open_cells:
        tried = said[row.label, column]
        beside = _beside(task, row, column, wanted)
        tried += [beside.sentence] if beside else []
        if not beside or not beside.explains:
            tried.append(NO_CAUSE_FOUND if tried else NOTHING_OPEN)
    return {key: ". ".join(sentences) for key, sentences in said.items()}


def _other_machines(task: Task, wanted: Wanted) -> dict[tuple[str, str], Found]:
    """Train whole columns with other settings, to see how many of its differences one machine is behind."""
    found = {}
    for column in _methods(wanted):
        rows = [row for row in task.rows if column in row.printed]
        measured = {row.label: _by_machine(task, row, column) for row in rows}
        agreeing = {
            name: sum(_agrees(task, row, column, measured[row.label][name]) for row in rows) for name in MACHINES
        }
        for row in (row for row, own in wanted if own == column):
            found[row.label, column] = _of_machines(task, row, column, measured[row.label], agreeing)
    return found


def _by_machine(task: Task, row: Row, column: str) -> dict[str, Measurement]:
    features = task.features(column, row.directions)
    return {
        name: over_splits(task, row.train or 1, partial(separate, features, task.labels, **machine))
        for name, machine in MACHINES.items()
    }


def _of_machines(
    task: Task, row: Row, column: str, measured: dict[str, Measurement], agreeing: dict[str, int]
) -> Found:
    """Name the machine that agrees here and with the most of the column: between two machines lies nothing.

    One that agrees with no more of the column than ours explains nothing: of so many, some agree by chance.
    """
    better = [name for name in MACHINES if agreeing[name] > agreeing[OURS]]
    here = [name for name in better if _agrees(task, row, column, measured[name])]
    if not here:
        values = [one.value for one in measured.values()]
        return Found(
            f"Other machines (C from 0.4 to 1, a stop after 30 or 100 sweeps, an intercept, squared hinge loss) give "
            f"{min(values):.3f} to {max(values):.3f}, and none that fits the column better than ours agrees",
            False,
        )
    best = max(here, key=agreeing.__getitem__)
    return Found(
        f"The settings of the machine are not printed: with {best} we measure {measured[best].value:.3f}, which "
        f"agrees (numbers of this column that do: {agreeing[best]}; with {OURS}: {agreeing[OURS]})",
        True,
    )


def _agrees(task: Task, row: Row, column: str, measured: Measurement) -> bool:
    printed = row.printed[column]
    return judge(printed, measured, tolerance(printed, measured, n_printed(task, row)), baseline=True) == AGREES


def _beside(task: Task, row: Row, column: str, differing: Wanted) -> Found | None:
    """Compare with half and twice as many directions: a number may break a column that we reproduce otherwise."""
    if row.directions is None:
        return None
    near = (row.directions // 2, row.directions * 2)
    same = [other for other in task.rows if other.train == row.train and column in other.printed]
    beside = [other for other in same if other.directions in near and (other, column) not in differing]
    if len(beside) < len(near):
        return None
    value, around = row.printed[column].value, [other.printed[column].value for other in beside]
    here, *there = (_in_draws(task, other, column) for other in (row, *beside))
    change = max(float(np.abs(one.mean(axis=1) - here.mean(axis=1)).max()) for one in there)
    printed = " and ".join(f"{other.printed[column].value:.3f} for {other.directions}" for other in beside)
    jumps = " and ".join(f"{abs(value - other):.3f}" for other in around)
    text = (
        f"The paper prints {printed} directions, {jumps} away, which we reproduce; ours changes by {change:.4f} at "
        "most from one to the other"
    )
    if here.min() <= value <= here.max():
        return Found(text, False)
    bound = f"more than {here.max():.3f}" if value > here.mean() else f"less than {here.min():.3f}"
    text += f", and none of our {here.size} runs gives {bound}"
    steady = change < min(abs(value - other) for other in around)
    if not steady or not _breaks(value, around):
        return Found(text, False)
    fitting = _one_digit_away(value, min(around), max(around))
    digit = f"; {' or '.join(fitting)}, one digit away, would fit" if fitting else ""
    return Found(f"{text}: most likely a misprint{digit}", True)


def _breaks(value: float, around: list[float]) -> bool:
    """Tell whether two neighbours are nearer to each other than to what stands between them."""
    return abs(around[0] - around[1]) < min(abs(value - other) for other in around)


def _one_digit_away(value: float, low: float, high: float) -> list[str]:
    """Return the numbers of three decimals between two bounds that differ from `value` in one digit."""
    printed = f"{value:.3f}"
    others = {printed[:i] + digit + printed[i + 1 :] for i in (2, 3, 4) for digit in "0123456789"} - {printed}
    return sorted(other for other in others if low <= float(other) <= high)


def _other_runs(task: Task, wanted: Wanted) -> dict[tuple[str, str], Found]:
    n_draws = min(DRAWS, task.n_draws)
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for draw in range(n_draws):
        features = task.redraw(draw)
        for column in _methods(wanted):
            for start in range(STARTS):
                seed = start_seed(task, draw, start)
                for label, value in cluster_scores(task, features(column), seed).items():
                    values[label, column].append(value)
    drawn = f" on each of {n_draws} draws of the dataset" if n_draws > 1 else ""
    what = f"One run is printed: in {STARTS} runs{drawn}"
    return {(row.label, column): _between(what, row, column, values[row.label, column]) for row, column in wanted}


def _between(what: str, row: Row, column: str, values: list[float]) -> Found:
    """Tell whether a printed number lies among those of other draws."""
    low, high = min(values), max(values)
    explains = low - SLACK <= row.printed[column].value <= high + SLACK
    answer = "between which the printed number lies" if explains else "which does not reach it"
    return Found(f"{what} we measure {low:.3f} to {high:.3f}, {answer}", explains)


def _methods(wanted: Wanted) -> Iterable[str]:
    return dict.fromkeys(column for _, column in wanted)


def _other_draws(task: Task, wanted: Wanted) -> dict[tuple[str, str], Found]:
    found = {}
    for row, column in wanted:
        chosen = row.train is not None or task.features.n_templates == 0
        varied = ["samples"] * (task.table.dataset not in READ) + ["splits"] * chosen
        if varied:
            what = f"One draw of {' and '.join(varied)} is printed: in {DRAWS} draws"
            values = _in_draws(task, row, column).mean(axis=1).tolist()
            found[row.label, column] = _between(what, row, column, values)
    return found


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
    "svm": [_other_machines, _other_draws],
    "k-means": [_other_runs],
}
