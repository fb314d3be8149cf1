"""Lists to take away: marks, hits and judgements as CSV and JSON."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from .model import METADATA, Filter, Mark
from .ranking import Hit
from .store import Judgement, Store
from .wording import motion

# A spreadsheet takes what begins so for a formula, and runs it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
Row = dict[str, Any]


def cell(value: Any) -> Any:
    """Return a value as a cell of a table that no spreadsheet takes for a formula.

    Examples
    --------
    >>> cell("=1+1"), cell("anchor"), cell(-2.5), cell(None)
    ("'=1+1", 'anchor', -2.5, '')
    """
    if isinstance(value, (list, dict)):
        value = "; ".join(f"{one['verdict']} {one['mark']} {one['note']}".strip() for one in value)
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def as_csv(rows: Iterable[Row]) -> Iterator[str]:
    r"""Write rows as a table with a header; it begins with the mark by which spreadsheets know UTF-8.

    Examples
    --------
    >>> "".join(as_csv([{"name": "a, b", "n": 1}]))
    '\ufeffname,n\r\n"a, b",1\r\n'
    """
    line = csv.writer(SimpleNamespace(write=str)).writerow  # what is written comes back
    yield "\ufeff"
    for n, row in enumerate(rows):
        if n == 0:
            yield line(row)
        yield line(map(cell, row.values()))


def as_json(rows: Iterable[Row]) -> Iterator[str]:
    """Write rows as a list, one row per line.

    Examples
    --------
    >>> print("".join(as_json([{"n": 1}, {"n": 2}])))
    [
    {"n": 1},
    {"n": 2}
    ]
    """
    start = "[\n"
    for row in rows:
        yield start + json.dumps(row, ensure_ascii=False)
        start = ",\n"
    yield "\n]\n" if start == ",\n" else "[]\n"


FORMATS: dict[str, Callable[[Iterable[Row]], Iterator[str]]] = {"csv": as_csv, "json": as_json}


def mark_rows(catalogue: Store, wanted: Filter = Filter()) -> Iterator[Row]:  # noqa: B008
    """Walk through the marks that match, with all columns of the tables they came from, and judgements about each."""
    columns = catalogue.columns_of_tables()
    judged: dict[str, list[Row]] = defaultdict(list)
    for one in catalogue.judgements():
        for uid, other in ((one.a, one.b), (one.b, one.a)):
            judged[uid].append({"mark": other, "verdict": one.verdict, "note": one.note, "at": one.at})
    for mark in catalogue.each(wanted):
        row = about(mark)
        more = {f"{name} (table)" if name in row else name: mark.extra.get(name, "") for name in columns}
        yield row | more | {"judgements": judged.get(mark.uid, [])}


def about(mark: Mark) -> Row:
    """Return what is known about a mark."""
    width, height = mark.size_mm or (None, None)
    size = {"width_mm": width and round(width, 1), "height_mm": height and round(height, 1)}
    more = {name: getattr(mark, name) for name in ("dpi", "mm_per_pixel", "polarity", "confidence", "added", "source")}
    return {"uid": mark.uid} | {name: getattr(mark, name) for name in METADATA} | size | more


def hit_row(rank: int, hit: Hit) -> Row:
    """Return a hit, with the map that takes the query to it."""
    found = hit.registration
    fit: Row = dict.fromkeys(("overlap", "mirrored", "across", "down", "shear", "rotation"))
    if found is not None:
        fit |= {"overlap": round(found.overlap, 4)}
        moved = motion(found.matrix)._asdict()
        fit |= {name: value if isinstance(value, bool) else round(value, 4) for name, value in moved.items()}
    ratio = {"size_ratio": hit.size_ratio and round(hit.size_ratio, 4), "same_size": hit.same_size}
    score = None if hit.score is None else round(hit.score, 4)
    return {"rank": rank, "score": score, "distance": round(hit.distance, 4)} | fit | ratio | about(hit.mark)


def judgement_row(catalogue: Store, one: Judgement) -> Row:
    """Return a judgement, with the names of the two marks."""
    a, b = catalogue.mark(one.a), catalogue.mark(one.b)
    return one._asdict() | {"name_a": a.name, "motif_a": a.motif, "name_b": b.name, "motif_b": b.motif}
