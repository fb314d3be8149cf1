"""The file of a catalogue: tables, transactions, and errors that people understand."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from .. import __version__
from ..errors import InputError
from .intake import SETTINGS

FORMAT = 1
APPLICATION_ID = 0x6E726364  # "nrcd"
PATIENCE = 30.0  # seconds for another program to finish its transaction

# What is wrong, by the code of an error of SQLite: the rule, what came instead, and the remedy.
BUSY = "be free", "{}, which another program is writing", "Wait for it, then try again."
RULES = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_READONLY: ("be writable", "{}, which is read-only", "Copy it elsewhere or change its rights."),
    sqlite3.SQLITE_CANTOPEN: ("be a file in a folder that exists and can be read", "{}", ""),
}
DAMAGED = "be a whole catalogue of nrcdt", "{}", "Go back to a backup, or see `verify`."


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into sentences for people."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the detail, which the higher bits tell
        if code == sqlite3.SQLITE_FULL:
            sentence = f"the disk of {path} must have space left; it is full. Make room and go on: nothing is lost."
            raise ValueError(f"{sentence} ({error})") from None
        rule, got, remedy = RULES.get(code, DAMAGED)
        raise InputError("the catalogue", rule, got.format(path), f"{remedy} ({error})".lstrip()) from None


def _mode(path: Path, readonly: bool) -> str:
    if not readonly:
        return "mode=rwc"
    # Readers of a file in WAL mode write beside it; where they cannot, nobody else can either.
    return "mode=ro" if os.access(path.parent, os.W_OK) else "mode=ro&immutable=1"


class Database:
    """A file of SQLite with the tables of a catalogue: `nrcdt.catalogue.store.Store`, which says more, fills them."""

    def __init__(self, path: Path | str, *, create: bool = False, readonly: bool = False) -> None:
        self.path = Path(path)
        if not self.path.is_file() and not create:
            remedy = f"Make it with: nrcdt catalogue add {self.path} FOLDER"
            raise InputError("the catalogue", "exist", self.path, remedy)
        self._lock = threading.RLock()
        with plain_errors(self.path):
            uri = f"{self.path.absolute().as_uri()}?{_mode(self.path, readonly)}"
            self._db = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            try:
                self._start(readonly)
            except BaseException:
                self._db.close()
                raise

    def _start(self, readonly: bool) -> None:
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.execute("PRAGMA trusted_schema = OFF")
        if not readonly and self._empty():
            self._create()
        self._check_format()

    def _empty(self) -> bool:
        return not self._db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()

    def _create(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        with self.transaction():
            if not self._empty():  # another program was faster
                return
            self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in files(__package__).joinpath("schema.sql").read_text("utf-8").split(";\n"):
                self._db.execute(statement)
            for key, value in (("generation", 0), ("settings", SETTINGS), ("version", __version__), ("created", now())):
                self.set_about(key, value)

    def _check_format(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            got = f"{self.path}, which is another kind of database"
            raise InputError("the catalogue", "be one of nrcdt", got, "Choose another file name.")
        if version > FORMAT:
            rule, got = f"be of format {FORMAT} or older", f"{self.path} of format {version}"
            remedy = "It was made by a newer nrcdt: upgrade with pip install --upgrade nrcdt."
            raise InputError("the catalogue", rule, got, remedy)
        self._db.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Close the file."""
        self._settle()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it, or nothing."""
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
        with self._lock, plain_errors(self.path):
            return self._db.execute(sql, values).fetchall()

    def about(self, key: str) -> Any:
        """Return what is stored about the catalogue under a key, or None."""
        found = self.rows("SELECT value FROM about WHERE key = ?", [key])
        return json.loads(found[0][0]) if found else None

    def set_about(self, key: str, value: Any) -> None:
        """Store plain data about the catalogue."""
        with self._lock, plain_errors(self.path):
            self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", [key, json.dumps(value)])

    def damages(self) -> list[str]:
        """Return what SQLite finds wrong with the file."""
        found = [text for (text,) in self.rows("PRAGMA integrity_check(20)") if text != "ok"]
        missing = self.rows("PRAGMA foreign_key_check")
        return found + [f"table {table} refers to a missing mark" for table, *_ in missing]

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy everything to another database."""
        with self._lock, plain_errors(self.path):
            self._db.backup(target)


def now() -> str:
    """Return the time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
