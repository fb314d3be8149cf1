"""The collection: a grid of marks, each mark on a page of its own, and what people said about pairs of them."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..intake import Settings
from ..model import METADATA, Filter, Mark
from ..ranking import read_ink
from ..store import Judgement
from .forms import Values, form_of, read_filter, read_form, read_text
from .pictures import FIRST, shown_as, tinted
from .render import Pages, picture
from .session import Session

PER_PAGE = 60
SHOWN = ("picture", "ink")


def of(request: Request) -> tuple[Session, Pages]:
    """Return the catalogue and the templates behind a request."""
    return request.app.state.session, request.app.state.pages


def grid(request: Request) -> Response:
    """Show the marks that match a filter, a page at a time."""
    session, pages = of(request)
    wanted, form, sentence = _filter(request)
    n = session.catalogue.count(wanted)
    n_pages = max(1, -(-n // PER_PAGE))
    page = _page(request, n_pages)
    marks = session.catalogue.marks(wanted, (page - 1) * PER_PAGE, PER_PAGE)
    show = request.query_params.get("show")
    return pages(
        "grid.html",
        422 if sentence else 200,
        marks=marks,
        wanted=wanted,
        form=form,
        sentence=sentence,
        facets=session.facets(),
        n=n,
        page=page,
        n_pages=n_pages,
        show=show if show in SHOWN else SHOWN[0],
    )


def _filter(request: Request) -> tuple[Filter, Values | QueryParams, str]:
    """Return what is wanted, the fields of the form, and what is wrong: a year that is none is left out, and said."""
    given = request.query_params
    try:
        wanted = read_filter(given)
        return wanted, form_of(Settings(), wanted), ""
    except ValueError as error:
        rest = QueryParams([(name, value) for name, value in given.multi_items() if not name.startswith("year_")])
        return read_filter(rest), given, str(error)


def _page(request: Request, n_pages: int) -> int:
    text = request.query_params.get("page", "1")
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= n_pages):
        raise HTTPException(404, f"page must be a number from 1 to {n_pages}; got {text[:20]!r}. Go back to the first.")
    return int(text)


def mark_page(request: Request) -> Response:
    """Show all that is known about a mark."""
    session, _ = of(request)
    mark = session.mark(request.path_params["uid"])
    return _mark_page(request, mark, _fields(mark))


def _mark_page(
    request: Request, mark: Mark, form: Mapping[str, str], sentence: str = "", status: int = 200
) -> Response:
    session, pages = of(request)
    judged = [(one, _other(session, one, mark.uid)) for one in session.catalogue.judgements(mark.uid)]
    original = session.catalogue.picture(mark.uid, "original") is not None
    values = {"side": session.side(mark.uid), "judged": judged, "original": original, "sentence": sentence}
    return pages("mark.html", status, mark=mark, form=form, facets=session.facets(), **values)


def _fields(mark: Mark) -> dict[str, str]:
    dpi = "" if mark.dpi is None else f"{mark.dpi:.12g}"
    return {name: getattr(mark, name) for name in METADATA} | {"dpi": dpi}


def _other(session: Session, judgement: Judgement, uid: str) -> Mark:
    return session.catalogue.mark(judgement.b if judgement.a == uid else judgement.a)


async def edit(request: Request) -> Response:
    """Change what is known about a mark."""
    session, _ = of(request)
    form = await read_form(request)
    mark = await run_in_threadpool(session.mark, request.path_params["uid"])
    changes = {name: read_text(form, name) for name in (*METADATA, "dpi") if name in form}
    try:
        await run_in_threadpool(session.catalogue.edit, mark.uid, changes)
    except ValueError as error:
        return await run_in_threadpool(_mark_page, request, mark, _fields(mark) | changes, str(error), 409)
    session.forget_facets()
    return RedirectResponse(f"/mark/{mark.uid}", 303)


def mark_picture(request: Request) -> Response:
    """Send a picture of a mark: its ink, its ink in colour, a small picture, or the best there is."""
    session, _ = of(request)
    mark, kind = session.mark(request.path_params["uid"]), request.path_params["kind"]
    if kind in ("ink.png", "seen.png"):
        png = session.catalogue.picture(mark.uid, "mark") or b""
        return picture(png if kind == "ink.png" else tinted(read_ink(png) / 255, FIRST), "image/png")
    if kind == "picture":
        original = session.catalogue.picture(mark.uid, "original")
        shown = original and shown_as(original)
        if original and shown:
            return picture(original, shown)
    if kind in ("picture", "preview.jpg"):
        return picture(session.catalogue.picture(mark.uid, "preview") or b"", "image/jpeg")
    raise HTTPException(404, f"the picture must be of a known kind; got {kind!r}. Open the page of the mark.")


def original(request: Request) -> Response:
    """Send the file that a mark was read from, where the catalogue keeps it."""
    session, _ = of(request)
    mark = session.mark(request.path_params["uid"])
    data = session.catalogue.picture(mark.uid, "original")
    if data is None:
        raise HTTPException(404, "the catalogue must keep the file; it keeps small pictures only. Add it with --keep.")
    response = picture(data, "application/octet-stream")
    response.headers["Content-Disposition"] = f'attachment; filename="{mark.uid}"'
    return response


def judgements(request: Request) -> Response:
    """List all pairs that were judged, the newest first."""
    session, pages = of(request)
    rows = sorted(session.catalogue.judgements(), key=lambda one: one.at, reverse=True)
    pairs = [(one, session.catalogue.mark(one.a), session.catalogue.mark(one.b)) for one in rows[:1000]]
    return pages("judgements.html", pairs=pairs, n=len(rows))
