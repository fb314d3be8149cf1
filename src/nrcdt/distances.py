"""Distances between measures."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .estimators import RCDT
from .quantiles import reference_levels
from .slices import Array


def sliced_wasserstein(X: Any, Y: Any = None, space: Any = "image", **settings: Any) -> Array:
    """Sliced Wasserstein-2 distances: norms of R-CDT differences.

    Parameters
    ----------
    X, Y : measures
        Without Y, distances are taken within X.
    space, **settings : as for `RCDT`
        Directions that are not evenly spread come as ``directions=(array, weights)``.

    Returns
    -------
    array of shape (n_X, n_Y)

    Examples
    --------
    >>> import numpy as np
    >>> cloud = np.random.default_rng(0).normal(size=(40, 2))
    >>> shifted = cloud + [3.0, 4.0]
    >>> sliced_wasserstein([cloud, shifted], space="euclidean").round(3)
    array([[0.   , 3.536],
           [3.536, 0.   ]])
    """
    transform = RCDT(space, **settings).fit(X)
    levels = reference_levels(transform.n_quantiles, transform.reference)
    weights = np.sqrt(transform.direction_weights_[:, np.newaxis] * levels.weights).ravel()
    left = np.asarray(transform.transform(X)) * weights
    right = left if Y is None else np.asarray(transform.transform(Y)) * weights
    return np.asarray(cdist(left, right))
