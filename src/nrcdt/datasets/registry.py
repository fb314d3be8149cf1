"""Data that people fetch themselves: what there is, where it comes from, where it is looked for."""

from __future__ import annotations

import os
from hashlib import file_digest, sha256
from pathlib import Path
from typing import NamedTuple

VARIABLE = "NRCDT_DATA"
SHOWN_REASONS = 3


class Source(NamedTuple):
    """One set of data.

    Attributes
    ----------
    name : key in `SOURCES`
    what : what it holds
    folder : sub-folder of the data folder
    files : pattern of the files below that folder
    licence : terms of use
    where : address of its home page
    sha256 : fingerprint of the files as we know them, or None
    """

    name: str
    what: str
    folder: str
    files: str
    licence: str
    where: str
    sha256: str | None = None


_ALL = (
    Source(
        "mnist",
        "the MNIST training digits",
        "mnist",
        "train-*-ubyte.gz",
        "CC BY-SA 3.0",
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "4861a95a99dfe8697f4601ca19e4cdeac33018c6f41ef6b070dc4fd6024df6e7",
    ),
    Source(
        "wzis",
        "watermarks of eleven classes, 256 x 256 pixels, vertical lines of the imaging technique removed",
        "wzis",
        "<class>/*.png",
        "see the terms of use of the site",
        "https://www.wasserzeichen-online.de",
    ),
    Source(
        "briquet",
        "tracings of watermarks from Briquet, Les Filigranes (1907), in place of wzis",
        "watermarks",
        "<class>/*.png",
        "public domain",
        "https://briquet-online.at",
    ),
    Source(
        "animals",
        "the reference meshes of Sumner and Popovic: lion, cat, camel, horse, flamingo, elephant",
        "animals",
        "<animal>*.obj",
        "none stated; cite Sumner and Popovic (2004)",
        "https://people.csail.mit.edu/sumner/research/deftransfer/data.html",
    ),
    Source(
        "abc",
        "meshes of the ABC dataset, one file per shape",
        "abc",
        "*.obj",
        "see the terms of use of Onshape; the models belong to their creators",
        "https://deep-geometry.github.io/abc-dataset",
    ),
    Source(
        "faust",
        "the registrations of MPI FAUST",
        "faust",
        "tr_reg_*.ply",
        "for research, after registration",
        "https://faust.is.tue.mpg.de",
    ),
    Source(
        "furniture",
        "2048 surface points each of 815 everyday objects, in place of abc",
        "furniture",
        "furniture_points2048.npz",
        "CC0 and CC BY 3.0",
        "http://www.sweethome3d.com/importModels.jsp",
        "d28e30599e0f00aaa5d171abb3a03d8b69b5a20ed5106839d03b92ca5c9e8a55",
    ),
)
SOURCES: dict[str, Source] = {source.name: source for source in _ALL}


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
    return Path(chosen) if chosen else None


def locate(name: str, folder: Path | str | None = None) -> Path | None:
    """Folder of a source below the data folder, or None where there is none."""
    root = data_folder(folder)
    path = None if root is None else root / SOURCES[name].folder
    return path if path is not None and path.is_dir() else None


def need(name: str, folder: Path | str | None = None) -> Path:
    """Folder of a source, or a `MissingData` that says how to get it."""
    path = locate(name, folder)
    if path is None:
        root = data_folder(folder)
        looked = f"{VARIABLE} (not set)" if root is None else str(root)
        raise missing(name, f"no folder {SOURCES[name].folder} in {looked}", root)
    return path


def missing(name: str, found: str, root: Path | None) -> MissingData:
    """Make the error about data that is not there, or not usable."""
    source = SOURCES[name]
    target = f"{root or '$' + VARIABLE}/{source.folder}"
    return MissingData(
        f"the data {name} must hold {source.what}; got {found}. "
        f"Download it from {source.where} and put {source.files} into {target}."
    )


def unusable(name: str, path: Path, skipped: list[str]) -> MissingData:
    """Make the error about a folder without a single usable file; the first reasons are named."""
    reasons = " | ".join(skipped[:SHOWN_REASONS]) or "no files"
    more = f" (and {len(skipped) - SHOWN_REASONS} more)" if len(skipped) > SHOWN_REASONS else ""
    return missing(name, f"nothing usable in {path}: {reasons.rstrip('.')}{more}", path.parent)


def fingerprint(path: Path | str, pattern: str = "*") -> str:
    """SHA-256 of a file; or of a folder: that of the listing ``<SHA-256>  <name>`` of its files, sorted by name.

    Parameters
    ----------
    path : file or folder
    pattern : which names in a folder count, at any depth; hidden files never do

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.txt")
    ...     _ = file.write_text("a")
    ...     print(fingerprint(file)[:8], fingerprint(folder)[:8])
    ca978112 29ef94e5
    """
    path = Path(path)
    if path.is_file():
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    if not path.is_dir():
        raise ValueError(f"path must be a file or a folder; got {path}, which does not exist. Check the spelling.")
    files = {file.relative_to(path): file for file in path.rglob(pattern) if file.is_file()}
    names = sorted(name.as_posix() for name in files if not any(part.startswith(".") for part in name.parts))
    listing = "".join(f"{fingerprint(path / name)}  {name}\n" for name in names)
    return sha256(listing.encode()).hexdigest()


def is_known(name: str, folder: Path | str | None = None) -> bool | None:
    """Whether the files of a source are the ones we know; None where we know no fingerprint.

    Examples
    --------
    >>> is_known("abc", "somewhere") is None
    True
    """
    source = SOURCES[name]
    if source.sha256 is None:
        return None
    path = need(name, folder)
    if not any(path.rglob(source.files)):
        return None
    single = path / source.files
    return fingerprint(single if single.is_file() else path, source.files) == source.sha256
