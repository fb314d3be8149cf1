"""Features of a dataset by every method of a table, computed once and kept in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..aggregate import AGGREGATIONS
from ..baselines import LOT, AffineMoments
from ..estimators import RCDT
from ..plan import Plan
from ..scales import BlockScales
from ..slices import Array
from ..spaces import find_space
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
        self.digest = _digest(self.measures)

    def __call__(self, method: str, n_directions: int | None = None, *, raw: bool = False) -> Array:
        """Return the features of one method, a row per measure.

        Rows of the Euclidean baseline and of the R-CDT are long. Unless they are wanted `raw`, as many coordinates as
        there are rows stand for them, with the same distances and inner products; for several aggregations side by
        side always.
        """
        frame, names = read_method(method)
        if _are_known(names):
            return self._aggregated(frame, n_directions or self.table.n_directions)[method]
        if method == "rcdt":
            return self._rcdt(n_directions or self.table.n_directions, raw)
        if method == "eucl":
            return self._pixels() if raw else self._once(method, lambda: span(_gram(self._pixels()))[0])
        baselines: dict[str, Any] = {
            "lot": lambda: LOT().fit_transform(np.stack(self.measures)),
            "moments": lambda: AffineMoments().fit_transform(np.stack(self.measures)),
            "moments_scaled": self._scaled_moments,
        }
        return self._once(method, baselines[method])

    def _once(self, method: str, compute: Callable[[], Array], **settings: Any) -> Array:
        key = {"data": self.digest, "method": method, **settings}
        return self.cache.get(key, lambda: {"features": compute()})["features"]

    def _scaled_moments(self) -> Array:
        measures = np.stack(self.measures)
        return np.asarray(AffineMoments(scale=True).fit(measures[: self.n_templates or None]).transform(measures))

    def _pixels(self) -> Array:
        return np.stack([np.ravel(measure) for measure in self.measures])

    def _settings(self, n_directions: int) -> dict[str, Any]:
        radii = {"n_radii": self.table.n_radii} if self.table.space == "image" else {}
        return {"n_directions": n_directions, "n_quantiles": self.table.n_quantiles, **radii}

    def _aggregated(self, frame: str, n_directions: int) -> dict[str, Array]:
        """Return the features of all methods that the table wants in one frame, for so many directions."""
        rows = [row for row in self.table.rows if row.directions in (None, n_directions)]
        columns = sorted({column.partition("/")[0] for row in rows for column in row.columns})
        methods = {column: read_method(column) for column in columns}
        wanted = {column: names for column, (own, names) in methods.items() if own == frame and _are_known(names)}
        settings = {"frame": frame, **self._settings(n_directions)}
        key = {"data": self.digest, "space": self.table.space, "methods": list(wanted), **settings}
        return self.cache.get(key, lambda: self._joined(wanted, settings))

    def each(self, names: list[str], n_directions: int) -> dict[str, Array]:
        """Return aggregations by name in the fixed frame, whether the table has them or not."""
        settings = self._settings(n_directions)
        key = {"data": self.digest, "space": self.table.space, "each": names, **settings}
        return self.cache.get(key, lambda: aggregated(self.measures, self.table.space, names, **settings))

    def _joined(self, wanted: dict[str, list[str]], settings: dict[str, Any]) -> dict[str, Array]:
        """Compute all aggregations from the same slices, and put side by side what belongs together."""
        names = sorted({name for own in wanted.values() for name in own})
        found = aggregated(self.measures, self.table.space, names, **settings)
        return {column: self._side_by_side([found[name] for name in own]) for column, own in wanted.items()}

    def _side_by_side(self, blocks: list[Array]) -> Array:
        if len(blocks) == 1:
            return blocks[0]
        features, sizes = np.hstack(blocks), [block.shape[1] for block in blocks]
        rows = BlockScales(sizes).partial_fit(features[: self.n_templates or None]).transform(features).astype(float)
        return span(rows @ rows.T)[0]

    def _rcdt(self, n_directions: int, raw: bool) -> Array:
        settings = self._settings(n_directions)
        if raw:
            model = RCDT(self.table.space, n_jobs=-1, **settings).fit(self.measures[:1])
            return self._once("rcdt, raw", lambda: model.transform(self.measures), **settings)
        return self._once("rcdt", lambda: span(rcdt_gram(self.measures, self.table.space, **settings))[0], **settings)


def _are_known(names: list[str]) -> bool:
    return AGGREGATIONS.keys() >= set(names)


def _digest(measures: Sequence[Array]) -> str:
    total = hashlib.blake2b(digest_size=16)
    for measure in measures:
        total.update(f"{measure.dtype} {measure.shape}".encode())
        total.update(np.ascontiguousarray(measure).data)
    return total.hexdigest()


def aggregated(
    measures: Sequence[Any],
    space: str,
    names: list[str],
    n_directions: int,
    n_quantiles: int,
    n_radii: Any = "auto",
    frame: str = "fixed",
) -> dict[str, Array]:
    """Return the NR-CDT of every measure for several aggregations at once, each of shape (n_measures, n_features)."""
    where = find_space(space)
    checked = where.check(measures)
    plan = Plan.resolve(
        where,
        dimension=where.dimension(checked[0]),
        n_directions=n_directions,
        n_quantiles=n_quantiles,
        n_radii=n_radii,
        frame=frame,
        aggregate=names,
    )
    features = gather(checked, plan, plan.features, n_jobs=-1)
    return dict(zip(names, np.split(features, np.cumsum(plan.block_sizes)[:-1], axis=1), strict=True))


def rcdt_gram(measures: Sequence[Any], space: str, n_directions: int, **settings: Any) -> Array:
    """Return the inner products of the R-CDTs of all measures, summed over blocks of directions to spare memory."""
    directions = RCDT(space, n_directions=n_directions, **settings).fit(measures[:1]).directions_
    gram = np.zeros((len(measures), len(measures)))
    for start in range(0, n_directions, BLOCK):
        block = RCDT(space, directions=directions[start : start + BLOCK], n_jobs=-1, **settings)
        rows = block.fit(measures[:1]).transform(measures).astype(np.float64)
        gram += rows @ rows.T
    return gram


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
