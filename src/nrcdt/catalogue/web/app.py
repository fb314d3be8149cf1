"""The pages put together: which address leads where, and what happens when something is wrong."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from ... import pages
from ..store import Store
from ..workers import Workers
from . import comparison_views, export_views, mark_views, query_views
from .render import KEEP, templates
from .security import HEADERS, Guard
from .session import Session
from .views import REFUSED, UNUSABLE, page

FAILED = "the page must not fail, but it did. What went wrong is on the terminal of the server; please report it."
LOOPBACK = ("127.0.0.1", "localhost", "::1")

ROUTES: list[BaseRoute] = [
    Route("/", mark_views.grid),
    Route("/mark/{uid}", mark_views.mark_page),
    Route("/mark/{uid}/edit", mark_views.edit, methods=["POST"]),
    Route("/mark/{uid}/relatives", query_views.relatives, methods=["POST"]),
    Route("/mark/{uid}/original", mark_views.original),
    Route("/mark/{uid}/{kind}", mark_views.mark_picture),
    Route("/query", query_views.new),
    Route("/query", query_views.ask, methods=["POST"]),
    Route("/query/{key}", query_views.answer),
    Route("/query/{key}", query_views.again, methods=["POST"]),
    Route("/query/{key}/hits.{kind}", export_views.hits),
    Route("/query/{key}/{kind}", query_views.question_picture),
    Route("/compare", comparison_views.choose),
    Route("/compare/{a}/{b}", comparison_views.compare),
    Route("/compare/{a}/{b}/judgement", comparison_views.judge, methods=["POST"]),
    Route("/compare/{a}/{b}/{layer}", comparison_views.layer),
    Route("/judgements", mark_views.judgements),
    Route("/judgements.{kind}", export_views.judgements),
    Route("/export.{kind}", export_views.marks),
]


class _Kept(StaticFiles):
    """Style sheet and scripts, whose addresses change with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = KEEP
        return response


def create_app(
    catalogue: Store, workers: Workers, *, token: str | None = None, hosts: Sequence[str] = LOOPBACK
) -> Starlette:
    """Make the web page of a catalogue.

    Parameters
    ----------
    catalogue : Store
    workers : Workers, which read the pictures that are sent
    token : secret that browsers must show once, in the address, as ``/?token=...``; None for none
    hosts : names under which the server may be addressed

    Returns
    -------
    Starlette, an ASGI application

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with Store(Path(tempfile.mkdtemp(), "marks.db"), create=True) as catalogue, Workers(1) as workers:
    ...     create_app(catalogue, workers).routes[0].routes[0].path
    '/'
    """
    static = Mount("/static", _Kept(packages=[(__package__, "static"), (pages.__name__, "static")]))
    # The guard stands inside, where what it refuses is shown like all that goes wrong.
    guarded = Mount("/", routes=[*ROUTES, static], middleware=[Middleware(Guard, hosts=hosts, token=token)])
    handlers = dict.fromkeys((HTTPException, ValueError, Exception), _refusal)
    app = Starlette(routes=[guarded], exception_handlers=handlers, lifespan=_warm)
    app.state.session, app.state.templates = Session(catalogue, workers), templates(catalogue.path.stem)
    return app


@asynccontextmanager
async def _warm(app: Starlette) -> AsyncIterator[None]:
    """Get ready for the first query while the first page is already being shown."""
    warming = threading.Thread(target=app.state.session.warm_up, daemon=True)
    warming.start()
    yield
    warming.join()


def _refusal(request: Request, error: Exception) -> Response:
    """Say what is wrong: with the address, with what was asked for, with the catalogue, or with this program."""
    headers: Mapping[str, str] = {}
    if isinstance(error, HTTPException):
        status, sentence, headers = error.status_code, error.detail, error.headers or {}
        if sentence == HTTPStatus(status).phrase:
            there = repr(request.url.path[:200])
            sentence = f"the address must be one of this server's; got {there}. Start from the collection."
    elif isinstance(error, ValueError):
        status, sentence = UNUSABLE if request.method == "GET" else REFUSED, str(error)
    else:
        status, sentence = 500, FAILED
    response = page(request, "error.html", status, sentence=sentence, code=status)
    response.headers.update({**HEADERS, **headers})
    return response
