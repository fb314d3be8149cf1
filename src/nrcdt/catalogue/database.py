"""The file of a catalogue: tables, transactions, and errors that people understand."""

from __future__ import annotations

import json
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Self, TypeVar

from .. import __version__
from ..errors import InputError
from .intake import SETTINGS
from .reading import BUSY, PATIENCE, Reading, may_write

T = TypeVar("T")
FORMAT = 1
APPLICATION_ID = 0x6E726364  # "nrcd"

# What is wrong, by the code of an error of SQLite: the rule, what came instead, and the remedy.
READONLY = (
    "be writable",
    "{}, which is read-only",
    "Copy it elsewhere, or change its rights, and those of its folder and of the files beside it.",
)
RULES = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_READONLY: READONLY,
    sqlite3.SQLITE_CANTOPEN: ("be a file in a folder that exists and can be written", "{}", ""),
}
DAMAGED = "be a whole catalogue of nrcdt", "{}", "Go back to a backup, or see `verify`."


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into sentences for people."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):  # mistakes of a program, not of a file
        raise
    except UnicodeDecodeError as error:  # of what SQLite wants to say about damaged bytes
        raise damaged(path, error) from None
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the detail, which the higher bits tell
        if code == sqlite3.SQLITE_FULL:
            sentence = f"the disk of {path} must have space left; it is full. Make room and go on: nothing is lost."
            raise ValueError(f"{sentence} ({error})") from None
        rule, got, remedy = RULES.get(code, DAMAGED)
        raise InputError("the catalogue", rule, got.format(path), f"{remedy} ({error})".lstrip()) from None


def damaged(path: Path, error: Exception) -> InputError:
    """Say that what a file holds makes no sense."""
    rule, got, remedy = DAMAGED
    return InputError("the catalogue", rule, got.format(path), f"{remedy} ({error})")


def check_file(path: Path, create: bool) -> None:
    """Refuse what cannot be a catalogue, before SQLite makes one of it."""
    make = f"Make it with: nrcdt catalogue add {path} FOLDER"
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if create:
            return
        raise InputError("the catalogue", "exist", path, make) from None
    except (OSError, ValueError) as error:
        raise InputError("the catalogue", "be a file that can be found", f"{path} ({error})") from None
    if not stat.S_ISREG(status.st_mode):
        got = f"{path}, which is {'a folder' if stat.S_ISDIR(status.st_mode) else 'a pipe or a device'}"
        raise InputError("the catalogue", "be a file", got, "Name a file.")
    if not status.st_size and not create:
        raise empty(path)


def empty(path: Path) -> InputError:
    """Say that a file holds no catalogue, whatever it may have held."""
    back = f"If it held marks, go back to a backup, or copy what stands beside it as {path.name}-wal, too"
    remedy = f"{back}. If not, make it with: nrcdt catalogue add {path} FOLDER"
    return InputError("the catalogue", "hold something", f"{path}, which is empty", remedy)


class Database:
    """The file of SQLite with the tables of a catalogue: `nrcdt.catalogue.store.Store`, which says more, fills them."""

    def __init__(self, path: Path | str, *, create: bool = False, readonly: bool = False) -> None:
        self.path = Path(path)
        check_file(self.path, create and not readonly)
        # Who may not write reads: SQLite would try to write, and fail where it can make no files beside the catalogue.
        self.readonly = readonly or (self.path.exists() and not may_write(self.path))
        self._lock = threading.RLock()
        self._reading: Reading | None = None
        with plain_errors(self.path):
            if self.readonly:
                self._reading = Reading(self.path)
            else:
                uri = f"{self.path.absolute().as_uri()}?mode=rwc"
                self._writing = sqlite3.connect(
                    uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
                )
            try:
                self._start(create)
            except BaseException:
                (self._reading or self._writing).close()
                raise

    @property
    def _db(self) -> sqlite3.Connection:
        return self._reading.db if self._reading else self._writing

    def _steady(self, read: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock, plain_errors(self.path):
            return self._reading.steady(read) if self._reading else read(self._writing)

    def _start(self, create: bool) -> None:
        if not self.readonly:
            self._db.execute("PRAGMA foreign_keys = ON")
            self._db.execute("PRAGMA trusted_schema = OFF")
            if create and _empty(self._db):
                self._create()
            self._db.execute("PRAGMA synchronous = FULL")
        self._steady(self._check_format)

    def _create(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        with self.transaction():
            if not _empty(self._db):  # another program was faster
                return
            self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in files(__package__).joinpath("schema.sql").read_text("utf-8").split(";\n"):
                self._db.execute(statement)
            for key, value in (("generation", 0), ("settings", SETTINGS), ("version", __version__), ("created", now())):
                self.set_about(key, value)

    def _check_format(self, db: sqlite3.Connection) -> None:
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if _empty(db):  # an `add` that was killed at once, or the copy of a file whose log was not copied
            raise empty(self.path)
        if application != APPLICATION_ID:
            got = f"{self.path}, which is another kind of database"
            raise InputError("the catalogue", "be one of nrcdt", got, "Choose another file name.")
        if version > FORMAT:
            rule, got = f"be of format {FORMAT} or older", f"{self.path} of format {version}"
            remedy = "It was made by a newer nrcdt: upgrade with pip install --upgrade nrcdt."
            raise InputError("the catalogue", rule, got, remedy)
        known = db.execute("SELECT key FROM about WHERE key IN ('generation', 'settings', 'version')").fetchall()
        if len(known) != 3:
            raise damaged(self.path, ValueError("its settings are missing"))

    def close(self) -> None:
        """Close the file."""
        if self._reading:
            self._reading.close()
            return
        self._settle()
        self._writing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def check_writable(self) -> None:
        """Refuse to change a catalogue that was opened to be read, or by somebody who may not write it."""
        if self.readonly:
            rule, got, remedy = READONLY
            raise InputError("the catalogue", rule, got.format(self.path), remedy)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it, or nothing."""
        self.check_writable()
        with self._lock, plain_errors(self.path):
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                yield
            self._settle()

    def _settle(self) -> None:
        """Bring what was committed from the file beside it into the file itself, as far as nobody is reading."""
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def rows(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        return self._steady(lambda db: db.execute(sql, values).fetchall())

    def about(self, key: str) -> Any:
        """Return what is stored about the catalogue under a key, or None."""
        found = self.rows("SELECT value FROM about WHERE key = ?", [key])
        try:
            return json.loads(found[0][0]) if found else None
        except (ValueError, TypeError) as error:
            raise damaged(self.path, error) from None

    def set_about(self, key: str, value: Any) -> None:
        """Store plain data about the catalogue."""
        self.check_writable()
        self.rows("INSERT OR REPLACE INTO about VALUES (?, ?)", [key, json.dumps(value)])

    def damages(self) -> list[str]:
        """Return what SQLite finds wrong with the file."""
        found = [text for (text,) in self.rows("PRAGMA integrity_check(20)") if text != "ok"]
        missing = self.rows("PRAGMA foreign_key_check")
        return found + [f"table {table} refers to a missing mark" for table, *_ in missing]

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy everything to another database, as it is at one moment, whoever is writing meanwhile."""
        self._steady(lambda db: db.backup(target))


def _empty(db: sqlite3.Connection) -> bool:
    return not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()


def now() -> str:
    """Return the time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
