"""Columns that the paper does not have, by table: other frames, aggregations and classifiers on the same samples."""

from __future__ import annotations

import math
from typing import NamedTuple

MEANING = """Columns marked "not in the paper" are measured on the same samples and splits, by the Euclidean norm, with
what this package adds: directions spread evenly around the whitened measure, aggregations that this makes invariant,
several of them side by side (each divided by its root mean square), scaled affine moments, and classifiers that learn
how classes vary (the nearest subspace, and neighbourhood components analysis after principal components; from one
sample per class there is nothing to learn, so that they begin with five). Nothing is printed for them: they are counted
apart and not judged. Below each table they are compared with the best of the paper's columns in the same row, so with
as many directions and training samples, both as measured here; as good means within one tested sample."""


class Addition(NamedTuple):
    """A column, and the rows that have it: those with directions from `least` to `most`, and enough to train with.

    Without `least` it stands in the row that has no directions.
    """

    column: str
    least: int | None = 2
    most: float = math.inf
    train: int = 1

    def belongs(self, train: int | None, directions: int | None) -> bool:
        """Tell whether a row has this column.

        Examples
        --------
        >>> Addition("max/nca", train=5).belongs(1, 64), Addition("max/nca", train=5).belongs(10, 64)
        (False, True)
        """
        if directions is None or self.least is None:
            return directions is None and self.least is None
        return self.least <= directions <= self.most and self.train <= (train or self.train)


SCALED_MOMENTS = Addition("moments_scaled", least=None)
PLANE = (Addition("whitened.max"), Addition("whitened.mean_abs"), Addition("whitened.tv+spectrum"))
# Harmonics of a sphere are slow: not for thousands of directions.
SOLID = (Addition("whitened.max"), Addition("whitened.mean_abs"), Addition("whitened.mean_abs+spectrum", most=256))
# Learning takes time: digits need many directions, and the academic shapes are all told apart with more than a few.
LEARNT = tuple(
    Addition(f"{method}/{classifier}", least=16, train=5)
    for method in ("max", "whitened.tv+spectrum")
    for classifier in ("subspace", "nca")
)

ADDED: dict[str, tuple[Addition, ...]] = {
    "nt-academic": (SCALED_MOMENTS, *PLANE),
    "nt-polygon": (SCALED_MOMENTS, *PLANE),
    "nt-watermark": (SCALED_MOMENTS, *PLANE),
    "nn-linmnist": (*PLANE, *LEARNT),
    "svm-academic": tuple(one._replace(least=2, most=16) for one in LEARNT),
    "svm-linmnist": LEARNT,
    "nt-animal": SOLID,
    "nt-abc": SOLID,
    "nn-faust": tuple(one._replace(least=None) for one in SOLID),
}


def added_columns(table: str, train: int | None, directions: int | None) -> tuple[str, ...]:
    """Return the columns that a row of a table has beside the printed ones.

    Examples
    --------
    >>> added_columns("nt-polygon", None, None), added_columns("nt-abc", None, 512)
    (('moments_scaled',), ('whitened.max', 'whitened.mean_abs'))
    """
    return tuple(one.column for one in ADDED.get(table, ()) if one.belongs(train, directions))
