"""Arrays on disk, each under a name made from everything it depends on.

A file appears whole or not at all, so two runs may share the folder and either may be killed at any time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..arrays import Array
from ..errors import warn
from ..fingerprint import digest
from ..whole_files import PART, whole_file

ABANDONED = 3600  # seconds; no array takes that long to write
PACKAGE = Path(__file__).parents[1]
# Rooms that no feature comes from; of this one, `features.py` makes them.
ELSEWHERE = (
    *("audit", "catalogue", "cli", "datasets", "ink", "pages", "paper", "registration"),
    *("demo.py", "plot.py", "tables.py", "whole_files.py"),
)


def default_folder() -> Path:
    """Return the user's cache folder: NRCDT_CACHE, or nrcdt below XDG_CACHE_HOME or ~/.cache."""
    given = os.environ.get("NRCDT_CACHE")
    return Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "nrcdt"


class Cache:
    """Named groups of arrays in a folder.

    Examples
    --------
    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()))
    >>> cache.get({"of": "squares"}, lambda: {"x": np.arange(3) ** 2})["x"]
    array([0, 1, 4])
    >>> cache.get({"of": "squares"}, lambda: 1 / 0)["x"]
    array([0, 1, 4])
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in folder.glob(f"*{PART}"):  # of runs that were killed
            with suppress(FileNotFoundError):  # another run finished it, or swept it away, since it was listed
                if time.time() - part.stat().st_mtime > ABANDONED:
                    shutil.rmtree(part) if part.is_dir() else part.unlink()

    def get(self, key: dict[str, Any], compute: Callable[[], dict[str, Array]]) -> dict[str, Array]:
        """Return the arrays stored under a key, or compute and store them. The key must be plain data."""
        name = digest({"code": code_digest(PACKAGE), **key})
        path = self.folder / f"{name}.npz"
        try:
            with np.load(path, allow_pickle=False) as stored:
                return dict(stored)
        except (OSError, ValueError, EOFError, BadZipFile):  # absent, or damaged by something else: make it anew
            arrays: dict[str, Any] = compute()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as part:
                np.savez(part, **arrays)
        except OSError as error:  # a full disk costs time, not results
            warn(f"the cache must be writable; got {error}. Choose another --cache.")
        return arrays


@cache
def code_digest(package: Path) -> str:
    """Return a fingerprint of the sources that features are computed with, so that changed code computes them anew."""
    names = sorted(path.relative_to(package) for path in package.rglob("*.py"))
    chosen = [name for name in names if name.parts[0] not in ELSEWHERE or name == Path("paper/features.py")]
    total = hashlib.sha256()
    for name in chosen:
        total.update(f"{name.as_posix()}\n".encode() + (package / name).read_bytes())
    return total.hexdigest()
