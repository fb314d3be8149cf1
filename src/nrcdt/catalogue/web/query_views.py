"""Queries: a picture is sent, its ink is shown, and its relatives are listed."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...ink import NoInkError
from ..intake import Settings
from ..model import Filter
from ..ranking import write_ink
from .forms import Values, form_of, read_filter, read_form, read_settings, read_upload
from .mark_views import of
from .pictures import FIRST, shown_as, tinted
from .render import picture
from .session import Question, Session

UNUSABLE = 422


def new(request: Request) -> Response:
    """Show an empty form for a picture."""
    return _new(request, form_of(Settings(), Filter()))


def _new(request: Request, form: Values, sentence: str = "", status: int = 200) -> Response:
    session, pages = of(request)
    return pages("ask.html", status, form=form, facets=session.facets(), sentence=sentence)


async def ask(request: Request) -> Response:
    """Take a picture and look for it."""
    session, _ = of(request)
    async with session.turns.place() as turn:
        form = await read_form(request)
        fields = ImmutableMultiDict([(name, value) for name, value in form.multi_items() if isinstance(value, str)])
        try:
            data, settings, wanted = await read_upload(form), read_settings(fields), read_filter(fields)
            async with turn:
                question = await run_in_threadpool(_asked, session, data, settings, wanted)
        except ValueError as error:
            return await run_in_threadpool(_new, request, fields, str(error), UNUSABLE)
    return RedirectResponse(f"/query/{question.key}", 303)


def _asked(session: Session, data: bytes, settings: Settings, wanted: Filter) -> Question:
    try:
        return session.ask(data, settings, wanted)
    except NoInkError as error:
        return session.keep_without_ink(data, settings, wanted, str(error))


async def relatives(request: Request) -> Response:
    """Look for the relatives of a mark of the catalogue."""
    session, _ = of(request)
    async with session.turns.place() as turn:
        mark = await run_in_threadpool(session.mark, request.path_params["uid"])
        async with turn:
            question = await run_in_threadpool(session.ask_for_relatives, mark, Filter())
    return RedirectResponse(f"/query/{question.key}", 303)


def answer(request: Request) -> Response:
    """Show what was found."""
    session, _ = of(request)
    question = session.question(request.path_params["key"])
    return _answer(request, question, form_of(question.settings, question.wanted))


def _answer(request: Request, question: Question, form: Values, sentence: str = "", status: int = 200) -> Response:
    session, pages = of(request)
    judged = {}
    if question.mark is not None:
        uid = question.mark.uid
        judged = {one.b if one.a == uid else one.a: one for one in session.catalogue.judgements(uid)}
    values = {"question": question, "side": session.side(question.key), "judged": judged}
    return pages("query.html", status, form=form, facets=session.facets(), sentence=sentence, **values)


async def again(request: Request) -> Response:
    """Look once more, with other settings or among other marks."""
    session, _ = of(request)
    question = session.question(request.path_params["key"])
    async with session.turns.place() as turn:
        form = await read_form(request)
        try:
            settings, wanted = read_settings(form), read_filter(form)
            async with turn:
                await run_in_threadpool(session.ask_again, question, settings, wanted)
        except ValueError as error:
            return await run_in_threadpool(_answer, request, question, form, str(error), UNUSABLE)
    return RedirectResponse(f"/query/{question.key}", 303)


def question_picture(request: Request) -> Response:
    """Send a picture of a question: as it came, small, its ink, or its ink in colour."""
    session, _ = of(request)
    question, kind = session.question(request.path_params["key"]), request.path_params["kind"]
    prepared = question.prepared
    if prepared is not None:
        if kind == "ink.png":
            return picture(write_ink(prepared.mark), "image/png")
        if kind == "seen.png":
            return picture(tinted(prepared.mark / 255, FIRST), "image/png")
        shown = shown_as(question.data) if kind == "picture" else None
        if shown:
            return picture(question.data, shown)
        if kind in ("picture", "preview.jpg"):
            return picture(prepared.preview, "image/jpeg")
    raise HTTPException(404, f"the picture must be of a known kind; got {kind!r}. Open the page of the query.")
