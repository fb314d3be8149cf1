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
from ..catalogue import Answer, answer
from ..intake import Prepared, Settings
from ..model import Filter, Mark
from ..ranking import SHORTLIST, Hit, Query, Search, ink_of, query_of, query_of_mark
from ..recent import Recent
from ..store import Judgement, Store
from ..workers import Workers
from .limits import QueryQueue

# Keys of questions begin so, ids of marks do not.
QUESTION = "q-"
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
            return self._kept_without_ink(question._replace(settings=settings, wanted=wanted, problem=str(error)))

    def ask_for_relatives(self, mark: Mark) -> Question:
        """Look for the relatives of a mark of the catalogue."""
        return self.ask_again(Question(_new_key(), mark=mark), Settings(), Filter())

    def ask_again(self, question: Question, settings: Settings, wanted: Filter) -> Question:
        """Look for something, with these settings and among these marks."""
        start = time.perf_counter()
        if question.mark is not None:
            query = query_of_mark(self.catalogue, question.mark)
            question = question._replace(wanted=wanted)
        else:
            prepared = self._prepared(question.data, settings)
            question = question._replace(settings=settings, wanted=wanted, prepared=prepared, problem="")
            query = query_of(prepared)
        return self._answered(question, query, start)

    def _prepared(self, data: bytes, settings: Settings) -> Prepared:
        try:
            return self.workers.prepare(data, settings)
        except NoInkError as error:
            raise NoInkError(error.where, error.rule, error.got, FIND_INK) from None  # the remedy of the page

    def _kept_without_ink(self, question: Question) -> Question:
        try:
            shown = self.workers.prepare(question.data, Settings(ink=False))
        except ValueError:
            raise InputError("the picture", "show something", "one grey level", "Choose another picture.") from None
        question = question._replace(prepared=shown, version=secrets.token_hex(4))
        self.questions.put(question.key, question)
        return question

    def _answered(self, question: Question, query: Query, start: float) -> Question:
        confidence = question.prepared.confidence if question.prepared else 1.0
        found = answer(self.search, query, SHORTLIST, question.wanted, confidence=confidence, of=question.mark)
        question = question._replace(version=secrets.token_hex(4), answer=found, seconds=time.perf_counter() - start)
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
        question = self.question(key) if key.startswith(QUESTION) else None
        mark = question.mark if question else self.mark(key)
        if mark is not None:
            title, address, ink = title_of(mark), f"/mark/{mark.uid}", ink_of(self.catalogue, mark)
            return _side(mark, mark.uid, title, address, version_of(mark), ink, mark)
        assert question is not None
        assert question.prepared is not None
        prepared = question.prepared
        return _side(prepared, key, "your picture", f"/query/{key}", question.version, prepared.mark, None)

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
        start = f"{mark.uid} {version_of(mark)}" if mark else f"{question.key} {question.version}"
        for hit in question.hits:
            if hit.registration is not None:
                self.pairs.put(f"{start} {hit.mark.uid} {version_of(hit.mark)}", hit.registration)


def _side(
    pictured: Mark | Prepared, key: str, title: str, address: str, version: str, ink: Array, mark: Mark | None
) -> Side:
    scale, dx, dy = pictured.to_mark
    unit = None if pictured.mm_per_pixel is None else pictured.mm_per_pixel / scale
    to_mark = np.array([[scale, 0, dx], [0, scale, dy]])
    return Side(key, title, address, version, ink, unit, (pictured.width, pictured.height), to_mark, mark)


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
