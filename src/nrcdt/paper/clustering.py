"""k-means as the paper runs it, and how far two partitions are apart.

The Rand index is scikit-learn's `rand_score`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.metrics.cluster import contingency_matrix

from ..arrays import Array
from ..errors import InputError

GREEDY_STARTS = 10


def k_means(train: Array, k: int, seed: int, greedy: bool = False) -> KMeans:
    """Cluster training samples; return the model, which gives other samples to the nearest centre.

    Parameters
    ----------
    train : array of shape (n_train, n_features)
    k : number of clusters
    seed : of the random starts
    greedy : bool
        False starts once, from plain k-means++. True is scikit-learn's way: ten starts from greedy k-means++, of which
        the tightest clustering is kept.

    Examples
    --------
    >>> import numpy as np
    >>> model = k_means(np.array([[0.0], [1.0], [10.0], [11.0]]), 2, seed=0)
    >>> np.sort(model.cluster_centers_, axis=0)
    array([[ 0.5],
           [10.5]])
    >>> model.predict([[4.0], [7.0]]) == model.labels_[[0, 3]]
    array([ True,  True])
    """
    if greedy:
        return KMeans(k, init="k-means++", n_init=GREEDY_STARTS, random_state=seed).fit(train)
    centres, _ = kmeans_plusplus(train, k, random_state=seed, n_local_trials=1)
    return KMeans(k, init=centres, n_init=1, random_state=seed).fit(train)


def variation_of_information(labels: Any, clusters: Any) -> float:
    """Return H(U) + H(V) - 2 I(U, V) of two partitions, with the natural logarithm; exactly zero if they agree.

    Parameters
    ----------
    labels, clusters : array-likes of shape (n_samples,)
        The part to which each sample belongs; only who is together with whom counts.

    Examples
    --------
    >>> variation_of_information(["a", "a", "b"], [1, 1, 0])
    0.0
    >>> round(variation_of_information([0, 0, 1, 1], [0, 0, 0, 0]), 6)
    0.693147
    """
    if len(labels) != len(clusters):
        raise InputError(
            "clusters", f"be as many as labels, {len(labels)}", len(clusters), "Pass one of each per sample."
        )
    counts = contingency_matrix(labels, clusters)
    s, t = np.nonzero(counts)
    both, in_s, in_t = counts[s, t], counts.sum(axis=1)[s], counts.sum(axis=0)[t]
    # H(U | V) + H(V | U), the same number without a difference: no term can fall below zero by rounding.
    return float(both @ np.log(in_s * in_t / both**2) / both.sum())
