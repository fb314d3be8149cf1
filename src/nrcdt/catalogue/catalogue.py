"""The front door: pictures go in, and a picture is answered with its relatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cached_property
from itertools import chain, starmap
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from ..arrays import Array
from ..errors import InputError, warn
from ..measures import positive_integer
from . import calibration, ingest, workers
from .importers import Entry, Problem, listed
from .intake import Prepared, Settings
from .model import Filter, Mark
from .ranking import Hit, Query, Search, ink_of, query_of, query_of_mark, write_ink
from .store import Store
from .units import read_resolution

EVERYTHING = Filter()
Verdict = Literal["same", "doubtful", "absent"]
VERDICTS: dict[bool | None, Verdict] = {True: "same", None: "doubtful", False: "absent"}
Progress = Callable[[str, int], AbstractContextManager[Callable[[], None]]]


class Answer(NamedTuple):
    """Which marks of a catalogue resemble a picture, and whether it shows one of them.

    Attributes
    ----------
    verdict : "same", "doubtful" or "absent"
        Whether one of the hits is the mark itself. Doubtful where nobody can tell: the ink was found with little
        confidence, or the catalogue is too small.
    sentence : what is found, and why
    hits : `nrcdt.catalogue.ranking.Hit`, best first
    ink : array of shape (h, w), uint8, bright on 0; what was taken for the mark in the picture
    """

    verdict: Verdict
    sentence: str
    hits: tuple[Hit, ...]
    ink: Array


def answer(
    search: Search,
    query: Query,
    n: int = 10,
    wanted: Filter = EVERYTHING,
    *,
    confidence: float = 1,
    of: Mark | None = None,
) -> Answer:
    """Look for a mark among those that are wanted, return `n` hits, and decide whether it is there.

    The ink of the query was found with some `confidence`, or is that `of` a mark of the catalogue, which is left out.
    """
    n = positive_integer(n, "n", "It is the number of hits.")
    if not isinstance(wanted, Filter):
        raise InputError("wanted", "be a Filter", repr(wanted), 'Write Filter(motif=("crown",)).')
    hits = search.query(query, wanted, n=n, without=of and of.uid)
    word = VERDICTS[calibration.in_collection(search.catalogue, hits, confidence)]
    sentence = calibration.verdict(search.catalogue, hits, confidence, wanted, of)
    return Answer(word, sentence, tuple(hits), query.mark)


def _silent(what: str, total: int) -> AbstractContextManager[Callable[[], None]]:
    return nullcontext(lambda: None)


def _warn(problem: Problem) -> None:
    if not problem.left_out:
        warn(f"{problem.file}: {problem.reason}")


class Catalogue:
    """A catalogue of marks in a file; the file is made when first something is added.

    Parameters
    ----------
    path : file
    readonly : whether to leave it alone
    readers : `nrcdt.catalogue.workers.Workers` that read the pictures of queries; one is started if left out

    Attributes
    ----------
    store : `nrcdt.catalogue.store.Store`
        What is in the file: marks by name, what is known of them, judgements about pairs.

    Examples
    --------
    >>> import tempfile
    >>> from nrcdt.datasets import distorted, watermarks
    >>> drawings, names = watermarks(4, size=96)
    >>> copies, _ = distorted(drawings[2:3], 1, random_state=0, shift=(-3, 3))
    >>> with Catalogue(Path(tempfile.mkdtemp(), "marks.db")) as catalogue:
    ...     count = catalogue.add({f"{name}/first": 1 - image for name, image in zip(names, drawings)}, drawing=True)
    ...     answer = catalogue.query(1 - copies[0], drawing=True)
    >>> count.added, answer.verdict, answer.hits[0].motif
    (4, 'same', 'anchor')
    """

    def __init__(self, path: Path | str, *, readonly: bool = False, readers: workers.Workers | None = None) -> None:
        self.path, self.readonly = Path(path), readonly
        self._open = ExitStack()
        self._store: Store | None = None
        self._readers = readers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and end the process that reads pictures."""
        self._open.close()
        self._store = self._readers = None
        self.__dict__.pop("search", None)

    def __len__(self) -> int:
        return len(self.store)

    @property
    def store(self) -> Store:
        """What is in the file."""
        return self._opened(create=False)

    def _opened(self, create: bool) -> Store:
        if self._store is None:
            self._store = self._open.enter_context(Store(self.path, create=create, readonly=self.readonly))
        return self._store

    @cached_property
    def search(self) -> Search:
        """What finds relatives; it keeps in memory what queries have in common."""
        return Search(self.store)

    def add(
        self,
        pictures: Any,
        *,
        polarity: str = "auto",
        drawing: bool = False,
        crop: tuple[int, int, int, int] | None = None,
        bar_mm: float | None = None,
        keep: bool = False,
        root: Path | str | None = None,
        again: bool = False,
        n_jobs: int | None = None,
        report: Callable[[Problem], None] = _warn,
        progress: Progress = _silent,
    ) -> ingest.Count:
        """Add pictures; those of files that have not changed are skipped.

        Parameters
        ----------
        pictures : path, or list of paths, or dict
            A folder of folders named after motifs, a CSV table, or a picture: see `nrcdt.catalogue.importers.listed`,
            whose entries may come instead. Or pictures themselves, bytes or arrays, by names such as "crown/crown 1",
            which is "crown 1" with the motif "crown".
        polarity : "auto", "dark" or "light", the side of the paper that is ink
        drawing : whether these are clean drawings, in which whatever is not paper is ink
        crop : (left, top, right, bottom) of the part to look at, in whole pixels; what lies outside is cut off
        bar_mm : length of the scale bar in the pictures, in millimetres
        keep : whether to store the files themselves, too
        root : folder that the files of a table have to be in
        again : whether to read pictures that have not changed, too
        n_jobs : processes that read pictures; one per core if left out
        report : called with every `Problem`; failures become warnings if left out
        progress : called with what is done and in how many steps; a context manager that gives what to call per step

        Returns
        -------
        Count (added, replaced, unchanged, failed, left_out, corrected)
        """
        items = list(_items(pictures, root))
        problems = [item for item in items if isinstance(item, Problem)]
        if len(problems) == len(items):
            for problem in problems:
                report(problem)
            got = "none" + f" in {pictures}" * isinstance(pictures, (str, Path))
            raise InputError("pictures", "hold pictures that can be taken", got, "Name another folder.")
        store = self._opened(create=True)
        store.check_writable()
        settings = _settings(polarity, crop, drawing, bar_mm)
        if n_jobs is not None:
            n_jobs = positive_integer(n_jobs, "n_jobs", "Leave it out for one process per core.")
        with progress("add", len(items)) as advance, workers.Workers(n_jobs) as pool:
            count = ingest.add(store, items, settings, pool, keep=keep, again=again, report=report, advance=advance)
        calibration.calibrate_again(self.search, progress)
        return count

    def renew(self, progress: Progress = _silent) -> int:
        """Compute all features again, from the stored ink, with the settings of this version; return how many."""
        with progress("features", len(self)) as advance:
            n_marks = ingest.renew(self.store, advance)
        calibration.calibrate_again(self.search, progress)
        return n_marks

    def query(
        self,
        picture: Any,
        n: int = 10,
        *,
        dpi: float | None = None,
        polarity: str = "auto",
        crop: tuple[int, int, int, int] | None = None,
        drawing: bool = False,
        bar_mm: float | None = None,
        wanted: Filter = EVERYTHING,
    ) -> Answer:
        """Find the relatives of a mark, whatever its rotation, size, shear or mirror image.

        Parameters
        ----------
        picture : path, bytes of a file, or array of shape (height, width), or (height, width, 3) of uint8
        n : number of hits
        dpi : resolution of the picture; as the file tells if left out
        polarity, crop, drawing, bar_mm : as for `add`
        wanted : which marks to look among
        """
        seen = self.prepare(picture, _settings(polarity, crop, drawing, bar_mm), dpi)
        return self.answer(seen, n, wanted)

    def prepare(self, picture: Any, settings: Settings, dpi: float | None = None) -> Prepared:
        """Find the ink in a picture, in a process of its own: the first half of a query."""
        if self._readers is None:
            self._readers = self._open.enter_context(workers.Workers(1))
        found = self._readers.prepare(_bytes_of(picture), settings)
        return found if dpi is None else found._replace(mm_per_pixel=read_resolution(str(dpi)))

    def answer(self, seen: Prepared, n: int = 10, wanted: Filter = EVERYTHING) -> Answer:
        """Find the relatives of what `prepare` found: the second half of a query."""
        return answer(self.search, query_of(seen), n, wanted, confidence=seen.confidence)

    def relatives(self, mark: Mark | str, n: int = 10, wanted: Filter = EVERYTHING) -> Answer:
        """Find the relatives of a mark of the catalogue, which is asked for by its id, name, reference or file."""
        mark = self._mark(mark)
        return answer(self.search, query_of_mark(self.store, mark), n, wanted, of=mark)

    def ink(self, mark: Mark | str) -> Array:
        """Return the ink of a mark of the catalogue: an array of shape (h, w), uint8, bright on 0."""
        return ink_of(self.store, self._mark(mark))

    def _mark(self, mark: Mark | str) -> Mark:
        if not isinstance(mark, (Mark, str)):
            raise InputError("mark", "be a mark, or a text by which one is asked for", repr(mark))
        return self.store.find(mark) if isinstance(mark, str) else mark


def _settings(polarity: str, crop: Any, drawing: Any, bar_mm: float | None) -> Settings:
    """Return how pictures are to be read; pixels are counted, and not measured as on the page."""
    if not isinstance(drawing, (bool, np.bool_)):
        raise InputError("drawing", "be True or False", repr(drawing))
    if crop is not None:
        edges = np.asarray(crop, dtype=None if np.shape(crop) == (4,) else object)
        if edges.shape != (4,) or edges.dtype.kind not in "iu" or edges.min() < 0:
            rule = "be (left, top, right, bottom) in whole pixels from the corner of the picture"
            raise InputError("crop", rule, repr(crop), "Leave it out to look at all of it.")
        left, top, right, bottom = edges.tolist()
        crop = left, top, right, bottom
    return Settings(polarity, crop, (), not drawing, bar_mm)


def _items(pictures: Any, root: Path | str | None) -> Iterable[Entry | Problem]:
    """List what is to be added."""
    if isinstance(pictures, Mapping):
        return starmap(_given, pictures.items())
    if isinstance(pictures, Iterable) and not isinstance(pictures, (str, bytes, bytearray)):
        return chain.from_iterable(_listed(one, root) for one in pictures)
    return _listed(pictures, root)


def _listed(one: Any, root: Path | str | None) -> Iterable[Entry | Problem]:
    if isinstance(one, (Entry, Problem)):
        return [one]
    if not isinstance(one, (str, Path)) or one == "":  # which Path would take for the folder one is in
        got = repr(one) if isinstance(one, str) else f"{type(one).__name__} without a name"
        raise InputError("pictures", "be paths, or a dict of pictures by their names", got, "Pass {name: picture}.")
    return listed(one, root)


def _given(name: Any, picture: Any) -> Entry:
    try:
        motif, _, short = name.rpartition("/")
        name.encode()
    except (AttributeError, UnicodeEncodeError):
        raise InputError("the names of pictures", "be texts", repr(name), 'Write "crown/crown 1".') from None
    return Entry(Path(), short, motif, data=_bytes_of(picture))


def _bytes_of(picture: Any) -> bytes:
    """Return a picture as the bytes of a file; an array becomes a PNG, stretched to 16 bits unless it has 8 or 16."""
    if isinstance(picture, (bytes, bytearray, memoryview)):
        return bytes(picture)
    if isinstance(picture, (str, Path)):
        if picture == "" or not Path(picture).exists():
            raise InputError("the picture", "exist", picture or "an empty path", "Check the spelling.")
        return workers.read_bytes(Path(picture))
    if np.ma.is_masked(picture):
        raise InputError("the picture", "not be masked", "masked pixels", "Fill them with the level of the paper.")
    levels = np.asarray(picture)
    stretched = levels.ndim == 2 and levels.dtype.kind in "biuf" and levels.dtype not in (np.uint8, np.uint16)
    if stretched and levels.size and np.isfinite(levels).all():
        levels = _stretched(levels.astype(np.float64))
    grey = levels.ndim == 2 and levels.dtype in (np.uint8, np.uint16)
    if not levels.size or not (grey or (levels.ndim == 3 and levels.shape[2] == 3 and levels.dtype == np.uint8)):
        rule = "be a file, bytes, or an array of finite grey levels, or of colours of dtype uint8"
        raise InputError("the picture", rule, f"shape {levels.shape} of {levels.dtype}", "Convert it to grey.")
    return write_ink(levels)


def _stretched(levels: Array) -> Array:
    """Return grey levels as numbers of 16 bits, from the darkest to the brightest, whatever their unit."""
    levels = levels / (np.abs(levels).max() or 1)
    low, high = levels.min(), levels.max()
    stretched: Array = np.rint((levels - low) * (65535 / (high - low or 1))).astype(np.uint16)
    return stretched
