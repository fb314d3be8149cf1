"""Writing features to a table: one row per file, the first column its path."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

import numpy as np

from .slices import Array


def write_features(path: Path | str, names: Sequence[str], columns: Sequence[str], features: Array) -> None:
    """Write a table of features, or leave what was there untouched.

    The table is written beside its target and moved into place when it is complete.

    Parameters
    ----------
    path : ``.parquet``, ``.csv``, or ``.npz`` with arrays `path`, `columns` and `features`
    names : one per row; they become the column `path`
    columns : one distinct name per feature
    features : array of shape (n_rows, n_columns)

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "features.csv"
    >>> write_features(target, ["crown.png"], ["max_0", "max_1"], np.array([[0.5, 0.25]]))
    >>> target.read_text().split()
    ['path,max_0,max_1', 'crown.png,0.5,0.25']
    """
    path = Path(path)
    check_target(path)
    if features.shape != (len(names), len(columns)):
        raise ValueError(
            f"features must have one row per name and one column per column name, {(len(names), len(columns))}; "
            f"got {features.shape}. Pass matching lists."
        )
    if len(set(columns)) < len(columns):
        raise ValueError(f"columns must be distinct; got {len(columns) - len(set(columns))} repeated. Rename them.")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            WRITERS[path.suffix.lower()](file, names, columns, features)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def check_target(path: Path | str) -> None:
    """Raise a ValueError if no table can be written there: worth knowing before a long computation."""
    path = Path(path)
    if path.suffix.lower() not in WRITERS:
        raise ValueError(
            f"the table must end in one of {', '.join(WRITERS)}; got {path.name!r}. Choose the format by the suffix."
        )
    if path.is_dir():
        raise ValueError(f"the table must be a file; got the folder {path}. Choose another name.")
    if not path.parent.is_dir():
        raise ValueError(f"the table must go into a folder that exists; got {path.parent}. Create the folder first.")
    try:
        with NamedTemporaryFile(dir=path.parent, prefix="."):
            pass
    except OSError as error:
        raise ValueError(
            f"the table must go into a folder that can be written; got {path.parent} ({error.strerror}). Choose one."
        ) from None


def _write_parquet(file: BinaryIO, names: Sequence[str], columns: Sequence[str], features: Array) -> None:
    import pyarrow
    from pyarrow import parquet

    arrays = [pyarrow.array(names, pyarrow.string()), *map(pyarrow.array, np.ascontiguousarray(features.T))]
    parquet.write_table(pyarrow.table(arrays, ["path", *columns]), file)


def _write_npz(file: BinaryIO, names: Sequence[str], columns: Sequence[str], features: Array) -> None:
    np.savez(file, path=np.array(names, dtype=np.str_), columns=np.array(columns, dtype=np.str_), features=features)


def _write_csv(file: BinaryIO, names: Sequence[str], columns: Sequence[str], features: Array) -> None:
    with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["path", *columns])
        writer.writerows([name, *row] for name, row in zip(names, features.tolist(), strict=True))


WRITERS: dict[str, Callable[[BinaryIO, Sequence[str], Sequence[str], Array], None]] = {
    ".parquet": _write_parquet,
    ".npz": _write_npz,
    ".csv": _write_csv,
}
