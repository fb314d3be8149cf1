"""Looking after a catalogue: what is in it, copies, mergers, checks, and lists as files."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..whole_files import whole_file, write_whole
from .database import plain_errors
from .export_rows import FORMATS, Row, mark_rows
from .intake import PLAN, Settings
from .model import METADATA, Filter, Mark
from .ranking import read_ink
from .reading import BESIDE
from .store import Judgement, Store


def check_new(target: Path, what: str, remedy: str = "Choose another name.") -> None:
    """Refuse to write over a file."""
    if target.exists():
        raise InputError(what, "be a new file", f"{target}, which exists", remedy)


def export(catalogue: Store, target: Path, wanted: Filter = Filter(), *, force: bool = False) -> int:  # noqa: B008
    """Write the marks that match to a new .csv or .json file, or over an old one by force. Return how many."""
    if not force:
        check_new(target, "the table", "Choose another, or say --force.")
    write_list(target, mark_rows(catalogue, wanted))
    return catalogue.count(wanted)


def write_list(target: Path, rows: Iterable[Row]) -> None:
    """Write rows to a .csv or .json file, which appears whole or not at all."""
    written = FORMATS.get(target.suffix.lower()[1:])
    if written is None:
        raise InputError("the table", "end in .csv or .json", repr(target.name))
    write_whole(target, "".join(written(rows)).encode())


def backup(catalogue: Store, target: Path | str) -> None:
    """Copy a catalogue, even while it is being written, to a new file, which has been checked when it appears."""
    target = Path(target)
    check_new(target, "the backup")
    for end in BESIDE:  # SQLite would take what another catalogue of that name left behind for a part of this one
        check_new(Path(f"{target}{end}"), "what belongs to the backup", "Remove it, or choose another name.")
    try:
        with whole_file(target) as part:
            with plain_errors(target), closing(sqlite3.connect(part)) as copy:
                catalogue.copy_to(copy)
            _check_copy(part, catalogue.path)
    except OSError as error:
        rule = "be a file in a folder that exists and can be written"
        raise InputError("the backup", rule, f"{target} ({error.strerror})", "Choose another.") from None


def _check_copy(copy: Path, source: Path) -> None:
    """Refuse a copy that is no whole catalogue."""
    try:
        with Store(copy, readonly=True) as opened:
            damages = opened.damages()
    except ValueError as error:
        damages = [str(error)]
    if damages:
        remedy = f"Nothing was kept of it. See what is wrong with the catalogue: nrcdt catalogue verify {source}"
        raise InputError("the backup", "be whole", f"one that is not: {damages[0]}", remedy)


class Merged(NamedTuple):
    """How many marks came, were there, and had empty fields filled; how many judgements came; what is contradictory."""

    new: int
    old: int
    filled: int
    judgements: int
    conflicts: list[str]


def merge(catalogue: Store, other: Store, advance: Callable[[], None] = lambda: None) -> Merged:
    """Take over marks and judgements of another catalogue, and what it knows of marks that are there already.

    Nothing that is known here is replaced: sentences tell what the other says instead. All of it happens, or nothing.
    """
    catalogue.check_settings()
    other.check_settings()
    sources = catalogue.stamps()
    n_new = n_old = n_filled = 0
    conflicts: list[str] = []
    with catalogue.transaction():
        for record in other.records():
            advance()
            if ours := catalogue.known(record.mark.uid):
                n_old += 1
                n_filled += _fill(catalogue, ours, record.mark, conflicts)
                continue
            if record.mark.source in sources:  # another picture under the same name, of another machine
                extra = record.mark.extra | {"merged from": record.mark.source}
                record = record._replace(mark=record.mark._replace(source="", extra=extra))
            catalogue.put(record)
            n_new += 1
        known = {(one.a, one.b): one for one in catalogue.judgements()}
        n_judged = sum(_keep(catalogue, one, known.get((one.a, one.b)), conflicts) for one in other.judgements())
    return Merged(n_new, n_old, n_filled, n_judged, conflicts)


def _fill(catalogue: Store, ours: Mark, theirs: Mark, conflicts: list[str]) -> bool:
    """Fill the empty fields of a mark; return whether there was something to fill in."""
    changes: dict[str, Any] = {"extra": theirs.extra | ours.extra}
    for name in (*METADATA, "mm_per_pixel"):
        here, there = getattr(ours, name), getattr(theirs, name)
        if not here:
            changes[name] = there
        elif there and here != there:
            conflicts.append(f"{ours.uid} ({ours.name}): {name} is {here!r} here and {there!r} there")
    if ours._replace(**changes) == ours:
        return False
    catalogue.correct(ours, changes)
    return True


def _keep(catalogue: Store, theirs: Judgement, ours: Judgement | None, conflicts: list[str]) -> bool:
    """Keep a judgement unless there is one; return whether it was kept."""
    if ours is None:
        catalogue.keep(theirs)
        return True
    here, there = (f"{one.verdict} {one.note}".strip() for one in (ours, theirs))
    if here != there:
        conflicts.append(f"{ours.a} and {ours.b}: judged {here!r} here and {there!r} there")
    return False


def verify(catalogue: Store, advance: Callable[[], None] = lambda: None) -> Iterator[str]:
    """Check everything in a catalogue, and yield a sentence for every fault."""
    yield from catalogue.damages()
    for mark in catalogue.each():
        if fault := _fault(catalogue, mark):
            yield f"{mark.uid} ({mark.name}): {fault}. {_remedy(catalogue.path, mark)}"
        advance()


def _fault(catalogue: Store, mark: Mark) -> str:
    sql = "SELECT mark, vector FROM marks JOIN pictures USING (id) JOIN features USING (id) WHERE uid = ?"
    stored = catalogue.rows(sql, [mark.uid])
    if not stored:
        return "the pictures or the features are missing"
    ((picture, vector),) = stored
    try:
        ink = read_ink(picture)
    except Exception as error:  # whatever a decoder makes of damaged bytes
        return f"the ink cannot be read ({type(error).__name__})"
    if ink.shape != (mark.mark_height, mark.mark_width) or not ink.any():
        return f"the ink must have {mark.mark_height} x {mark.mark_width} pixels, some of them inked; got {ink.shape}"
    size = len(vector) / np.float32().nbytes
    if size != PLAN.n_features or not np.isfinite(np.frombuffer(vector, np.float32)).all():
        return f"the features must be {PLAN.n_features} finite numbers; got {size:g}"
    return ""


def _remedy(path: Path, mark: Mark) -> str:
    """Return the command that reads a picture again, as it was read before, or takes the mark out."""
    if not Path(mark.source).is_file():
        return f"Its picture is gone: take a backup, or remove the mark: nrcdt catalogue remove {path} {mark.uid}"
    settings = Settings(**mark.settings)
    options = [] if settings.polarity == "auto" else ["--polarity", settings.polarity]
    options += [] if settings.ink else ["--drawing"]
    options += [] if settings.crop is None else ["--crop", *map(str, settings.crop)]
    options += [] if settings.bar_mm is None else ["--bar-mm", str(settings.bar_mm)]
    command = ["nrcdt", "catalogue", "add", str(path), mark.source, "--again", *options]
    return f"Read its picture again: {shlex.join(command)}"


def missing_files(catalogue: Store) -> list[str]:
    """Return the files that marks were read from and that are no longer there; no fault, but worth knowing."""
    return [source for source in catalogue.stamps() if not Path(source).is_file()]


def stats(catalogue: Store) -> dict[str, Any]:
    """Return what is in a catalogue, in numbers."""
    megabytes = round(catalogue.path.stat().st_size / 1e6, 1)
    made = {"made by": f"nrcdt {catalogue.about('version')}", "created": catalogue.about("created")}
    methods = {name: n for name, n in catalogue.values_of("method") if name}
    return {**catalogue.numbers(), "methods": methods, "megabytes": megabytes, **made}
