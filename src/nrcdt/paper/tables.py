"""Every table of the numerical section as data: what is computed, and what is printed, read from `printed.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from .extra_columns import added_columns

KEYS = ("train", "angles", "directions", "rotations", "score")
MISPRINT = "breaks its own column in the paper: surely a misprint, kept as printed"


class Number(NamedTuple):
    """A printed number."""

    value: float
    std: float | None = None
    note: str = ""


class Row(NamedTuple):
    """One printed row: what it was computed with, its numbers by column, and columns that the paper does not have."""

    label: str
    train: int | None
    directions: int | None
    score: str | None
    printed: dict[str, Number]
    added: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """All columns, printed ones first."""
        return [*self.printed, *self.added]


class Table(NamedTuple):
    """One table of the paper.

    Of every class there are `n_samples`, or `quick_samples` in a quick run. `n_draws` datasets are drawn for the 20
    splits or runs of k-means. `drawings` says that the templates are drawings of our own that decide the outcome: such
    a table is not judged. `pictures` are those of `illustrate.py`. `printed` is one block of lines per kind of row.
    """

    name: str
    title: str
    experiment: Literal["nearest template", "nearest neighbour", "svm", "k-means", "run times"]
    dataset: str
    n_samples: int
    quick_samples: int
    printed: str
    classes: Sequence[int] = ()
    space: str = "image"
    n_radii: int = 850
    n_quantiles: int = 256
    n_directions: int = 256
    n_draws: int = 1
    drawings: bool = False
    pictures: str = ""

    @property
    def rows(self) -> list[Row]:
        """The rows, in printed order; what two blocks print for one label is one row."""
        rows: dict[str, Row] = {}
        for row in (row for block in self.printed.strip().split("\n\n") for row in _read_block(block)):
            before = rows[row.label].printed if row.label in rows else {}
            added = added_columns(self.name, row.train, row.directions)
            rows[row.label] = row._replace(printed={**before, **row.printed}, added=added)
        return list(rows.values())


def _read_block(block: str) -> list[Row]:
    header, *lines = (line.split() for line in block.strip().splitlines())
    return [_read_row(dict(zip(header, line, strict=True))) for line in lines]


def _read_row(entries: dict[str, str]) -> Row:
    keys = {key: value for key, value in entries.items() if key in KEYS and value != "-"}
    label = ", ".join(value if key == "score" else f"{key} {value}" for key, value in keys.items())
    directions = next((int(keys[key]) for key in KEYS[1:4] if key in keys), None)
    train = int(keys["train"]) if "train" in keys else None
    printed = {column: _read_number(text) for column, text in entries.items() if column not in KEYS}
    return Row(label or "any number", train, directions, keys.get("score"), printed)


def _read_number(text: str) -> Number:
    value, _, std = text.rstrip("?").partition("±")
    return Number(float(value), float(std) if std else None, MISPRINT if text.endswith("?") else "")


_TEXT = Path(__file__).with_name("printed.toml").read_text(encoding="utf-8")
TABLES: dict[str, Table] = {name: Table(name, **settings) for name, settings in tomllib.loads(_TEXT).items()}
