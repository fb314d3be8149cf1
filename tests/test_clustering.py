"""k-means of the paper's experiments and the variation of information, against hand-computed values."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import entropy
from sklearn.cluster import KMeans
from sklearn.metrics import mutual_info_score, rand_score

from nrcdt.paper import clustering
from nrcdt.paper.clustering import k_means, variation_of_information

LOG2, LOG3 = np.log(2), np.log(3)


@pytest.mark.parametrize(
    ("labels", "clusters", "expected"),
    [
        ([0, 0, 1, 1], [0, 0, 0, 0], LOG2),
        ([0, 0, 0, 0], [0, 1, 2, 3], 2 * LOG2),
        ([0, 0, 1, 1], [0, 1, 0, 1], 2 * LOG2),
        ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], LOG2),
        (["b", "b", "b", "a"], [7, 7, 9, 9], 0.75 * LOG3),
    ],
)
def test_variation_of_information_by_hand(labels, clusters, expected):
    assert variation_of_information(labels, clusters) == pytest.approx(expected)
    assert variation_of_information(clusters, labels) == pytest.approx(expected)


def test_variation_of_information_is_that_of_the_paper(rng):
    labels, clusters = rng.integers(5, size=300), rng.integers(3, size=300)
    entropies = [entropy(np.bincount(partition)) for partition in (labels, clusters)]
    expected = sum(entropies) - 2 * mutual_info_score(labels, clusters)
    assert variation_of_information(labels, clusters) == pytest.approx(expected)


@pytest.mark.parametrize("n_parts", [1, 2, 3, 7, 11, 300])
def test_partitions_that_agree_are_exactly_zero_apart(rng, n_parts):
    labels = rng.integers(n_parts, size=300)
    names = rng.permutation(n_parts)
    assert variation_of_information(labels, names[labels]) == 0
    assert rand_score(labels, names[labels]) == 1


def test_rand_score_counts_pairs_once():
    """Of six pairs, {0, 1} is together in both partitions, {0, 3} and {1, 3} are apart in both."""
    assert rand_score([0, 0, 0, 1], [0, 0, 1, 1]) == pytest.approx(3 / 6)


def test_partitions_of_different_length():
    with pytest.raises(ValueError, match="clusters must be as many as labels, 3; got 2"):
        variation_of_information([0, 1, 1], [0, 1])


def blobs(rng, n=40, n_features=60):
    """Three groups far apart, in more dimensions than there are samples in a group."""
    labels = np.repeat([0, 1, 2], n)
    return rng.normal(size=(3 * n, n_features)) + 30 * np.eye(3, n_features)[labels], labels


@pytest.mark.parametrize("greedy", [False, True])
def test_everybody_is_with_the_nearest_centre(rng, greedy):
    train, test = rng.normal(size=(90, 100)), rng.normal(size=(50, 100))
    found = k_means(train, 4, seed=3, greedy=greedy)
    centres = found.cluster_centers_
    assert centres.shape == (4, 100)
    np.testing.assert_array_equal(found.labels_, cdist(train, centres).argmin(axis=1))
    np.testing.assert_array_equal(found.predict(test), cdist(test, centres).argmin(axis=1))
    means = [train[found.labels_ == part].mean(axis=0) for part in range(4)]
    np.testing.assert_allclose(centres, means, atol=1e-12)


@pytest.mark.parametrize("greedy", [False, True])
def test_groups_that_are_far_apart_are_found(rng, greedy):
    train, labels = blobs(rng)
    test, _ = blobs(rng)
    runs = [k_means(train, 3, seed, greedy) for seed in range(8)]
    scores = [variation_of_information(labels, run.predict(test)) for run in runs]
    assert sum(score == 0 for score in scores) >= (8 if greedy else 4)


def test_a_seed_repeats_and_seeds_differ(rng):
    train = rng.normal(size=(60, 20))
    runs = [k_means(train, 5, seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0].cluster_centers_, runs[1].cluster_centers_)
    np.testing.assert_array_equal(runs[0].predict(train[:9]), runs[1].predict(train[:9]))
    assert rand_score(runs[0].labels_, runs[2].labels_) < 1


def test_plain_starts_once_and_greedy_keeps_the_best_of_ten(rng):
    train = rng.normal(size=(120, 30))

    def cost(greedy, seed):
        found = k_means(train, 8, seed, greedy)
        return ((train - found.cluster_centers_[found.labels_]) ** 2).sum()

    plain = [cost(False, seed) for seed in range(12)]
    assert np.ptp(plain) > 0
    assert cost(True, 0) < np.median(plain)


@pytest.mark.slow
def test_plain_starts_get_stuck_where_greedy_ones_do_not():
    """Plain k-means++ draws one candidate for each centre; trying several first, or starting again, finds far more."""
    middles = np.array([[0.0, 0], [4, 0], [0, 4], [4, 4], [8, 2], [8, 8]])
    points = (middles[:, np.newaxis] + np.random.default_rng(0).normal(size=(6, 20, 2)) * 0.7).reshape(-1, 2)
    best = min(k_means(points, 6, seed, greedy=True).inertia_ for seed in range(5)) * 1.001
    plain = np.mean([k_means(points, 6, seed).inertia_ < best for seed in range(200)])
    greedy = np.mean([k_means(points, 6, seed, greedy=True).inertia_ < best for seed in range(20)])
    one_greedy_start = [KMeans(6, init="k-means++", n_init=1, random_state=seed).fit(points) for seed in range(200)]
    tried_several = np.mean([model.inertia_ < best for model in one_greedy_start])
    assert greedy == 1
    assert plain < tried_several - 0.15


def test_plain_starts_are_drawn_in_proportion_to_squared_distances(monkeypatch):
    """Two points together, one at 1, one at 3: after the first centre at 0, the second is at 3 in 9 of 10 draws."""
    points = np.array([[0.0], [0.0], [1.0], [3.0]])
    starts = []

    class Stopped(Exception):
        pass

    def stop(k, *, init, **_):
        starts.append(init.ravel())
        raise Stopped

    monkeypatch.setattr(clustering, "KMeans", stop)
    for seed in range(2000):
        with pytest.raises(Stopped):
            k_means(points, 2, seed)
    second = [second for first, second in starts if first == 0]
    assert len(second) == pytest.approx(1000, abs=100)
    assert np.mean(np.equal(second, 3)) == pytest.approx(0.9, abs=0.03)
