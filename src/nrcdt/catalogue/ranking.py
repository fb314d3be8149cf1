"""From features to a ranked shortlist: nearest neighbours first, then each laid over the query."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from ..arrays import Array
from ..distances import aligned
from ..errors import InputError, samples_called
from ..registration import PreparedImage, Registration, prepare_image, register
from .index import Index
from .model import Filter, Mark
from .recent import Recent
from .store import Store

SHORTLIST = 50
# A unit of overlap counts as much as two usual distances; see docs/catalogue.md for what that buys.
OVERLAP_WEIGHT = 2.0
N_PAIRS = 400
N_ALIGNED = 40
# A mark prepared for registration takes 0.3 MB, 1.5 MB if it fills its square: some 400 of them are kept.
KEPT_BYTES = 128_000_000
# Paper shrinks and pictures are scaled by hand: the same mark keeps its size within this factor. Sheets are not
# photographed quite from above: in each direction it keeps it within the second.
SAME_SIZE, SAME_LENGTH = 1.1, 1.2


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
    score : float or None
        Low for marks that are alike: sum of the distance and the residual, in units of what is usual in the catalogue,
        and twice the share that does not overlap. None for hits that were not registered,
        because they are too far down the list or their ink is damaged.
    distance : float, between features
    registration : Registration from pixels of the query's ink to those of this mark's, or None
    stretch : (float, float) or None
        How many times longer this mark is on paper, in the direction where that is least and where it is most; None
        unless both pictures have a scale.
    rank : 1 for the best
    """

    mark: Mark
    score: float | None
    distance: float
    registration: Registration | None
    stretch: tuple[float, float] | None
    rank: int = 0

    @property
    def name(self) -> str:
        """What the mark is called."""
        return self.mark.name

    @property
    def motif(self) -> str:
        """What it shows."""
        return self.mark.motif

    @property
    def overlap(self) -> float | None:
        """Share of the ink that lies over each other, of what either has; None for hits that were not registered."""
        return None if self.registration is None else self.registration.overlap

    @property
    def map(self) -> Array | None:
        """Affine map, of shape (2, 3), from pixels (x, y) of the query's ink to those of this mark's, or None."""
        return None if self.registration is None else self.registration.matrix

    @property
    def size_ratio(self) -> float | None:
        """How many times larger this mark is on paper, on average; None if unknown."""
        return None if self.stretch is None else float(np.sqrt(self.stretch[0] * self.stretch[1]))

    @property
    def same_size(self) -> bool | None:
        """Whether the sizes on paper agree; None if unknown."""
        return None if self.stretch is None else sizes_agree(self.stretch)


def query_of(prepared: Any) -> Query:
    """Return what to look for, from what `prepare` found in a picture."""
    return Query(prepared.mark, prepared.features, prepared.unit)


def query_of_mark(catalogue: Store, mark: Mark) -> Query:
    """Return a mark of the catalogue as something to look for."""
    return Query(ink_of(catalogue, mark), catalogue.vector(mark.uid), mark.unit)


def ink_of(catalogue: Store, mark: Mark) -> Array:
    """Return the image of ink that the catalogue stores of a mark."""
    try:
        return read_ink(catalogue.picture(mark.uid, "mark") or b"")
    except Exception:  # whatever a decoder makes of damaged bytes
        where, path = f"the ink of {mark.uid} ({mark.name})", catalogue.path
        mend = f"Read it again as nrcdt catalogue verify {path} says, or take it out"
        remedy = f"{mend}: nrcdt catalogue remove {path} {mark.uid}"
        raise InputError(where, "be a picture", "damaged bytes", remedy) from None


def read_ink(png: bytes) -> Array:
    """Read the image of ink that the catalogue stores."""
    from PIL import Image

    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        return np.asarray(picture)


def write_ink(mark: Array) -> bytes:
    """Write an image of ink, of dtype uint8, as the catalogue stores it: the bytes of a PNG file.

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
    catalogue : Store
    n_jobs : threads for registration, as in scikit-learn
    """

    def __init__(self, catalogue: Store, n_jobs: int | None = -1) -> None:
        self.catalogue = catalogue
        self.index = Index(catalogue)
        self.n_jobs = n_jobs
        self._usual = lru_cache(1)(self._measured_units)  # as long as the catalogue stays as it is
        self._kept: Recent[PreparedImage] = Recent(10_000, KEPT_BYTES, lambda one: one.nbytes)

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
        hits += [Hit(mark, None, distance, None, None) for mark, distance in rest]
        return [hit._replace(rank=rank) for rank, hit in enumerate(hits[:n], 1)]

    def _registered(self, query: Query, pairs: Sequence[tuple[Mark, float]]) -> list[Hit]:
        """Lay marks over a query, each in a thread, and rank them; damaged ones come last."""
        image, generation = prepare_image(query.mark, refine=True), self.index.held().generation
        usual_distance, usual_residual = self._usual(generation)

        def laid_over(mark: Mark, distance: float) -> Hit:
            other = self._prepared(mark, generation)
            if other is None:
                return Hit(mark, None, distance, None, None)
            found = register(image, other, refine=True)
            apart = distance / usual_distance + found.residual / usual_residual
            score = apart + OVERLAP_WEIGHT * (1 - found.overlap)
            return Hit(mark, score, distance, found, stretch_on_paper(query, mark, found.matrix))

        hits = Parallel(n_jobs=self.n_jobs, backend="threading")(delayed(laid_over)(*pair) for pair in pairs)
        return sorted(hits, key=lambda hit: np.inf if hit.score is None else hit.score)

    def _prepared(self, mark: Mark, generation: int) -> PreparedImage | None:
        """Return a mark as it is registered; it is prepared once, as long as the catalogue stays as it is."""
        key = f"{generation} {mark.uid}"
        image = self._kept.get(key)
        if image is None and (ink := self._ink(mark)) is not None:
            image = prepare_image(ink, refine=True)
            self._kept.put(key, image)
        return image

    def _ink(self, mark: Mark) -> Array | None:
        """Return the ink of a mark; None where it is damaged, which is no reason not to find the others."""
        with suppress(ValueError):
            return ink_of(self.catalogue, mark)
        return None

    def _measured_units(self, generation: int) -> tuple[float, float]:
        """Return the medians of distances and residuals between marks of the catalogue, from a fixed sample."""
        chosen, some = self.index.sample(N_PAIRS)
        if len(chosen) < 2:
            return 1.0, 1.0
        distances = np.linalg.norm(some[: len(some) // 2] - some[-(len(some) // 2) :], axis=1)
        marks = self.catalogue.numbered(chosen[:N_ALIGNED])
        inks = [ink for ink in map(self._ink, marks) if ink is not None]
        with samples_called(None):
            residuals = aligned(inks, n_jobs=self.n_jobs)[np.triu_indices(len(inks), 1)] if len(inks) > 1 else [1.0]
        return float(np.median(distances)) or 1.0, float(np.median(residuals)) or 1.0


def stretch_on_paper(query: Query, mark: Mark, matrix: Array) -> tuple[float, float] | None:
    """Return how many times as long a mark is on paper as a query, at least and at most; None if one has no scale."""
    if query.mm_per_pixel is None or mark.unit is None:
        return None
    return stretch(matrix, mark.unit / query.mm_per_pixel)


def stretch(matrix: Array, factor: float = 1.0) -> tuple[float, float]:
    """Return by how much a map and then a factor make lengths grow, at least and at most.

    Examples
    --------
    >>> stretch(np.array([[0.0, 2.0, 5.0], [0.5, 0.0, 5.0]]), 2)
    (1.0, 4.0)
    """
    most, least = np.linalg.svd(np.asarray(matrix, dtype=np.float64)[:, :2], compute_uv=False) * factor
    return float(least), float(most)


def sizes_agree(stretch: tuple[float, float]) -> bool:
    """Tell whether lengths that grow by these factors, at least and at most, may be those of one mark.

    Examples
    --------
    >>> sizes_agree((0.98, 1.05)), sizes_agree((0.74, 1.35)), sizes_agree((1.5, 1.5))
    (True, False, False)
    """
    least, most = stretch
    on_average = np.sqrt(least * most)
    return bool(1 / SAME_SIZE <= on_average <= SAME_SIZE and least >= 1 / SAME_LENGTH and most <= SAME_LENGTH)
