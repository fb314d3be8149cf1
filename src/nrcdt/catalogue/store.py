"""The catalogue: marks, their pictures, features and judgements in one SQLite file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..arrays import Array
from ..errors import InputError
from .database import Database, damaged, now
from .intake import FIRST_PLAN, PLAN, SETTINGS
from .model import COLUMNS, METADATA, VERDICTS, Filter, Mark, from_row, searched, to_row
from .units import read_resolution

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM marks WHERE"


class Record(NamedTuple):
    """A mark with everything that is stored of it; `mark` is a PNG, `preview` a JPEG, `original` the file itself.

    `stamp` tells whether the file, and what was said about it, has changed since.
    """

    mark: Mark
    features: Array
    ink: bytes
    preview: bytes
    original: bytes | None
    stamp: str


class Judgement(NamedTuple):
    """What a person says about two marks."""

    a: str
    b: str
    verdict: str
    note: str
    at: str


class Store(Database):
    """A catalogue in a file; safe to share between threads, and between programs.

    Parameters
    ----------
    path : file
    create : whether to make the file if there is none
    readonly : whether to leave it alone

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with Store(Path(tempfile.mkdtemp(), "marks.db"), create=True) as catalogue:
    ...     len(catalogue)
    0
    """

    def check_settings(self) -> None:
        """Refuse to mix features of different settings."""
        stored = self.about("settings")
        if {"plan": FIRST_PLAN} | stored != SETTINGS:
            rule, made_by = f"be made with the settings of this nrcdt, {SETTINGS}", f"nrcdt {self.about('version')}"
            remedy = f"Compute its features again from the ink it holds: nrcdt catalogue add {self.path} --renew"
            raise InputError("the catalogue", rule, f"{stored}, by {made_by}", remedy)

    def adopt_settings(self) -> None:
        """Note that all features are those of this version. To be called within a transaction."""
        self.set_about("strangers", None)
        self.set_about("settings", SETTINGS)
        self.set_about("version", __version__)

    def __len__(self) -> int:
        return self.count()

    def count(self, wanted: Filter = Filter()) -> int:  # noqa: B008
        """Return how many marks match."""
        where, values = wanted.where()
        return int(self.rows(f"SELECT count(*) FROM marks WHERE {where}", values)[0][0])

    def _read(self, rest: str, values: Sequence[Any]) -> list[Mark]:
        return [self._mark(row) for row in self.rows(f"{_SELECT} {rest}", values)]

    def _mark(self, row: tuple[Any, ...]) -> Mark:
        try:
            return from_row(row)
        except (ValueError, TypeError) as error:  # damaged bytes, of which SQLite does not know that they are no JSON
            raise damaged(self.path, error) from None

    def marks(self, wanted: Filter = Filter(), offset: int = 0, limit: int = -1) -> list[Mark]:  # noqa: B008
        """Return the marks that match, sorted by motif and name."""
        where, values = wanted.where()
        return self._read(f"{where} ORDER BY motif, name, id LIMIT ? OFFSET ?", [*values, limit, offset])

    def each(self, wanted: Filter = Filter()) -> Iterator[Mark]:  # noqa: B008
        """Walk through the marks that match in the order they came, without holding all of them."""
        for number in self.ids(wanted).tolist():
            yield from self._read("id = ?", [number])

    def known(self, uid: str) -> Mark | None:
        """Return the mark of an id, if there is one."""
        return next(iter(self._read("uid = ?", [uid])), None)

    def mark(self, uid: str) -> Mark:
        """Return a mark by its id."""
        if (mark := self.known(uid)) is None:
            raise KeyError(uid)
        return mark

    def of_source(self, source: str) -> Mark | None:
        """Return the mark that was read from a file, if there is one."""
        return next(iter(self._read("source = ? AND source != ''", [source])), None)

    def find(self, text: str) -> Mark:
        """Return the one mark whose id, the beginning of its id, name, reference or file is this."""
        exact, begins = "?1 IN (uid, name, reference, source)", "length(?1) >= 4 AND substr(uid, 1, length(?1)) = ?1"
        known = text and text.isprintable()  # many a reference is empty, and what is no text SQLite does not take
        marks = self._read(f"{exact} OR {begins} LIMIT 3", [text]) if known else []
        if len(marks) != 1:
            found = "none" if not marks else f"several, such as {marks[0].uid} and {marks[1].uid}"
            raise InputError("MARK", "be the id, name, reference or file of one mark", f"{text!r}, which fits {found}")
        return marks[0]

    def values_of(self, column: str) -> list[tuple[str, int]]:
        """Return the values of motif, method or place with how many marks have them, sorted."""
        if column not in ("motif", "method", "place"):
            raise InputError("column", "be motif, method or place", repr(column))
        return self.rows(f"SELECT {column}, count(*) FROM marks GROUP BY 1 ORDER BY 1")

    def columns_of_tables(self) -> list[str]:
        """Return the names of further columns that marks have from the tables they came with, sorted."""
        return [name for (name,) in self.rows("SELECT DISTINCT key FROM marks, json_each(extra) ORDER BY 1")]

    def doubles(self) -> list[tuple[str, str]]:
        """Return pairs of marks, by file or name, that are the same file under two paths."""
        name = "coalesce(nullif(source, ''), name)"
        return self.rows(f"SELECT min({name}), max({name}) FROM marks GROUP BY sha256 HAVING count(*) > 1 ORDER BY 1")

    def stamps(self) -> dict[str, str]:
        """Return the stamp of every mark that came from a file, by the file."""
        return dict(self.rows("SELECT source, stamp FROM marks WHERE source != ''"))

    def ids(self, wanted: Filter = Filter()) -> Array:  # noqa: B008
        """Return the numbers of the marks that match, ascending."""
        where, values = wanted.where()
        return np.array([n for (n,) in self.rows(f"SELECT id FROM marks WHERE {where} ORDER BY id", values)], np.int64)

    def sample(self, n: int) -> list[int]:
        """Return the numbers of up to `n` marks, as good as drawn at random: the first by id, which is a hash."""
        return [number for (number,) in self.rows("SELECT id FROM marks ORDER BY uid LIMIT ?", [n])]

    def motifs(self) -> dict[int, str]:
        """Return the motif of every mark, by its number."""
        return dict(self.rows("SELECT id, motif FROM marks ORDER BY id"))

    def numbered(self, ids: Iterable[int]) -> list[Mark]:
        """Return marks by their numbers, in the same order."""
        return [self._numbered(int(n)) for n in ids]

    def _numbered(self, n: int) -> Mark:
        if found := self._read("id = ?", [n]):
            return found[0]
        remedy = f"Somebody has just removed it: ask again. Otherwise see nrcdt catalogue verify {self.path}"
        raise InputError("the catalogue", f"hold mark {n}, whose features it holds", "none", remedy)

    def vectors(self, after: int = 0, limit: int = 10_000) -> tuple[Array, Array]:
        """Return numbers and features of marks with numbers beyond `after`, ascending."""
        rows = self.rows("SELECT id, vector FROM features WHERE id > ? ORDER BY id LIMIT ?", [after, limit])
        for number, vector in rows:
            self._check_features(number, vector)
        vectors = np.frombuffer(b"".join(vector for _, vector in rows), np.float32)
        return np.array([n for n, _ in rows], np.int64), vectors.reshape(len(rows), PLAN.n_features)

    def _check_features(self, number: int, vector: bytes) -> None:
        size = PLAN.n_features
        if len(vector or b"") != np.float32().nbytes * size:
            self.check_settings()
            (mark,) = self.numbered([number])
            where, remedy = f"the features of {mark.uid} ({mark.name})", "See how to mend them: nrcdt catalogue verify"
            raise InputError(where, f"be {size} numbers", f"{len(vector or b'')} bytes", f"{remedy} {self.path}")

    def vector(self, uid: str) -> Array:
        """Return the features of a mark."""
        rows = self.rows("SELECT id, vector FROM features JOIN marks USING (id) WHERE uid = ?", [uid])
        if not rows:
            raise KeyError(uid)
        self._check_features(*rows[0])
        return np.frombuffer(rows[0][1], np.float32)

    def records(self) -> Iterator[Record]:
        """Walk through all marks with everything that is stored of them."""
        tables = "marks JOIN features USING (id) JOIN pictures USING (id)"
        sql = f"SELECT vector, mark, preview, original, stamp, {', '.join(COLUMNS)} FROM {tables} WHERE id = ?"
        for number in self.ids().tolist():
            for vector, ink, preview, original, stamp, *row in self.rows(sql, [number]):
                self._check_features(number, vector)
                yield Record(self._mark(tuple(row)), np.frombuffer(vector, np.float32), ink, preview, original, stamp)

    def picture(self, uid: str, kind: str) -> bytes | None:
        """Return a picture of a mark: "mark" (ink, PNG), "preview" (JPEG) or "original" (the file, where stored)."""
        if kind not in ("mark", "preview", "original"):
            raise InputError("kind", "be mark, preview or original", repr(kind))
        rows = self.rows(f"SELECT {kind} FROM pictures JOIN marks USING (id) WHERE uid = ?", [uid])
        if not rows:
            raise KeyError(uid)
        return rows[0][0]  # type: ignore[no-any-return]

    def generation(self) -> int:
        """Return a number that grows whenever this or another program has changed any features."""
        return int(self.about("generation"))

    def put(self, record: Record) -> None:
        """Store a mark; one from the same file is replaced. To be called within a transaction."""
        row = to_row(record.mark) | {"stamp": record.stamp}
        values, changes = (", ".join(text.format(name) for name in row) for text in (":{0}", "{0} = excluded.{0}"))
        sql = f"INSERT INTO marks ({', '.join(row)}) VALUES ({values}) ON CONFLICT (uid) DO UPDATE SET {changes}"
        self.rows(sql, row)
        ((number,),) = self.rows("SELECT id FROM marks WHERE uid = ?", [record.mark.uid])
        self.set_vector(number, record.features)
        pictures = [number, record.ink, record.preview, record.original]
        self._db.execute("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?)", pictures)

    def set_vector(self, number: int, vector: Array) -> None:
        """Replace the features of a mark. To be called within a transaction."""
        self._db.execute("INSERT OR REPLACE INTO features VALUES (?, ?)", [int(number), np.float32(vector).tobytes()])

    def edit(self, uid: str, changes: Mapping[str, Any]) -> Mark:
        """Change what is known about a mark: texts, and "dpi" as typed, which is empty where unknown."""
        names = (*METADATA, "dpi")
        if unknown := set(changes) - set(names):
            raise InputError("changes", f"be among {', '.join(names)}", ", ".join(sorted(unknown)))
        changes = dict(changes)
        with self.transaction():
            mark = self.mark(uid)
            if "dpi" in changes:
                mm_per_pixel = read_resolution(str(changes.pop("dpi")))
                if mark._replace(mm_per_pixel=mm_per_pixel).dpi != mark.dpi:  # a form may send back what it showed
                    changes["mm_per_pixel"] = mm_per_pixel
            return self.correct(mark, changes)

    def correct(self, mark: Mark, changes: Mapping[str, Any], stamp: str | None = None) -> Mark:
        """Change some fields of a mark, and its stamp. To be called within a transaction."""
        mark = mark._replace(**changes)
        row = {name: value for name, value in to_row(mark).items() if name in {*changes, *searched(mark)}}
        for name, value in (row if stamp is None else row | {"stamp": stamp}).items():
            self._db.execute(f"UPDATE marks SET {name} = ? WHERE uid = ?", [value, mark.uid])
        return mark

    def remove(self, uids: Iterable[str]) -> None:
        """Take marks, and judgements about them, out of the catalogue. The files they came from stay."""
        with self.transaction():
            self._db.executemany("DELETE FROM marks WHERE uid = ?", ([uid] for uid in uids))

    # Judgements.

    def judge(self, a: str, b: str, verdict: str, note: str = "") -> Judgement:
        """Keep a judgement about two marks; an older one about the same two is replaced."""
        if verdict not in VERDICTS:
            raise InputError("verdict", f"be one of {', '.join(VERDICTS)}", repr(verdict))
        if a == b:
            raise InputError("a and b", "be two marks", "one and the same")
        self.mark(a), self.mark(b)
        first, second = sorted((a, b))
        judgement = Judgement(first, second, verdict, note, now())
        with self.transaction():
            self._db.execute("INSERT OR REPLACE INTO judgements VALUES (?, ?, ?, ?, ?)", judgement)
        return judgement

    def keep(self, judgement: Judgement) -> None:
        """Keep a judgement of another catalogue. To be called within a transaction."""
        self._db.execute("INSERT INTO judgements VALUES (?, ?, ?, ?, ?)", judgement)

    def judgements(self, uid: str | None = None) -> list[Judgement]:
        """Return all judgements, or those about one mark."""
        rows = self.rows("SELECT a, b, verdict, note, at FROM judgements WHERE ?1 IS NULL OR ?1 IN (a, b)", [uid])
        return [Judgement(*row) for row in rows]

    def numbers(self) -> dict[str, int]:
        """Count marks: all, with a motif, dated, with a scale; and motifs and judgements."""
        row = self.rows(
            "SELECT count(*), total(motif != ''), count(DISTINCT nullif(motif, '')), total(date != ''),"
            " count(mm_per_pixel), (SELECT count(*) FROM judgements) FROM marks"
        )[0]
        names = ("marks", "with a motif", "motifs", "dated", "with a scale", "judgements")
        return {name: int(value) for name, value in zip(names, row, strict=True)}

    def forget(self, a: str, b: str) -> None:
        """Take back the judgement about two marks."""
        with self.transaction():
            self._db.execute("DELETE FROM judgements WHERE a = ? AND b = ?", sorted((a, b)))
