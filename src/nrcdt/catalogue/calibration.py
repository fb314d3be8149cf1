"""Whether a mark is in the collection at all: how near strangers come, measured on the collection itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..slices import Array
from .marks import Mark
from .ranking import Hit, Search, query_of_mark
from .store import Catalogue

N_STRANGERS = 100
N_REGISTERED = 5
# Two pictures of one mark overlap by more than this; different marks do not.
SAME_OVERLAP = 0.75
# How often a mark that is not in the collection may be taken for one that is.
FALSE_ALARMS = 0.05


def calibrate(search: Search, advance: Callable[[], None] = lambda: None) -> Array:
    """Find out how near marks come that are not the same, and keep it in the catalogue.

    For some marks of the collection, drawn at random, the best score of another one, without pairs that overlap so
    much, or were judged so, that they must be the same mark.

    Returns
    -------
    array of shape (n,), sorted scores
    """
    catalogue = search.catalogue
    numbers = catalogue.ids()
    chosen = np.random.default_rng(0).permutation(numbers)[:N_STRANGERS]
    same = {frozenset((one.a, one.b)) for one in catalogue.judgements() if one.verdict == "identical"}
    scores = []
    for mark in catalogue.numbered(chosen):
        strangers = [hit for hit in _others(search, mark) if not _same(mark, hit, same)]
        if strangers:
            scores.append(min(hit.score for hit in strangers))
        advance()
    catalogue.set_about("strangers", {"marks": len(numbers), "scores": sorted(scores)})
    return np.sort(scores)


def _others(search: Search, mark: Mark) -> list[Hit]:
    query = query_of_mark(search.catalogue, mark)
    return search.query(query, n=N_REGISTERED, n_registered=N_REGISTERED, without=mark.uid)


def _same(mark: Mark, hit: Hit, same: set[frozenset[str]]) -> bool:
    overlap = hit.registration.overlap if hit.registration else 0.0
    return overlap > SAME_OVERLAP or frozenset((mark.uid, hit.mark.uid)) in same


def chance(catalogue: Catalogue, score: float) -> float | None:
    """Return how often a mark that is not in the catalogue scores as well as this; None if it is not calibrated.

    Examples
    --------
    A catalogue without strangers cannot tell:

    >>> import tempfile
    >>> from pathlib import Path
    >>> with Catalogue(Path(tempfile.mkdtemp(), "marks.db"), create=True) as catalogue:
    ...     print(chance(catalogue, 0.5))
    ...     catalogue.set_about("strangers", {"marks": 4, "scores": [1.0, 2.0, 3.0, 4.0]})
    ...     chance(catalogue, 0.5), chance(catalogue, 2.5)
    None
    (0.2, 0.6)
    """
    known = catalogue.about("strangers")
    if not known or not known["scores"]:
        return None
    scores = known["scores"]
    return float((1 + np.searchsorted(scores, score, "right")) / (1 + len(scores)))


def in_collection(catalogue: Catalogue, hits: list[Hit]) -> bool | None:
    """Say whether the best hit is the mark itself; None where the catalogue is not calibrated or too small to tell."""
    if not hits or hits[0].registration is None:
        return None
    if hits[0].registration.overlap > SAME_OVERLAP:
        return hits[0].same_size is not False
    found = chance(catalogue, hits[0].score)
    known = catalogue.about("strangers")
    if found is None or len(known["scores"]) < 1 / FALSE_ALARMS - 1:
        return None
    return found <= FALSE_ALARMS and hits[0].same_size is not False


def verdict(catalogue: Catalogue, hits: list[Hit]) -> str:
    """Say in a sentence whether the best hit is the mark itself, and why."""
    if not hits:
        return "No mark matches the filters."
    best, found = hits[0], in_collection(catalogue, hits)
    if found is None or best.registration is None:
        return "The collection is too small, or not calibrated, to tell whether the mark is in it."
    if best.same_size is False:
        ratio = best.size_ratio
        return f"Probably not in this collection: {best.mark.name} is alike, but {ratio:.2f} times as large on paper."
    if best.registration.overlap > SAME_OVERLAP:
        return f"{best.mark.name} is probably the same mark: {best.registration.overlap:.0%} of the ink overlaps."
    share = chance(catalogue, best.score)
    if found:
        return f"{best.mark.name} is probably the same mark: {share:.1%} of marks that are not in it score as well."
    return (
        f"Probably not in this collection: {share:.0%} of marks that are not in it score as well as {best.mark.name}."
    )
