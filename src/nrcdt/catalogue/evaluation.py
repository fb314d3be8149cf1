"""How far a catalogue's answers can be trusted: measured on the catalogue itself."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..datasets import distorted, photograph
from ..registration import warp
from ..whole_files import write_whole
from .calibration import in_collection
from .intake import prepare
from .model import Mark
from .ranking import Search, ink_of, query_of, query_of_mark, write_ink

RANKS = (1, 5, 10)
SHEET = 256
SHARE_OF_SHEET = 0.6


class Row(NamedTuple):
    """Recall at ranks 1, 5, 10 and mean average precision of some queries; `n` is how many."""

    group: str
    n: int
    recall: tuple[float, ...]
    precision: float


def leave_one_out(
    search: Search,
    *,
    n_queries: int = 1000,
    registered: bool = True,
    advance: Callable[[], None] = lambda: None,
    without: Sequence[str] = (),
) -> list[tuple[Mark, list[bool]]]:
    """Look for the motif of marks among all others.

    At most `n_queries` marks are asked for, drawn at random among those whose motif has other members; `without` are
    motifs that are none, such as "other". The shortlist may be `registered` and ranked again, as in a query.

    Returns
    -------
    list of (mark, hits): for every mark that was asked for, which of the others, best first, are of its motif
    """
    catalogue = search.catalogue
    motifs = catalogue.motifs()
    members = {motif for motif, n in catalogue.values_of("motif") if motif and n > 1 and motif not in without}
    asked = [number for number, motif in motifs.items() if motif in members]
    chosen = [asked[n] for n in np.sort(np.random.default_rng(0).permutation(len(asked))[:n_queries])]
    found = []
    for number, mark in zip(chosen, catalogue.numbered(chosen), strict=True):
        query = query_of_mark(catalogue, mark)
        nearest = search.index.nearest(query.features, len(motifs)).ids.tolist()
        order = [motifs[n] for n in nearest if n != number]
        if registered:
            hits = search.query(query, without=mark.uid)
            order[: len(hits)] = [hit.mark.motif for hit in hits]
        found.append((mark, [motif == mark.motif for motif in order]))
        advance()
    return found


def table(found: Iterable[tuple[Mark, list[bool]]], by: str = "") -> list[Row]:
    """Average what was found, over all marks or by motif or method.

    Examples
    --------
    >>> from collections import namedtuple
    >>> mark = namedtuple("Mark", "motif")("key")
    >>> table([(mark, [True, False, False]), (mark, [False, True, False])])
    [Row(group='all', n=2, recall=(0.5, 1.0, 1.0), precision=0.75)]
    """
    groups: dict[str, list[list[bool]]] = defaultdict(list)
    for mark, hits in found:
        groups[getattr(mark, by) if by else "all"].append(hits)
    rows = []
    for group, lists in sorted(groups.items()):
        recall = tuple(float(np.mean([any(hits[:rank]) for hits in lists])) for rank in RANKS)
        rows.append(Row(group, len(lists), recall, float(np.mean([*map(_average_precision, lists)]))))
    return rows


def _average_precision(hits: list[bool]) -> float:
    places = np.flatnonzero(hits)
    return float(np.mean(np.arange(1, len(places) + 1) / (places + 1))) if len(places) else 0.0


class Copies(NamedTuple):
    """Simulated photographs of marks of the collection, looked for in it.

    `n` of them; recall of the mark itself at ranks 1, 5, 10; `recognised`: how many are said to be in the collection;
    `strangers`: how many are said so when the mark itself is taken out.
    """

    n: int
    recall: tuple[float, ...]
    recognised: float | None
    strangers: float | None


def photographed(search: Search, n_copies: int, advance: Callable[[], None] = lambda: None) -> Copies | None:
    """Distort marks of the collection by random affine maps, photograph them, and look for them."""
    catalogue, rng = search.catalogue, np.random.default_rng(0)
    ranks, known, unknown = [], [], []
    for mark in catalogue.numbered(rng.permutation(catalogue.ids())[:n_copies]):
        picture = photograph_of(ink_of(catalogue, mark), int(rng.integers(2**31)))
        try:
            query = query_of(prepare(picture))
        except ValueError:  # no ink is found: not recognised
            ranks.append(len(catalogue))
        else:
            hits = search.query(query)
            order = [hit.mark.uid for hit in hits]
            ranks.append(order.index(mark.uid) if mark.uid in order else len(catalogue))
            known.append(in_collection(catalogue, hits))
            unknown.append(in_collection(catalogue, [hit for hit in hits if hit.mark.uid != mark.uid]))
        advance()
    if not ranks:
        return None
    recall = tuple(float(np.mean(np.array(ranks) < rank)) for rank in RANKS)
    return Copies(len(ranks), recall, _share(known, len(ranks)), _share(unknown, len(ranks)))


def _share(answers: list[bool | None], n: int) -> float | None:
    return None if not answers or None in answers else sum(map(bool, answers)) / n


def photograph_of(ink: Array, random_state: int) -> bytes:
    """Put a mark on a sheet, distort it by a random affine map, and photograph it: the bytes of a PNG file."""
    scale = min(1.0, SHARE_OF_SHEET * SHEET / max(ink.shape))
    middle = [(SHEET - scale * side) / 2 for side in ink.shape]
    sheet = warp(ink / 255, np.array([[scale, 0, middle[1]], [0, scale, middle[0]]]), (SHEET, SHEET))
    copy = distorted(sheet[np.newaxis], 1, random_state=random_state, shift=(-5, 5))[0]
    picture = photograph(copy, "all", random_state=random_state)[0]
    return write_ink(np.rint(255 * np.clip(picture, 0, 1)).astype(np.uint8))


class Evaluation(NamedTuple):
    """Rows for all marks, by motif and by method, by features alone and after registration; and copies."""

    rows: list[tuple[str, Row]]
    copies: Copies | None

    def sentences(self) -> list[str]:
        """Say how photographs of marks of the collection fare."""
        if self.copies is None:
            return []
        recall = ", ".join(f"@{rank} {value:.3f}" for rank, value in zip(RANKS, self.copies.recall, strict=True))
        lines = [f"The mark itself, from {self.copies.n} simulated photographs: recall {recall}."]
        if self.copies.recognised is not None and self.copies.strangers is not None:
            known = f"{self.copies.recognised:.1%} of them, and {self.copies.strangers:.1%} when the mark is taken out"
            lines.append(f"Said to be in the collection: {known}.")
        return lines


def evaluate(
    search: Search,
    n_queries: int = 200,
    n_copies: int = 50,
    advance: Callable[[], None] = lambda: None,
    without: Sequence[str] = (),
) -> Evaluation:
    """Measure how well a catalogue answers: by leave-one-out for motifs, by simulated photographs for marks."""
    plain = leave_one_out(search, n_queries=n_queries, registered=False, advance=advance, without=without)
    ranked = leave_one_out(search, n_queries=n_queries, advance=advance, without=without)
    rows = [("features alone", row) for row in table(plain)] + [("registered", row) for row in table(ranked)]
    for by in ("motif", "method"):
        groups = table(ranked, by)
        rows += [(by, row) for row in groups] if len(groups) > 1 else []
    return Evaluation(rows, photographed(search, n_copies, advance) if n_copies else None)


def rich_table(found: Evaluation) -> Any:
    """Return the rows as a table for the terminal."""
    from rich.table import Column, Table

    names = (Column(name, overflow="fold") for name in ("", "group"))
    out = Table(*names, "queries", *(f"recall@{rank}" for rank in RANKS), "mAP", title="Motifs, leaving one out")
    for kind, row in found.rows:
        numbers = (*row.recall, row.precision)
        out.add_row(kind, row.group.replace("[", r"\["), str(row.n), *(f"{value:.3f}" for value in numbers))
    return out


def save(found: Evaluation, target: Path) -> None:
    """Write an evaluation as JSON."""
    rows = [{"kind": kind, **row._asdict()} for kind, row in found.rows]
    values = {"rows": rows, "copies": found.copies._asdict() if found.copies else None}
    write_whole(target, json.dumps(values, indent=1).encode())
