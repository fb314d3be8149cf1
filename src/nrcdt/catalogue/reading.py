"""How a catalogue is opened that is only to be read, perhaps by somebody who may not write it.

What is committed lies in two files: the catalogue, and, until it is brought over, the log beside it (`-wal`). Programs
that have a catalogue open share an index of the log (`-shm`); SQLite makes both files where they are missing, and the
last program that may write takes them away. So there are three ways to read what is committed, all of it:

| may write | the log      | its index  | is opened | because |
|-----------|--------------|------------|-----------|---------|
| yes       | any          | any        | shared    | SQLite itself sees to it that readers and writers get along |
| no        | with content | there      | shared    | the same: nothing has to be made |
| no        | none, empty  | any        | alone     | everything is in the catalogue |
| no        | with content | none       | copied    | a killed program, or a copy, left the log; nobody has it open |
| no        | with content | unreadable | not       | nobody can tell what is committed; an error says so |

Who may not write the catalogue makes nothing beside it, even in a folder where that is allowed: its owner could not
write a log that belongs to somebody else.

Read alone, the catalogue is `immutable` for SQLite, which then looks neither at locks nor at the log, and would not
notice a writer that comes later. Therefore the files are looked at before and after every reading: what was read while
they changed is thrown away, and the catalogue opened again, in the way that is right by then.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple, NoReturn, Self, TypeVar

from ..errors import InputError

T = TypeVar("T")
Way = Literal["shared", "alone", "copied"]

PATIENCE = 30.0  # seconds for another program to finish its transaction
ATTEMPTS = 5  # to find a moment in which nobody opens or closes the catalogue
TICK = 0.05  # seconds; systems note the time of a change to 10 ms or better
BESIDE = ("-wal", "-shm", "-journal")
LOG_HEADER = 32  # bytes; a log has content if there is more
BUSY = "be free", "{}, which another program is writing", "Wait for it, then try again."
CANNOT = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PROTOCOL)


class Files(NamedTuple):
    """The files of a catalogue, as far as they tell whether it has changed: size, time and place of each.

    Examples
    --------
    >>> Files.of(Path("nothing.db"))
    Files(catalogue=None, log=None, journal=None, has_index=False)
    """

    catalogue: tuple[int, int, int] | None
    log: tuple[int, int, int] | None
    journal: tuple[int, int, int] | None
    has_index: bool

    @classmethod
    def of(cls, path: Path) -> Self:
        """Look at the files of a catalogue."""
        log, index, journal = (_seen(Path(f"{path}{end}")) for end in BESIDE)
        return cls(_seen(path), log, journal, index is not None)

    def settle(self) -> None:
        """Wait until the next change will have another time than the last one."""
        newest = max((one[1] for one in self[:3] if one), default=0) / 1e9
        if abs(time.time() - newest) < TICK:
            time.sleep(TICK)


def _seen(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def may_write(path: Path) -> bool:
    """Tell whether a file, and beside it, may be written."""
    who = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
    real = path.resolve()
    return all(os.access(one, os.W_OK, **who) for one in (real, real.parent))


def ways_to_read(files: Files, writable: bool) -> list[Way]:
    """Return how a catalogue is to be opened, by the table above; what comes second is tried where the first fails.

    The first fails for who may write where rights say so and the file system does not, as some network drives do.

    Examples
    --------
    >>> ways_to_read(Files((8192, 0, 1), None, None, False), writable=False)
    ['alone']
    """
    if files.journal and files.journal[0]:
        return ["shared"]  # only SQLite can say whether half a transaction has to be taken back
    ways: list[Way] = ["shared"] if writable else []
    if not files.log or files.log[0] <= LOG_HEADER:
        return [*ways, "alone"]
    return ["shared"] if files.has_index else [*ways, "copied"]


class Reading:
    """A connection that only reads, and opens the catalogue again where somebody wrote meanwhile.

    Parameters
    ----------
    path : file of a catalogue

    Examples
    --------
    >>> import tempfile
    >>> from contextlib import closing
    >>> path = Path(tempfile.mkdtemp(), "some.db")
    >>> with closing(sqlite3.connect(path)) as db:
    ...     _ = db.executescript("CREATE TABLE marks (name); INSERT INTO marks VALUES ('crown')")
    >>> with closing(Reading(path)) as reading:
    ...     reading.steady(lambda db: db.execute("SELECT name FROM marks").fetchall())
    [('crown',)]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._real = path.resolve()  # the log lies beside the file itself, not beside a link to it
        self._held = ExitStack()
        self._open()

    def _open(self) -> None:
        for _ in range(ATTEMPTS):
            files = Files.of(self._real)
            for way in ways_to_read(files, may_write(self._real)):
                if self._opened(way, files):
                    return
            if files == Files.of(self._real):
                _refuse(self.path)
        raise busy(self.path)

    def _opened(self, way: Way, files: Files) -> bool:
        """Open the catalogue in one of the ways; return whether that was possible, and nobody disturbed it."""
        self._watched = None if way == "shared" else files
        try:
            self.db = self._connect(way, files)
            self.db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()  # before that, nothing is opened
            if self._undisturbed():
                return True
        except (sqlite3.DatabaseError, PermissionError, FileNotFoundError) as error:
            if not _is_hindrance(error) and self._undisturbed():
                raise
        self.close()
        return False

    def _connect(self, way: Way, files: Files) -> sqlite3.Connection:
        source, options = self._real, "mode=ro"
        if way != "shared":
            files.settle()
        if way == "alone":
            options += "&immutable=1"
        if way == "copied":
            source = _copied(source, self._held)
        uri = f"{source.as_uri()}?{options}"
        db = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        self._held.callback(db.close)
        db.execute("PRAGMA trusted_schema = OFF")
        return db

    def _undisturbed(self) -> bool:
        """Tell whether the catalogue is as it was opened, or SQLite sees to it that changes do no harm."""
        return self._watched is None or self._watched == Files.of(self._real)

    def steady(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """Return what is read; what was read while somebody wrote is thrown away, and read again."""
        for _ in range(ATTEMPTS):
            try:
                found = read(self.db)
                if self._undisturbed():
                    return found
            except (sqlite3.DatabaseError, ValueError) as error:
                if not _is_hindrance(error) and self._undisturbed():
                    raise
            self.close()
            self._open()
        raise busy(self.path)

    def close(self) -> None:
        """Close the connection, and remove what was copied."""
        self._held.close()
        self._watched = None


def _is_hindrance(error: Exception) -> bool:
    """Tell whether another way of opening may help: what lies beside the catalogue is in the way of this one."""
    if isinstance(error, OSError):
        return True
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in CANNOT and code != sqlite3.SQLITE_READONLY  # which says that somebody tried to write


def _copied(path: Path, held: ExitStack) -> Path:
    """Copy the catalogue and its log to a folder of our own, in which SQLite may make what it needs.

    The files are opened and closed behind the back of SQLite, which would lose its locks on them if this process had
    them open elsewhere; it has not, or there would be an index.
    """
    folder = Path(held.enter_context(TemporaryDirectory(prefix="nrcdt-")))
    try:
        for end in ("", BESIDE[0]):
            shutil.copyfile(f"{path}{end}", folder / f"{path.name}{end}")
    except (PermissionError, FileNotFoundError):
        raise
    except OSError as error:
        got = f"no room for the copy that reading {path} takes ({error.strerror})"
        remedy = "Make room, or ask who may write the catalogue to open and close it once."
        raise InputError(f"the folder {folder.parent}", "have room", got, remedy) from None
    return folder / path.name


def _refuse(path: Path) -> NoReturn:
    """Say why a catalogue cannot be read that nobody is opening or closing just now."""
    remedy = "Ask who may write it to open and close it once, or for a backup."
    beside = [f"{path.name}{end}" for end in BESIDE if Path(f"{path.resolve()}{end}").exists()]
    unread = [name for name in beside if not os.access(path.resolve().parent / name, os.R_OK)]
    if not os.access(path, os.R_OK):
        got, remedy = f"{path}, which you may not read", "Ask its owner for the right to."
    elif unread:
        got = f"{path} with {unread[0]} beside it, which you may not read"
    elif beside:
        got = f"{path} with an unfinished transaction in {' and '.join(beside)}"
    else:
        got = str(path)
    raise InputError("the catalogue", "be readable with all that is committed", got, remedy)


def busy(path: Path) -> InputError:
    """Say that a catalogue changed whenever it was looked at."""
    rule, got, remedy = BUSY
    return InputError("the catalogue", rule, got.format(path), remedy)
