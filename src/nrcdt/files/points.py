"""Points with weights, from arrays and from tables of numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from numpy.lib.format import MAGIC_PREFIX

from ..arrays import Array
from ..errors import InputError
from .checks import check_bytes, check_file, first_line

WEIGHT_NAMES = {"weight", "weights"}
INDEX_NAMES = {"", "id", "idx", "index", "unnamed: 0"}


def read_cloud(path: Path | str) -> tuple[Array, Array | None]:
    """Read points, and weights if the file has some.

    Parameters
    ----------
    path : file of points, one per row
        ``.npy``: an array (n_points, d). ``.npz``: `points` and perhaps `weights`, or a single array. ``.csv``,
        ``.txt``, ``.xyz``: numbers between commas, semicolons or blanks, perhaps under a header; a column named
        `weight` holds weights. A column that counts the rows is left out: one named `id` or `index`, or without a name
        beside others that have one, even if these are only 0, 1, ... as pandas writes them.

    Returns
    -------
    points : array of shape (n_points, d), or (n_rotations, 3, 3) for rotation matrices
    weights : array of shape (n_points,), or None
    """
    path = Path(path)
    check_file(path)
    points, weights = _read_arrays(path) if path.suffix.lower() in (".npy", ".npz") else _read_text(path)
    if points.dtype.kind not in "fiu":
        raise InputError(
            "the points", "be real numbers", points.dtype, "Save them as an array of floats, without objects."
        )
    if points.ndim != 2 and points.shape[1:] != (3, 3):
        raise InputError(
            "the points", "have shape (n_points, d)", points.shape, "One row per point, one file per cloud."
        )
    return points, weights


def _read_arrays(path: Path) -> tuple[Array, Array | None]:
    try:
        arrays = {"points": _read_npy(path)} if path.suffix.lower() == ".npy" else _read_npz(path)
    except InputError:
        raise
    except Exception as error:  # damaged archives fail in the words of zlib, zipfile and numpy
        raise _not_whole(first_line(error)) from error
    if "points" in arrays:
        return arrays["points"], arrays.get("weights")
    if len(arrays) == 1:
        return next(iter(arrays.values())), None
    raise InputError(
        "the archive",
        "hold `points`, or a single array",
        ", ".join(arrays) or "nothing",
        "Save it with numpy.savez(file, points=..., weights=...).",
    )


def _not_whole(found: str) -> InputError:
    return InputError("the file", "hold whole arrays of numbers", found, "Save it again.")


def _read_npy(path: Path) -> Array:
    with path.open("rb") as file:
        if file.read(len(MAGIC_PREFIX)) != MAGIC_PREFIX:
            raise _not_whole("objects, or no array file")
    # A memory map compares the header with the size of the file before it promises memory.
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False))


def _read_npz(path: Path) -> dict[str, Array]:
    with ZipFile(path) as archive:
        if members := archive.infolist():
            check_bytes(sum(member.file_size for member in members))
    with np.load(path, allow_pickle=False) as arrays:
        return {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}


def _read_text(path: Path) -> tuple[Array, Array | None]:
    """Read a table under any number of header lines."""
    headers: list[str] = []
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        lines = (line for line in file if line.strip())
        first = next(lines, "")
        while first and _has_words(first):
            headers.append(first)
            first = next(lines, "")
        if not first and headers:
            raise InputError(
                "the table",
                "hold at least one row of numbers",
                f"words in each, such as {headers[-1].strip()[:60]!r}",
                "Leave out columns of words, or drop the file.",
            )
        separator = next((mark for mark in ";,\t" if mark in first), None)
        rows: Iterable[str] = chain([first], lines)
        if not headers and _numbers_columns(_fields(first, separator)):
            rows = list(lines)
            if _are_names(_fields(first, separator), [_fields(row, separator) for row in rows]):
                headers.append(first)
            else:
                rows.insert(0, first)
        if separator == ";":
            rows = (line.replace(",", ".") for line in rows)
        table = _numbers((line.replace('"', "") for line in rows), separator)
    return _columns(table, _column_names(headers, separator, table))


def _fields(line: str, separator: str | None) -> list[str]:
    return [field.strip(" \"'\r\n") for field in line.lstrip("#% ").split(separator)]


def _numbers_columns(fields: list[str]) -> bool:
    """Tell whether fields are 0, 1, ..., as pandas names columns, beside what names weights or counts rows."""
    numbers = [field for field in fields if field.lower() not in WEIGHT_NAMES | INDEX_NAMES]
    return len(numbers) > 1 and numbers == [str(i) for i in range(len(numbers))]


def _are_names(fields: list[str], rows: list[list[str]]) -> bool:
    """Tell whether 0, 1, ... are names of columns, and no point, by the rows below.

    They are where one field is empty, where rows are longer, and where no row has a whole number: among fractions
    pandas writes 1.0.
    """
    if "" in fields:
        return True
    if not rows:
        return False
    whole = re.compile(r"[-+]?\d+").fullmatch
    return len(rows[0]) > len(fields) or not any(whole(field) for row in rows for field in row)


def _column_names(headers: list[str], separator: str | None, table: Array) -> list[str]:
    """Return the names in the last header line that has one per column, or in the one that names weights.

    Units may stand below the names. A line of as many fields, half of them numbers, is no header but a broken row.
    """
    names: list[str] = []
    counts = bool((table[:, 0] == np.arange(len(table)) + table[0, 0]).all() and table[0, 0] in (0, 1))
    for header in headers:
        fields, remark = _fields(header, separator), header.lstrip().startswith(("#", "%"))
        if counts and not remark and len(fields) == table.shape[1] - 1:
            fields = ["", *fields]  # what counts the rows has no name and no place for one
        if len(fields) != table.shape[1]:
            continue
        wrong = [field for field in fields if _has_words(field)]
        if 2 * len(wrong) <= sum(map(bool, fields)) and not remark and not _numbers_columns(fields):
            raise InputError("the table", "have numbers in every row", f"{wrong[0]!r} in one", "Mend that row.")
        if not set(names) & WEIGHT_NAMES:
            names = [field.lower() for field in fields]
    return names


def _columns(table: Array, names: list[str]) -> tuple[Array, Array | None]:
    """Split coordinates and weights, and leave out what only counts the rows."""
    if not any(names):
        return table, None
    weights = [i for i, name in enumerate(names) if name in WEIGHT_NAMES]
    coordinates = [i for i, name in enumerate(names) if name not in WEIGHT_NAMES | INDEX_NAMES]
    if not coordinates:
        raise InputError("the table", "have columns of coordinates", "weights only", "Add them, or drop the file.")
    return table[:, coordinates], table[:, weights[0]] if weights else None


def _has_words(text: str) -> bool:
    return re.search(r"[A-Za-z#%]", re.sub(r"(?i)\b(nan|inf|infinity)\b|(?<=[\d.])e(?=[-+\d])", "", text)) is not None


def _numbers(rows: Iterable[str], separator: str | None) -> Array:
    with warnings.catch_warnings():
        # An empty table is reported below, by its shape.
        warnings.simplefilter("ignore", UserWarning)
        try:
            table = np.loadtxt(rows, delimiter=separator, comments=["#", "%"], ndmin=2)
        except ValueError as error:
            raise InputError(
                "the table", "hold as many numbers in every row", first_line(error).partition(";")[0], "Mend that row."
            ) from error
    if table.size == 0:
        raise InputError("the table", "hold at least one row of numbers", "none", "Drop the file.")
    return np.asarray(table)
