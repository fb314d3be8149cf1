"""Checked measures, packed: images of one shape are a stack, clouds are points one after the other.

Kernels of a graphics card see such a batch as a whole; those of the processor take it sample by sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from .images import floats
from .points import Cloud
from .values import float_type

STACK_BYTES = 2**18  # measures that lie apart are copied into a pack of no more than this, which stays in the cache


@dataclass(frozen=True)
class Points:
    """Clouds of points with weights, packed.

    Attributes
    ----------
    points : array of shape (n_points, ...), cloud after cloud
    weights : array of shape (n_points,), or None for equal weights
    offsets : where each cloud begins, and where the last one ends
    """

    points: Array
    weights: Array | None
    offsets: Sequence[int]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Cloud:
        where = slice(self.offsets[i], self.offsets[i + 1])
        return Cloud(self.points[where], None if self.weights is None else self.weights[where])

    def __iter__(self) -> Iterator[Cloud]:
        return map(self.__getitem__, range(len(self)))

    @classmethod
    def of(cls, clouds: Sequence[Cloud]) -> Points:
        """Pack clouds that are alike."""
        if len(clouds) == 1:
            [(points, weights)] = clouds
            return cls(points, weights, (0, len(points)))
        points = np.concatenate([cloud.points for cloud in clouds])
        weights = None if clouds[0].weights is None else np.concatenate([cloud.weights for cloud in clouds])
        return cls(points, weights, np.cumsum([0, *(len(cloud.points) for cloud in clouds)]).tolist())


Batch = Array | Points
Measures = Array | Sequence[Any]  # checked, one or many arrays or clouds


def pack(measures: Measures) -> Batch:
    """Pack measures that are alike: images become a stack of shape (n_samples, height, width), clouds `Points`.

    Examples
    --------
    >>> pack([np.ones((2, 3)), np.zeros((2, 3))]).shape
    (2, 2, 3)
    >>> pack([Cloud(np.ones((5, 2)), None), Cloud(np.ones((4, 2)), None)]).offsets
    [0, 5, 9]
    """
    if isinstance(measures, np.ndarray):
        return measures
    if isinstance(measures[0], Cloud):
        return Points.of(measures)
    return measures[0][np.newaxis] if len(measures) == 1 else np.stack(measures)


def cut(measures: Measures, longest: Callable[[int], int]) -> Iterator[tuple[int, int]]:
    """Yield the ends of runs of measures that can be packed, none longer than `longest` says of those that are left.

    Measures are alike where kernels treat them alike: images of one shape and dtype, clouds of one dimension and
    dtype with or without weights. What has to be copied to be packed is packed a little at a time.
    """
    start, n_measures = 0, len(measures)
    while start < n_measures:
        n = longest(n_measures - start)
        if n > 1 and not (isinstance(measures, np.ndarray) and measures.flags.c_contiguous):
            n = min(n, max(1, STACK_BYTES // _size(measures[start])))
        if n > 1 and not isinstance(measures, np.ndarray):
            n = _run(measures[start : start + n])
        yield start, start + n
        start += n


def _run(measures: Sequence[Any]) -> int:
    """Return how many measures from the first one on are alike, and small enough to be packed together."""
    kind, n_bytes = _kind(measures[0]), 0
    for n, measure in enumerate(measures):
        n_bytes += _size(measure)
        if n and (n_bytes > STACK_BYTES or _kind(measure) != kind):
            return n
    return len(measures)


def _size(measure: Any) -> int:
    """Return the size of a measure in bytes, without its weights."""
    return int(measure.nbytes if isinstance(measure, np.ndarray) else measure.points.nbytes)


def _kind(measure: Any) -> tuple[Any, ...]:
    if isinstance(measure, np.ndarray):
        return measure.shape, measure.dtype
    return measure.points.shape[1:], measure.points.dtype, measure.weights is None


def dtype_of(measures: Measures | Batch) -> Any:
    """Return the dtype in which measures are transformed, which is one for all of a batch."""
    if isinstance(measures, np.ndarray):
        return float_type(measures.dtype)
    if isinstance(measures, Points):
        return measures.points.dtype
    kinds = {one.dtype if isinstance(one, np.ndarray) else one.points.dtype for one in measures}
    return np.result_type(*map(float_type, kinds))


def each(batch: Batch) -> Iterator[Any]:
    """Yield the measures of a batch in floats."""
    return map(floats, batch)
