"""The cumulative distribution transform and its inverse."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nrcdt import cdt, inverse_cdt
from nrcdt.levels import reference_levels
from nrcdt.measures import Points
from nrcdt.slices import PhiValues, StripDensity


def test_uniform_levels():
    levels = reference_levels(4)
    np.testing.assert_allclose(levels.values, [0.2, 0.4, 0.6, 0.8])
    np.testing.assert_array_equal(levels.weights, 0.25)
    assert levels.symmetric


def test_levels_of_a_bounded_reference_are_inside_its_support():
    levels = reference_levels(9, stats.beta(2, 3))
    np.testing.assert_allclose(levels.values, stats.beta(2, 3).cdf(np.arange(1, 10) / 10))
    assert levels.weights.sum() == pytest.approx(1)
    assert not levels.symmetric


def test_levels_of_an_unbounded_reference_lie_between_its_quantiles():
    levels = reference_levels(9, "norm")
    np.testing.assert_allclose(levels.values[[0, 4, 8]], [0.1, 0.5, 0.9], atol=1e-12)
    np.testing.assert_allclose(np.diff(stats.norm.ppf(levels.values), n=2), 0, atol=1e-12)
    assert levels.symmetric


def test_a_uniform_object_is_the_uniform_reference():
    by_name, by_object = reference_levels(12), reference_levels(12, stats.uniform())
    np.testing.assert_allclose(by_name.values, by_object.values)
    np.testing.assert_allclose(by_name.weights, by_object.weights)


@pytest.mark.parametrize("reference", ["uniform", "norm", stats.beta(2, 3), "expon"])
def test_mean_and_spread_are_integrals_against_the_reference(reference):
    """The weighted moments of the quantiles converge to the moments of the measure."""
    measure = stats.triang(0.3)
    masses = np.diff(measure.cdf(np.linspace(0, 1, 2001)))

    def errors(m):
        quantiles = cdt(masses, edges=(0, 1), n_quantiles=m, reference=reference)
        weights = reference_levels(m, reference).weights
        mean = weights @ quantiles
        return abs(mean - measure.mean()) + abs(np.sqrt(weights @ (quantiles - mean) ** 2) - measure.std())

    assert errors(1000) < errors(30) / 8
    assert errors(1000) < 0.01


@pytest.mark.skipif(not hasattr(stats, "Normal"), reason="scipy before 1.15")
def test_newer_references_of_scipy():
    for newer, older in ((stats.Normal(mu=2), stats.norm(2)), ("Normal", "norm"), (stats.Uniform(a=0, b=3), "uniform")):
        for found, wanted in zip(reference_levels(9, newer), reference_levels(9, older), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-12)
    for wrong in (stats.Normal(mu=[0, 1]), stats.Binomial(n=5, p=0.5)):
        with pytest.raises(ValueError, match="reference must be 'uniform' or one continuous distribution"):
            reference_levels(5, wrong)
    with pytest.raises(ValueError, match="without open parameters; got 'Uniform'"):
        reference_levels(5, "Uniform")


def test_levels_that_reach_the_ends_have_no_tails():
    reference, signal = stats.truncnorm(-50, 50), np.ones(50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quantiles = cdt(signal, edges=(0, 50), reference=reference, n_quantiles=64)
        masses = inverse_cdt(quantiles, edges=(0, 50), reference=reference, n_radii=5)
    np.testing.assert_allclose(masses.sum(), 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, np.nan],), "x must be finite; got NaN"),
        (([[1, 2], [1, np.inf]],), r"x\[1\] must be finite; got infinity"),
        (([1.0, 1.0], [1]), r"the weights of x must be one number per point; .* Pass as many\."),
    ],
)
def test_bad_points_on_the_line(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        cdt(*arguments)


def test_an_empty_batch_of_quantiles_is_refused():
    with pytest.raises(ValueError, match="quantiles must be of at least one measure; got none"):
        inverse_cdt(np.zeros((0, 4)), edges=(0, 1))


@pytest.mark.parametrize("reference", ["nothing", "poisson", 3, None, stats.norm([0, 1])])
def test_unknown_references(reference):
    with pytest.raises(ValueError, match="reference must be 'uniform' or one continuous distribution"):
        reference_levels(5, reference)
    with pytest.raises(ValueError, match="without open parameters; got 'beta'"):
        reference_levels(5, "beta")


@pytest.mark.parametrize("n", [0, -3, 2.5, "many"])
def test_the_number_of_quantiles(n):
    with pytest.raises(ValueError, match="n_quantiles must be a positive integer"):
        reference_levels(n)


def test_density_by_linear_inversion():
    density = stats.norm(0.1, 0.12)
    errors = []
    for n_strips in (50, 200, 800):
        masses = np.diff(density.cdf(np.linspace(-1, 1, n_strips + 1)))
        errors.append(np.abs(cdt(masses, edges=(-1, 1), n_quantiles=99) - density.ppf(np.arange(1, 100) / 100)).max())
    assert errors[2] < errors[0] / 50
    assert errors[2] < 1e-4


def test_the_right_end_of_a_plateau():
    assert cdt([1.0, 0.0, 0.0, 1.0], edges=(0, 4), n_quantiles=1) == pytest.approx([3.0])
    assert cdt([0.1] * 3 + [0.0] * 4 + [0.1] * 3, edges=(0, 10), n_quantiles=1) == pytest.approx([7.0])
    assert cdt([0.0, 1.0], n_quantiles=1) == pytest.approx([1.0])


@given(st.integers(1, 60), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_step_inversion_is_exact(n, m, seed):
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=n), rng.integers(1, 5, n)
    repeated = np.sort(np.repeat(values, weights))
    ranks = np.arange(1, m + 1) * len(repeated) // (m + 1)
    np.testing.assert_array_equal(cdt(values, weights, n_quantiles=m), repeated[ranks])
    np.testing.assert_array_equal(cdt(repeated, n_quantiles=m), repeated[ranks])


def test_equal_weights_are_no_weights(rng):
    values = rng.normal(size=500)
    for weight in (1.0, 0.1, 1 / 3):
        np.testing.assert_array_equal(cdt(values, np.full(500, weight), n_quantiles=249), cdt(values, n_quantiles=249))


def test_ranks_are_exact():
    """0.29 * 100 is a little less than 29: a level on a plateau takes its right end all the same."""
    for n in (100, 1000, 5000):
        np.testing.assert_array_equal(cdt(np.arange(float(n)), n_quantiles=n - 1), np.arange(1.0, n))


def test_mass_beyond_the_edges_is_in_the_end_strips():
    masses = inverse_cdt([-1.0, 2.0, 5.0], edges=(0.0, 4.0), n_radii=4)
    assert masses.sum() == pytest.approx(1)
    np.testing.assert_allclose(masses, masses[::-1])


def test_tails_reach_as_far_as_their_mass():
    np.testing.assert_allclose(inverse_cdt([1.0, 2.0, 3.0], edges=(0.0, 4.0), n_radii=8), 1 / 8)
    assert inverse_cdt(np.ones(3, np.float32), edges=(0, 4)).dtype == np.float32


def test_several_measures_at_once(rng):
    values = rng.normal(size=(3, 40))
    together = cdt(values, n_quantiles=9)
    assert together.shape == (3, 9)
    np.testing.assert_array_equal(together[1], cdt(values[1], n_quantiles=9))
    assert cdt(values.astype(np.float32), n_quantiles=9).dtype == np.float32
    assert cdt(np.ones((2, 5), np.float32), edges=(0, 1)).dtype == np.float32
    huge = cdt([1e308] * 20, edges=(0, 1), n_quantiles=3)
    np.testing.assert_allclose(huge, [0.25, 0.5, 0.75])


def test_cdt_names_what_is_wrong():
    with pytest.raises(ValueError, match=r"x\[1\] must have positive mass"):
        cdt(np.array([[1.0, 1.0], [0.0, 0.0]]), edges=(0, 1))
    with pytest.raises(ValueError, match="x must not have negative mass"):
        cdt([1.0, -1.0], edges=(0, 1))
    with pytest.raises(ValueError, match="must be finite; got NaN"):
        cdt([1.0, np.nan])
    with pytest.raises(ValueError, match="one number per point"):
        cdt([1.0, 2.0], [1.0])


@pytest.mark.parametrize("reference", ["uniform", "norm", stats.beta(2, 3)])
def test_inverse_cdt_converges(reference):
    masses = np.diff(stats.beta(3, 4).cdf(np.linspace(0, 1, 33)))

    def error(m):
        quantiles = cdt(masses, edges=(0, 1), n_quantiles=m, reference=reference)
        return np.abs(inverse_cdt(quantiles, edges=(0, 1), n_radii=32, reference=reference) - masses).sum()

    errors = [error(m) for m in (20, 80, 320)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


@pytest.mark.parametrize("edges", [3, (1, 0), (0, np.nan), (0, 0), (0, np.inf), (0, 1, 2), ("a", "b"), (1, (2, 3))])
def test_edges(edges):
    with pytest.raises(ValueError, match="edges must be two finite numbers in increasing order"):
        cdt([1.0, 2.0], edges=edges)
    with pytest.raises(ValueError, match="edges must be two finite numbers in increasing order"):
        inverse_cdt([1.0, 2.0], edges=edges)


def test_senseless_transforms():
    with pytest.raises(ValueError, match="weights must be left out where x holds masses"):
        cdt([1.0, 2.0], [1.0, 1.0], edges=(0, 1))
    with pytest.raises(ValueError, match="quantiles must not decrease"):
        inverse_cdt([3.0, 2.0, 1.0], edges=(0, 4))
    with pytest.raises(ValueError, match="quantiles must be finite; got NaN"):
        inverse_cdt([1.0, 2.0, np.nan], edges=(0, 4))


def test_inverse_cdt_needs_two_levels():
    with pytest.raises(ValueError, match="quantiles must have at least two levels; got 1"):
        inverse_cdt([1.0], edges=(0, 1))


def test_mirrored_directions(rng):
    masses = rng.random((3, 12))
    both = np.concatenate([masses, masses[:, ::-1]])
    for reference in ("uniform", stats.beta(2, 3)):
        levels = reference_levels(10, reference)
        mirrored = StripDensity([masses], mirrored=True).quantiles(levels)
        np.testing.assert_allclose(mirrored, StripDensity([both]).quantiles(levels), atol=1e-13)


def test_phi_must_have_directions_first(rng):
    clouds = Points(rng.normal(size=(5, 2)), None, (0, 5))
    values = PhiValues(clouds, np.ones((1, 3, 2)), lambda x, d: x @ d.T)
    with pytest.raises(ValueError, match=r"phi must return an array of shape .* = \(3, 5\); got \(5, 3\)"):
        values.quantiles(reference_levels(4))


def test_trimmed_levels():
    levels = reference_levels(4, trim=0.1)
    np.testing.assert_allclose(levels.values, 0.1 + 0.8 * np.arange(1, 5) / 5)
    assert levels.symmetric
    np.testing.assert_array_equal(reference_levels(4, trim=0).values, reference_levels(4).values)


@pytest.mark.parametrize("trim", [0.5, -0.1, "a", None, True, float("nan")])
def test_trim_must_leave_something(trim):
    with pytest.raises(ValueError, match=r"trim must be at least 0 and less than 0\.5; got"):
        reference_levels(4, trim=trim)


@pytest.mark.parametrize("reference", [stats.norm(np.nan, 1), stats.norm(0, -1), stats.uniform(0, 0)])
def test_references_with_impossible_parameters_are_refused(reference):
    with pytest.raises(ValueError, match="reference must be a distribution with valid parameters"):
        cdt([1.0, 2.0, 3.0], reference=reference, n_quantiles=3)


@pytest.mark.parametrize(
    ("x", "edges"), [(np.ones((2, 2, 2)), None), (np.ones((2, 2, 2)), (0, 1)), (np.ones((0, 3)), None)]
)
def test_measures_on_the_line_are_rows(x, edges):
    with pytest.raises(ValueError, match="x must be one measure on the line, or a row for each of several; got shape"):
        cdt(x, edges=edges)
