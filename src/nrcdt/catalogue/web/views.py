"""What all views share: the session, pages and pictures, and forms that are worked on in a thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ..model import Mark
from ..ranking import read_ink
from .forms import Values, read_form
from .pictures import FIRST, shown_as, tinted
from .render import KEEP
from .session import Question, Session

FormView = Callable[[Request, Values], Response]
Endpoint = Callable[[Request], Awaitable[Response]]

UNUSABLE, REFUSED = 422, 409


def session_of(request: Request) -> Session:
    """Return the session behind a request."""
    session: Session = request.app.state.session
    return session


def mark_of(request: Request) -> Mark:
    """Return the mark that an address names."""
    return session_of(request).mark(request.path_params["uid"])


def question_of(request: Request) -> Question:
    """Return the question that an address names."""
    return session_of(request).question(request.path_params["key"])


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Answer with a page."""
    return HTMLResponse(request.app.state.templates.get_template(template).render(values), status)


def see_other(address: str) -> Response:
    """Lead to the page that shows what a form has done."""
    return RedirectResponse(address, 303)


def form_view(view: FormView) -> Endpoint:
    """Read the form of a request, and let a view work on it in a thread."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(view, request, await read_form(request))

    return endpoint


def queued_view(view: FormView) -> Endpoint:
    """Do the same for a view that searches: few at once, and none while its form is still coming."""

    async def endpoint(request: Request) -> Response:
        async with session_of(request).queue.place() as turn:
            form = await read_form(request)
            async with turn:
                return await run_in_threadpool(view, request, form)

    return endpoint


def picture(data: bytes, kind: str = "image/png") -> Response:
    """Answer with a picture, which may be kept for good: its address changes with its content."""
    return Response(data, media_type=kind, headers={"Cache-Control": KEEP})


def picture_of(what: str, kind: str, stored: Callable[[str], bytes | None]) -> Response:
    """Answer with the ink of a mark or query, its ink in colour, a small picture, or the best there is.

    Parameters
    ----------
    what : whose page there is
    kind : what is asked for
    stored : gives the bytes of "mark", "preview" and "original", if there are any
    """
    if kind == "ink.png":
        return picture(stored("mark") or b"")
    if kind == "seen.png":
        return picture(tinted(read_ink(stored("mark") or b"") / 255, FIRST))
    original = stored("original") if kind == "picture" else None
    shown = shown_as(original or b"")
    if original and shown:
        return picture(original, shown)
    if kind in ("picture", "preview.jpg"):
        return picture(stored("preview") or b"", "image/jpeg")
    raise unknown_picture(what, kind)


def unknown_picture(what: str, kind: str) -> HTTPException:
    """Return the answer to a request for a picture that does not exist."""
    return HTTPException(404, f"the picture must be of a known kind; got {kind!r}. Open the page of the {what}.")
