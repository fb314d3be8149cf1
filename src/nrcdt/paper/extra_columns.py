"""Columns that the paper does not have, by table, read from `extra_columns.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple


class Group(NamedTuple):
    """Columns that stand together, in the rows that have so many directions and enough to train with."""

    tables: list[str]
    columns: list[str]
    directions: tuple[float, float] | None = None
    train: int = 1

    def belongs(self, train: int | None, directions: int | None) -> bool:
        """Tell whether a row has these columns.

        Examples
        --------
        >>> learnt = Group(["nn-linmnist"], ["max/nca"], (2, 256), train=5)
        >>> learnt.belongs(1, 64), learnt.belongs(10, 64), learnt.belongs(10, None)
        (False, True, False)
        """
        if directions is None or self.directions is None:
            return directions is None and self.directions is None
        return self.directions[0] <= directions <= self.directions[1] and self.train <= (train or self.train)


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MEANING: str = _DATA["meaning"]
GROUPS = [Group(**group) for group in _DATA["group"]]


def added_columns(table: str, train: int | None, directions: int | None) -> tuple[str, ...]:
    """Return the columns that a row of a table has beside the printed ones.

    Examples
    --------
    >>> added_columns("nt-polygon", None, None), added_columns("nt-abc", None, 512)
    (('moments_scaled',), ('whitened.max', 'whitened.mean_abs'))
    """
    groups = [group for group in GROUPS if table in group.tables and group.belongs(train, directions)]
    return tuple(column for group in groups for column in group.columns)
