"""A synthetic catalogue to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count, islice
from pathlib import Path

import numpy as np

from ..arrays import Array
from ..datasets import academic, distorted, elastic, watermarks
from ..whole_files import whole_file
from .calibration import calibrate
from .evaluation import photograph_of
from .importers import Entry
from .ingest import record_of
from .intake import Settings, prepare
from .maintenance import check_new
from .ranking import Search, ink_of, write_ink
from .store import Record, Store

PLACES = ("Augsburg", "Basel", "Fabriano", "Genoa", "Lucca", "Nuremberg", "Troyes", "Venice")
METHODS = ("tracing", "beta-radiograph", "rubbing", "transmitted light")
YEARS = (1380, 1620)
MM_PER_PIXEL = 0.25
# So strongly bent that two drawings of one motif overlap as little as different tracings of one do.
BENDING = (4.0, 8.0)
N_SHOWN = 80


def generate(path: Path, n_marks: int, advance: Callable[[], None] = lambda: None) -> Store:
    """Make a catalogue of bent and distorted drawings, in a new file; `advance` is called after every mark.

    Examples
    --------
    >>> import tempfile
    >>> with generate(Path(tempfile.mkdtemp(), "marks.db"), 3) as catalogue:
    ...     [mark.name for mark in catalogue.marks()]
    ['anchor 3', "bull's head 1", 'crown 2']
    """
    check_new(path, "the catalogue")
    catalogue = Store(path, create=True)
    with catalogue.transaction():
        for record in islice(drawn(np.random.default_rng(0)), n_marks):
            catalogue.put(record)
            advance()
    return catalogue


def demonstration(folder: Path, advance: Callable[[], None] = lambda: None) -> Path:
    """Make a small catalogue in a folder, and photographs to look for, unless they are there already.

    Return the path of the catalogue; the photographs are in the folder ``photographs`` beside it.
    """
    path = folder / "marks.db"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part, generate(part, N_SHOWN, advance) as catalogue:
        calibrate(Search(catalogue))
        _photographs(catalogue, folder / "photographs")
    return path


def _photographs(catalogue: Store, folder: Path) -> None:
    """Photographs of some marks, and of one that is not in the catalogue."""
    folder.mkdir(exist_ok=True)
    for n, mark in enumerate(catalogue.marks()[:: N_SHOWN // 5], 1):
        (folder / f"photograph-{n}.png").write_bytes(photograph_of(ink_of(catalogue, mark), n))
    (folder / "stranger.png").write_bytes(photograph_of(255 * academic(1).templates[0], 0))


def drawn(rng: np.random.Generator) -> Iterator[Record]:
    """Draw marks without end: all motifs in turn, each time bent in another way."""
    drawings, names = watermarks(16)
    for n in count():
        which = n % len(names)
        seed = int(rng.integers(2**31))
        bent = elastic(drawings[which : which + 1], rng.uniform(*BENDING), random_state=seed)
        copy = distorted(bent, 1, random_state=seed, shift=(-5, 5))[0][0]
        yield _record(copy, names[which], n, rng)


def _record(image: Array, motif: str, n: int, rng: np.random.Generator) -> Record:
    settings = Settings(ink=False)
    picture = write_ink(np.rint(255 * (1 - image)).astype(np.uint8))
    method, year, place = METHODS[rng.integers(len(METHODS))], rng.integers(*YEARS), PLACES[rng.integers(len(PLACES))]
    entry = Entry(Path(), f"{motif} {n + 1}", motif, method, str(year), place, f"S{n + 1:05}", {}, MM_PER_PIXEL)
    record = record_of(prepare(picture, settings), settings, entry)
    return record._replace(mark=record.mark._replace(uid=uid_of(n)))


def uid_of(n: int) -> str:
    """Return the id of a mark by its number."""
    return sha256(f"synthetic {n}".encode()).hexdigest()[:16]
