"""What every reader checks before it decodes, and what damaged files are said to be."""

from __future__ import annotations

import stat
from pathlib import Path

from ..errors import InputError

MAX_BYTES = 256_000_000


class TooLarge(InputError):
    """A file, or what would come out of it, beyond the caps."""


def check_file(path: Path | str) -> None:
    """Refuse what is no file, and files that hold too much, or nothing."""
    check_bytes(regular_size(path))


def regular_size(path: Path | str) -> int:
    """Return how many bytes a file holds; refuse what is none, such as a pipe, which would be waited for."""
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise InputError("the file", "be a regular one", "a folder, a pipe or a device", "Copy its content to one.")
    return status.st_size


def check_bytes(n_bytes: int) -> None:
    """Refuse files that hold too much, or nothing."""
    if n_bytes > MAX_BYTES:
        most, got = f"have at most {MAX_BYTES / 1e6:g} MB", f"{n_bytes / 1e6:.1f} MB"
        raise TooLarge("the file", most, got, "Scale it down or split it.")
    if n_bytes == 0:
        raise InputError("the file", "hold data", "0 bytes", "Copy it again.")


def first_line(error: BaseException) -> str:
    """Return the first line of what a decoder says, without its full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
