"""What the catalogue knows about a mark, and which marks a user asks for."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..errors import InputError
from .dates import years
from .units import MM_PER_INCH

METADATA = ("name", "motif", "date", "place", "method", "reference", "note")
LAST_YEAR = 9999  # dates have four digits
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
    def unit(self) -> float | None:
        """Millimetres per pixel of the ink."""
        return None if self.mm_per_pixel is None else self.mm_per_pixel / self.to_mark[0]

    @property
    def size_mm(self) -> tuple[float, float] | None:
        """Width and height of the mark on paper, in millimetres, where the picture has a scale."""
        return None if self.unit is None else (self.mark_width * self.unit, self.mark_height * self.unit)

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
        self._check()
        terms, values = ["1"], []
        for name in ("motif", "method", "place"):
            if wanted := getattr(self, name):
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

    def _check(self) -> None:
        """Refuse what would match nothing, whatever is in the catalogue."""
        if not isinstance(self.text, str):
            raise InputError("text", "be a text", repr(self.text))
        for name in ("motif", "method", "place"):
            wanted = getattr(self, name)
            if not isinstance(wanted, (tuple, list)) or not all(isinstance(one, str) for one in wanted):
                raise InputError(name, "be several texts", repr(wanted), f'Write {name}=("...",).')
        for name in ("year_from", "year_to"):
            year = getattr(self, name)
            if year is not None and (type(year) is not int or abs(year) > LAST_YEAR):
                raise InputError(name, "be a year", repr(year), "Leave it out for all years.")

    @property
    def all(self) -> bool:
        """Whether every mark matches."""
        return self == Filter()
