"""k-means as the paper runs it, and how far two partitions are apart.

The Rand index is scikit-learn's `rand_score`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.metrics.cluster import contingency_matrix

from ..errors import InputError
from ..slices import Array

GREEDY_STARTS = 10


class Clustering(NamedTuple):
    """Cluster centres, and for every training and test sample the number of the nearest one.

    Attributes
    ----------
    centres : array of shape (k, n_features)
    train : array of shape (n_train,), integers below k
    test : array of shape (n_test,), integers below k
    """

    centres: Array
    train: Array
    test: Array


def k_means(train: Array, test: Array, k: int, seed: int, greedy: bool = False) -> Clustering:
    """Cluster the training samples, and give every test sample to the nearest centre.

    Parameters
    ----------
    train : array of shape (n_train, n_features)
    test : array of shape (n_test, n_features)
    k : number of clusters
    seed : of the random starts
    greedy : bool
        False starts once, from plain k-means++. True is scikit-learn's way: ten starts from greedy k-means++, of which
        the tightest clustering is kept.

    Examples
    --------
    >>> import numpy as np
    >>> train = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> found = k_means(train, np.array([[4.0], [7.0]]), 2, seed=0)
    >>> np.sort(found.centres, axis=0)
    array([[ 0.5],
           [10.5]])
    >>> bool(found.test[0] == found.train[0]), bool(found.test[1] == found.train[3])
    (True, True)
    """
    if greedy:
        model = KMeans(k, init="k-means++", n_init=GREEDY_STARTS, random_state=seed)
    else:
        centres, _ = kmeans_plusplus(train, k, random_state=seed, n_local_trials=1)
        model = KMeans(k, init=centres, n_init=1, random_state=seed)
    model.fit(train)
    return Clustering(model.cluster_centers_, model.predict(train), model.predict(test))


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
