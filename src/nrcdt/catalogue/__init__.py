"""The catalogue: an archive of pictures of marks in one file, and the question which of them a photograph shows.

catalogue.py    the front door: pictures go in, a picture is answered
importers.py    folders and tables of pictures; ingest.py stores them, maintenance.py looks after them
intake.py       from the bytes of a picture to ink and features; workers.py does that in processes of its own
store.py        marks in one file of SQLite; model.py says what a mark is
ranking.py      nearest features (index.py), then registration; calibration.py decides whether the mark is there
web/            the page
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .catalogue import Answer, Catalogue

__all__ = ["Answer", "Catalogue"]


def __getattr__(name: str) -> Any:
    """Load the catalogue on first use, so that the package is light."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import catalogue

    return getattr(catalogue, name)
