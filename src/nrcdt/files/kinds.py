"""What files hold, by their suffixes, and which of them a folder stands for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import InputError, SampleError

Kind = Literal["image", "cloud", "mesh"]

SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "image": (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".pgm"),
    "cloud": (".npy", ".npz", ".csv", ".txt", ".xyz"),
    "mesh": (".ply", ".obj", ".stl", ".off"),
}
KINDS = {suffix: kind for kind, suffixes in SUFFIXES.items() for suffix in suffixes}


def kind_of(path: Path | str) -> Kind:
    """Tell from its suffix what a file holds.

    Examples
    --------
    >>> kind_of("crown.TIFF"), kind_of("atoms.csv"), kind_of("vase.ply")
    ('image', 'cloud', 'mesh')
    """
    suffix = Path(path).suffix.lower()
    if suffix not in KINDS:
        known = " ".join(KINDS)
        raise InputError("the suffix", f"be one of {known}", repr(suffix), "Convert the file to one of these.")
    return KINDS[suffix]


class Collected(NamedTuple):
    """Files that were found, files of other kinds that were left out, folders that may not be read."""

    files: list[Path]
    left_out: list[Path]
    locked: list[Path]


def collect(paths: Iterable[Path | str]) -> Collected:
    """List files as given and files in folders, at any depth and sorted; each file once.

    A folder stands for its pictures if it has any, else for its meshes, else for its tables of points; hidden files are
    left out. Archives keep tables beside their scans: `left_out` names what a folder held of other kinds.
    """
    found, left_out, locked = whole = Collected([], [], [])
    for path in map(Path, paths):
        if path.is_dir():
            for part, more in zip(whole, _in_folder(path), strict=True):
                part += more
            continue
        if not path.is_file():
            what = "is neither" if path.exists() else "does not exist"
            raise InputError("PATH", "be a file or a folder", f"{path}, which {what}", "Check the spelling.")
        try:
            kind_of(path)
        except InputError as error:
            raise SampleError(str(path), str(error)) from None
        found.append(path)
    taken = dict.fromkeys(found)
    return Collected(list(taken), [path for path in dict.fromkeys(left_out) if path not in taken], locked)


def visible_files(folder: Path, unreadable: Callable[[OSError], Any], **options: bool) -> list[Path]:
    """List what is below a folder and no folder, sorted; what is hidden is left out, links may lead nowhere.

    `unreadable` is told of folders that may not be read; options go to `os.walk`.
    """
    found = []
    for parent, folders, names in os.walk(folder, onerror=unreadable, **options):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(parent, name) for name in names if not name.startswith(".")]
    return sorted(found)


def _in_folder(folder: Path) -> Collected:
    locked: list[Path] = []
    by_kind: dict[Kind, list[Path]] = {"image": [], "mesh": [], "cloud": []}
    for path in visible_files(folder, lambda error: locked.append(Path(error.filename))):
        if kind := KINDS.get(path.suffix.lower()):
            by_kind[kind].append(path)  # links that lead nowhere are named when they are read
    wanted = next((paths for paths in by_kind.values() if paths), [])
    return Collected(wanted, [path for paths in by_kind.values() if paths is not wanted for path in paths], locked)
