"""The catalogue: an archive of pictures of marks in one file, and the question which of them a photograph shows.

catalogue.py    the front door: pictures go in, a picture is answered
importers.py    folders and tables of pictures; ingest.py stores them, maintenance.py looks after them
intake.py       from the bytes of a picture to ink and features; workers.py does that in processes of its own
store.py        marks in one file of SQLite (database.py; opened by readers: reading.py); model.py says what a mark is
ranking.py      nearest features (index.py), then registration; calibration.py decides whether the mark is there
web/            the page
"""

from typing import TYPE_CHECKING

import lazy_loader  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from .catalogue import Answer as Answer
    from .catalogue import Catalogue as Catalogue

# Loaded on first use, so that the package is light.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"catalogue": ["Answer", "Catalogue"]})
