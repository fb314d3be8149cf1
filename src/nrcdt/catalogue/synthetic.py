"""Synthetic catalogues: a small one to look at, and ones of any size to measure speed on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np

from ..datasets import academic, distorted, elastic, watermarks
from ..errors import InputError
from ..slices import Array
from ..whole_files import whole_file
from .calibration import calibrate
from .evaluation import photograph_of
from .importers import Entry
from .ingest import record_of
from .intake import Settings, prepare
from .ranking import Search, ink_of, write_ink
from .store import Record, Store

PLACES = ("Augsburg", "Basel", "Fabriano", "Genoa", "Lucca", "Nuremberg", "Troyes", "Venice")
METHODS = ("tracing", "beta-radiograph", "rubbing", "transmitted light")
YEARS = (1380, 1620)
MM_PER_PIXEL = 0.25
# So strongly bent that two drawings of one motif overlap as little as different tracings of one do.
BENDING = (4.0, 8.0)
N_ORIGINALS = 300
N_SHOWN = 80
# Features of marks made up from one original differ as those of different drawings of one motif do.
SPREAD = 0.1


def generate(
    path: Path,
    n_marks: int,
    *,
    pictures: bool = True,
    random_state: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> Store:
    """Make a catalogue of synthetic marks.

    The first 300 marks are bent and distorted drawings. More than that share their pictures, and have features near
    theirs: enough to measure speed on, not to be looked at.

    Parameters
    ----------
    path : new file
    n_marks : number of marks
    pictures : whether marks have pictures; a million of them take 10 GB
    random_state : seed
    advance : called after every mark

    Returns
    -------
    Store

    Examples
    --------
    >>> import tempfile
    >>> with generate(Path(tempfile.mkdtemp(), "marks.db"), 3) as catalogue:
    ...     [mark.name for mark in catalogue.marks()]
    ['anchor 3', "bull's head 1", 'crown 2']
    """
    if path.exists():
        raise InputError("the catalogue", "be a new file", f"{path}, which exists", "Choose another name.")
    catalogue = Store(path, create=True)
    rng = np.random.default_rng(random_state)
    originals = [record for _, record in zip(range(n_marks), _originals(rng), strict=False)]
    with catalogue.transaction():
        for n in range(n_marks):
            record = originals[n % len(originals)]
            catalogue.put(_blurred(record, n, rng, pictures) if n >= len(originals) or not pictures else record)
            advance()
    return catalogue


def demonstration(folder: Path, advance: Callable[[], None] = lambda: None) -> Path:
    """Make a small catalogue to look at, and photographs to look for, in a folder, unless they are there already.

    Returns
    -------
    path of the catalogue; the photographs are in the folder ``photographs`` beside it
    """
    path = folder / "marks.db"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part, generate(part, N_SHOWN, advance=advance) as catalogue:
        calibrate(Search(catalogue))
        _photographs(catalogue, folder / "photographs")
    return path


def _photographs(catalogue: Store, folder: Path) -> None:
    """Photographs of some marks, and of one that is not in the catalogue."""
    folder.mkdir(exist_ok=True)
    for n, mark in enumerate(catalogue.marks()[:: N_SHOWN // 5], 1):
        ink = ink_of(catalogue, mark)
        (folder / f"photograph-{n}.png").write_bytes(photograph_of(ink, n))
    stranger = academic(1).templates[0]
    (folder / "stranger.png").write_bytes(photograph_of(255 * stranger, 0))


def _originals(rng: np.random.Generator) -> Iterator[Record]:
    """Different drawings of all motifs, in turn."""
    drawings, names = watermarks(16)
    for n in range(N_ORIGINALS):
        which = n % len(names)
        seed = int(rng.integers(2**31))
        bent = elastic(drawings[which : which + 1], rng.uniform(*BENDING), random_state=seed)
        copy = distorted(bent, 1, random_state=seed, shift=(-5, 5))[0][0]
        yield _record(copy, names[which], n, rng)


def _record(image: Array, motif: str, n: int, rng: np.random.Generator) -> Record:
    settings = Settings(ink=False)
    picture = write_ink(np.rint(255 * (1 - image)).astype(np.uint8))
    entry = Entry(
        Path(),
        f"{motif} {n + 1}",
        motif,
        METHODS[rng.integers(len(METHODS))],
        str(rng.integers(*YEARS)),
        PLACES[rng.integers(len(PLACES))],
        f"S{n + 1:05}",
        {},
        MM_PER_PIXEL,
    )
    record = record_of(prepare(picture, settings), settings, entry)
    return record._replace(mark=record.mark._replace(uid=_uid(n)))


def _blurred(record: Record, n: int, rng: np.random.Generator, pictures: bool) -> Record:
    noise = 1 + SPREAD * rng.standard_normal(len(record.features), dtype=np.float32)
    mark = record.mark._replace(uid=_uid(n), name=f"{record.mark.motif} {n + 1}", reference=f"S{n + 1:05}")
    record = record._replace(mark=mark, features=record.features * noise)
    return record if pictures else record._replace(ink=b"", preview=b"")


def _uid(n: int) -> str:
    return sha256(f"synthetic {n}".encode()).hexdigest()[:16]
