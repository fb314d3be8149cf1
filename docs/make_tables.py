"""Make the tables of the pages from the numbers that the benchmarks stored: ``python docs/make_tables.py``.

Building the pages does it first, so that every number is stored once. The tables are written beside their numbers.
"""

import json
import sys
from pathlib import Path

from nrcdt.whole_files import write_whole

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "benchmarks"))

import beyond  # noqa: E402
import catalogue  # noqa: E402
import coming_from  # noqa: E402
import dimensions  # noqa: E402
import grey_paper  # noqa: E402
import ink  # noqa: E402
import registration  # noqa: E402
import run  # noqa: E402
import wasserstein  # noqa: E402

MAKERS = {
    "beyond/beyond.json": lambda found: beyond.written("beyond", found),
    "beyond/trained.json": lambda found: beyond.written("trained", found),
    "beyond/directions.json": lambda found: beyond.written("directions", found),
    "beyond/grey_paper.json": grey_paper.written,
    "beyond/registration.json": registration.written,
    "beyond/dimensions.json": dimensions.written,
    "beyond/coming_from.json": coming_from.written,
    "performance/benchmarks.json": run.written,
    "performance/catalogue.json": catalogue.written,
    "performance/ink.json": ink.written,
    "performance/wasserstein.json": wasserstein.written,
}


def tables():
    """Yield the path below this folder and the text of every table."""
    for name, make in MAKERS.items():
        found = json.loads((DOCS / name).read_text(encoding="utf-8"))
        for table, text in make(found).items():
            yield Path(name).with_name(table), text


def main(out=DOCS):
    for path, text in tables():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(out / path, text.encode())


if __name__ == "__main__":
    main()
