"""Tables: features in a file, one row per sample, the first column its path; and texts in Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np

from .arrays import Array
from .errors import InputError
from .whole_files import whole_file

# What a table may tell of how it was made, besides its plan.
REMARKS = ("version", "settings", "reading", "scales", "remarks")


def write_features(
    path: Path | str,
    names: Sequence[str],
    columns: Sequence[str],
    features: Array,
    plan: str = "",
    about: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write a table of features, or leave what was there untouched.

    The table is written beside its target and moved into place when it is complete.

    Parameters
    ----------
    path : ``.parquet``, ``.csv``, or ``.npz`` with arrays `path`, `columns` and `features`
        Only another table of features is replaced, and none to which columns were added.
    names : one per row; they become the column `path`
    columns : one distinct name per feature, numbered as by `NRCDT.get_feature_names_out`
    features : array of shape (n_rows, n_columns)
    plan : digest of the plan that made the columns, which tells tables apart that may not be mixed
    about : how the table was made: `version`, `settings` (keyword arguments of `Plan.resolve`), `reading`, `scales`,
        `remarks`. Text as it is, everything else as JSON.

    Parquet holds `plan` and `about` in the metadata of the schema, as ``nrcdt.plan``, ``nrcdt.version`` and so on,
    ``.npz`` as arrays of these names; CSV has no place for them.

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
        raise InputError(
            "features",
            f"have one row per name and one column per column name, {(len(names), len(columns))}",
            features.shape,
            "Pass matching lists.",
        )
    if len(set(columns)) < len(columns):
        raise InputError("columns", "be distinct", f"{len(columns) - len(set(columns))} repeated", "Rename them.")
    if unknown := [name for name in about if name not in REMARKS]:
        raise InputError("about", f"name some of {', '.join(REMARKS)}", ", ".join(unknown), "Leave out the others.")
    told = {"plan": plan} if plan else {}
    told |= {name: one if isinstance(one, str) else json.dumps(one) for name, one in about.items()}
    try:
        with whole_file(path) as part, part.open("wb") as file:
            WRITERS[path.suffix.lower()](file, names, columns, features, told)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, f"the table must be written whole; got: {error.strerror}", str(path)) from error


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return a table in Markdown, its columns aligned left, or right by number.

    Examples
    --------
    >>> print(markdown_table(["mark", "score"], [["crown", "0.5"]], right=[1]))
    | mark | score |
    |---|---:|
    | crown | 0.5 |
    """
    rule = "|".join("---:" if i in right else "---" for i in range(len(head)))
    lines = ["| " + " | ".join(line) + " |" for line in [head, *rows]]
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def check_target(path: Path | str) -> None:
    """Raise a ValueError if no table can or should be written there: worth knowing before a long computation."""
    path = Path(path)
    if path.suffix.lower() not in WRITERS:
        raise InputError(
            "the table", f"end in one of {', '.join(WRITERS)}", repr(path.name), "Choose the format by the suffix."
        )
    if path.is_dir():
        raise InputError("the table", "be a file", f"the folder {path}", "Choose another name.")
    if not path.parent.is_dir():
        raise InputError("the table", "go into a folder that exists", path.parent, "Create the folder first.")
    if path.exists() and not _is_table(path):
        raise InputError(
            "the table", "not replace what is no table of features", path, "Name another file, or delete it."
        )
    try:
        with NamedTemporaryFile(dir=path.parent, prefix="."):
            pass
    except OSError as error:
        raise InputError(
            "the table", "go into a folder that can be written", f"{path.parent} ({error.strerror})", "Choose one."
        ) from None


def _is_table(path: Path) -> bool:
    """Tell whether a file is empty, or a table like those that are written here, where all columns are numbered."""
    if path.stat().st_size == 0:
        return True
    try:
        names = READERS[path.suffix.lower()](path)
    except Exception:  # whatever readers say of other files
        return False
    return len(names) > 1 and names[0] == "path" and all(re.fullmatch(r".+_\d+", name) for name in names[1:])


def _parquet_names(path: Path) -> list[str]:
    from pyarrow import parquet

    return list(parquet.read_schema(path).names)


def _npz_names(path: Path) -> list[str]:
    with np.load(path, allow_pickle=False) as arrays:
        rest = {*arrays.files} - {"plan", *REMARKS}
        return ["path", *arrays["columns"]] if rest == {"path", "columns", "features"} else []


def _csv_names(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])


READERS: dict[str, Callable[[Path], list[str]]] = {
    ".parquet": _parquet_names,
    ".npz": _npz_names,
    ".csv": _csv_names,
}


def _write_parquet(
    file: BinaryIO, names: Sequence[str], columns: Sequence[str], features: Array, about: Mapping[str, str]
) -> None:
    import pyarrow
    from pyarrow import parquet

    arrays = [pyarrow.array(names, pyarrow.string()), *map(pyarrow.array, np.ascontiguousarray(features.T))]
    table = pyarrow.table(arrays, ["path", *columns], metadata={f"nrcdt.{name}": text for name, text in about.items()})
    parquet.write_table(table, file)


def _write_npz(
    file: BinaryIO, names: Sequence[str], columns: Sequence[str], features: Array, about: Mapping[str, str]
) -> None:
    texts = {"path": names, "columns": columns, **about}
    arrays: dict[str, Any] = {name: np.array(text, dtype=np.str_) for name, text in texts.items()}
    np.savez(file, **arrays, features=features)


def _write_csv(
    file: BinaryIO, names: Sequence[str], columns: Sequence[str], features: Array, about: Mapping[str, str]
) -> None:
    with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["path", *columns])
        writer.writerows([name, *row] for name, row in zip(names, features.tolist(), strict=True))


WRITERS: dict[str, Callable[[BinaryIO, Sequence[str], Sequence[str], Array, Mapping[str, str]], None]] = {
    ".parquet": _write_parquet,
    ".npz": _write_npz,
    ".csv": _write_csv,
}
