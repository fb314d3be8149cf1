"""What files hold, by their suffixes, and which of them a folder stands for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import filterfalse
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
    """Files that were found, files of other kinds that were left out, folders that may not be read, and what else.

    `unknown` are files with suffixes that nothing is known of, `hidden` files and folders whose names begin with a dot,
    `linked` folders behind links, which are not followed, lest one be read twice or for ever.
    """

    files: list[Path]
    left_out: list[Path]
    locked: list[Path]
    unknown: list[Path]
    hidden: list[Path]
    linked: list[Path]


def collect(paths: Iterable[Path | str]) -> Collected:
    """List files as given and files in folders, at any depth and sorted; each file once.

    A folder stands for its pictures if it has any, else for its meshes, else for its tables of points; hidden files are
    left out. Archives keep tables beside their scans: `left_out` names what a folder held of other kinds.
    """
    whole = Collected([], [], [], [], [], [])
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
        whole.files.append(path)
    files = dict.fromkeys(whole.files)
    rest = [[path for path in dict.fromkeys(part) if path not in files] for part in whole[1:]]
    return Collected(list(files), *rest)


def visible_files(
    folder: Path,
    unreadable: Callable[[OSError], Any],
    passed_over: Callable[[str, Path], Any] = lambda why, path: None,
    **options: bool,
) -> list[Path]:
    """List what is below a folder and no folder, sorted; what is hidden is left out, links may lead nowhere.

    `unreadable` is told of folders that may not be read, `passed_over` of what is "hidden", and of folders that are
    "linked" and not followed; options go to `os.walk`.
    """
    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=unreadable, **options):
        for name in filter(_is_hidden, folders + names):
            passed_over("hidden", Path(parent, name))
        folders[:] = filterfalse(_is_hidden, folders)
        if not options.get("followlinks"):
            for path in filter(Path.is_symlink, (Path(parent, name) for name in folders)):
                passed_over("linked", path)
        found += [Path(parent, name) for name in filterfalse(_is_hidden, names)]
    return sorted(found)


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _in_folder(folder: Path) -> Collected:
    whole = Collected([], [], [], [], [], [])
    by_kind: dict[Kind | None, list[Path]] = {"image": [], "mesh": [], "cloud": [], None: whole.unknown}
    for path in visible_files(
        folder,
        lambda error: whole.locked.append(Path(error.filename)),
        lambda why, path: getattr(whole, why).append(path),
    ):
        by_kind[KINDS.get(path.suffix.lower())].append(path)  # links that lead nowhere are named when they are read
    known = [by_kind[kind] for kind in ("image", "mesh", "cloud")]
    wanted = next((paths for paths in known if paths), [])
    whole.files.extend(wanted)
    whole.left_out.extend(path for paths in known if paths is not wanted for path in paths)
    return whole
