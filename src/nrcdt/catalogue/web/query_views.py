"""Queries: a picture is sent, its ink is shown, and its relatives are listed."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ..intake import Settings
from ..model import Filter
from ..ranking import write_ink
from .forms import Values, form_of, read_filter, read_settings, read_upload
from .session import Question, other_mark
from .views import UNUSABLE, page, picture_of, queued_view, see_other, session_of, unknown_picture


def new(request: Request) -> Response:
    """Show an empty form for a picture."""
    return _new(request, form_of(Settings(), Filter()))


def _new(request: Request, form: Values, sentence: str = "", status: int = 200) -> Response:
    return page(request, "ask.html", status, form=form, facets=session_of(request).facets(), sentence=sentence)


@queued_view
def ask(request: Request, form: Values) -> Response:
    """Take a picture and look for it."""
    try:
        question = session_of(request).ask(read_upload(form), read_settings(form), read_filter(form))
    except ValueError as error:
        return _new(request, form, str(error), UNUSABLE)
    return see_other(f"/query/{question.key}")


@queued_view
def relatives(request: Request, form: Values) -> Response:
    """Look for the relatives of a mark of the catalogue."""
    session = session_of(request)
    question = session.ask_for_relatives(session.mark(request.path_params["uid"]))
    return see_other(f"/query/{question.key}")


def answer(request: Request) -> Response:
    """Show what was found."""
    question = _question(request)
    return _answer(request, question, form_of(question.settings, question.wanted))


def _question(request: Request) -> Question:
    return session_of(request).question(request.path_params["key"])


def _answer(request: Request, question: Question, form: Values, sentence: str = "", status: int = 200) -> Response:
    session = session_of(request)
    judged = {}
    if question.mark is not None:
        uid = question.mark.uid
        judged = {other_mark(one, uid): one for one in session.catalogue.judgements(uid)}
    values = {"question": question, "side": session.side(question.key), "judged": judged}
    return page(request, "query.html", status, form=form, facets=session.facets(), sentence=sentence, **values)


@queued_view
def again(request: Request, form: Values) -> Response:
    """Look once more, with other settings or among other marks."""
    question = _question(request)
    try:
        session_of(request).ask_again(question, read_settings(form), read_filter(form))
    except ValueError as error:
        return _answer(request, question, form, str(error), UNUSABLE)
    return see_other(f"/query/{question.key}")


def question_picture(request: Request) -> Response:
    """Send a picture of a question: as it came, small, its ink, or its ink in colour."""
    question, kind = _question(request), request.path_params["kind"]
    prepared = question.prepared
    if prepared is None:  # a mark, whose pictures have addresses of their own
        raise unknown_picture("query", kind)
    stored = {"preview": prepared.preview, "original": question.data}
    return picture_of("query", kind, lambda which: write_ink(prepared.mark) if which == "mark" else stored[which])
