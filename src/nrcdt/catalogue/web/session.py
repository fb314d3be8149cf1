"""What all pages share: the catalogue, questions that were asked lately, and pairs that were laid over each other."""

from __future__ import annotations

import secrets
import time
from typing import NamedTuple

import numpy as np
from starlette.exceptions import HTTPException

from ...errors import InputError
from ...ink import NoInkError
from ...registration import Registration, register
from ...slices import Array
from ..calibration import in_collection, verdict
from ..intake import Prepared, Settings
from ..model import Filter, Mark
from ..ranking import Hit, Query, Search, ink_of, query_of, query_of_mark
from ..recent import Recent
from ..store import Store
from ..workers import Workers
from .limits import Turns

N_QUESTIONS = 32
QUESTION_BYTES = 256_000_000
N_PAIRS = 2000
FACET_SECONDS = 10.0
FACETS = ("motif", "method", "place")
FIND_INK = (
    "Crop the picture to the motif, paint over stains, or say whether the ink is darker or lighter than the paper."
)


class Question(NamedTuple):
    """Something that was looked for: a picture that was sent (`data`, `prepared`), or a mark of the catalogue.

    Attributes
    ----------
    key : str, opaque name by which it is asked for
    version : str, changes whenever the answer does
    found : whether the best hit is the mark itself; None where nobody can tell
    reason : why it is said to be there, or not
    problem : why no ink was found; `prepared` then holds the picture as it is, and there are no hits
    """

    key: str
    version: str
    data: bytes
    settings: Settings
    prepared: Prepared | None
    mark: Mark | None
    wanted: Filter
    hits: tuple[Hit, ...] = ()
    found: bool | None = None
    reason: str = ""
    seconds: float = 0.0
    problem: str = ""


class Side(NamedTuple):
    """One of two marks that are laid over each other.

    Attributes
    ----------
    key, title : str
    address : under which its pictures are
    version : str, changes whenever they do
    ink : array of shape (h, w), uint8
    unit : millimetres per pixel of the ink, or None
    shape : (width, height) of the whole picture
    to_mark : array of shape (2, 3), from pixels of the picture to pixels of the ink
    mark : Mark, or None for a picture that was sent
    """

    key: str
    title: str
    address: str
    version: str
    ink: Array
    unit: float | None
    shape: tuple[int, int]
    to_mark: Array
    mark: Mark | None

    @property
    def size_mm(self) -> tuple[float, float] | None:
        """Width and height on paper."""
        height, width = self.ink.shape
        return None if self.unit is None else (width * self.unit, height * self.unit)


class Session:
    """The catalogue behind the pages.

    Parameters
    ----------
    catalogue : Store
    workers : Workers
    """

    def __init__(self, catalogue: Store, workers: Workers) -> None:
        self.catalogue, self.workers = catalogue, workers
        self.search = Search(catalogue)
        self.questions: Recent[Question] = Recent(N_QUESTIONS, QUESTION_BYTES, lambda one: len(one.data))
        self.pairs: Recent[Registration] = Recent(N_PAIRS)
        self.turns = Turns(2, 6)
        self._facets: tuple[float, dict[str, list[tuple[str, int]]]] | None = None

    def warm_up(self) -> None:
        """Load the features and compile what a query needs, so that the first one is as quick as all others."""
        self.facets()
        for mark in self.catalogue.marks(limit=1):
            self.search.query(query_of_mark(self.catalogue, mark), n=2, n_registered=2)

    def facets(self) -> dict[str, list[tuple[str, int]]]:
        """Return the motifs, methods and places with how many marks have them; not older than a few seconds."""
        now = time.monotonic()
        if self._facets is None or now - self._facets[0] > FACET_SECONDS:
            values = {name: [one for one in self.catalogue.values_of(name) if one[0]] for name in FACETS}
            self._facets = now, values
        return self._facets[1]

    def forget_facets(self) -> None:
        """Count again, because somebody has changed a mark."""
        self._facets = None

    # Questions.

    def ask(self, data: bytes, settings: Settings, wanted: Filter, key: str = "") -> Question:
        """Look for a picture that was sent."""
        start = time.perf_counter()
        prepared = self._prepared(data, settings)
        question = Question(key or new_key(), "", data, settings, prepared, None, wanted)
        return self._answered(question, query_of(prepared), start)

    def _prepared(self, data: bytes, settings: Settings) -> Prepared:
        try:
            return self.workers.prepare(data, settings)
        except NoInkError as error:
            raise NoInkError(error.where, error.rule, error.got, FIND_INK) from None  # the remedy of the page

    def keep_without_ink(self, data: bytes, settings: Settings, wanted: Filter, problem: str) -> Question:
        """Keep a picture in which no ink was found, so that it can be cropped or read differently."""
        try:
            shown = self.workers.prepare(data, Settings(ink=False))
        except ValueError:
            raise InputError("the picture", "show something", "one grey level", "Choose another picture.") from None
        question = Question(new_key(), secrets.token_hex(4), data, settings, shown, None, wanted, problem=problem)
        self.questions.put(question.key, question)
        return question

    def ask_for_relatives(self, mark: Mark, wanted: Filter, key: str = "") -> Question:
        """Look for the relatives of a mark of the catalogue."""
        start = time.perf_counter()
        question = Question(key or new_key(), "", b"", Settings(), None, mark, wanted)
        return self._answered(question, query_of_mark(self.catalogue, mark), start)

    def ask_again(self, question: Question, settings: Settings, wanted: Filter) -> Question:
        """Look once more, with other settings or among other marks."""
        if question.mark is not None:
            return self.ask_for_relatives(question.mark, wanted, question.key)
        return self.ask(question.data, settings, wanted, question.key)

    def _answered(self, question: Question, query: Query, start: float) -> Question:
        hits = self.search.query(query, question.wanted, without=question.mark.uid if question.mark else None)
        confidence = question.prepared.confidence if question.prepared else 1.0
        question = question._replace(
            version=secrets.token_hex(4),
            hits=tuple(hits),
            found=in_collection(self.catalogue, hits, confidence),
            reason=verdict(self.catalogue, hits, confidence, question.wanted, question.mark),
            seconds=time.perf_counter() - start,
        )
        self._keep_pairs(question)
        self.questions.put(question.key, question)
        return question

    def question(self, key: str) -> Question:
        """Return a question that was asked lately."""
        found = self.questions.get(key)
        if found is None:
            raise HTTPException(
                404, f"the query must be one of the last {N_QUESTIONS}; got one that is gone. Send the picture again."
            )
        return found

    # Marks.

    def mark(self, uid: str) -> Mark:
        """Return a mark by its id."""
        try:
            return self.catalogue.mark(uid)
        except KeyError:
            raise HTTPException(
                404, "the mark must be in this catalogue; got an id that is not. Look for it in the collection."
            ) from None

    def side(self, key: str) -> Side:
        """Return a mark, or the picture of a question, to be compared."""
        if not key.startswith(QUESTION):
            return self._side_of_mark(self.mark(key))
        question = self.question(key)
        if question.mark is not None:
            return self._side_of_mark(question.mark)
        prepared = question.prepared
        assert prepared is not None
        unit = None if prepared.mm_per_pixel is None else prepared.mm_per_pixel / prepared.to_mark[0]
        shape, to_mark = (prepared.width, prepared.height), _matrix(prepared.to_mark)
        address = f"/query/{key}"
        return Side(key, "your picture", address, question.version, prepared.mark, unit, shape, to_mark, None)

    def _side_of_mark(self, mark: Mark) -> Side:
        unit = None if mark.mm_per_pixel is None else mark.mm_per_pixel / mark.to_mark[0]
        ink = ink_of(self.catalogue, mark)
        shape, to_mark = (mark.width, mark.height), _matrix(mark.to_mark)
        return Side(mark.uid, title(mark), f"/mark/{mark.uid}", version(mark), ink, unit, shape, to_mark, mark)

    def registration(self, a: Side, b: Side) -> Registration:
        """Return the map from one to another; it is looked for once."""
        key = f"{a.key} {a.version} {b.key} {b.version}"
        found = self.pairs.get(key)
        if found is None:
            found = register(a.ink, b.ink, refine=True)
            self.pairs.put(key, found)
        return found

    def _keep_pairs(self, question: Question) -> None:
        mark = question.mark
        start = f"{mark.uid} {version(mark)}" if mark else f"{question.key} {question.version}"
        for hit in question.hits:
            if hit.registration is not None:
                self.pairs.put(f"{start} {hit.mark.uid} {version(hit.mark)}", hit.registration)


QUESTION = "q-"


def new_key() -> str:
    """Return a name for a question that nobody can guess."""
    return QUESTION + secrets.token_urlsafe(16)


def title(mark: Mark) -> str:
    """Return what a mark is called."""
    return mark.name or mark.reference or mark.uid


def version(mark: Mark) -> str:
    """Return what changes when the pictures of a mark do."""
    return f"{mark.sha256[:8]}-{mark.added[:19].replace(':', '')}"


def _matrix(to_mark: tuple[float, float, float]) -> Array:
    scale, dx, dy = to_mark
    return np.array([[scale, 0, dx], [0, scale, dy]])
