"""Maxima of trigonometric polynomials, against a dense grid."""

import numpy as np
import pytest

from nrcdt.alignment import OVERSAMPLING, climb, peaks

N_DIRECTIONS = 16
N_ANGLES = OVERSAMPLING * N_DIRECTIONS


def value_at(coefficients, angles):
    """Values (..., n) of polynomials (..., n_frequencies) at angles (..., n)."""
    powers = np.exp(1j * np.asarray(angles)[..., np.newaxis] * np.arange(coefficients.shape[-1]))
    return (coefficients[..., np.newaxis, :] * powers).sum(axis=-1).real


def polynomials(rng, n=200):
    return rng.normal(size=(n, N_DIRECTIONS // 2 + 1)) + 1j * rng.normal(size=(n, N_DIRECTIONS // 2 + 1))


@pytest.mark.parametrize("width", [0.0, 0.01, 0.3, 1.5, 2 * np.pi])
def test_the_highest_value_between_two_angles(rng, width):
    coefficients, low = polynomials(rng), rng.uniform(-4, 4, 200)
    high = low + width
    (values,), (angles,) = (part.T for part in peaks(coefficients, low, high, N_ANGLES))
    assert np.all((angles >= low) & (angles <= high))
    np.testing.assert_allclose(values, value_at(coefficients, angles[:, np.newaxis])[:, 0], atol=1e-9)
    dense = value_at(coefficients, low[:, np.newaxis] + width * np.linspace(0, 1, 2000)).max(axis=1)
    # Maxima nearly as high, or right behind an end, may mislead the grid that Newton's steps start from.
    assert np.mean(values >= dense - 1e-9) > 0.95


def test_the_circle_has_no_ends(rng):
    turns = rng.uniform(-np.pi, np.pi, 50)
    single = np.exp(-1j * turns)[:, np.newaxis] * [0, 1]  # highest at the turn
    everywhere = np.full(50, 2 * np.pi)
    values, angles = peaks(single, -everywhere, everywhere, N_ANGLES)
    np.testing.assert_allclose(values, 1, atol=1e-14)
    np.testing.assert_allclose(np.exp(1j * angles[:, 0]), np.exp(1j * turns), atol=1e-9)


def test_several_maxima_highest_first(rng):
    coefficients = polynomials(rng, 50)
    everywhere = np.full(50, 2 * np.pi)
    values, angles = peaks(coefficients, -everywhere, everywhere, N_ANGLES, 4)
    grid = np.linspace(0, 2 * np.pi, 20000, endpoint=False)
    for one, found, at in zip(coefficients, values, angles, strict=True):
        dense = value_at(one, grid)
        highest = np.sort(dense[(dense > np.roll(dense, 1)) & (dense >= np.roll(dense, -1))])[::-1][:4]
        n = min(len(highest), np.isfinite(found).sum())
        np.testing.assert_allclose(np.sort(found[:n])[::-1], highest[:n], atol=0.05)
        assert np.median(np.abs(np.sort(found[:n])[::-1] - highest[:n])) < 1e-5
        assert len({round(float(angle), 3) for angle in np.mod(at[:n], 2 * np.pi)}) == n
    only = np.array([[0, 1.0]])
    np.testing.assert_array_equal(peaks(only, -everywhere[:1], everywhere[:1], N_ANGLES, 3)[0], [[1, -np.inf, -np.inf]])


def test_climbing_never_leads_down(rng):
    coefficients, starts = polynomials(rng), rng.uniform(-3, 3, (200, 3))
    for step in (0.1, 3.0):
        values, angles = climb(coefficients[:, np.newaxis], starts, starts - 1, starts + 1, step)
        np.testing.assert_allclose(values, value_at(coefficients, angles), atol=1e-9)
        assert np.all(values >= value_at(coefficients, starts) - 1e-9)
        assert np.all(np.abs(angles - starts) <= 1 + 1e-12)
        assert np.abs(angles - starts).max() > 0.1


def test_where_nothing_bends_down_the_slope_leads():
    start = np.array([[np.pi + 0.3]])  # near the minimum, where Newton's step would go into it
    values, angles = climb(np.array([[[0, 1.0]]]), start, start - 9, start + 9, 0.5)
    assert angles[0, 0] >= start[0, 0] + 0.5
    assert values[0, 0] == pytest.approx(np.cos(angles[0, 0]))
