"""Queries: a picture is sent, its ink is shown, and its relatives are listed."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ..intake import Settings
from ..model import Filter
from ..ranking import write_ink
from .forms import Values, form_of, read_filter, read_settings, read_upload
from .session import other_mark
from .views import (
    UNUSABLE,
    mark_of,
    page,
    picture_of,
    question_of,
    queued_view,
    see_other,
    session_of,
    unknown_picture,
)


def new(request: Request, form: Values | None = None, sentence: str = "") -> Response:
    """Show a form for a picture, empty, or with what is wrong with it."""
    form, facets = form_of(Settings(), Filter()) if form is None else form, session_of(request).facets()
    return page(request, "ask.html", UNUSABLE if sentence else 200, form=form, facets=facets, sentence=sentence)


@queued_view
def ask(request: Request, form: Values) -> Response:
    """Take a picture and look for it."""
    try:
        question = session_of(request).ask(read_upload(form), read_settings(form), read_filter(form))
    except ValueError as error:
        return new(request, form, str(error))
    return see_other(f"/query/{question.key}")


@queued_view
def relatives(request: Request, form: Values) -> Response:
    """Look for the relatives of a mark of the catalogue."""
    question = session_of(request).ask_for_relatives(mark_of(request))
    return see_other(f"/query/{question.key}")


def answer(request: Request, form: Values | None = None, sentence: str = "") -> Response:
    """Show what was found, and a form to look once more, or what is wrong with it."""
    session, question = session_of(request), question_of(request)
    judged = {}
    if question.mark is not None:
        uid = question.mark.uid
        judged = {other_mark(one, uid): one for one in session.catalogue.judgements(uid)}
    values = {"question": question, "side": session.side(question.key), "judged": judged, "facets": session.facets()}
    values["form"] = form_of(question.settings, question.wanted) if form is None else form
    return page(request, "query.html", UNUSABLE if sentence else 200, sentence=sentence, **values)


@queued_view
def again(request: Request, form: Values) -> Response:
    """Look once more, with other settings or among other marks."""
    question = question_of(request)
    try:
        session_of(request).ask_again(question, read_settings(form), read_filter(form))
    except ValueError as error:
        return answer(request, form, str(error))
    return see_other(f"/query/{question.key}")


def question_picture(request: Request) -> Response:
    """Send a picture of a question: as it came, small, its ink, or its ink in colour."""
    question, kind = question_of(request), request.path_params["kind"]
    prepared = question.prepared
    if prepared is None:  # a mark, whose pictures have addresses of their own
        raise unknown_picture("query", kind)
    stored = {"preview": prepared.preview, "original": question.data}
    return picture_of("query", kind, lambda which: write_ink(prepared.mark) if which == "mark" else stored[which])
