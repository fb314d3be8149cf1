"""Features of a dataset by every method of a table, computed once and kept in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import hash as digest
from scipy.sparse import csr_array

from ..aggregate import AGGREGATIONS
from ..arrays import Array
from ..baselines import LOT, AffineMoments
from ..plan import Plan
from ..scales import BlockScales
from ..spaces import Space, find_space
from ..transform import gather
from .cache import Cache
from .column_names import read_method
from .data import Data
from .tables import Table

BLOCK = 32  # directions whose R-CDTs are held at a time
WITH_TEMPLATES = ("nearest template", "run times")
NEGLIGIBLE = 1e-12


class Features:
    """Features of the templates, where the table compares with them, and of the samples, in this order."""

    def __init__(self, table: Table, data: Data, cache: Cache) -> None:
        self.table, self.data, self.cache = table, data, cache
        templates = data.dataset.templates if table.experiment in WITH_TEMPLATES else None
        self.n_templates = 0 if templates is None else len(templates)
        parts = [data.dataset.samples] if templates is None else [templates, data.dataset.samples]
        self.measures = [np.asarray(measure) for part in parts for measure in part]
        self.digest = digest(self.measures)

    def __call__(self, method: str, n_directions: int | None = None, *, raw: bool = False) -> Array:
        """Return the features of one method, a row per measure.

        Rows of the Euclidean baseline and of the R-CDT are long. Unless they are wanted `raw`, as many coordinates as
        there are rows stand for them, with the same distances and inner products; for several aggregations side by
        side always.
        """
        n_directions = n_directions or self.table.n_directions
        if _is_aggregated(method):
            return self.columns(self._of_same_slices(method, n_directions), n_directions)[method]
        if method == "rcdt":
            return self._rcdt(self.plan(n_directions, normalize=None), raw)
        if method == "eucl":
            return self._pixels() if raw else self._once(method, lambda: span(_gram(self._pixels()))[0])
        return self._once(method, lambda: self._baseline(method))

    def columns(self, methods: list[str], n_directions: int) -> dict[str, Array]:
        """Return the features of several methods of one frame, all computed from the same slices."""
        wanted = {method: read_method(method)[1] for method in methods}
        names = sorted({name for own in wanted.values() for name in own})
        plan = self.plan(n_directions, frame=read_method(methods[0])[0], aggregate=names)

        def compute() -> dict[str, Array]:
            features = gather(self._checked, plan, plan.features, n_jobs=-1)
            blocks = dict(zip(names, np.split(features, np.cumsum(plan.block_sizes)[:-1], axis=1), strict=True))
            return {method: self._side_by_side([blocks[name] for name in own]) for method, own in wanted.items()}

        return self.cache.get(self._key(methods, plan), compute)

    def plan(self, n_directions: int, **settings: Any) -> Plan:
        """Return what the table computes features by; `settings` are those of `Plan.resolve` that it leaves open."""
        return Plan.resolve(
            self._space,
            dimension=self._space.dimension(self._checked[0]),
            n_directions=n_directions,
            n_quantiles=self.table.n_quantiles,
            n_radii=self.table.n_radii,
            **settings,
        )

    @cached_property
    def _space(self) -> Space:
        return find_space(self.table.space)

    @cached_property
    def _checked(self) -> Any:
        return self._space.check(self.measures)

    def _key(self, what: str | list[str], plan: Plan | None) -> dict[str, Any]:
        return {"data": self.digest, "features": what, "plan": plan and plan.digest}

    def _once(self, what: str, compute: Callable[[], Array], plan: Plan | None = None) -> Array:
        return self.cache.get(self._key(what, plan), lambda: {"features": compute()})["features"]

    def _of_same_slices(self, method: str, n_directions: int) -> list[str]:
        """Return a method, and all others that the table wants in its frame for so many directions."""
        rows = [row for row in self.table.rows if row.directions in (None, n_directions)]
        others = {column.partition("/")[0] for row in rows for column in row.columns}
        frame = read_method(method)[0]
        return sorted({method, *(one for one in others if _is_aggregated(one) and read_method(one)[0] == frame)})

    def _side_by_side(self, blocks: list[Array]) -> Array:
        if len(blocks) == 1:
            return blocks[0]
        features, sizes = np.hstack(blocks), [block.shape[1] for block in blocks]
        rows = BlockScales(sizes).partial_fit(features[: self.n_templates or None]).transform(features).astype(float)
        return span(rows @ rows.T)[0]

    def _rcdt(self, plan: Plan, raw: bool) -> Array:
        if raw:
            return self._once("rcdt, raw", lambda: _rcdt(self._checked, plan), plan)
        return self._once("rcdt", lambda: span(rcdt_gram(self._checked, plan))[0], plan)

    def _pixels(self) -> Array:
        return np.stack([np.ravel(measure) for measure in self.measures])

    def _baseline(self, method: str) -> Array:
        measures = np.stack(self.measures)
        if method == "lot":
            return np.asarray(LOT().fit_transform(measures))
        moments = AffineMoments(scale=method == "moments_scaled").fit(measures[: self.n_templates or None])
        return np.asarray(moments.transform(measures))


def _is_aggregated(method: str) -> bool:
    return AGGREGATIONS.keys() >= set(read_method(method)[1])


def rcdt_gram(measures: Sequence[Any], plan: Plan) -> Array:
    """Return the inner products of the R-CDTs of all measures, summed over blocks of directions to spare memory."""
    gram = np.zeros((len(measures), len(measures)))
    for start in range(0, len(plan.directions), BLOCK):
        chosen = slice(start, start + BLOCK)
        block = replace(plan, directions=plan.directions[chosen], direction_weights=plan.direction_weights[chosen])
        rows = _rcdt(measures, block).astype(np.float64)
        gram += rows @ rows.T
    return gram


def _rcdt(measures: Sequence[Any], plan: Plan) -> Array:
    return gather(measures, plan, plan.quantiles, n_jobs=-1).reshape(len(measures), -1)


def _gram(rows: Array) -> Array:
    sparse = csr_array(rows.astype(np.float64))
    return np.asarray((sparse @ sparse.T).todense())


def span(gram: Array) -> tuple[Array, Array]:
    """Return points with given inner products, and the matrix that makes them from the inner products.

    Long rows x with gram matrix x x^T keep their geometry in as many columns as there are rows: the points are their
    coordinates in an orthonormal basis of their span, x^T times the matrix.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(3, 1000))
    >>> points, change = span(rows @ rows.T)
    >>> points.shape, bool(np.allclose(points, rows @ (rows.T @ change)))
    ((3, 3), True)
    """
    values, vectors = np.linalg.eigh(gram)
    kept = values > NEGLIGIBLE * values[-1]
    change = vectors[:, kept] / np.sqrt(values[kept])
    return gram @ change, change
