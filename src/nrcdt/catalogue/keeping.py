"""Looking after a catalogue: what is in it, copies, mergers, checks, and lists as files."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from .database import plain_errors
from .lists import FORMATS, Row, mark_rows
from .marks import Filter, Mark
from .prepare import BLOCKS
from .ranking import read_ink
from .store import Catalogue


def export(catalogue: Catalogue, target: Path, wanted: Filter = Filter()) -> int:  # noqa: B008
    """Write the marks that match to a .csv or .json file. Return how many."""
    write_list(target, mark_rows(catalogue, wanted))
    return catalogue.count(wanted)


def write_list(target: Path, rows: Iterable[Row]) -> None:
    """Write rows to a .csv or .json file, which appears whole or not at all."""
    write_whole(target, "".join(FORMATS[check_table(target)[1:]](rows)).encode())


def check_table(target: Path) -> str:
    """Return the suffix of a table, .csv or .json."""
    if target.suffix not in (".csv", ".json"):
        raise ValueError(f"the table must end in .csv or .json; got {target.name!r}.")
    return target.suffix


def write_whole(target: Path, data: bytes) -> None:
    """Write a file so that it is there completely, or as it was before."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def backup(catalogue: Catalogue, target: Path) -> None:
    """Copy a catalogue, even while it is being written, to a new file."""
    if target.exists():
        raise ValueError(f"the backup must be a new file; got {target}, which exists. Choose another name.")
    part = target.with_name(f".{target.name}.part")
    try:
        with plain_errors(target), closing(sqlite3.connect(part)) as copy:
            catalogue.copy_to(copy)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def merge(catalogue: Catalogue, other: Catalogue, advance: Callable[[], None] = lambda: None) -> tuple[int, int]:
    """Take over the marks and judgements of another catalogue; marks that are there already stay as they are.

    Returns how many marks came, and how many were there already. All of it happens, or nothing.
    """
    catalogue.check_settings()
    other.check_settings()
    sources = catalogue.stamps()
    n_new = n_old = 0
    with catalogue.transaction():
        for record in other.records():
            advance()
            if catalogue.has(record.mark.uid):
                n_old += 1
                continue
            if record.mark.source in sources:  # another picture under the same name, of another machine
                extra = record.mark.extra | {"merged from": record.mark.source}
                record = record._replace(mark=record.mark._replace(source="", extra=extra))
            catalogue.put(record)
            n_new += 1
        for judgement in other.judgements():
            catalogue.keep(judgement)
    return n_new, n_old


def verify(catalogue: Catalogue, advance: Callable[[], None] = lambda: None) -> Iterator[str]:
    """Check everything in a catalogue, and yield a sentence for every fault."""
    yield from catalogue.damages()
    for mark in catalogue.each():
        fault = _fault(catalogue, mark)
        if fault:
            yield f"{mark.uid} ({mark.name}): {fault}. Add its picture again: {mark.source or 'it was uploaded'}"
        advance()


def _fault(catalogue: Catalogue, mark: Mark) -> str:
    try:
        ink = read_ink(catalogue.picture(mark.uid, "mark") or b"")
        vector = catalogue.vector(mark.uid)
    except KeyError:
        return "the pictures or the features are missing"
    except Exception as error:  # whatever a decoder makes of damaged bytes
        return f"the ink cannot be read ({error})"
    if ink.shape != (mark.mark_height, mark.mark_width) or not ink.any():
        return f"the ink must have {mark.mark_height} x {mark.mark_width} pixels, some of them inked; got {ink.shape}"
    if vector.shape != (sum(BLOCKS),) or not np.isfinite(vector).all():
        return f"the features must be {sum(BLOCKS)} finite numbers; got {len(vector)}"
    return ""


def missing_files(catalogue: Catalogue) -> list[str]:
    """Return the files that marks were read from and that are no longer there; no fault, but worth knowing."""
    return [source for source in catalogue.stamps() if not Path(source).is_file()]


def stats(catalogue: Catalogue) -> dict[str, Any]:
    """Return what is in a catalogue, in numbers."""
    megabytes = round(catalogue.path.stat().st_size / 1e6, 1)
    made = {"made by": f"nrcdt {catalogue.about('version')}", "created": catalogue.about("created")}
    methods = {name: n for name, n in catalogue.values_of("method") if name}
    return {**catalogue.numbers(), "methods": methods, "megabytes": megabytes, **made}
