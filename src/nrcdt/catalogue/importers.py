"""What is to be added: folders of pictures, one per motif, or a table that lists pictures and what is known of them."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import SUFFIXES
from .units import read_resolution
from .workers import read_bytes

# Names of columns, in lower case, for each field; those of WZIS exports, which are in German, are among them.
COLUMNS: dict[str, tuple[str, ...]] = {
    "path": ("path", "file", "filename", "image", "picture"),
    "name": ("name", "title"),
    "motif": ("motif", "motiflong_de", "class", "label", "category"),
    "method": ("method", "method_de", "technique"),
    "date": ("date", "year"),
    "place": ("place", "location"),
    "reference": ("reference", "refnumber", "ref", "id"),
    "mm_per_pixel": ("mm_per_pixel",),
    "dpi": ("dpi", "ppi"),
}
SEPARATORS = (",", ";", "\t")


class Entry(NamedTuple):
    """A picture to add, and what is known of it; texts are empty where nothing is known.

    Attributes
    ----------
    path : absolute path of the file, without links
    name, motif, method, date, place, reference : texts
    extra : further columns of the table, by their names
    mm_per_pixel : float, or None where the table has neither this nor a resolution in dpi
    remark : what could not be taken from the table, and why
    data : the picture itself, where there is no file
    """

    path: Path
    name: str
    motif: str = ""
    method: str = ""
    date: str = ""
    place: str = ""
    reference: str = ""
    extra: dict[str, str] = {}  # noqa: RUF012
    mm_per_pixel: float | None = None
    remark: str = ""
    data: bytes = b""

    @property
    def source(self) -> str:
        """The file, by its path; empty where there is none."""
        return "" if self.path == Path() else str(self.path)


class Problem(NamedTuple):
    """A file or a row that is not taken, and why: the rule and the remedy.

    Other files beside the pictures of a folder are `left_out`: nobody asked for them.
    """

    file: str
    reason: str
    left_out: bool = False


def listed(source: Path | str, root: Path | str | None = None) -> Iterator[Entry | Problem]:
    """List the pictures of a folder or of a table, or a single one, and whatever cannot be taken.

    Parameters
    ----------
    source : folder, CSV file, or picture
        The folder inside `source` that holds a picture names its motif; pictures directly in `source` have none. Hidden
        files are left out. A CSV file has a header, commas, semicolons or tabs between columns, and a column `path`,
        relative to the file; WZIS exports are such tables.
    root : folder, optional
        Only files inside it are taken: `source` itself, or the folder it is in, if left out. Paths that do not
        exist beside the CSV file are looked for here.

    Yields
    ------
    Entry, or Problem

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     (Path(folder) / "lily").mkdir()
    ...     (Path(folder) / "lily" / "one.png").touch()
    ...     [entry] = listed(folder)
    >>> entry.name, entry.motif
    ('one', 'lily')
    """
    source = Path(source)
    if not source.exists():
        got = f"{_printable(source)}, which is absent"
        raise InputError("source", "be a folder, a CSV file or a picture", got, "Check the spelling.")
    folder = source if source.is_dir() else source.parent
    root = Path(root or folder).resolve()
    if not root.is_dir():
        raise InputError("root", "be a folder", root, "Give the folder that holds the pictures.")
    if source.is_dir():
        return _in_folder(_walk(folder), folder, root)
    if source.suffix.lower() in SUFFIXES["image"]:
        return _in_folder([source], folder, root)
    return _in_table(source, root)


def _in_folder(paths: Iterable[Path], folder: Path, root: Path) -> Iterator[Entry | Problem]:
    seen: set[Path] = set()
    for path in paths:
        inside = path.relative_to(folder)
        try:
            if path.is_dir():
                raise InputError("the folder", "not be a link", "one, which is not followed", "Add what it leads to.")
            yield Entry(_take([path], root, seen), path.stem, inside.parts[0] if len(inside.parts) > 1 else "")
        except InputError as refused:
            other = path.suffix.lower() not in SUFFIXES["image"] and not path.is_dir()
            yield Problem(_printable(inside), str(refused), other)


def _walk(folder: Path) -> Iterator[Path]:
    """Files that are not hidden, in order, at any depth; links to folders are not followed but come like files."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        yield from (Path(parent) / name for name in sorted([*files, *links]) if not name.startswith("."))


def _in_table(source: Path, root: Path) -> Iterator[Entry | Problem]:
    rows = _rows(read_bytes(source))
    header = [name.strip() for name in next(rows, (1, None))[1] or ()]
    columns = _columns(header)
    if "path" not in columns:
        rule = f"have a column {', '.join(COLUMNS['path'][:-1])} or {COLUMNS['path'][-1]}"
        raise InputError("the table", rule, ", ".join(header) or "no header", "Name the column that holds the files.")
    seen: set[Path] = set()

    def taken(line: int, row: list[str] | None) -> Entry | Problem:
        where = f"{source.name}, line {line}"
        try:
            if row is None:
                limit = csv.field_size_limit()
                raise InputError("the row", f"have cells of at most {limit} letters", "more", "Close its quotes.")
            if len(row) > len(header):
                raise InputError("the row", f"have {len(header)} columns", len(row), "Quote texts with separators.")
            cells = dict(enumerate(cell.strip() for cell in row))
            known = {field: cells.pop(column, "") for field, column in columns.items()}
            path = _take(_candidates(known.pop("path"), source.parent, root), root, seen)
            entry = _entry(path, known, {header[i]: cell for i, cell in cells.items() if cell})
            return entry._replace(remark=entry.remark and f"{where}: {entry.remark}")
        except InputError as refused:
            return Problem(where, str(refused))

    return starmap(taken, rows)


def _rows(data: bytes) -> Iterator[tuple[int, list[str] | None]]:
    """Rows that are not empty, by line, and None for unreadable ones; the header tells the separator."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    header = text.lstrip("\r\n").splitlines()[:1]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(SEPARATORS, key="".join(header).count))
    while True:
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    yield reader.line_num, row
            return
        except csv.Error:
            yield reader.line_num, None


def _columns(header: list[str]) -> dict[str, int]:
    """Return the position of each field that has a column: the first of its names that is there."""
    names = [name.lower() for name in header]
    places = {field: [names.index(name) for name in known if name in names] for field, known in COLUMNS.items()}
    return {field: found[0] for field, found in places.items() if found}


def _entry(path: Path, known: dict[str, Any], extra: dict[str, str]) -> Entry:
    scales = {unit: known.pop(unit, "") for unit in ("mm_per_pixel", "dpi")}
    unit = "mm_per_pixel" if scales["mm_per_pixel"] else "dpi"
    mm_per_pixel, remark = None, ""
    try:
        mm_per_pixel = read_resolution(scales[unit], unit)
    except ValueError as error:
        remark = f"{error} The picture is taken without a resolution."
    name = known.pop("name", "") or path.stem
    return Entry(path, name, extra=extra, mm_per_pixel=mm_per_pixel, remark=remark, **known)


def _candidates(cell: str, *folders: Path) -> list[Path]:
    """Return where a file may be: as written, or with the separators of Windows turned round."""
    if not cell:
        raise InputError("path", "name a file", "nothing", "Fill the cell, or drop the row.")
    return [folder / name for folder in folders for name in dict.fromkeys((cell, cell.replace("\\", "/")))]


def _take(candidates: list[Path], root: Path, seen: set[Path]) -> Path:
    """Return the first file that exists, resolved, or say why it is refused; `seen` are those taken before."""
    path = next(filter(None, map(_resolved, candidates)), None)
    if path is None:
        raise InputError("path", "be an existing file", repr(str(candidates[0])), "Check the spelling.")
    if _printable(path) != str(path):
        raise InputError("the name", "be in UTF-8", _printable(path), "Rename the file or its folder.")
    if not path.is_relative_to(root):
        raise InputError("path", f"stay inside {root}", path, "Give --root FOLDER to take it.")
    if path.suffix.lower() not in SUFFIXES["image"]:
        raise InputError("the suffix", f"be one of {' '.join(SUFFIXES['image'])}", path.name, "Convert the file.")
    if not path.is_file():
        raise InputError("path", "be a regular file", path, "Copy the pictures themselves.")
    if path in seen:
        raise InputError("path", "come once", f"{path} again", "Drop the row or the link.")
    seen.add(path)
    return path


def _printable(path: Path) -> str:
    """Path as text that can be printed and stored, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "replace")


def _resolved(path: Path) -> Path | None:
    """Follow links; None where there is no such file, or the name cannot be one."""
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None
