"""Two marks laid over each other, and what a person says about them."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...errors import InputError
from ...registration import Registration
from ..model import VERDICTS
from ..ranking import sizes_agree, stretch
from ..store import Judgement
from ..wording import motion, times
from .forms import read_form, read_text
from .mark_views import of
from .pictures import FIRST, REACH, SECOND, composed, difference, moved, sheet, tinted
from .render import picture
from .session import Question, Session, Side

SIZE = 720
THUMB = 160
# Sides of two pictures next to each other, in pixels of the page.
BESIDE = 340
# What a form may ask for instead of a verdict.
NOTE, FORGET = "note", "forget"
LAYERS = ("a.png", "b.png", "difference.png", "thumb.png")


class Place(NamedTuple):
    """Where a pair stands in the answer to a question: rank, number of hits, and the marks before and after."""

    question: Question
    rank: int
    before: str | None
    after: str | None


def choose(request: Request) -> Response:
    """Lead to the comparison of two marks that were ticked, or of a mark and one that is called by name."""
    session, _ = of(request)
    chosen = request.query_params.getlist("m")[:3]
    wanted = request.query_params.get("with", "").strip()
    if wanted:
        chosen.append(session.catalogue.find(wanted[:1000]).uid)
    if len(chosen) != 2:
        raise InputError("two marks", "be chosen", len(chosen), "Go back and tick two of them.")
    a, b = (session.mark(uid).uid for uid in chosen)
    return RedirectResponse(f"/compare/{a}/{b}", 303)


def compare(request: Request) -> Response:
    """Show two marks beside and over each other."""
    return _compare(request)


def _compare(
    request: Request, note: str | None = None, sentence: str = "", confirm: str = "", status: int = 200
) -> Response:
    session, pages = of(request)
    a, b = _sides(request)
    found = session.registration(a, b)
    laid = sheet(a.ink, b.ink, found.matrix, SIZE)
    judgement = _judgement(session, a.key, b.key)
    return pages(
        "compare.html",
        status,
        a=a,
        b=b,
        found=found,
        sheet=laid,
        first_photo=composed(laid.first, a.to_mark),
        second_photo=composed(laid.second, b.to_mark),
        beside=_beside(a, b),
        motion=motion(found.matrix),
        paper=_on_paper(a, b, found),
        judgement=judgement,
        note=note if note is not None else judgement.note if judgement else "",
        twin=_twin(session, a),
        crop=_crop(session, a),
        place=_place(request, b),
        sentence=sentence,
        confirm=confirm if judgement else "",
    )


def _sides(request: Request) -> tuple[Side, Side]:
    session, _ = of(request)
    a, b = session.side(request.path_params["a"]), session.side(request.path_params["b"])
    if b.mark is None or a.key == b.key:
        raise HTTPException(404, "the address must name two marks, the second of the catalogue. Choose them again.")
    return a, b


def _judgement(session: Session, a: str, b: str) -> Judgement | None:
    return next((one for one in session.catalogue.judgements(b) if a in (one.a, one.b)), None)


def _twin(session: Session, a: Side) -> str | None:
    """Return the mark of the catalogue that was made from the very file that was sent."""
    question = session.questions.get(a.key)
    if question is None or question.prepared is None:
        return None
    same = question.prepared.sha256
    return next((hit.mark.uid for hit in question.hits if hit.mark.sha256 == same), None)


def _crop(session: Session, a: Side) -> tuple[int, int, int, int] | None:
    question = session.questions.get(a.key)
    return question.settings.crop if question else None


def _place(request: Request, b: Side) -> Place | None:
    session, _ = of(request)
    key = request.query_params.get("of", request.path_params["a"])
    question = session.questions.get(key)
    uids = [hit.mark.uid for hit in question.hits] if question else []
    if question is None or b.key not in uids:
        return None
    rank = uids.index(b.key)
    return Place(question, rank + 1, uids[rank - 1] if rank else None, uids[rank + 1] if rank + 1 < len(uids) else None)


def _beside(a: Side, b: Side) -> list[tuple[Side, int, int]]:
    """Sizes in which two inks are shown: to one scale where their sizes on paper are known, else equally large."""
    sizes = [side.size_mm or (float(side.ink.shape[1]), float(side.ink.shape[0])) for side in (a, b)]
    if a.unit is None or b.unit is None:
        factors = [BESIDE / max(size) for size in sizes]
    else:
        factors = [BESIDE / max(map(max, sizes))] * 2
    pairs = zip((a, b), sizes, factors, strict=True)
    return [(side, round(size[0] * factor), round(size[1] * factor)) for side, size, factor in pairs]


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
    session, _ = of(request)
    a, b = _sides(request)
    laid = sheet(a.ink, b.ink, session.registration(a, b).matrix, THUMB if kind == "thumb.png" else SIZE)
    if kind == "a.png":
        return picture(tinted(moved(a.ink, laid.first, laid.shape), FIRST), "image/png")
    second = moved(b.ink, laid.second, laid.shape)
    if kind == "b.png":
        return picture(tinted(second, SECOND), "image/png")
    reach = REACH * laid.second[0, 0]
    return picture(difference(moved(a.ink, laid.first, laid.shape), second, reach), "image/png")


async def judge(request: Request) -> Response:
    """Keep a judgement about two marks, or take it back; ask first where another one would be lost."""
    session, _ = of(request)
    form = await read_form(request)
    a, b = request.path_params["a"], request.path_params["b"]
    wanted, sure, note = (read_text(form, name) for name in ("verdict", "sure", "note"))
    try:
        confirm = await run_in_threadpool(_judge, session, a, b, sure or wanted, note, bool(sure))
    except ValueError as error:
        return await run_in_threadpool(_compare, request, note, str(error), status=409)
    if confirm:
        return await run_in_threadpool(_compare, request, note, confirm=wanted, status=409)
    of_question = request.query_params.get("of")
    query = "?" + urlencode({"of": of_question}) if of_question else ""
    return RedirectResponse(f"/compare/{a}/{b}{query}", 303)


def _judge(session: Session, a: str, b: str, wanted: str, note: str, sure: bool) -> bool:
    """Do as is wanted, a verdict, "note" or "forget"; or return True, and do nothing, where that must be confirmed."""
    for uid in (a, b):
        session.mark(uid)
    old = _judgement(session, a, b)
    if old and wanted == NOTE:
        wanted = old.verdict
    if old and not sure and wanted in (*VERDICTS, FORGET) and wanted != old.verdict:
        return True
    if wanted == FORGET:
        session.catalogue.forget(a, b)
    else:
        session.catalogue.judge(a, b, wanted, note)
    return False
