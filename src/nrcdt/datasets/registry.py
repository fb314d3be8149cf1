"""Data that people fetch themselves: what there is, where it comes from, where it is looked for."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files.kinds import visible_files
from .dataset import Dataset

VARIABLE = "NRCDT_DATA"


class Source(NamedTuple):
    """One set of data, as `sources.toml` describes it.

    Attributes
    ----------
    name : key in `SOURCES`
    what : what it holds
    folder : sub-folder of the data folder
    files : which files belong below that folder, for people to read
    licence : terms of use
    where : address of its home page
    sha256 : fingerprints of the files as we know them, where we know them
    stand_in : name of a source that is taken where this one is absent
    """

    name: str
    what: str
    folder: str
    files: str
    licence: str
    where: str
    sha256: tuple[str, ...] = ()
    stand_in: str | None = None


def _read_source(name: str, told: dict[str, Any]) -> Source:
    return Source(name, **told | {"sha256": tuple(told.get("sha256", ()))})


_TEXT = Path(__file__).with_name("sources.toml").read_text(encoding="utf-8")
SOURCES: dict[str, Source] = {name: _read_source(name, told) for name, told in tomllib.loads(_TEXT).items()}


class MissingData(ValueError):
    """Data that has to be fetched first, or that is not usable as it is."""


def data_folder(folder: Path | str | None = None) -> Path | None:
    """Tell where data is looked for: the argument, else the environment variable NRCDT_DATA, else None.

    Examples
    --------
    >>> data_folder("somewhere").name
    'somewhere'
    """
    chosen = folder if folder is not None else os.environ.get(VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else None


def locate(name: str, folder: Path | str | None = None) -> Path | None:
    """Folder of a source below the data folder, or None where there is none."""
    root = data_folder(folder)
    path = None if root is None else root / SOURCES[name].folder
    return path if path is not None and path.is_dir() else None


def at_hand(name: str, folder: Path | str | None = None) -> str:
    """Name of a source, or of its stand-in where that has files and the source has none."""
    stand_in = SOURCES[name].stand_in
    return stand_in if stand_in and not _has_files(name, folder) and _has_files(stand_in, folder) else name


def _has_files(name: str, folder: Path | str | None) -> bool:
    path = locate(name, folder)
    return path is not None and any(path.iterdir())


def need(name: str, folder: Path | str | None = None) -> Path:
    """Folder of a source, or a `MissingData` that says how to get it, and what would do instead."""
    path = locate(name, folder)
    if path is not None:
        return path
    root, source = data_folder(folder), SOURCES[name]
    found, instead = f"no folder {source.folder} in {root or VARIABLE + ' (not set)'}", ""
    if root is not None and not root.is_dir():
        found = f"{root}, which is no folder"
    if source.stand_in:
        other = SOURCES[source.stand_in]
        instead = f", or put the stand-in {other.name} ({other.files}, see {other.where}) into {_target(other, root)}"
    raise missing(name, found, root, instead)


def missing(name: str, found: str, root: Path | None, instead: str = "") -> MissingData:
    """Make the error about data that is not there, or not usable."""
    source = SOURCES[name]
    return MissingData(
        f"the data {name} must hold {source.what}; got {found}: "
        f"download it from {source.where} and put {source.files} into {_target(source, root)}{instead}."
    )


def _target(source: Source, root: Path | None) -> str:
    return f"{root or '$' + VARIABLE}/{source.folder}"


def fingerprint(*paths: Path | str) -> str:
    """SHA-256 of a file; of several files: that of the listing ``<SHA-256>  <name>``, sorted by name.

    Parameters
    ----------
    *paths : files, whose names are taken from the folder that holds all of them; or a folder
        A folder stands for its files at any depth, but for hidden ones.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.txt")
    ...     _ = file.write_text("a")
    ...     print(fingerprint(file)[:8], fingerprint(folder)[:8])
    ca978112 29ef94e5
    """
    first, *others = map(Path, paths)
    if others:
        files = [first, *others]
        return _listing(Path(os.path.commonpath([file.parent for file in files])), files)
    if first.is_file():
        with first.open("rb") as opened:
            return file_digest(opened, "sha256").hexdigest()
    if not first.is_dir():
        raise InputError("path", "be a file or a folder", f"{first}, which does not exist", "Check the spelling.")
    return _listing(first, filter(Path.is_file, visible_files(first, lambda error: None)))


def _listing(root: Path, files: Iterable[Path]) -> str:
    names = sorted(file.relative_to(root).as_posix() for file in files)
    return sha256("".join(f"{fingerprint(root / name)}  {name}\n" for name in names).encode()).hexdigest()


def is_known(dataset: Dataset) -> bool | None:
    """Whether a dataset was read from the files that we know; None where we know no fingerprint.

    Examples
    --------
    >>> from nrcdt.datasets import academic
    >>> is_known(academic(1)) is None
    True
    """
    known = SOURCES[dataset.source].sha256 if dataset.source in SOURCES else ()
    return fingerprint(*dataset.files) in known if known and dataset.files else None
