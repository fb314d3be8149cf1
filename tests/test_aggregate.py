"""Normalisations and aggregations: values, names, mistakes."""

import pickle

import numpy as np
import pytest

from nrcdt import AGGREGATIONS, NORMALIZATIONS, nrcdt
from nrcdt.aggregate import aggregate, angular_quantiles, bispectrum, find_aggregations, spectrum
from nrcdt.directions import circle, fibonacci
from nrcdt.normalize import FlatSlice, normalize


@pytest.fixture
def quantiles(rng):
    return np.sort(rng.normal(size=(3, 5, 8)), axis=2)


def weights(n):
    return np.full(n, 1 / n)


def test_standardize(quantiles):
    result = normalize(quantiles.copy(), "standardize", weights(8), weights(5))
    expected = (quantiles - quantiles.mean(axis=2, keepdims=True)) / quantiles.std(axis=2, keepdims=True)
    np.testing.assert_allclose(result, expected)


def test_center_and_none(quantiles):
    centred = normalize(quantiles.copy(), "center", weights(8), weights(5))
    np.testing.assert_allclose(centred, quantiles - quantiles.mean(axis=2, keepdims=True))
    np.testing.assert_array_equal(normalize(quantiles.copy(), None, weights(8), weights(5)), quantiles)


def test_global_keeps_the_ratio_of_spreads(quantiles):
    result = normalize(quantiles.copy(), "global", weights(8), weights(5))
    np.testing.assert_allclose(result.mean(axis=2), 0, atol=1e-12)
    np.testing.assert_allclose(np.square(result).mean(axis=(1, 2)), 1)
    np.testing.assert_allclose(
        result.std(axis=2) / result.std(axis=2)[:, :1], quantiles.std(axis=2) / quantiles.std(axis=2)[:, :1]
    )
    one = normalize(quantiles.copy(), "global", weights(8), weights(5), linear=False)
    expected = (quantiles - quantiles.mean(axis=(1, 2), keepdims=True)) / quantiles.std(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(one, expected)


def test_reference_weights(quantiles, rng):
    shares = rng.random(8)
    shares /= shares.sum()
    result = normalize(quantiles.copy(), "standardize", shares, weights(5))
    np.testing.assert_allclose(result @ shares, 0, atol=1e-12)
    np.testing.assert_allclose(result**2 @ shares, 1)


def test_winsorize_cuts_the_tails_down(rng):
    quantiles = np.sort(rng.normal(size=(2, 3, 20)), axis=2)
    result = normalize(quantiles.copy(), "winsorize", weights(20), weights(3))
    cut = np.clip(quantiles, quantiles[:, :, 2:3], quantiles[:, :, 17:18])
    expected = (cut - cut.mean(axis=2, keepdims=True)) / cut.std(axis=2, keepdims=True)
    np.testing.assert_allclose(result, expected)


def test_median_and_quantile_range(rng):
    quantiles = np.sort(rng.normal(size=(2, 3, 21)), axis=2)
    result = normalize(quantiles.copy(), "median", weights(21), weights(3))
    np.testing.assert_allclose(result[:, :, 10], 0, atol=1e-15)
    np.testing.assert_allclose(result[:, :, 18] - result[:, :, 2], 1)


def test_flat_slices(quantiles):
    quantiles[1, 3] = 0.7
    with pytest.raises(FlatSlice, match=r"X\[1\] must have spread in every slice; got none in direction 3. Drop"):
        normalize(quantiles.copy(), "standardize", weights(8), weights(5))
    assert np.isfinite(normalize(quantiles.copy(), "global", weights(8), weights(5))).all()
    with pytest.raises(ValueError, match="must have spread"):
        normalize(np.ones((1, 2, 3), np.float32) * np.float32(0.1), "global", weights(3), weights(2))


def test_every_normalization_is_described():
    assert set(NORMALIZATIONS) == {"standardize", "winsorize", "median", "center", "global", None}


EXPECTED = {
    "max": lambda q: q.max(axis=1),
    "abs_max": lambda q: np.abs(q).max(axis=1),
    "abs_min": lambda q: np.abs(q).min(axis=1),
    "abs_range": lambda q: np.abs(q).max(axis=1) - np.abs(q).min(axis=1),
    "range": lambda q: q.max(axis=1) - q.min(axis=1),
    "tv": lambda q: np.abs(q - np.roll(q, 1, axis=1)).sum(axis=1),
    "mean": lambda q: q.mean(axis=1),
    "mean_abs": lambda q: np.abs(q).mean(axis=1),
    "std": lambda q: q.std(axis=1),
    "angular_quantiles": lambda q: np.hstack([np.sort(q, axis=1)[:, k] for k in range(5)]),
    "spectrum": lambda q: np.hstack([np.abs(coefficient(q, k)) if k < 3 else 0 * q[:, 0] for k in range(17)]),
    "bispectrum": lambda q: np.hstack([product(q, f, g) for f in range(4) for g in range(f, 7 - f)]),
}


def coefficient(quantiles, k):
    return sum(quantiles[:, j] * np.exp(-2j * np.pi * k * j / 5) for j in range(5)) / 5


def product(quantiles, f, g):
    """Real part of three coefficients, as long as the cube root; five directions know frequencies to 2."""
    if f + g > 2:
        return 0 * quantiles[:, 0]
    value = coefficient(quantiles, f) * coefficient(quantiles, g) * coefficient(quantiles, -f - g)
    return np.abs(value) ** (1 / 3) * np.cos(np.angle(value))


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_values(quantiles, name):
    (block,) = aggregate(quantiles, find_aggregations(name), weights(5), circle(5))
    np.testing.assert_allclose(block, EXPECTED[name](quantiles))


def test_mean_uses_direction_weights(quantiles):
    shares = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(aggregate(quantiles, find_aggregations("mean"), shares, circle(5))[0], quantiles[:, 1])


INTEGERS = np.array([3, 1, 4, 1, 4])  # 13 in all: every quarter of the 12 steps between them is one of them


@pytest.mark.parametrize("normalize", ["standardize", "global"])
@pytest.mark.parametrize("name", AGGREGATIONS)
def test_a_weight_is_a_number_of_directions(rng, name, normalize):
    cloud, directions = [rng.exponential(size=(40, 2))], circle(5)
    settings = {"space": "euclidean", "aggregate": name, "normalize": normalize, "n_quantiles": 8}
    if "even" in AGGREGATIONS[name].needs:
        with pytest.raises(ValueError, match=f"aggregate '{name}' must .* weighted"):
            nrcdt(cloud, directions=(directions, INTEGERS), **settings)
        return
    weighted = nrcdt(cloud, directions=(directions, INTEGERS), **settings)
    repeated = nrcdt(cloud, directions=np.repeat(directions, INTEGERS, axis=0), **settings)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)
    alike = nrcdt(cloud, directions=(directions, np.full(5, 0.7)), **settings)
    np.testing.assert_array_equal(alike, nrcdt(cloud, directions=directions, **settings))


@pytest.mark.parametrize("seed", range(20))
def test_angular_quantiles_of_weighted_directions(seed):
    """Among all directions, each as often as its weight says, the one at which the share exceeds the level."""
    rng = np.random.default_rng(seed)
    quantiles, counts = rng.normal(size=(2, 9, 4)).round(1), rng.integers(0, 6, 9)
    counts[seed % 9] = 7
    levels = [0, 1, 0.25, 1 / counts.sum(), *rng.random(3), *(np.cumsum(rng.permutation(counts)) / counts.sum())]
    found = angular_quantiles(levels).function(quantiles, counts / counts.sum(), None)
    ordered = np.sort(np.repeat(quantiles, counts, axis=1), axis=1)
    n = ordered.shape[1]
    places = [min(int(level * n + 1e-9), n - 1) for level in levels]  # the right end of a plateau
    np.testing.assert_array_equal(found, np.hstack([ordered[:, place] for place in places]))


def test_directions_without_weight_are_no_directions(quantiles):
    one = angular_quantiles([0, 0.3, 1])
    found = one.function(quantiles, np.array([0, 0.5, 0, 0.5, 0]), None)
    np.testing.assert_array_equal(found, one.function(quantiles[:, [1, 3]], weights(2), None))


def test_pairs_and_functions(quantiles):
    pair, function = aggregate(
        quantiles, find_aggregations([(np.square, np.sum), lambda q: q[:, :, 0]]), weights(5), circle(5)
    )
    np.testing.assert_allclose(pair, (quantiles**2).sum(axis=1))
    assert function.shape == (3, 5)
    assert [one.name for one in find_aggregations([(np.square, np.sum), lambda q: q])] == ["sum_square", "lambda"]


def test_dtype_is_kept(quantiles):
    for name in AGGREGATIONS:
        assert (
            aggregate(quantiles.astype(np.float32), find_aggregations(name), weights(5), circle(5))[0].dtype
            == np.float32
        )


@pytest.mark.parametrize("wrong", ["maximum", 3, ("max", "tv"), None])
def test_unknown_aggregations(wrong):
    with pytest.raises(ValueError, match="aggregate must be one of max, abs_max, abs_min, abs_range, range, tv, mean"):
        find_aggregations(wrong)


def test_names_are_told_apart():
    names = [one.name for one in find_aggregations([lambda q: q, "max", lambda q: q[:, 0], (np.abs, np.max)])]
    assert names == ["lambda", "max", "lambda_2", "max_absolute"]
    with pytest.raises(ValueError, match="aggregate must name each aggregation once; got 'max' again"):
        find_aggregations(["max", "tv", "max"])


def test_what_differs_may_share_a_name():
    found = find_aggregations(
        [spectrum(2), spectrum(3), lambda q: q, named("lambda_2"), lambda q: q, named("max"), "max"]
    )
    assert [one.name for one in found] == ["spectrum", "spectrum_2", "lambda", "lambda_2", "lambda_3", "max", "max_2"]


def named(name):
    def function(quantiles):
        return quantiles[:, 0]

    function.__name__ = name
    return function


@pytest.mark.parametrize(
    "one", [*AGGREGATIONS.values(), spectrum(3), bispectrum(2), angular_quantiles([0.5])], ids=lambda one: one.name
)
def test_aggregations_can_be_stored(quantiles, one):
    again = pickle.loads(pickle.dumps(one))
    directions = circle(5)
    np.testing.assert_array_equal(
        again.function(quantiles, weights(5), directions), one.function(quantiles, weights(5), directions)
    )


def test_functions_may_not_spoil_the_quantiles(quantiles):
    spoiler = find_aggregations([lambda q: np.exp(q, out=q)[:, 0], "range"])
    with pytest.raises(ValueError, match=r"aggregate lambda must not change the quantiles; got: .* work on a copy"):
        aggregate(quantiles, spoiler, weights(5), circle(5))


def test_functions_must_return_real_numbers(quantiles):
    with pytest.raises(ValueError, match=r"what aggregate lambda returns must hold real numbers .* got complex data"):
        aggregate(quantiles, find_aggregations(lambda q: q[:, 0] * 1j), weights(5), circle(5))


def test_empty_lists():
    with pytest.raises(ValueError, match="aggregate must name at least one aggregation"):
        find_aggregations([])


def test_functions_must_keep_the_samples(quantiles):
    with pytest.raises(
        ValueError, match=r"must return shape \(n_samples, n_features\); got \(8,\) from lambda for 3 samples"
    ):
        aggregate(quantiles, find_aggregations(lambda q: q[0, 0]), weights(5), circle(5))


def test_harmonics_are_norms_of_polynomials_on_the_sphere():
    directions = fibonacci(20_000)
    x, y, _ = directions.T
    # Degree 0: 2; degree 1: x has mean square 1/3; degree 2: xy has 1/15.
    values = (2 + 3 * x + 5 * x * y)[np.newaxis, :, np.newaxis]
    found = spectrum(3).function(values, weights(len(x)), directions)
    np.testing.assert_allclose(found, [[2, 3 / 3**0.5, 5 / 15**0.5, 0]], atol=1e-3)


def test_weights_of_frequencies(quantiles):
    plain = spectrum(2).function(quantiles, weights(5), circle(5))
    weighted = spectrum(2, weights=[1, 0, 3]).function(quantiles, weights(5), circle(5))
    np.testing.assert_allclose(weighted, plain * np.repeat([1, 0, 3], 8))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: spectrum(0), "n_frequencies must be a positive integer; got 0"),
        (lambda: spectrum(3, [1, 2]), r"weights must be 4 numbers, for 0 to 3; got \[1, 2\]"),
        (lambda: angular_quantiles([0.5, 1.2]), r"levels must be numbers between 0 and 1; got \[0.5, 1.2\]"),
        (lambda: angular_quantiles([]), "levels must be numbers between 0 and 1"),
    ],
)
def test_parameters_of_aggregations(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_extreme_quantiles_see_only_the_set_of_values():
    assert angular_quantiles([0, 1]).exchange
    assert not angular_quantiles([0.5]).exchange
