"""Two marks laid over each other, and what a person says about them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ...errors import InputError
from ...registration import Registration
from ..model import VERDICTS
from ..ranking import sizes_agree, stretch
from ..store import Judgement
from ..wording import times
from .forms import Values, read_text
from .pictures import FIRST, REACH, SECOND, difference, moved, sheet, tinted
from .session import Question, Session, Side
from .views import REFUSED, form_view, page, picture, see_other, session_of

SIZE = 720
THUMB = 160
# Sides of two pictures next to each other, in pixels of the page.
BESIDE = 340
# What a form may ask for instead of a verdict.
NOTE, FORGET = "note", "forget"
LAYERS = ("a.png", "b.png", "difference.png", "thumb.png")


def choose(request: Request) -> Response:
    """Lead to the comparison of two marks that were ticked, or of a mark and one that is called by name."""
    session = session_of(request)
    chosen = request.query_params.getlist("m")[:3]
    wanted = request.query_params.get("with", "").strip()
    if wanted:
        chosen.append(session.catalogue.find(wanted[:1000]).uid)
    if len(chosen) != 2:
        raise InputError("two marks", "be chosen", len(chosen), "Go back and tick two of them.")
    a, b = (session.mark(uid).uid for uid in chosen)
    return see_other(f"/compare/{a}/{b}")


def compare(request: Request, note: str | None = None, sentence: str = "", confirm: str = "") -> Response:
    """Show two marks beside and over each other, and what is wrong with a judgement, or must be confirmed."""
    session = session_of(request)
    a, b = _sides(request)
    found = session.registration(a, b)
    laid = sheet(a.ink, b.ink, found.matrix, SIZE)
    judgement = _judgement(session, a.key, b.key)
    return page(
        request,
        "compare.html",
        REFUSED if sentence or confirm else 200,
        a=a,
        b=b,
        found=found,
        sheet=laid,
        beside=_beside(a, b),
        paper=_on_paper(a, b, found),
        judgement=judgement,
        note=note if note is not None else judgement.note if judgement else "",
        sent=session.questions.get(a.key),
        asked=_asked(request, b),
        sentence=sentence,
        confirm=confirm if judgement else "",
    )


def _sides(request: Request) -> tuple[Side, Side]:
    session = session_of(request)
    a, b = session.side(request.path_params["a"]), session.side(request.path_params["b"])
    if b.mark is None or a.key == b.key:
        raise HTTPException(404, "the address must name two marks, the second of the catalogue. Choose them again.")
    return a, b


def _judgement(session: Session, a: str, b: str) -> Judgement | None:
    return next((one for one in session.catalogue.judgements(b) if a in (one.a, one.b)), None)


def _asked(request: Request, b: Side) -> Question | None:
    """Return the question in whose answer a pair stands, if it is remembered."""
    question = session_of(request).questions.get(request.query_params.get("of", request.path_params["a"]))
    return question if question and any(hit.mark.uid == b.key for hit in question.hits) else None


def _beside(a: Side, b: Side) -> list[tuple[Side, int, int]]:
    """Sizes in which two inks are shown: to one scale where their sizes on paper are known, else equally large."""
    sizes = [side.size_mm or side.ink.shape[::-1] for side in (a, b)]
    longest = [max(size) for size in sizes]
    if a.unit and b.unit:
        longest = [max(longest)] * 2
    shown = zip((a, b), sizes, longest, strict=True)
    return [
        (side, round(BESIDE / long * width), round(BESIDE / long * height)) for side, (width, height), long in shown
    ]


def _on_paper(a: Side, b: Side, found: Registration) -> dict[str, Any] | None:
    """What the map does on paper, in millimetres; None unless both pictures have a scale."""
    if a.unit is None or b.unit is None:
        return None
    factor = b.unit / a.unit
    lengths = stretch(found.matrix, factor)
    return {"factor": factor, "times": times(lengths), "same": sizes_agree(lengths)}


def layer(request: Request) -> Response:
    """Send one of two inks, or their difference, on the sheet that holds both."""
    kind = request.path_params["layer"]
    if kind not in LAYERS:
        raise HTTPException(404, f"the layer must be one of {', '.join(LAYERS)}; got {kind!r}. Open the page again.")
    session = session_of(request)
    a, b = _sides(request)
    laid = sheet(a.ink, b.ink, session.registration(a, b).matrix, THUMB if kind == "thumb.png" else SIZE)
    if kind == "b.png":
        return picture(tinted(moved(b.ink, laid.second, laid.shape), SECOND))
    first = moved(a.ink, laid.first, laid.shape)
    if kind == "a.png":
        return picture(tinted(first, FIRST))
    return picture(difference(first, moved(b.ink, laid.second, laid.shape), REACH * laid.second[0, 0]))


@form_view
def judge(request: Request, form: Values) -> Response:
    """Keep a judgement about two marks, or take it back; ask first where another one would be lost."""
    session = session_of(request)
    a, b = (session.mark(request.path_params[name]).uid for name in ("a", "b"))
    wanted, sure, note = (read_text(form, name) for name in ("verdict", "sure", "note"))
    wanted, old = sure or wanted, _judgement(session, a, b)
    if old and wanted == NOTE:
        wanted = old.verdict
    if old and not sure and wanted in (*VERDICTS, FORGET) and wanted != old.verdict:
        return compare(request, note, confirm=wanted)
    try:
        if wanted == FORGET:
            session.catalogue.forget(a, b)
        else:
            session.catalogue.judge(a, b, wanted, note)
    except ValueError as error:
        return compare(request, note, str(error))
    of_question = request.query_params.get("of")
    query = "?" + urlencode({"of": of_question}) if of_question else ""
    return see_other(f"/compare/{a}/{b}{query}")
