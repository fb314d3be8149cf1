"""Slices of clouds as sorted points, and the exact Wasserstein distances between them.

Every cloud is projected and sorted once; a pair then takes one pass over sorted points. As many directions of all
clouds are at hand as fit into SORTED_BYTES, and pairs go to threads in blocks whose slices stay in the cache.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from .arrays import Array
from .directions import opposite_half
from .errors import samples_called
from .kernels import kernel
from .measures import Cloud, Points, dtype_of
from .plan import Plan
from .threads import interrupt_of, map_threads, thread_count
from .transform import walk

SORTED_BYTES = 2**26  # a tenth of what a small machine has to spare; more of them does not make pairs faster
BLOCK = 32  # clouds on either side of a block: 64 slices of 500 points are a quarter of a megabyte

Pairs = Literal["all", "half", "paired"]


class SortedSlices(NamedTuple):
    """Slices of clouds as sorted points on the line.

    Attributes
    ----------
    values : array of shape (n_directions, n_points), cloud after cloud, each sorted
    levels : array of shape (n_directions, n_points), or (1, n_points) where no cloud has weights
        Share of the mass of its cloud up to and with each point; exactly 1 at the last one.
    offsets : where each cloud begins, and where the last one ends
    even : for every cloud, whether it has no weights
    """

    values: Array
    levels: Array
    offsets: Array
    even: Array


def without_opposites(plan: Plan) -> Plan:
    """Drop directions whose opposites are there: those slices are mirror images, as far apart as the ones that stay."""
    half = len(plan.directions) // 2
    if not (plan.space.linear and opposite_half(plan.directions)):
        return plan
    weights = plan.direction_weights[:half] + plan.direction_weights[half:]
    return replace(plan, directions=plan.directions[:half], direction_weights=weights)


def parts(plan: Plan, *batches: Sequence[Cloud]) -> Iterator[Plan]:
    """Cut a plan into plans of a few directions each, whose sorted slices of all clouds fit into memory.

    The spread of whole measures takes all directions at once.
    """
    clouds = [cloud for batch in batches for cloud in batch]
    n_bytes = sum(len(cloud.points) * (8 if cloud.weights is None else 16) for cloud in clouds)
    n = len(plan.directions)
    at_once = n if plan.normalization == "global" else max(1, SORTED_BYTES // n_bytes)
    for start in range(0, n, at_once):
        some = slice(start, start + at_once)
        yield replace(plan, directions=plan.directions[some], direction_weights=plan.direction_weights[some])


def sort_slices(clouds: Sequence[Cloud], plan: Plan, dtype: Any, n_jobs: int | None = None) -> SortedSlices:
    """Project and sort clouds in all directions of a plan.

    Examples
    --------
    >>> clouds = [Cloud(np.array([[3.0], [1.0], [2.0]]), None), Cloud(np.array([[7.0], [5.0]]), np.array([1.0, 3.0]))]
    >>> plan = Plan.resolve("euclidean", dimension=1, directions=[[1.0]], normalize=None)
    >>> found = sort_slices(clouds, plan, np.float64)
    >>> found.values[0], found.levels[0].round(2), found.offsets
    (array([1., 2., 3., 5., 7.]), array([0.33, 0.67, 1.  , 0.75, 1.  ]), array([0, 3, 5]))
    """
    offsets = np.cumsum([0, *(len(cloud.points) for cloud in clouds)])
    even = np.array([cloud.weights is None for cloud in clouds])
    n_directions, n_points = len(plan.directions), int(offsets[-1])
    values = np.empty((n_directions, n_points), dtype)
    levels = np.empty((1 if even.all() else n_directions, n_points))
    found = chain.from_iterable(walk(clouds, plan, partial(_sort, plan), n_jobs))
    for (start, stop), (points, shares) in zip(pairwise(offsets), found, strict=True):
        values[:, start:stop], levels[:, start:stop] = points, shares
    return SortedSlices(values, levels, offsets, even)


def _sort(plan: Plan, batch: Points) -> list[tuple[Array, Array]]:
    """Sorted points of every slice of every cloud, and the shares of mass up to them."""
    return [_sorted(points, weights) for points, weights in plan.points(batch)]


def _sorted(points: Array, weights: Array | None) -> tuple[Array, Array]:
    if weights is None:
        n = points.shape[1]
        return np.sort(points, axis=1), np.arange(1, n + 1) / n
    order = np.argsort(points, axis=1, kind="stable")
    # Divided at the end: sums of whole numbers are then the same whatever their order.
    sums = np.cumsum(weights.astype(np.float64)[order], axis=1)
    return np.take_along_axis(points, order, axis=1), sums / sums[:, -1:]


def distance_powers(
    left: Sequence[Cloud], right: Sequence[Cloud], plan: Plan, p: int, which: Pairs = "all", n_jobs: int | None = None
) -> Array:
    """Means over the directions of p-th powers of Wasserstein distances.

    Parameters
    ----------
    left, right : clouds
    p : 1 or 2
    which : "all", "paired" for those of the same position, "half" for all within one batch

    Returns
    -------
    array of shape (n_left, n_right), or (n_left,) for "paired"
    """
    plan = without_opposites(plan)
    dtype = np.result_type(dtype_of(left), dtype_of(right))
    out = np.zeros(len(left) if which == "paired" else (len(left), len(right)))
    for part in parts(plan, left, *([] if which == "half" else [right])):
        a = sort_slices(left, part, dtype, n_jobs)
        with samples_called("Y"):
            b = a if which == "half" else sort_slices(right, part, dtype, n_jobs)
        _add(a, b, part.direction_weights, p, which, out, n_jobs)
    return out + out.T if which == "half" else out


def _add(
    a: SortedSlices, b: SortedSlices, weights: Array, p: int, which: Pairs, out: Array, n_jobs: int | None
) -> None:
    """Add what some directions contribute: to each pair direction by direction, whatever the blocks and threads."""
    compare = kernel("steps", "distances", a.values)

    def one(block: tuple[range, range]) -> None:
        rows, columns = _pairs(*block, which)
        where = rows if which == "paired" else (rows, columns)
        sums = out[where]
        try:
            compare(a, b, np.stack([rows, columns], axis=1), weights, p, sums)
        except SystemError as error:
            raise interrupt_of(error) from None
        out[where] = sums

    blocks = list(_blocks(len(a.even), len(b.even), which))
    deque(map_threads(one, blocks, thread_count(n_jobs, len(blocks))), maxlen=0)


def _blocks(n_rows: int, n_columns: int, which: Pairs) -> Iterator[tuple[range, range]]:
    """Cut all pairs into blocks of rows and columns; a single row takes as many pairs at a time as several do."""
    height = BLOCK**2 if which == "paired" else min(BLOCK, n_rows)
    width = BLOCK**2 // height
    for top in range(0, n_rows, height):
        rows = range(top, min(top + height, n_rows))
        if which == "paired":
            yield rows, rows
            continue
        for left in range(0, n_columns, width):
            columns = range(left, min(left + width, n_columns))
            if which == "all" or columns[-1] > top:
                yield rows, columns


def _pairs(rows: range, columns: range, which: Pairs) -> tuple[Array, Array]:
    """Row and column of every pair of a block."""
    if which == "paired":
        return np.array(rows), np.array(columns)
    i, j = (grid.ravel() for grid in np.meshgrid(rows, columns, indexing="ij"))
    kept = i < j if which == "half" else slice(None)
    return i[kept], j[kept]
