"""What all pages share: the catalogue, the queue, questions asked lately, and pairs that were laid over each other."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import numpy as np
from starlette.exceptions import HTTPException

from ...arrays import Array
from ...errors import InputError
from ...ink import NoInkError
from ...registration import Registration, register
from ..catalogue import Answer, answer
from ..intake import Prepared, Settings
from ..model import Filter, Mark
from ..ranking import SHORTLIST, Hit, Search, ink_of, query_of, query_of_mark
from ..recent import Recent
from ..store import Judgement, Store
from ..workers import Workers
from .forms import FACETS

# Keys of questions begin so, ids of marks do not.
QUESTION = "q-"
N_QUESTIONS = 32
QUESTION_BYTES = 256_000_000
N_PAIRS = 2000
FACET_SECONDS = 10.0
FIND_INK = (
    "Crop the picture to the motif, paint over stains, or say whether the ink is darker or lighter than the paper."
)


class Question(NamedTuple):
    """Something that was looked for: a picture that was sent (`data`, `prepared`), or a mark of the catalogue.

    Attributes
    ----------
    key : str, opaque name by which it is asked for
    version : str, changes whenever the answer does
    problem : why no ink was found; `prepared` then holds the picture as it is, and there is no answer
    """

    key: str
    data: bytes = b""
    mark: Mark | None = None
    settings: Settings = Settings()
    wanted: Filter = Filter()
    prepared: Prepared | None = None
    version: str = ""
    answer: Answer | None = None
    seconds: float = 0.0
    problem: str = ""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """Return what was found, best first."""
        return self.answer.hits if self.answer else ()

    @property
    def twin(self) -> str | None:
        """Return the mark of the catalogue that was made from the very file that was sent."""
        same = self.prepared.sha256 if self.prepared else None
        return next((hit.mark.uid for hit in self.hits if hit.mark.sha256 == same), None)


class Side(NamedTuple):
    """One of two marks that are laid over each other.

    Attributes
    ----------
    key, title : str
    address : under which its pictures are
    version : str, changes whenever they do
    ink : array of shape (h, w), uint8
    pictured : a mark of the catalogue, or what was found in a picture that was sent
    """

    key: str
    title: str
    address: str
    version: str
    ink: Array
    pictured: Mark | Prepared

    @property
    def mark(self) -> Mark | None:
        """Return the mark, unless this is a picture that was sent."""
        return self.pictured if isinstance(self.pictured, Mark) else None

    @property
    def unit(self) -> float | None:
        """Millimetres per pixel of the ink."""
        return self.pictured.unit

    @property
    def size_mm(self) -> tuple[float, float] | None:
        """Width and height on paper."""
        height, width = self.ink.shape
        return None if self.unit is None else (width * self.unit, height * self.unit)

    @property
    def shape(self) -> tuple[int, int]:
        """Width and height of the whole picture."""
        return self.pictured.width, self.pictured.height

    @property
    def to_mark(self) -> Array:
        """The map (2, 3) from pixels of the picture to pixels of the ink."""
        scale, dx, dy = self.pictured.to_mark
        return np.array([[scale, 0, dx], [0, scale, dy]])


class QueryQueue:
    """Lets a few search at once, a few more wait, and sends the others away.

    Parameters
    ----------
    n : how many search at once
    n_waiting : how many may wait
    """

    def __init__(self, n: int, n_waiting: int) -> None:
        self.most = n + n_waiting
        self._places, self._turn = asyncio.Semaphore(self.most), asyncio.Semaphore(n)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[asyncio.Semaphore]:
        """Hold a place in the queue; the turn itself comes with the semaphore."""
        if self._places.locked():
            sentence = f"at most {self.most} queries must run at once; got one more. Try again in a moment."
            raise HTTPException(503, sentence, {"Retry-After": "5"})
        async with self._places:
            yield self._turn


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
        self.queue = QueryQueue(2, 6)
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

    def ask(self, data: bytes, settings: Settings, wanted: Filter) -> Question:
        """Look for a picture that was sent; where no ink is found, keep it, so that it can be cropped or read anew."""
        question = Question(_new_key(), data=data)
        try:
            return self.ask_again(question, settings, wanted)
        except NoInkError as error:
            question = question._replace(settings=settings, wanted=wanted, problem=str(error))
            return self._kept(question._replace(prepared=self._without_ink(data)))

    def ask_for_relatives(self, mark: Mark) -> Question:
        """Look for the relatives of a mark of the catalogue."""
        return self.ask_again(Question(_new_key(), mark=mark), Settings(), Filter())

    def ask_again(self, question: Question, settings: Settings, wanted: Filter) -> Question:
        """Look for something, with these settings and among these marks."""
        start, mark = time.perf_counter(), question.mark
        prepared = None if mark else self._prepared(question.data, settings)
        query = query_of_mark(self.catalogue, mark) if mark else query_of(prepared)
        confidence = prepared.confidence if prepared else 1.0
        found = answer(self.search, query, SHORTLIST, wanted, confidence=confidence, of=mark)
        question = question._replace(settings=settings, wanted=wanted, prepared=prepared, problem="", answer=found)
        return self._kept(question._replace(seconds=time.perf_counter() - start))

    def _prepared(self, data: bytes, settings: Settings) -> Prepared:
        try:
            return self.workers.prepare(data, settings)
        except NoInkError as error:
            raise NoInkError(error.where, error.rule, error.got, FIND_INK) from None  # the remedy of the page

    def _without_ink(self, data: bytes) -> Prepared:
        try:
            return self.workers.prepare(data, Settings(ink=False))
        except ValueError:
            raise InputError("the picture", "show something", "one grey level", "Choose another picture.") from None

    def _kept(self, question: Question) -> Question:
        """Remember a question, and the maps that were found for its answer."""
        question = question._replace(version=secrets.token_hex(4))
        mark = question.mark
        start = f"{mark.uid} {version_of(mark)}" if mark else f"{question.key} {question.version}"
        for hit in question.hits:
            if hit.registration is not None:
                self.pairs.put(f"{start} {hit.mark.uid} {version_of(hit.mark)}", hit.registration)
        self.questions.put(question.key, question)
        return question

    def question(self, key: str) -> Question:
        """Return a question that was asked lately."""
        found = self.questions.get(key)
        if found is None:
            sentence = f"the query must be one of the last {N_QUESTIONS}; got one that is gone. Send the picture again."
            raise HTTPException(404, sentence)
        return found

    def mark(self, uid: str) -> Mark:
        """Return a mark by its id."""
        try:
            return self.catalogue.mark(uid)
        except KeyError:
            sentence = "the mark must be in this catalogue; got an id that is not. Look for it in the collection."
            raise HTTPException(404, sentence) from None

    def side(self, key: str) -> Side:
        """Return a mark, or the picture of a question, to be compared."""
        question = self.question(key) if key.startswith(QUESTION) else None
        if question and question.prepared:
            address, prepared = f"/query/{key}", question.prepared
            return Side(key, "your picture", address, question.version, prepared.mark, prepared)
        mark = (question and question.mark) or self.mark(key)
        address, ink = f"/mark/{mark.uid}", ink_of(self.catalogue, mark)
        return Side(mark.uid, title_of(mark), address, version_of(mark), ink, mark)

    def registration(self, a: Side, b: Side) -> Registration:
        """Return the map from one to another; it is looked for once."""
        key = f"{a.key} {a.version} {b.key} {b.version}"
        found = self.pairs.get(key)
        if found is None:
            found = register(a.ink, b.ink, refine=True)
            self.pairs.put(key, found)
        return found


def _new_key() -> str:
    """Return a name for a question that nobody can guess."""
    return QUESTION + secrets.token_urlsafe(16)


def title_of(mark: Mark) -> str:
    """Return what a mark is called."""
    return mark.name or mark.reference or mark.uid


def version_of(mark: Mark) -> str:
    """Return what changes when the pictures of a mark do."""
    return f"{mark.sha256[:8]}-{mark.added[:19].replace(':', '')}"


def other_mark(judgement: Judgement, uid: str) -> str:
    """Return the id of the other mark of a judgement."""
    return judgement.b if judgement.a == uid else judgement.a
