"""Lists to take away: marks, hits and judgements as CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ..export_rows import FORMATS, Row, hit_row, judgement_row, mark_rows
from .forms import read_filter
from .views import session_of

MEDIA = {"csv": "text/csv", "json": "application/json"}


def _file(request: Request, name: str, rows: Iterable[Row]) -> Response:
    kind = request.path_params["kind"]
    if kind not in FORMATS:
        raise HTTPException(404, f"the list must be csv or json; got {kind!r}. Choose one of these.")
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return StreamingResponse(FORMATS[kind](rows), media_type=f"{MEDIA[kind]}; charset=utf-8", headers=headers)


def marks(request: Request) -> Response:
    """Send the marks that match a filter."""
    return _file(request, "marks", mark_rows(session_of(request).catalogue, read_filter(request.query_params)))


def hits(request: Request) -> Response:
    """Send the answer to a question."""
    question = session_of(request).question(request.path_params["key"])
    return _file(request, "hits", [hit_row(rank, hit) for rank, hit in enumerate(question.hits, 1)])


def judgements(request: Request) -> Response:
    """Send all judgements."""
    catalogue = session_of(request).catalogue
    return _file(request, "judgements", (judgement_row(catalogue, one) for one in catalogue.judgements()))
