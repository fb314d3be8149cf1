"""Files that are written whole or not at all: whoever looks sees the old file or the new one, and never half of one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

PART = ".part"  # how the folders end that files are written in; a killed process leaves one behind


@contextmanager
def whole_file(target: Path | str) -> Iterator[Path]:
    """Give a path to write to; what is there in the end takes the place of the target, unless there was an error.

    The path lies in a folder of its own beside the target, which nobody else can put a link into and which is gone
    afterwards. A file that is replaced hands on its mode; a target that is a link stays one.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "list.csv")
    >>> with whole_file(target) as part:
    ...     _ = part.write_text("a,b")
    ...     target.exists()
    False
    >>> target.read_text()
    'a,b'
    """
    target = Path(target).resolve()
    with TemporaryDirectory(prefix=".nrcdt-", suffix=PART, dir=target.parent) as folder:  # readable by nobody else
        part = Path(folder, target.name)
        yield part
        with part.open("rb+") as file:
            if target.exists():
                shutil.copymode(target, part)
            os.fsync(file.fileno())
        part.replace(target)
    _sync_folder(target.parent)


def write_whole(target: Path | str, content: bytes) -> None:
    """Write a file whole or not at all."""
    with whole_file(target) as part:
        part.write_bytes(content)


def _sync_folder(folder: Path) -> None:
    """Have the new name survive a power cut too. Windows and some file systems cannot: the file is in place anyway."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
