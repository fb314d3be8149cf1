"""Adding pictures: in parallel, in small transactions, and only what is new or has changed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from .database import now
from .importers import Entry, Problem
from .intake import Prepared, Settings, features
from .model import METADATA, Mark
from .ranking import ink_of, write_ink
from .store import Record, Store
from .workers import Job, Workers, read_bytes

BATCH = 32  # so many marks at most, and those of the last second, are lost by a crash
BATCH_SECONDS = 1.0
FOUND = ("sha256", "width", "height", "to_mark", "polarity", "confidence")  # what marks take over as it was found


class Count(NamedTuple):
    """How many pictures were added, replaced because their files had changed, left alone, and failed.

    `left_out`: how many other files lay beside them; `corrected`: of how many only the words had changed.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    failed: int = 0
    left_out: int = 0
    corrected: int = 0


def add(
    catalogue: Store,
    items: Iterable[Entry | Problem],
    settings: Settings,
    workers: Workers,
    *,
    keep: bool = False,
    again: bool = False,
    report: Callable[[Problem], None],
    advance: Callable[[], None] = lambda: None,
) -> Count:
    """Add what `importers.listed` found, a few at a time: whatever interrupts it, what was added before stays.

    The front door, `Catalogue.add`, says what the options mean.
    """
    catalogue.check_settings()
    adding = _Adding(catalogue, settings, keep, report, advance, again)
    for entry, found in workers.map(adding.jobs(items)):
        adding.take(entry, found)
    adding.flush()
    return adding.count


@dataclass
class _Adding:
    catalogue: Store
    settings: Settings
    keep: bool
    report: Callable[[Problem], None]
    advance: Callable[[], None]
    again: bool = False

    def __post_init__(self) -> None:
        self.count, self._batch = Count(), list[Callable[[], str]]()
        self._stamps = self.catalogue.stamps()
        self._since = time.monotonic()

    def jobs(self, items: Iterable[Entry | Problem]) -> Iterator[Job]:
        """Walk through the items, and hand out those that have to be read."""
        for item in items:
            if isinstance(item, Problem):
                self._fail(item)
                continue
            if item.data:
                yield (item, ""), item.data, self.settings
                continue
            stamp, (seen, told) = self._stamp(item), self._seen(item.source)
            if not stamp or stamp != seen or self.again:
                yield (item, stamp), partial(read_bytes, item.path), self.settings
            elif told | _given(item) == told:
                self._tick("unchanged")
            else:
                self._store(partial(self._correct, item))

    def _seen(self, source: str) -> tuple[str, dict[str, Any]]:
        """Return what the last `add` noted about a file, and what it was told about the mark."""
        seen, _, told = self._stamps.get(source, "").partition("\n")
        return seen, json.loads(told or "{}")

    def _stamp(self, entry: Entry) -> str:
        """Return what tells a file that has changed, or is to be read in another way; empty for one that is gone."""
        try:
            seen = entry.path.stat()
        except OSError:
            return ""
        return f"{seen.st_size} {seen.st_mtime_ns} {json.dumps(self.settings)} {self.keep}"

    def _tick(self, kind: str) -> None:
        self.count = self.count._replace(**{kind: getattr(self.count, kind) + 1})
        self.advance()

    def _fail(self, problem: Problem) -> None:
        self.report(problem)
        self._tick("left_out" if problem.left_out else "failed")

    def take(self, key: tuple[Entry, str], found: Prepared | Exception) -> None:
        """Keep what was found in a picture; store the batch when it is full or old."""
        entry, stamp = key
        try:
            if isinstance(found, Exception):
                raise found
            original = (entry.data or read_bytes(entry.path)) if self.keep else None
        except (ValueError, OSError) as error:
            self._fail(Problem(entry.source or entry.name, str(error)))
            return
        self._store(partial(self._put, record_of(found, self.settings, entry, original, stamp), _given(entry)))

    def _store(self, change: Callable[[], str]) -> None:
        self._batch.append(change)
        if len(self._batch) >= BATCH or time.monotonic() - self._since > BATCH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Store the batch: all of it, or nothing."""
        batch, self._batch, self._since = self._batch, [], time.monotonic()
        if not batch:
            return
        with self.catalogue.transaction():
            kinds = [change() for change in batch]
        for kind in kinds:
            self._tick(kind)

    def _put(self, record: Record, given: dict[str, Any]) -> str:
        """Store a mark; one of the same file hands on its id, and what people wrote about it."""
        mark = record.mark
        old = self.catalogue.of_source(mark.source) or self.catalogue.known(mark.uid)
        _, told = self._seen(mark.source)
        given = given | {"mm_per_pixel": mark.mm_per_pixel}
        if old is not None:
            known = {name: getattr(old, name) for name in (*METADATA, "extra", "mm_per_pixel")}
            mark = mark._replace(uid=old.uid, **known | _changes(old, told, given))
        self.catalogue.put(record._replace(mark=mark, stamp=_stamp(record.stamp, told | given)))
        return "added" if old is None else "replaced"

    def _correct(self, entry: Entry) -> str:
        """Store what is new in the words about a picture that is the same."""
        old = self.catalogue.of_source(entry.source)
        if old is None:  # another program was faster to remove it
            return "unchanged"
        (seen, told), given = self._seen(old.source), _given(entry)
        changed = self.catalogue.correct(old, _changes(old, told, given), _stamp(seen, told | given))
        return "unchanged" if changed == old else "corrected"


def _stamp(seen: str, told: dict[str, Any]) -> str:
    return f"{seen}\n{json.dumps(told)}"


def _given(entry: Entry) -> dict[str, Any]:
    """Return what an entry tells: nothing empty, and no name that is only that of the file."""
    names = ("name", "motif", "method", "date", "place", "reference", "extra", "mm_per_pixel")
    given = {name: getattr(entry, name) for name in names if getattr(entry, name)}
    return {name: value for name, value in given.items() if (name, value) != ("name", entry.path.stem)}


def _changes(old: Mark, told: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return what is given for fields that nobody has edited: they are as the last `add` was told, or empty."""
    told = {"name": Path(old.source).stem, "mm_per_pixel": old.mm_per_pixel} | told
    words = {name: value for name, value in given.items() if name != "extra"}
    words = {name: value for name, value in words.items() if getattr(old, name) == told.get(name, "")}
    return words | {"extra": old.extra | given.get("extra", {})}


def record_of(
    prepared: Prepared, settings: Settings, entry: Entry, original: bytes | None = None, stamp: str = ""
) -> Record:
    """Return what is stored of a picture."""
    height, width = prepared.mark.shape
    name = f"{entry.source or entry.name}\n{prepared.sha256}".encode("utf-8", "surrogateescape")
    known: dict[str, Any] = {name: getattr(entry, name, "") for name in (*METADATA, "source")}  # no entry has a note
    mark = Mark(
        uid=sha256(name).hexdigest()[:16],
        **known,
        **{name: getattr(prepared, name) for name in FOUND},
        extra=dict(entry.extra),
        mm_per_pixel=entry.mm_per_pixel or prepared.mm_per_pixel,
        mark_width=width,
        mark_height=height,
        steps=list(prepared.steps),
        settings=settings._asdict(),
        added=now(),
    )
    return Record(mark, prepared.features, write_ink(prepared.mark), prepared.preview, original, stamp)


def renew(catalogue: Store, advance: Callable[[], None] = lambda: None) -> int:
    """Compute all features again from the stored ink, with the settings of this version; return how many."""
    with catalogue.transaction():
        numbers = catalogue.ids().tolist()
        for number in numbers:
            catalogue.set_vector(number, features(ink_of(catalogue, catalogue.numbered([number])[0])))
            advance()
        catalogue.adopt_settings()
    return len(numbers)
