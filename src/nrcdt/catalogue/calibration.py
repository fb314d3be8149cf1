"""Whether a mark is in the collection at all: how near strangers come, measured on the collection itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from .model import Filter, Mark
from .ranking import Hit, Search, query_of_mark
from .store import Store
from .wording import times

N_STRANGERS = 100  # they tell shares of strangers to a hundredth; FALSE_ALARMS needs 19 of them
N_REGISTERED = 5
# Two pictures of one mark overlap by more than this; different marks do not.
SAME_OVERLAP = 0.75
# How often a mark that is not in the collection may be taken for one that is.
FALSE_ALARMS = 0.05
# Ink that was found with less confidence than this may be something else.
DOUBTFUL = 0.5


def calibrate(search: Search, advance: Callable[[], None] = lambda: None) -> Array:
    """Find out how near marks come that are not the same, and keep it in the catalogue.

    Return, for a sample of the marks, the best scores of another one, sorted, without pairs that overlap so much, or
    were judged so, that they must be the same mark.
    """
    catalogue = search.catalogue
    same = {frozenset((one.a, one.b)) for one in catalogue.judgements() if one.verdict == "identical"}
    scores = []
    for mark in catalogue.numbered(catalogue.sample(N_STRANGERS)):
        query = query_of_mark(catalogue, mark)
        others = search.query(query, n=N_REGISTERED, n_registered=N_REGISTERED, without=mark.uid)
        others = [hit for hit in others if not _covers(hit) and frozenset((mark.uid, hit.mark.uid)) not in same]
        scores += [hit.score for hit in others if hit.score][:1]
        advance()
    catalogue.set_about("strangers", {"marks": len(catalogue), "scores": sorted(scores)})
    return np.sort(scores)


def calibrate_again(search: Search, progress: Callable[[str, int], Any]) -> None:
    """Calibrate, under a progress bar, if the collection has grown or shrunk by a tenth since this was last done."""
    n_marks, known = len(search.catalogue), (search.catalogue.about("strangers") or {"marks": 0})["marks"]
    if n_marks > 1 and abs(n_marks - known) > 0.1 * known:
        with progress("calibration", min(N_STRANGERS, n_marks)) as advance:
            calibrate(search, advance)


def chance(catalogue: Store, score: float) -> float | None:
    """Return how often a mark that is not in the catalogue scores as well as this; None if it is not calibrated.

    Examples
    --------
    A catalogue without strangers cannot tell:

    >>> import tempfile
    >>> from pathlib import Path
    >>> with Store(Path(tempfile.mkdtemp(), "marks.db"), create=True) as catalogue:
    ...     print(chance(catalogue, 0.5))
    ...     catalogue.set_about("strangers", {"marks": 4, "scores": [1.0, 2.0, 3.0, 4.0]})
    ...     chance(catalogue, 0.5), chance(catalogue, 2.5)
    None
    (0.2, 0.6)
    """
    scores = (catalogue.about("strangers") or {}).get("scores")
    return None if not scores else float((1 + np.searchsorted(scores, score, "right")) / (1 + len(scores)))


def in_collection(catalogue: Store, hits: Sequence[Hit], confidence: float = 1.0) -> bool | None:
    """Say whether one of the hits is the mark itself.

    None where nobody can tell: the catalogue is not calibrated or too small, or the ink that was looked for was found
    with little `confidence`, and lies on no mark.
    """
    best = _best(hits)
    if best is not None and _covers(best):
        return True
    if not hits or hits[0].registration is None or confidence < DOUBTFUL:
        return None
    if _covers(hits[0]):
        return False
    found = chance(catalogue, (best or hits[0]).score or 0.0)
    if found is None or len(catalogue.about("strangers")["scores"]) < 1 / FALSE_ALARMS - 1:
        return None
    return best is not None and found <= FALSE_ALARMS


def _best(hits: Sequence[Hit]) -> Hit | None:
    """Return the best hit that has the right size, as far as anybody knows."""
    return next((hit for hit in hits if hit.registration is not None and hit.same_size is not False), None)


def _covers(hit: Hit) -> bool:
    """Tell whether so much ink overlaps that it must be the same drawing, whatever its size."""
    return (hit.overlap or 0) > SAME_OVERLAP


def verdict(
    catalogue: Store,
    hits: Sequence[Hit],
    confidence: float = 1.0,
    wanted: Filter = Filter(),  # noqa: B008
    mark: Mark | None = None,
) -> str:
    """Say in a sentence whether a mark is there, and why.

    The hits come best first, passed `wanted`, and are the relatives of a `mark` of the catalogue, if one is given;
    otherwise of ink that was found with some `confidence`.
    """
    if not hits:
        return "No mark matches the filters." if wanted != Filter() else "There is no other mark in this catalogue."
    found, best = in_collection(catalogue, hits, confidence), _best(hits)
    absent = "Probably not in this collection" if mark is None else "Probably no other picture of this mark is there"
    absent = absent if wanted == Filter() else "Probably not among the marks that the filters let through"
    if found is None and confidence < DOUBTFUL:
        return "The ink is doubtful, and so is what was found: cut the picture to the motif, or choose its polarity."
    if found is None:
        return "The collection is too small, or not calibrated, to tell whether the mark is in it."
    if found and best is not None and _covers(best):
        return f"{best.mark.name} is probably the same mark: {best.overlap:.0%} of the ink overlaps."
    if hits[0].stretch is not None and _covers(hits[0]):
        return f"{absent}: {hits[0].mark.name} is alike, but {times(hits[0].stretch)} as large on paper."
    near = best or hits[0]
    share = chance(catalogue, near.score or 0.0)
    if found:
        return f"{near.mark.name} is probably the same mark: {share:.1%} of marks that are not in it score as well."
    return f"{absent}: {share:.0%} of marks that are not in it score as well as {near.mark.name}."
