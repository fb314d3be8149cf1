"""All features in memory, and the exact nearest neighbours among them."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..scales import BlockScales
from .intake import PLAN
from .model import Filter
from .store import Store

CHUNK = 65536  # rows of features at a time: 75 MB


class Neighbours(NamedTuple):
    """Numbers of marks, nearest first, and their distances."""

    ids: Array
    distances: Array


class _Held(NamedTuple):
    """Features in units of the scales, with the squares of their lengths; ids ascending."""

    generation: int
    ids: Array
    vectors: Array
    squares: Array
    scales: Array


class Index:
    """Nearest neighbours in a catalogue, by features in which every block counts the same.

    A block is divided by its root mean square length over the collection, so that catalogues can be merged without
    touching the features. Loaded when first asked, and again when the catalogue has changed.
    """

    def __init__(self, catalogue: Store) -> None:
        self.catalogue = catalogue
        self._lock = threading.Lock()
        self._loaded = lru_cache(1)(self._load)

    def held(self) -> _Held:
        """Return the features, up to date."""
        with self._lock:
            return self._loaded(self.catalogue.generation())

    def _load(self, generation: int) -> _Held:
        self.catalogue.check_settings()
        n_marks = len(self.catalogue)
        ids, vectors = np.empty(n_marks, np.int64), np.empty((n_marks, PLAN.n_features), np.float32)
        n = after = 0
        while len((some := self.catalogue.vectors(after, min(CHUNK, n_marks - n)))[0]):
            part = slice(n, n + len(some[0]))
            ids[part], vectors[part] = some
            n, after = part.stop, int(ids[part.stop - 1])
        ids, vectors = ids[:n], vectors[:n]
        scales = _scales(vectors)
        vectors /= scales
        return _Held(generation, ids, vectors, np.einsum("np,np->n", vectors, vectors), scales)

    def sample(self, n: int) -> tuple[Array, Array]:
        """Return numbers and features of up to `n` marks, the same ones whatever order they were added in."""
        held = self.held()
        chosen = np.array(self.catalogue.sample(n), np.int64)
        chosen = chosen[np.isin(chosen, held.ids)]
        return chosen, held.vectors[np.searchsorted(held.ids, chosen)]

    def nearest(self, features: Array, n: int, wanted: Filter = Filter()) -> Neighbours:  # noqa: B008
        """Return the `n` marks whose features are nearest, among those that are wanted."""
        held = self.held()
        if len(held.ids) == 0:
            return Neighbours(held.ids, np.empty(0, np.float32))
        query = features / held.scales
        squares = held.squares - 2 * (held.vectors @ query)
        if not wanted.all:
            squares[~np.isin(held.ids, self.catalogue.ids(wanted))] = np.inf
        n = min(n, int(np.isfinite(squares).sum()))
        best = np.argpartition(squares, n - 1)[:n] if n else np.empty(0, int)
        # Once more without cancellation, so that a mark is at distance 0 of itself.
        distances = np.linalg.norm(held.vectors[best] - query, axis=1)
        order = np.lexsort((held.ids[best], distances))
        return Neighbours(held.ids[best][order], distances[order])


def _scales(vectors: Array) -> Array:
    """Root mean square length of every block, repeated for its features."""
    scales = BlockScales(PLAN.block_sizes)
    for start in range(0, len(vectors), CHUNK):
        scales.partial_fit(vectors[start : start + CHUNK])
    return np.repeat(scales.scales_ * np.sqrt(PLAN.block_sizes), PLAN.block_sizes).astype(np.float32)
