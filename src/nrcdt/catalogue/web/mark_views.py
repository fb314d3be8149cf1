"""The collection: a grid of marks, each mark on a page of its own, and what people said about pairs of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..intake import Settings
from ..model import METADATA, Filter
from .forms import Values, form_of, read_filter, read_text
from .session import other_mark
from .views import REFUSED, UNUSABLE, form_view, mark_of, page, picture, picture_of, see_other, session_of

PER_PAGE = 60
SHOWN = ("picture", "ink")
MAX_JUDGEMENTS = 1000


def grid(request: Request) -> Response:
    """Show the marks that match a filter, a page at a time."""
    session = session_of(request)
    wanted, form, sentence = _filter(request.query_params)
    n = session.catalogue.count(wanted)
    n_pages = max(1, -(-n // PER_PAGE))
    number = _page_number(request, n_pages)
    show = request.query_params.get("show")
    return page(
        request,
        "grid.html",
        UNUSABLE if sentence else 200,
        marks=session.catalogue.marks(wanted, (number - 1) * PER_PAGE, PER_PAGE),
        wanted=wanted,
        form=form,
        sentence=sentence,
        facets=session.facets(),
        n=n,
        page=number,
        n_pages=n_pages,
        show=show if show in SHOWN else SHOWN[0],
    )


def _filter(given: QueryParams) -> tuple[Filter, Values, str]:
    """Return what is wanted, the fields of the form, and what is wrong: a year that is none is left out, and said."""
    try:
        wanted = read_filter(given)
        return wanted, form_of(Settings(), wanted), ""
    except ValueError as error:
        rest = QueryParams([(name, value) for name, value in given.multi_items() if not name.startswith("year_")])
        return read_filter(rest), given, str(error)


def _page_number(request: Request, n_pages: int) -> int:
    text = request.query_params.get("page", "1")
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= n_pages):
        raise HTTPException(404, f"page must be a number from 1 to {n_pages}; got {text[:20]!r}. Go back to the first.")
    return int(text)


def mark_page(request: Request, changes: Mapping[str, str] | None = None, sentence: str = "") -> Response:
    """Show all that is known about a mark, and a form to change it, or what is wrong with it."""
    session, mark = session_of(request), mark_of(request)
    catalogue = session.catalogue
    known = {name: getattr(mark, name) for name in METADATA}
    known["dpi"] = "" if mark.dpi is None else f"{mark.dpi:.12g}"
    return page(
        request,
        "mark.html",
        REFUSED if sentence else 200,
        mark=mark,
        form=known | dict(changes or {}),
        sentence=sentence,
        facets=session.facets(),
        side=session.side(mark.uid),
        judged=[(one, catalogue.mark(other_mark(one, mark.uid))) for one in catalogue.judgements(mark.uid)],
        original=catalogue.picture(mark.uid, "original") is not None,
    )


@form_view
def edit(request: Request, form: Values) -> Response:
    """Change what is known about a mark."""
    session, mark = session_of(request), mark_of(request)
    changes = {name: read_text(form, name) for name in (*METADATA, "dpi") if name in form}
    try:
        session.catalogue.edit(mark.uid, changes)
    except ValueError as error:
        return mark_page(request, changes, str(error))
    session.forget_facets()
    return see_other(f"/mark/{mark.uid}")


def mark_picture(request: Request) -> Response:
    """Send a picture of a mark: its ink, its ink in colour, a small picture, or the best there is."""
    stored = partial(session_of(request).catalogue.picture, mark_of(request).uid)
    return picture_of("mark", request.path_params["kind"], stored)


def original(request: Request) -> Response:
    """Send the file that a mark was read from, where the catalogue keeps it."""
    mark = mark_of(request)
    data = session_of(request).catalogue.picture(mark.uid, "original")
    if data is None:
        raise HTTPException(404, "the catalogue must keep the file; it keeps small pictures only. Add it with --keep.")
    response = picture(data, "application/octet-stream")
    response.headers["Content-Disposition"] = f'attachment; filename="{mark.uid}"'
    return response


def judgements(request: Request) -> Response:
    """List all pairs that were judged, the newest first."""
    catalogue = session_of(request).catalogue
    newest = sorted(catalogue.judgements(), key=lambda one: one.at, reverse=True)
    pairs = [(one, catalogue.mark(one.a), catalogue.mark(one.b)) for one in newest[:MAX_JUDGEMENTS]]
    return page(request, "judgements.html", pairs=pairs, n=len(newest))
