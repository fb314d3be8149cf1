"""How well settings suit data of one's own: random maps are tried until the classes are known to stay apart.

Every sample is a template of its class. Copies of the samples, each under a random map that should leave the features
alone, are looked up among the templates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ..arrays import Array
from ..errors import InputError, samples_called
from ..estimators import NRCDT
from ..measures import floats, positive_integer
from ..random_maps import sample_rng
from ..rasters import ink_only
from ..spaces import SPACES, Space, find_space

SIZES = (8, 16, 32, 64, 128, 256, 512)
# Copies on which a recommendation is verified, as a multiple of those on which it was found.
FRESH = 4
BATCH = 32
MIXED_UP, OVERLAP, APART = "mixed up", "overlap", "apart"

Sizes = tuple[int, int]


class Trial(NamedTuple):
    """How features of one size did.

    Attributes
    ----------
    n_directions, n_quantiles : int
        The size.
    n_features : int
        How many numbers a sample becomes.
    n_copies, n_right : int
        Copies under random maps, and how many of them had a template of their class nearest.
    within, between : float
        How far maps move features, and how far templates lie from those of other classes: root mean squares over all
        copies.
    """

    n_directions: int
    n_quantiles: int
    n_features: int
    n_copies: int
    n_right: int
    within: float
    between: float

    @property
    def accuracy(self) -> float:
        """Share of the copies whose nearest template is of their class."""
        return self.n_right / self.n_copies

    @property
    def work(self) -> int:
        """How many numbers are computed on the way, which makes a setting smaller than another."""
        return self.n_directions * self.n_quantiles

    @property
    def spread(self) -> float:
        """How far maps move features, as a share of the distance between classes."""
        return self.within / self.between if self.between > 0 else float("inf")


class Pair(NamedTuple):
    """Two classes that lie near each other.

    Attributes
    ----------
    first, second : str
        Names of the classes.
    distance : float
        Between the features of two templates, one of each class.
    spread : float
        How far copies of the two lay from them, at most and summed up.
    margin : float
        distance / spread, least for the two templates: above one, no copy can be mixed up.
    n_mixed_up : int
        Copies of one class whose nearest template was of the other.
    """

    first: str
    second: str
    distance: float
    spread: float
    margin: float
    n_mixed_up: int

    @property
    def verdict(self) -> str:
        """Whether copies were mixed up, might have been as their spreads overlap, or cannot be."""
        return MIXED_UP if self.n_mixed_up else OVERLAP if self.margin < 1 else APART


class Audit(NamedTuple):
    """What an audit found.

    Attributes
    ----------
    space : str
        Name of the space.
    settings : dict
        The frame and the aggregation.
    classes : dict
        How many samples each class has, by name.
    n_samples : int
        Randomly mapped copies of each class that were asked for.
    target, goal : float
        Accuracy that was asked for, and what a recommendation has to reach: the same, or that of the best sizes less a
        standard error where none gets there.
    trials : list of Trial
        All sizes that were tried.
    chosen : Trial
        The sizes asked about.
    attempts : list of Trial
        Candidates in the order in which they were verified, as measured on fresh maps.
    recommended : Trial
        The candidate that was settled on.
    pairs : list of Pair
        Sorted by margin, as seen with `recommended` on fresh maps.
    """

    space: str
    settings: dict[str, Any]
    classes: dict[str, int]
    n_samples: int
    target: float
    goal: float
    trials: list[Trial]
    chosen: Trial
    attempts: list[Trial]
    recommended: Trial
    pairs: list[Pair]

    @property
    def holds(self) -> bool:
        """Whether the recommended sizes reached the goal on fresh maps."""
        return self.recommended.accuracy >= self.goal

    @property
    def collisions(self) -> list[Pair]:
        """Pairs of which copies were mixed up, or might have been."""
        return [pair for pair in self.pairs if pair.verdict != APART]

    @property
    def code(self) -> str:
        """The recommended estimator, to be copied."""
        settings = {"n_directions": self.recommended.n_directions, "n_quantiles": self.recommended.n_quantiles}
        settings |= {name: value for name, value in self.settings.items() if value != getattr(NRCDT(), name)}
        listed = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        return f"NRCDT({self.space!r}, {listed})".replace("'", '"')


class _Task(NamedTuple):
    space: Space
    settings: dict[str, Any]
    templates: list[Any]
    labels: Array
    names: list[str]
    n_copies: list[int]


class _Outcome(NamedTuple):
    trial: Trial
    sources: Array
    truth: Array
    found: Array
    moved: Array
    templates: Array


def audit(
    samples: Any,
    labels: Sequence[Any] | None = None,
    space: Any = "image",
    *,
    n_samples: int = 10,
    target: float = 1.0,
    random_state: int = 0,
    n_directions: int = 256,
    n_quantiles: int = 256,
    frame: str = "fixed",
    aggregate: Any = "max",
    n_jobs: int | None = -1,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Find out how invariant features of these samples are, which classes collide, and which sizes suffice.

    Parameters
    ----------
    samples : images or clouds, as for `NRCDT`
        Images are cut to their ink and, if it is longer than 256 pixels, reduced.
    labels : class of each sample; left out, each is a class of its own
    space : one that has a `random_map`: "image", "euclidean", "circular", "rotation", "sphere_parallel", or your own
        Maps are affine in the first two, similarities in the third, turns and reflections in the others.
    n_samples : randomly mapped copies of each class; at least one of each sample is made
    target : accuracy that is asked for; where no size reaches it, sizes as good as the best are looked for
    random_state : seed of the maps
    n_directions, n_quantiles : sizes to be measured besides 8, 16, ..., 512
    frame, aggregate, n_jobs : as for `NRCDT`
    progress : function of the number of steps done and of all steps, called after each

    Returns
    -------
    Audit

    Examples
    --------
    >>> from nrcdt.datasets import watermarks
    >>> images, names = watermarks(3, size=64)
    >>> found = audit(images, names, n_samples=4, aggregate="mean_abs", frame="whitened")
    >>> found.holds, found.recommended.accuracy
    (True, 1.0)
    >>> found.code
    'NRCDT("image", n_directions=8, n_quantiles=8, frame="whitened", aggregate="mean_abs")'
    """
    positive_integer(n_samples, "n_samples", "10 is a good start.")
    if not 0 < target <= 1:
        raise InputError("target", "be an accuracy above 0 and at most 1", repr(target), "1 asks for no mistake.")
    settings = {"frame": frame, "aggregate": aggregate}
    task = _make_task(samples, labels, space, settings | {"n_jobs": n_jobs}, n_samples)
    asked = (n_directions, n_quantiles)
    sizes = list(dict.fromkeys([*product(SIZES, SIZES), asked]))
    steps = _Steps(progress)
    trials = [one.trial for one in _measure(task, sizes, 1, random_state, steps)]
    best = max(trial.accuracy for trial in trials)
    # Less than the best by a standard error is as good.
    goal = target if best >= target else best - float(np.sqrt(best * (1 - best) / trials[0].n_copies))
    attempts = _verify(task, trials, goal, random_state, steps)
    # The last is the only one that may have reached the goal, and so the best if it has.
    settled = max(attempts, key=lambda one: one.trial.accuracy)
    return Audit(
        task.space.name,
        settings,
        {name: int(np.sum(task.labels == k)) for k, name in enumerate(task.names)},
        n_samples,
        target,
        goal,
        trials,
        trials[sizes.index(asked)],
        [one.trial for one in attempts],
        settled.trial,
        _pairs(task, settled),
    )


class _Steps:
    """Counts steps, of which more may come up on the way."""

    def __init__(self, tell: Callable[[int, int], None] | None) -> None:
        self.tell = tell
        self.done = self.total = 0

    def step(self) -> None:
        self.done += 1
        if self.tell:
            self.tell(self.done, self.total)


def _make_task(
    samples: Any, labels: Sequence[Any] | None, space: Any, settings: dict[str, Any], n_copies: int
) -> _Task:
    found = find_space(space)
    if found.random_map is None:
        able = ", ".join(name for name, one in SPACES.items() if one.random_map)
        raise InputError("space", f"be one of {able} to be audited", found.name)
    templates = [ink_only(floats(one)) if found.measure == "images" else one for one in found.check(samples)]
    if labels is None:
        labels = [str(k) for k in range(len(templates))]
    if len(labels) != len(templates):
        rule = f"be as many as samples, {len(templates)}"
        raise InputError("labels", rule, len(labels), "One class for each sample.")
    names, positions = np.unique([str(label) for label in labels], return_inverse=True)
    if len(names) < 2:
        remedy = "Put the files of each class into a folder of their own, or all files side by side."
        raise InputError("labels", "name at least two classes", f"one, {names[0]}", remedy)
    counts = [max(n_copies, int(n)) for n in np.bincount(positions)]
    return _Task(found, settings, templates, positions, names.tolist(), counts)


def _copies(task: _Task, n_rounds: int, seed: int) -> Iterator[tuple[int, Any]]:
    """Yield moved samples, each with the position of its template; samples of a class take turns."""
    move = task.space.random_map
    assert move is not None  # or there would be no task
    for label in range(len(task.names)):
        own = np.flatnonzero(task.labels == label)
        for index in range(n_rounds * task.n_copies[label]):
            source = int(own[index % len(own)])
            yield source, move(task.templates[source], sample_rng(seed, label, index))


@samples_called(None)
def _measure(task: _Task, sizes: list[Sizes], n_rounds: int, seed: int, steps: _Steps) -> list[_Outcome]:
    """Look all copies up among the templates, with features of all sizes."""
    steps.total += len(sizes) * -(-n_rounds * sum(task.n_copies) // BATCH)
    models = [NRCDT(task.space, n_directions=k, n_quantiles=m, **task.settings) for k, m in sizes]
    templates = [model.fit(task.templates).transform(task.templates) for model in models]
    sources: list[int] = []
    distances: list[list[Array]] = [[] for _ in sizes]
    copies = _copies(task, n_rounds, seed)
    while batch := list(islice(copies, BATCH)):
        sources += [source for source, _ in batch]
        moved = [copy for _, copy in batch]
        for model, known, rows in zip(models, templates, distances, strict=True):
            rows.append(cdist(model.transform(moved), known))
            steps.step()
    return [
        _outcome(task, size, np.array(sources), np.concatenate(rows), known)
        for size, rows, known in zip(sizes, distances, templates, strict=True)
    ]


def _outcome(task: _Task, size: Sizes, sources: Array, distances: Array, templates: Array) -> _Outcome:
    truth, found = task.labels[sources], task.labels[distances.argmin(axis=1)]
    moved = distances[np.arange(len(sources)), sources]
    apart = cdist(templates, templates)
    apart[task.labels[:, np.newaxis] == task.labels] = np.inf
    within, between = (float(np.sqrt(np.mean(d**2))) for d in (moved, apart.min(axis=1)[sources]))
    n_right = int(np.sum(truth == found))
    trial = Trial(*size, templates.shape[1], len(sources), n_right, within, between)
    return _Outcome(trial, sources, truth, found, moved, templates)


def _verify(task: _Task, trials: list[Trial], goal: float, seed: int, steps: _Steps) -> list[_Outcome]:
    """Try the smallest sizes that reached the goal on fresh maps, then larger ones until it is reached again."""
    attempts: list[_Outcome] = []
    good = [trial for trial in trials if trial.accuracy >= goal]
    for work in sorted({trial.work for trial in good}):
        best = min((trial for trial in good if trial.work == work), key=lambda trial: trial.spread)
        size = (best.n_directions, best.n_quantiles)
        attempts += _measure(task, [size], FRESH, seed + 1 + len(attempts), steps)
        if attempts[-1].trial.accuracy >= goal:
            break
    return attempts


def _pairs(task: _Task, outcome: _Outcome) -> list[Pair]:
    """Return the nearest neighbour of every class, and all classes that were mixed up, by growing margin."""
    distance = cdist(outcome.templates, outcome.templates)
    radius = np.zeros(len(task.templates))
    np.maximum.at(radius, outcome.sources, outcome.moved)
    spread = radius[:, np.newaxis] + radius
    margin = distance / np.maximum(spread, np.finfo(float).tiny)
    margin[task.labels[:, np.newaxis] == task.labels] = np.inf
    mixed = Counter(tuple(sorted(pair)) for pair in zip(outcome.truth.tolist(), outcome.found.tolist(), strict=True))

    def nearest(first: Array, second: Array) -> Pair:
        rows, columns = np.flatnonzero(first), np.flatnonzero(second)
        block = margin[np.ix_(rows, columns)]
        i, j = np.unravel_index(block.argmin(), block.shape)
        at = rows[i], columns[j]
        a, b = sorted(task.labels[list(at)].tolist())
        d, s, m = (float(numbers[at]) for numbers in (distance, spread, margin))
        return Pair(task.names[a], task.names[b], d, s, m, mixed[a, b])

    own = [task.labels == k for k in range(len(task.names))]
    found = {nearest(one, ~one) for one in own}
    found |= {nearest(own[a], own[b]) for a, b in mixed if a != b}
    return sorted(found, key=lambda pair: (pair.margin, pair.first, pair.second))
