"""Second normalisation: h collapses the directions, whose order an unknown map has changed (Algorithm 1, line 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .slices import Array

Function = Callable[..., Array]


class Aggregation(NamedTuple):
    """A function of (quantiles, direction_weights) and what is known about it.

    `exchange` says that h looks only at the set of values (or, around a circle, at their order), so that an affine map
    leaves it alone; `ordered` that it needs directions in order around a circle.
    """

    name: str
    function: Function
    exchange: bool = True
    ordered: bool = False


def _total_variation(quantiles: Array, weights: Array) -> Array:
    steps = np.abs(np.diff(quantiles, axis=1)).sum(axis=1)
    return np.asarray(steps + np.abs(quantiles[:, 0] - quantiles[:, -1]))


def _range(quantiles: Array, weights: Array) -> Array:
    return np.asarray(quantiles.max(axis=1) - quantiles.min(axis=1))


def _mean(quantiles: Array, weights: Array) -> Array:
    return np.asarray((quantiles * weights.astype(quantiles.dtype)[:, np.newaxis]).sum(axis=1))


# What depends only on the set of values, not on how many directions have them.
SET_FUNCTIONS = (np.max, np.min, np.ptp)

AGGREGATIONS: dict[str, Aggregation] = {
    aggregation.name: aggregation
    for aggregation in (
        Aggregation("max", lambda q, w: q.max(axis=1)),
        Aggregation("abs_max", lambda q, w: np.abs(q).max(axis=1)),
        Aggregation("abs_min", lambda q, w: np.abs(q).min(axis=1)),
        Aggregation("abs_range", lambda q, w: _range(np.abs(q), w)),
        Aggregation("range", _range),
        Aggregation("tv", _total_variation, ordered=True),
        Aggregation("mean", _mean, exchange=False),
    )
}


def find_aggregations(aggregate: Any) -> list[Aggregation]:
    """Look up what `aggregate` asks for: a name, a function, a pair (eta, H), or a list of these.

    A function takes an array (n_samples, n_directions, n_quantiles) and returns (n_samples, n_features). In a pair, eta
    works on each value and H, called with ``axis=1``, on each set of directions. An `Aggregation` speaks for
    itself.

    Examples
    --------
    >>> import numpy as np
    >>> [a.name for a in find_aggregations(["max", (np.abs, np.median)])]
    ['max', 'median_absolute']
    """
    if isinstance(aggregate, list):
        if not aggregate:
            raise ValueError("aggregate must name at least one aggregation; got an empty list. Try ['max', 'tv'].")
        found = [_find(one) for one in aggregate]
        names = [one.name for one in found]
        return [_numbered(one, names[:i].count(one.name)) for i, one in enumerate(found)]
    return [_find(aggregate)]


def _numbered(aggregation: Aggregation, n_before: int) -> Aggregation:
    """Tell apart functions of one name; an aggregation of the table has no reason to come twice."""
    if n_before == 0:
        return aggregation
    if aggregation.name in AGGREGATIONS:
        raise ValueError(
            f"aggregate must name each aggregation once; got {aggregation.name!r} again. Leave one of them out."
        )
    return aggregation._replace(name=f"{aggregation.name}_{n_before + 1}")


def _find(aggregate: Any) -> Aggregation:
    if isinstance(aggregate, Aggregation):
        return aggregate
    if isinstance(aggregate, str) and aggregate in AGGREGATIONS:
        return AGGREGATIONS[aggregate]
    if isinstance(aggregate, tuple) and len(aggregate) == 2 and all(callable(part) for part in aggregate):
        eta, outer = aggregate
        name = f"{_name(outer)}_{_name(eta)}"
        return Aggregation(name, lambda q, w: np.asarray(outer(eta(q), axis=1)), exchange=outer in SET_FUNCTIONS)
    if callable(aggregate):
        return Aggregation(_name(aggregate), lambda q, w: aggregate(q), exchange=False)
    raise ValueError(
        f"aggregate must be one of {', '.join(AGGREGATIONS)}, a function, a pair (eta, H), or a list of these; "
        f"got {aggregate!r}."
    )


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__)).strip("<>")


def block_scales(blocks: list[Array]) -> Array:
    """Root mean square of each block, which makes blocks comparable; one where there is a single block."""
    if len(blocks) == 1:
        return np.ones(1)
    scales = np.sqrt([np.mean(np.square(block, dtype=np.float64)) for block in blocks])
    return np.where(scales > 0, scales, 1.0)


def join_blocks(blocks: list[Array], scales: Array) -> Array:
    """Divide blocks by their scales and put them side by side."""
    if len(blocks) == 1:
        return blocks[0]
    return np.hstack([block / block.dtype.type(scale) for block, scale in zip(blocks, scales, strict=True)])


def aggregate(quantiles: Array, aggregations: list[Aggregation], direction_weights: Array) -> list[Array]:
    """Collapse the directions: one block of shape (n_samples, n_features) per aggregation, dtype kept."""
    blocks = []
    for aggregation in aggregations:
        block = np.asarray(aggregation.function(quantiles, direction_weights))
        if block.ndim != 2 or len(block) != len(quantiles):
            raise ValueError(
                f"the aggregation {aggregation.name} must return shape (n_samples, n_features); got {block.shape} "
                f"for {len(quantiles)} samples. Collapse axis 1 only."
            )
        blocks.append(block.astype(quantiles.dtype, copy=False))
    return blocks
