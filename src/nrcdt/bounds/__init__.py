"""How far features can move with the measure, and certificates for nearest templates (interval bound propagation).

A measure moves by at most eps where no mass moves further: every point of a cloud by at most eps, or W_inf <= eps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, LocatedError, samples_called
from ..estimators import NRCDT
from ..measures.values import is_number
from ..plan import Plan
from ..user_functions import note_sample
from .aggregations import Interval, feature_interval
from .motion import MovingSlices, moving_slices

__all__ = ["certified_radius", "feature_bounds"]

POWERS = {"cityblock": 1, "euclidean": 2}
METRICS = (*POWERS, "chebyshev")
HALVINGS = 24  # of a bracket as wide as the slices: a ten-millionth of it


@dataclass(frozen=True)
class MovingSample:
    """One sample that can tell the bounds of its features; `slices` by frame, `scales` one per feature."""

    plan: Plan
    slices: dict[str, MovingSlices]
    scales: Array

    def bounds(self, eps: float) -> Interval:
        """Smallest and largest features under any move by at most eps, each of shape (n_features,)."""
        radii = {frame: one.radii(eps) for frame, one in self.slices.items()}
        parts = [
            feature_interval(aggregation, self.slices[frame].quantiles, radii[frame], self.plan)
            for aggregation, frame in self.plan.blocks
        ]
        lower, upper = (np.concatenate(ends) / self.scales for ends in zip(*parts, strict=True))
        return lower, upper

    @property
    def size(self) -> float:
        """How wide slices are before they are normalised, in units of eps."""
        return max(float((np.ptp(one.quantiles, axis=1) * one.spreads).max()) for one in self.slices.values())


def _moving(model: NRCDT, X: Any, contamination: Any, lipschitz: Any) -> Iterator[MovingSample]:
    """Check settings and measures of a fitted model, and yield samples one by one."""
    if not isinstance(model, NRCDT):
        raise InputError("model", "be a fitted NRCDT", type(model).__name__, "Of a pipeline pass the step that it is.")
    contamination = _number(contamination, "contamination", "0.02 allows specks of 2 % of the mass.")
    if lipschitz is not None:
        lipschitz = _number(lipschitz, "lipschitz", "1 where no slice moves further than the points.")
    measures, plan = model._fitted(X), model.plan_
    scales = np.repeat(model.scales_, plan.block_sizes)
    for i, measure in enumerate(measures):
        try:
            slices = {frame: moving_slices(plan, measure, frame, contamination, lipschitz) for frame in plan.frames}
        except LocatedError as error:
            raise error if error.sample is None else error.about(sample=i) from error.__cause__
        except Exception as error:
            note_sample(error, i)
            raise
        yield MovingSample(plan, slices, scales)


def _number(value: Any, name: str, remedy: str) -> float:
    if not (is_number(value) and 0 <= value < np.inf):
        raise InputError(name, "be a finite number, zero or more", repr(value), remedy)
    return float(value)


def feature_bounds(
    model: NRCDT, X: Any, eps: float, *, contamination: float = 0.0, lipschitz: float | None = None
) -> Interval:
    """Bound the features of every measure that lies within eps of a sample.

    Parameters
    ----------
    model : fitted `NRCDT`
    X : measures, as for `fit`
    eps : how far mass may move, W_inf <= eps; in the units of the points, for rotations in radians, for images (which
        keep their shape) in units in which the longer side is sqrt(2): see `nrcdt.measures.pixel_side`
    contamination : share of the mass that may be anywhere else, less than the lowest level: see `trim`
    lipschitz : for a space of one's own, the most that phi(x, direction) changes per distance of points

    Returns
    -------
    lower, upper : arrays of shape (n_samples, n_features)
        Infinite where some slice might lose all its spread. They hold up to rounding.

    See Also
    --------
    certified_radius : how far a sample may move before its nearest template changes its label.

    Examples
    --------
    >>> clouds = np.random.default_rng(0).normal(size=(2, 50, 2))
    >>> model = NRCDT("euclidean").fit(clouds)
    >>> lower, upper = feature_bounds(model, clouds, 0.05)
    >>> moved = model.transform(clouds + np.random.default_rng(1).uniform(-0.03, 0.03, size=clouds.shape))
    >>> bool((lower < moved).all() and (moved < upper).all())
    True
    """
    eps = _number(eps, "eps", "It is a distance between points.")
    pairs = [sample.bounds(eps) for sample in _moving(model, X, contamination, lipschitz)]
    lower, upper = map(np.stack, zip(*pairs, strict=True))
    return lower, upper


def certified_radius(
    model: NRCDT,
    templates: Any,
    labels: Any,
    X: Any,
    *,
    metric: str = "euclidean",
    contamination: float = 0.0,
    lipschitz: float | None = None,
) -> Array:
    """Return how far each sample may move, at least, before its nearest template has another label.

    Parameters
    ----------
    model : fitted `NRCDT`
    templates : measures, which stay where they are
    labels : one per template
    X : measures, as for `fit`
    metric : "euclidean", "cityblock" or "chebyshev", of the nearest neighbour among features
    contamination, lipschitz : as for `feature_bounds`

    Returns
    -------
    array of shape (n_samples,)
        Radii eps: whatever lies within W_inf <= eps of the sample has a nearest template of the same label. Zero where
        nothing can be promised, infinite where all templates have one label.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> disc, bar = rng.normal(size=(2, 400, 2))
    >>> disc, bar = disc / np.linalg.norm(disc, axis=1, keepdims=True), np.sign(bar) + 0.1 * bar
    >>> model = NRCDT("euclidean").fit([disc, bar])
    >>> certified_radius(model, [disc, bar], ["disc", "bar"], [disc[:300], bar[:300]]).round(3)
    array([0.061, 0.104])
    """
    if not isinstance(metric, str) or metric not in METRICS:
        raise InputError("metric", f"be one of {', '.join(METRICS)}", repr(metric))
    with samples_called("templates"):
        targets, names = np.asarray(model.transform(templates), np.float64), np.asarray(labels)
    if names.shape != (len(targets),):
        rule = f"be one per template, {len(targets)}"
        raise InputError("labels", rule, f"shape {names.shape}", "Templates and labels go in pairs.")
    samples = _moving(model, X, contamination, lipschitz)
    return np.array([_radius(sample, targets, names, metric) for sample in samples])


def _radius(sample: MovingSample, targets: Array, names: Array, metric: str) -> float:
    """Find the largest radius that is certified: bounds are nested, so that halving a bracket does."""
    nearest = names[_gaps(sample.bounds(0.0), targets, targets, metric).max(axis=1).argmin()]
    own, others = targets[names == nearest], targets[names != nearest]
    if len(others) == 0:
        return np.inf

    def certified(eps: float) -> bool:
        """Tell whether for every other template some own one is surely nearer."""
        gaps = _gaps(sample.bounds(eps), own, others, metric)
        return bool((gaps < 0).any(axis=0).all())

    low, high = 0.0, sample.size or float((np.abs(targets) * sample.scales).max())  # of points without width
    while certified(high):
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if certified(middle) else (low, middle)
    return low


def _gaps(bounds: Interval, own: Array, others: Array, metric: str) -> Array:
    """How much further off own templates can be than others, at worst; of shape (n_own, n_others).

    Feature by feature, where distances are sums: differences of powers are largest at an end of the interval.
    """
    ends = np.stack(bounds)
    if not np.isfinite(ends).all():
        return np.full((len(own), len(others)), np.inf)
    if metric == "chebyshev":
        furthest = np.abs(ends - own[:, np.newaxis]).max(axis=(1, 2))
        nearest = np.maximum(np.maximum(ends[0] - others, others - ends[1]), 0).max(axis=1)
        return np.asarray(furthest[:, np.newaxis] - nearest)
    power = POWERS[metric]
    here, there = (np.abs(ends - some[:, np.newaxis]) ** power for some in (own, others))
    return np.stack([(one - there).max(axis=1).sum(axis=1) for one in here])
