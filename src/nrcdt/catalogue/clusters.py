"""Groups of marks that are alike, for collections that nobody has sorted yet."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.cluster import AgglomerativeClustering

from ..arrays import Array
from ..errors import InputError
from .index import Index
from .ranking import N_PAIRS

MAX_MARKS = 20_000  # the distances of all pairs take 1.6 GB then


def clusters(index: Index, n_groups: int | None = None, reach: float = 0.6) -> tuple[Array, Array]:
    """Put marks into groups whose members are, on average, near each other in features.

    Unless their number is given, `reach` decides: the largest mean distance between two groups that become one, as a
    share of the usual distance.

    Returns
    -------
    ids, groups : arrays of shape (n,)
        Numbers of marks and of their groups; group 0 is the largest.
    """
    held = index.held()
    n_marks = len(held.ids)
    if not 2 <= n_marks <= MAX_MARKS:
        rule = f"have 2 to {MAX_MARKS} marks to be grouped"
        raise InputError("the catalogue", rule, n_marks, "Export a part of it, or add more.")
    if n_groups is not None and not 1 <= n_groups <= n_marks:
        raise InputError("n_groups", f"be between 1 and the number of marks, {n_marks}", n_groups)
    if n_groups is None and reach <= 0:
        raise InputError("reach", "be positive", reach, "0.6 is a good start.")
    threshold = None if n_groups else reach * float(np.median(pdist(index.sample(N_PAIRS)[1])))
    method = AgglomerativeClustering(n_groups, linkage="average", distance_threshold=threshold)
    groups = method.fit_predict(held.vectors)
    by_size = np.argsort(-np.bincount(groups), kind="stable")
    return held.ids, np.argsort(by_size)[groups]
