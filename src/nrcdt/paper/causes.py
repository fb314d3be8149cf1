"""Why a baseline differs from the printed number: what the paper leaves open is varied, and measured again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial

from .tables import Row
from .tasks import Task, cluster_scores, nearest, over_splits, separate, start_seed, template_accuracy

LENGTHS = (0.12, 0.25, 0.5, 0.7, 1)
DRAWS = 8
STARTS = 25

DOUBT = ", which does not explain the difference"

Wanted = list[tuple[Row, str]]
Values = dict[tuple[str, str], list[float]]


def causes(task: Task, wanted: Wanted) -> dict[tuple[str, str], str]:
    """Say for every cell in a sentence what its printed number depends on, with measured bounds.

    What one variation does not explain is put to the next.
    """
    sentences: dict[tuple[str, str], str] = {}
    for what, vary in _VARIATIONS.get(task.table.task, []):
        if not wanted:
            break
        values: Values = defaultdict(list)
        vary(task, wanted, values)
        unexplained = []
        for row, column in wanted:
            key, printed = (row.label, column), row.printed[column].value
            low, high = min(values[key]), max(values[key])
            explains = low - 1e-3 <= printed <= high + 1e-3
            before = sentences[key].partition(DOUBT)[0] + ". " if key in sentences else ""
            answer = ", which explains the difference" if explains else DOUBT
            sentences[key] = f"{before}{what} we measure {low:.4g} to {high:.4g}{answer}"
            unexplained += [] if explains else [(row, column)]
        wanted = unexplained
    for row, column in wanted:
        sentences[row.label, column] += _beside(task, row, column)
    return sentences


def _beside(task: Task, row: Row, column: str) -> str:
    """Lay what is printed for half and for twice as many directions beside the change that we measure there."""
    if row.directions is None:
        return ""
    near = (row.directions // 2, row.directions * 2)
    same = [other for other in task.table.rows if other.train == row.train and column in other.printed]
    beside = {other.directions: other.printed[column].value for other in same if other.directions in near}
    if not beside:
        return ""
    change = max(abs(value - here) for here, *others in _along(task, row, column, *beside) for value in others)
    printed = " and ".join(f"{value:.3f} for {directions}" for directions, value in beside.items())
    text = f"; the paper prints {printed}, where our number changes by {change:.4f} at most on the same samples"
    value, others = row.printed[column].value, list(beside.values())
    if not _breaks(value, others) or change >= min(abs(value - other) for other in others):
        return text
    fitting = _one_digit_away(value, min(others), max(others))
    digit = f"; {' or '.join(fitting)}, one digit away, would fit" if fitting else ""
    return f"{text}: a misprint, which breaks its own column{digit}"


def _along(task: Task, row: Row, column: str, *directions: int) -> list[list[float]]:
    """Measure a cell, and the same with other numbers of directions, in some draws of the dataset."""
    counts = (row.directions, *directions)
    drawn = (task._replace(features=task.redraw(draw)) for draw in range(DRAWS))
    return [[_accuracy(one, row._replace(directions=n), column) for n in counts] for one in drawn]


def _breaks(value: float, beside: list[float]) -> bool:
    """Tell whether two neighbours are nearer to each other than to what stands between them."""
    return len(beside) == 2 and abs(beside[0] - beside[1]) < min(abs(value - other) for other in beside)


def _one_digit_away(value: float, low: float, high: float) -> list[str]:
    """Return the numbers of three decimals between two bounds that differ from `value` in one digit."""
    printed = f"{value:.3f}"
    others = {printed[:i] + digit + printed[i + 1 :] for i in (2, 3, 4) for digit in "0123456789"} - {printed}
    return sorted(other for other in others if low <= float(other) <= high)


def _other_lengths(task: Task, wanted: Wanted, values: Values) -> None:
    for row, column in wanted:
        features = task.features(column, row.directions)
        for factor in LENGTHS:
            accuracy = partial(separate, features * factor, task.labels)
            values[row.label, column].append(over_splits(task, row.train or 1, accuracy).value)


def _other_runs(task: Task, wanted: Wanted, values: Values) -> None:
    for draw in range(min(DRAWS, task.n_draws)):
        features = task.redraw(draw)
        for column in _methods(wanted):
            for start in range(STARTS):
                seed = start_seed(task, draw, start)
                for label, value in cluster_scores(task, features(column), seed).items():
                    values[label, column].append(value)


def _methods(wanted: Wanted) -> Iterable[str]:
    return dict.fromkeys(column for _, column in wanted)


def _other_draws(task: Task, wanted: Wanted, values: Values) -> None:
    for draw in range(DRAWS):
        redrawn = task._replace(features=task.redraw(draw))
        for row, column in wanted:
            values[row.label, column].append(_accuracy(redrawn, row, column))


def _accuracy(task: Task, row: Row, column: str) -> float:
    if row.train is None:
        return template_accuracy(task, column, row.directions).value
    classify = separate if task.table.task == "svm" else nearest
    return over_splits(task, row.train, partial(classify, task.features(column, row.directions), task.labels)).value


_LENGTHS = "The machine's C = 1 makes the unit of length count, which the paper does not state: with lengths times"
_DRAWS = (f"One draw of the dataset is printed: in {DRAWS} draws", _other_draws)
_VARIATIONS: dict[str, list[tuple[str, Callable[[Task, Wanted, Values], None]]]] = {
    "nearest template": [_DRAWS],
    "nearest neighbour": [_DRAWS],
    "svm": [(f"{_LENGTHS} {', '.join(map(str, LENGTHS[:-1]))} and {LENGTHS[-1]}", _other_lengths), _DRAWS],
    "k-means": [(f"One run is printed: in {STARTS} runs on each of up to {DRAWS} draws of the dataset", _other_runs)],
}
