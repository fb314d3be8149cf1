"""From features to a ranked shortlist: nearest neighbours first, then each laid over the query."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..distances import aligned
from ..registration import Registration, register_all
from ..slices import Array
from .index import Index
from .marks import Filter, Mark
from .store import Catalogue

SHORTLIST = 50
# A unit of overlap counts as much as two usual distances; see docs/catalogue.md for what that buys.
OVERLAP_WEIGHT = 2.0
N_PAIRS = 400
N_ALIGNED = 40
# Paper shrinks and pictures are scaled by hand: the same mark keeps its size within this factor.
SAME_SIZE = 1.1


class Query(NamedTuple):
    """A mark to look for: its ink, its features, and millimetres per pixel of the ink if known."""

    mark: Array
    features: Array
    mm_per_pixel: float | None = None


class Hit(NamedTuple):
    """A mark of the catalogue, seen from a query.

    Attributes
    ----------
    mark : Mark
    score : float
        Low for marks that are alike: sum of the distance and the residual, in units of what is usual in the catalogue,
        and twice the share that does not overlap. Of hits that were not registered, the distance alone.
    distance : float, between features
    registration : Registration from pixels of the query's mark to those of this one, or None
    size_ratio : float or None
        How many times larger this mark is on paper; None unless both pictures have a scale.
    """

    mark: Mark
    score: float
    distance: float
    registration: Registration | None
    size_ratio: float | None

    @property
    def same_size(self) -> bool | None:
        """Whether the sizes on paper agree; None if unknown."""
        return None if self.size_ratio is None else 1 / SAME_SIZE <= self.size_ratio <= SAME_SIZE


class Units(NamedTuple):
    """What distances between features, and residuals of alignments, are usual in a catalogue."""

    distance: float
    residual: float


def query_of(prepared: Any) -> Query:
    """Return what to look for, from what `prepare` found in a picture."""
    unit = None if prepared.mm_per_pixel is None else prepared.mm_per_pixel / prepared.to_mark[0]
    return Query(prepared.mark, prepared.features, unit)


def query_of_mark(catalogue: Catalogue, mark: Mark) -> Query:
    """Return a mark of the catalogue as something to look for."""
    unit = None if mark.mm_per_pixel is None else mark.mm_per_pixel / mark.to_mark[0]
    return Query(read_ink(catalogue.picture(mark.uid, "mark") or b""), catalogue.vector(mark.uid), unit)


def read_ink(png: bytes) -> Array:
    """Read the image of ink that the catalogue stores."""
    from PIL import Image

    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        return np.asarray(picture)


def write_ink(mark: Array) -> bytes:
    """Write an image of ink, of dtype uint8, as the catalogue stores it.

    Examples
    --------
    >>> read_ink(write_ink(np.eye(3, dtype=np.uint8))).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(mark).save(file, "PNG", compress_level=4)
    return file.getvalue()


class Search:
    """Finds the relatives of a mark in a catalogue; keeps its features in memory from one query to the next.

    Parameters
    ----------
    catalogue : Catalogue
    n_jobs : threads for registration, as in scikit-learn
    """

    def __init__(self, catalogue: Catalogue, n_jobs: int | None = -1) -> None:
        self.catalogue = catalogue
        self.index = Index(catalogue)
        self.n_jobs = n_jobs
        self._units: tuple[int, Units] | None = None

    def query(
        self,
        query: Query,
        wanted: Filter = Filter(),  # noqa: B008
        *,
        n: int = SHORTLIST,
        n_registered: int = SHORTLIST,
        without: str | None = None,
    ) -> list[Hit]:
        """Return the `n` best hits, best first; `without` is a mark to leave out, such as the query itself.

        The nearest `n_registered` by features are registered and ranked again; the rest follow by distance.
        """
        found = self.index.nearest(query.features, max(n, n_registered) + (without is not None), wanted)
        pairs = list(zip(self.catalogue.numbered(found.ids), found.distances.tolist(), strict=True))
        pairs = [pair for pair in pairs if pair[0].uid != without]
        first, rest = pairs[:n_registered], pairs[n_registered:]
        hits = self._registered(query, first) if first else []
        hits += [Hit(mark, distance, distance, None, None) for mark, distance in rest]
        return hits[:n]

    def _registered(self, query: Query, pairs: Sequence[tuple[Mark, float]]) -> list[Hit]:
        inks = [read_ink(self.catalogue.picture(mark.uid, "mark") or b"") for mark, _ in pairs]
        found = register_all(query.mark, inks, refine=True, n_jobs=self.n_jobs)
        units = self.units()
        hits = [
            Hit(
                mark,
                distance / units.distance + one.residual / units.residual + OVERLAP_WEIGHT * (1 - one.overlap),
                distance,
                one,
                size_ratio(query, mark, one.matrix),
            )
            for (mark, distance), one in zip(pairs, found, strict=True)
        ]
        return sorted(hits, key=lambda hit: hit.score)

    def units(self) -> Units:
        """Return the medians of distances and residuals between marks of the catalogue, from a fixed sample."""
        held = self.index.held()
        if self._units is None or self._units[0] != held.generation:
            self._units = held.generation, self._measured_units()
        return self._units[1]

    def _measured_units(self) -> Units:
        held = self.index.held()
        if len(held.ids) < 2:
            return Units(1.0, 1.0)
        chosen = np.random.default_rng(0).permutation(len(held.ids))
        some = held.vectors[chosen[:N_PAIRS]]
        distances = np.linalg.norm(some[: len(some) // 2] - some[-(len(some) // 2) :], axis=1)
        marks = self.catalogue.numbered(held.ids[chosen[:N_ALIGNED]])
        inks = [read_ink(self.catalogue.picture(mark.uid, "mark") or b"") for mark in marks]
        residuals = aligned(inks, n_jobs=self.n_jobs)[np.triu_indices(len(inks), 1)]
        return Units(float(np.median(distances)) or 1.0, float(np.median(residuals)) or 1.0)


def size_ratio(query: Query, mark: Mark, matrix: Array) -> float | None:
    """Return how many times as large a mark is on paper, by a map to it from a query; None if either has no scale."""
    if query.mm_per_pixel is None or mark.mm_per_pixel is None:
        return None
    there = mark.mm_per_pixel / mark.to_mark[0]
    return float(np.sqrt(abs(np.linalg.det(matrix[:, :2]))) * there / query.mm_per_pixel)
