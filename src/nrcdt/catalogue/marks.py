"""What the catalogue knows about a mark, and which marks a user asks for."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

from ..errors import InputError

METADATA = ("name", "motif", "date", "place", "method", "reference", "note")
VERDICTS = ("identical", "twin mould", "similar", "different")


class Mark(NamedTuple):
    """A mark without its pictures.

    Attributes
    ----------
    uid : str, opaque name by which the mark is asked for
    name, motif, date, place, method, reference, note : str, empty where unknown
    extra : dict of further columns of the table it came from
    source : str, the file it was read from; empty for uploads
    sha256 : str, of that file
    width, height : int, of the picture, in pixels
    mm_per_pixel : float or None
    mark_width, mark_height : int, of the image of ink
    to_mark : (scale, dx, dy): pixel (x, y) of the picture is pixel scale * x + dx, scale * y + dy of the mark
    polarity, confidence, steps : what was found in the picture, how surely, and what was done to it
    settings : dict, how the picture was to be read
    added : str, when
    """

    uid: str
    name: str
    motif: str
    date: str
    place: str
    method: str
    reference: str
    note: str
    extra: dict[str, str]
    source: str
    sha256: str
    width: int
    height: int
    mm_per_pixel: float | None
    mark_width: int
    mark_height: int
    to_mark: tuple[float, float, float]
    polarity: str
    confidence: float
    steps: list[str]
    settings: dict[str, Any]
    added: str

    @property
    def size_mm(self) -> tuple[float, float] | None:
        """Width and height of the mark on paper, in millimetres, where the picture has a scale."""
        if self.mm_per_pixel is None:
            return None
        unit = self.mm_per_pixel / self.to_mark[0]
        return self.mark_width * unit, self.mark_height * unit

    @property
    def dpi(self) -> float | None:
        """Resolution of the picture, in pixels per inch."""
        return None if self.mm_per_pixel is None else round(MM_PER_INCH / self.mm_per_pixel, 3)


JSON_COLUMNS = ("extra", "to_mark", "steps", "settings")
COLUMNS = Mark._fields


def to_row(mark: Mark) -> dict[str, Any]:
    """Write a mark as columns of plain values, with those that filters look at."""
    row = mark._asdict()
    return row | {name: json.dumps(row[name], ensure_ascii=False) for name in JSON_COLUMNS} | searched(mark)


def searched(mark: Mark) -> dict[str, Any]:
    """Return the columns that filters look at: years, and all texts in one."""
    first, last = years(mark.date)
    words = "\n".join(getattr(mark, name) for name in METADATA).casefold()
    return {"year_from": first, "year_to": last, "words": words}


def from_row(row: tuple[Any, ...]) -> Mark:
    """Read a mark from the columns of `COLUMNS`."""
    values = dict(zip(COLUMNS, row, strict=True))
    values |= {name: json.loads(values[name]) for name in JSON_COLUMNS}
    values["to_mark"] = tuple(values["to_mark"])
    return Mark(**values)


def years(date: str) -> tuple[int | None, int | None]:
    """Return the first and the last year that a date may speak of; both None where it tells no year.

    Two digits behind a dash share the century of the year before if they are later; otherwise they are a month. A
    century is given by its number, Arabic or Roman. What is before or after a year has no other end.

    Examples
    --------
    >>> years("1432"), years("ca. 1450-62"), years("Basel, 12.3.1471"), years("1471-03-12"), years("undated")
    ((1432, 1432), (1450, 1462), (1471, 1471), (1471, 1471), (None, None))
    >>> years("15. Jh."), years("late 15th c"), years("XIV-XV sec."), years("vor 1450"), years("after 1500")
    ((1401, 1500), (1401, 1500), (1301, 1500), (0, 1450), (1500, 9999))
    """
    date = _DAY.sub(r"\1", date.casefold())
    found = [int(year) for year in _YEAR.findall(date)]
    if not found:
        return _centuries(date)
    found += [int(first[:2] + last) for first, last in _SHORT.findall(date) if last > first[2:]]
    side = _SIDE.search(date)
    if side and len(found) == 1:
        before = bool(side["before"]) != bool(side["not"])
        return (FIRST_YEAR, found[0]) if before else (found[0], LAST_YEAR)
    return min(found), max(found)


FIRST_YEAR, LAST_YEAR = 0, 9999
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d{2}(?!\d)")
_DAY = re.compile(r"(?<!\d)(\d{4})-\d{1,2}-\d{1,2}(?!\d)")
_SHORT = re.compile(r"(?<!\d)((?:1\d|20)\d{2})\s*[-\u2013/]\s*(\d{2})(?!\d)")
_SIDE = re.compile(
    r"\b(?P<not>nicht |not |non )?(?:(?P<before>vor|bis|before|until|ante|avant|prima del)|"
    r"nach|ab|seit|after|since|from|post|apr[e\u00e8]s|dopo il)\s+(?:ca?\.?\s*)?\d{4}(?!\d)"
)
_NUMBER = r"(2[01]|1?\d|[ivx]+)\.?(?:th|st|nd|rd|e|es|er|eme|\u00e8me)?\.?"
_BEHIND = r"(?:jh|jahrh|cent|c\b|sec|s\.|s\b|saec|si[e\u00e8]c|eeuw)"
_BETWEEN = r"(?:\s*[-\u2013/]\s*(?:[^\W\d]+\s+)?|\s+(?:bis|und|to|or|and)\s+)"
_CENTURY = re.compile(
    rf"\b(?:{_NUMBER}{_BETWEEN})?\b{_NUMBER}[\s-]*{_BEHIND}"
    r"|\b(?:saec|secolo|sec|si[e\u00e8]cle|siglo|s)\b\.?\s*([ivx]+)(?:\s*[-\u2013/]\s*([ivx]+))?\b"
)
_ROMAN = {"i": 1, "v": 5, "x": 10}


def _centuries(date: str) -> tuple[int | None, int | None]:
    found = _CENTURY.search(date)
    numbers = [_century(number) for number in found.groups() if number] if found else []
    return (100 * min(numbers) - 99, 100 * max(numbers)) if numbers else (None, None)


def _century(number: str) -> int:
    if number.isdigit():
        return int(number)
    values = [_ROMAN[letter] for letter in number]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))


DPI = (10, 100_000)
MM_PER_INCH = 25.4


def millimetres(text: str, unit: str = "dpi") -> float | None:
    """Return the millimetres per pixel of a resolution as typed, in "dpi" or "mm_per_pixel"; None for an empty one.

    Examples
    --------
    >>> millimetres("12,7"), millimetres("0,2", "mm_per_pixel"), millimetres("")
    (2.0, 0.2, None)
    """
    if not text.strip():
        return None
    low, high = DPI if unit == "dpi" else (MM_PER_INCH / DPI[1], MM_PER_INCH / DPI[0])
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise InputError(unit, f"be a number from {low:g} to {high:g}", repr(text), "Leave it empty if unknown.")
    return MM_PER_INCH / value if unit == "dpi" else value


class Filter(NamedTuple):
    """Which marks are wanted; everything left empty matches all.

    Attributes
    ----------
    text : found in the name, motif, date, place, method, reference or note, whatever the case
    motif, method, place : exactly these; of motif and method several may be given
    year_from, year_to : years between which the date of the mark may lie; undated marks then do not match
    """

    text: str = ""
    motif: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    place: tuple[str, ...] = ()
    year_from: int | None = None
    year_to: int | None = None

    def where(self) -> tuple[str, list[Any]]:
        """Return the filter as a condition of SQL and its parameters."""
        terms, values = ["1"], []
        for name in ("motif", "method", "place"):
            wanted = getattr(self, name)
            if wanted:
                terms.append(f"{name} IN ({', '.join('?' * len(wanted))})")
                values += list(wanted)
        if self.text:
            terms.append("instr(words, ?) > 0")
            values.append(self.text.casefold())
        if self.year_from is not None:
            terms.append("year_to >= ?")
            values.append(self.year_from)
        if self.year_to is not None:
            terms.append("year_from <= ?")
            values.append(self.year_to)
        return " AND ".join(terms), values

    @property
    def all(self) -> bool:
        """Whether every mark matches."""
        return self == Filter()
