"""From what a page sends to filters and settings, and back."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData, ImmutableMultiDict
from starlette.exceptions import HTTPException
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import Request

from ...errors import InputError
from ..intake import Settings, check_settings
from ..model import Filter
from .security import MAX_FORM, MAX_UPLOAD

Values = ImmutableMultiDict[str, Any]

MAX_TEXT = 10_000
MAX_FIELDS = 40
MAX_CHOICES = 50
MAX_NUMBER = 1_000_000
FACETS = ("motif", "method", "place")
EDGES = ("left", "top", "right", "bottom")


class _InMemory(MultiPartParser):
    """Reads uploads without ever writing them into a temporary file."""

    spool_max_size = MAX_UPLOAD + 1


async def read_form(request: Request) -> Values:
    """Read a form, with few fields, at most one file, and all of it in memory; one without a type is empty.

    Only the content of a picture is kept, under its own name: that of the file is never looked at.
    """
    form = await _parsed(request) if "content-type" in request.headers else FormData()
    sent = [(name, one) for name, one in form.multi_items() if isinstance(one, str) or name == "picture"]
    values = [(name, one if isinstance(one, str) else await one.read()) for name, one in sent]
    await form.close()
    return ImmutableMultiDict(values)


async def _parsed(request: Request) -> FormData:
    kind = request.headers["content-type"].partition(";")[0].strip().lower()
    try:
        if kind == "multipart/form-data":
            limits = {"max_files": 1, "max_fields": MAX_FIELDS, "max_part_size": MAX_FORM}
            return await _InMemory(request.headers, request.stream(), **limits).parse()
        if kind == "application/x-www-form-urlencoded":
            form = await FormParser(request.headers, request.stream()).parse()
            if len(form.multi_items()) <= MAX_FIELDS + MAX_CHOICES:
                return form
    except MultiPartException as error:
        raise HTTPException(400, f"the form must be whole; got: {error.message} Send it again.") from None
    raise HTTPException(400, "the form must be one of this page's own; got another kind. Send it from the page.")


def read_upload(values: Values) -> bytes:
    """Return the bytes of the picture in a form."""
    data = values.get("picture")
    if not isinstance(data, bytes) or not data:
        raise InputError("the picture", "hold data", "none", "Choose a file, or drop one on the page.")
    return data


def read_filter(values: Values) -> Filter:
    """Return the filter that a form or an address asks for.

    Examples
    --------
    >>> from starlette.datastructures import QueryParams
    >>> read_filter(QueryParams("text=lily&motif=key&motif=&year_from=1430"))
    Filter(text='lily', motif=('key',), method=(), place=(), year_from=1430, year_to=None)
    """
    chosen = {name: tuple(filter(None, _texts(values, name))) for name in FACETS}
    for name, texts in chosen.items():
        if len(texts) > MAX_CHOICES:
            raise InputError(name, f"be at most {MAX_CHOICES} values", len(texts), "Choose fewer.")
    years = {name: _year(values, name) for name in ("year_from", "year_to")}
    return Filter(text=read_text(values, "text"), **chosen, **years)  # type: ignore[arg-type]


def _texts(values: Values, name: str) -> list[str]:
    return [text.strip() for text in values.getlist(name) if isinstance(text, str)]


def read_text(values: Values, name: str) -> str:
    """Return a text without blanks around it, or an empty one."""
    text = next(iter(_texts(values, name)), "")
    if len(text) > MAX_TEXT:
        raise InputError(name, f"have at most {MAX_TEXT} characters", len(text), "Shorten it.")
    return text


def _year(values: Values, name: str) -> int | None:
    text = read_text(values, name)
    if text and not (text.isascii() and text.isdigit() and len(text) <= 4):
        label = name.replace("_", " ")
        raise InputError(label, "be a year such as 1450", repr(text), "Leave it empty for all years.")
    return int(text) if text else None


def filter_query(wanted: Filter, **others: Any) -> str:
    """Write a filter, and more, as the query of an address; what is empty is left out.

    Examples
    --------
    >>> filter_query(Filter(motif=("bull's head",), year_to=1500), page=2)
    'motif=bull%27s+head&year_to=1500&page=2'
    """
    values = {name: value for name, value in (wanted._asdict() | others).items() if value not in ("", None, ())}
    return urlencode(values, doseq=True)


def read_settings(values: Values) -> Settings:
    """Return how the picture of a form is to be read.

    Examples
    --------
    >>> form = {"polarity": "dark", "left": "1", "top": "2", "right": "30", "bottom": "40", "erase": "5,6,2 7,6,2"}
    >>> settings = read_settings(ImmutableMultiDict(form))
    >>> settings.polarity, settings.crop, settings.erase
    ('dark', (1, 2, 30, 40), ((5.0, 6.0, 2.0), (7.0, 6.0, 2.0)))
    """
    edges = [read_text(values, name) for name in EDGES]
    discs = next(iter(_texts(values, "erase")), "").split()
    return check_settings(
        {
            "polarity": read_text(values, "polarity") or "auto",
            "crop": [_number("crop", edge) for edge in edges] if any(edges) else None,
            "erase": tuple([_number("erase", part) for part in disc.split(",")] for disc in discs),
            "ink": not read_text(values, "clean"),
            "bar_mm": _number("bar_mm", text) if (text := read_text(values, "bar_mm")) else None,
        }
    )


def _number(name: str, text: str) -> float:
    with suppress(ValueError):
        number = float(text.replace(",", "."))
        if abs(number) <= MAX_NUMBER:
            return number
    rule = f"be made of numbers, none beyond {MAX_NUMBER}"
    raise InputError(name, rule, repr(text[:40]), "Empty the field to do without.")


def form_of(settings: Settings, wanted: Filter) -> Values:
    """Return the fields of a form that asks for these settings and this filter."""
    erase = " ".join(",".join(f"{value:.6g}" for value in disc) for disc in settings.erase)
    fields = wanted._asdict() | dict(zip(EDGES, settings.crop or ("",) * 4, strict=True)) | {"erase": erase}
    fields |= {"polarity": settings.polarity, "clean": "" if settings.ink else "on", "bar_mm": settings.bar_mm or ""}
    several = [(name, value if isinstance(value, tuple) else (value,)) for name, value in fields.items()]
    return ImmutableMultiDict([(name, "" if one is None else str(one)) for name, values in several for one in values])
