"""The only thing that is learnt: the scales that make the blocks of a list of aggregations comparable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .arrays import Array, like
from .errors import InputError

UNIT = 2**1074  # all floats are whole multiples of 1 / UNIT, so that sums in these units are exact


class BlockScales:
    """Root mean squares of blocks of features, learnt batch by batch.

    Sums are exact: the scales are the same bits in whatever batches and order the samples come.

    Parameters
    ----------
    block_sizes : number of features in each block; blocks stand side by side

    Attributes
    ----------
    scales_ : array of shape (n_blocks,)
        Root mean squares; one where a block holds zeros only, or nothing has been learnt.
    n_samples : how many samples it has learnt from

    Examples
    --------
    >>> scales = BlockScales([1, 2]).partial_fit(np.array([[3.0, 0.0, 0.0]])).partial_fit(np.array([[4.0, 2.0, 2.0]]))
    >>> scales.scales_.round(3), scales.transform(np.array([[1.0, 1.0, 1.0]])).round(3)
    (array([3.536, 1.414]), array([[0.283, 0.707, 0.707]]))
    """

    def __init__(self, block_sizes: Sequence[int]) -> None:
        self.block_sizes = tuple(block_sizes)
        self._sums = [0] * len(self.block_sizes)
        self.n_samples = 0

    def partial_fit(self, features: Array) -> Self:
        """Count features of shape (n_samples, n_features)."""
        for k, block in enumerate(self._blocks(features)):
            means = np.mean(np.square(np.ascontiguousarray(block), dtype=np.float64), axis=1)
            if not np.isfinite(means).all():
                got = f"{np.abs(block).max():g}"
                raise InputError(
                    f"features of block {k}", "have finite squares to be scaled", got, "Choose other units."
                )
            for numerator, denominator in map(float.as_integer_ratio, means.tolist()):
                self._sums[k] += numerator * (UNIT // denominator)
        self.n_samples += len(features)
        return self

    @property
    def scales_(self) -> Array:
        """Root mean squares of the blocks."""
        return np.array([np.sqrt(total / (self.n_samples * UNIT)) if total else 1.0 for total in self._sums])

    def transform(self, features: Any) -> Any:
        """Divide blocks by their scales."""
        factors = like(np.repeat(self.scales_, self.block_sizes), features)
        return features / factors

    def _blocks(self, features: Array) -> list[Array]:
        return np.split(features, np.cumsum(self.block_sizes)[:-1], axis=1)
