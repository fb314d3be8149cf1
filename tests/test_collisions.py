"""Different measures that share all features of an aggregation, and what tells them apart."""

import numpy as np
import pytest

from nrcdt import AGGREGATIONS, NRCDT, nrcdt, rcdt
from nrcdt.aggregate import bispectrum, spectrum
from nrcdt.directions import circle
from nrcdt.distances import aligned
from zernike import PAIRS, density, disc_image, feature_gap, parameters, parity_clouds, slice_quantiles

NAMES = [(pair, name) for pair in PAIRS for name in AGGREGATIONS]


@pytest.mark.parametrize(("pair", "name"), NAMES)
def test_features_are_shared_or_clearly_different(pair, name):
    gap = feature_gap(PAIRS[pair], name)
    if name in PAIRS[pair].shared:
        assert gap < 1e-10
    else:
        assert gap > (1e-6 if name in PAIRS[pair].in_the_limit else 1e-3)


@pytest.mark.slow
def test_what_is_shared_in_the_limit_only():
    pair = PAIRS["one wave, round or steep"]
    for name in pair.in_the_limit:
        few, many = (feature_gap(pair, name, n) for n in (32, 2048))
        assert many < few / 20
        assert many < 1e-3


def test_every_aggregation_has_a_collision_and_something_that_separates_it():
    for name in AGGREGATIONS:
        hit = [pair for pair in PAIRS.values() if name in pair.shared]
        assert hit, name
        assert any(set(AGGREGATIONS) - {*pair.shared, *pair.in_the_limit} for pair in hit), name


def test_what_else_separates_them():
    """More frequencies, more directions."""
    seven = PAIRS["seven waves, nine waves"]
    assert feature_gap(seven, bispectrum(6)) < 1e-10
    assert feature_gap(seven, bispectrum(14)) > 1e-3
    assert feature_gap(seven, spectrum(6)) < 1e-10
    equal = PAIRS["equal differences"]
    for name in ("max", "range", "tv", "std", "angular_quantiles"):
        assert feature_gap(equal, name, 64) > 1e-3


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_they_are_measures_and_no_affine_images_of_each_other(pair):
    """Their mean is zero and their covariance a multiple of one: only a rotation or reflection could relate them."""
    n = 500
    x, y = np.meshgrid(*[(np.arange(n) + 0.5) / n * 2 - 1] * 2)
    inside = np.hypot(x, y) < 1
    for amplitudes in (pair.one, pair.other):
        values = np.where(inside, density(pair.degree, amplitudes, x, y), 0)
        assert values.min() >= 0
        moments = np.array(
            [(values * x).sum(), (values * y).sum(), (values * x * y).sum(), (values * (x**2 - y**2)).sum()]
        )
        np.testing.assert_allclose(moments / values.sum(), 0, atol=1e-3)
        assert (values * x**2).sum() / values.sum() == pytest.approx(1 / 4, rel=1e-3)
    angles = 2 * np.pi * np.arange(64) / 64
    turned_alike = [_invariants(parameters(amplitudes, angles)) for amplitudes in (pair.one, pair.other)]
    assert np.abs(turned_alike[0] - turned_alike[1]).max() > 1e-3


def _invariants(c):
    """What turning and reflecting a function on the circle leaves alone: its power and real parts of its bispectrum."""
    found = np.fft.fft(c, norm="forward")
    f, g = np.triu_indices(16)
    return np.concatenate([np.abs(found) ** 2, np.real(found[f] * found[g] * np.conj(found[f + g]))])


@pytest.mark.slow
def test_slices_are_those_of_the_densities():
    """The closed form against the Radon transform of a fine image, whose disc has a radius of 0.95 / sqrt(2)."""
    for pair in PAIRS.values():
        image = disc_image(pair.degree, pair.other, size=256)
        c = parameters(pair.other, 2 * np.pi * np.arange(8) / 8)
        levels = np.arange(1, 20) / 20
        expected = slice_quantiles(pair.degree, c, levels) * 0.95 / np.sqrt(2)
        found = rcdt([image], directions=circle(8), n_quantiles=19)[0]
        np.testing.assert_allclose(found, expected, atol=3e-3)


@pytest.mark.slow
def test_pictures_of_them_collide_in_the_limit():
    pair = PAIRS["three waves, five waves"]
    gaps = []
    for size in (16, 64, 256):
        images = [disc_image(pair.degree, some, size) for some in (pair.one, pair.other)]
        a, b = nrcdt(images, aggregate=["max", "mean_abs", "std"], n_quantiles=32)
        gaps.append(np.abs(a - b).max() / np.abs(a).max())
    assert gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] < 2e-3
    a, b = nrcdt(images, aggregate="tv", n_quantiles=32)
    assert np.abs(a - b).max() / np.abs(a).max() > 0.3
    turned = np.rot90(images[0])
    assert aligned([images[0]], [images[1]])[0, 0] > 10 * aligned([images[0]], [turned])[0, 0]


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_few_directions_are_blind_to_parity(name):
    even, odd = parity_clouds()
    few, many = ({"space": "euclidean", "aggregate": name, "n_directions": n, "n_quantiles": 12} for n in (8, 64))
    a, b = NRCDT(**few).fit_transform([even, odd])
    np.testing.assert_allclose(a, b, atol=1e-10)
    for separating in (many, few | {"frame": "whitened"}):
        a, b = NRCDT(**separating).fit_transform([even, odd])
        assert np.abs(a - b).max() > 1e-3


def test_the_parity_clouds_are_no_affine_images_of_each_other():
    even, odd = parity_clouds()
    sheared = even @ np.array([[1.0, 0.5], [-2.0, 1.0]])
    same, other = aligned([even], [sheared, odd], "euclidean", n_directions=512)[0]
    assert same < 0.01
    assert other > 10 * same
