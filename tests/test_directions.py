"""Direction sets: unit length, evenly spread, the same everywhere."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nrcdt.directions import (
    circle,
    evenly_spread,
    fibonacci,
    low_discrepancy,
    rotations,
    run_around,
    shells,
    sphere,
    unit_vectors,
)


@pytest.mark.parametrize("d", [2, 3, 4, 7])
@pytest.mark.parametrize("n", [1, 2, 17, 400])
def test_spheres(n, d):
    directions = sphere(n, d)
    assert directions.shape == (n, d)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1)


@pytest.mark.parametrize("d", [2, 3, 4, 7])
def test_even_spread(d):
    """Second moments converge to those of the uniform measure, faster than for random directions."""
    directions = sphere(4000, d)
    assert np.abs(directions.mean(axis=0)).max() < 0.01
    assert np.abs(directions.T @ directions / 4000 - np.eye(d) / d).max() < 0.01


def test_no_direction_is_far_from_the_set(rng):
    targets = rng.normal(size=(500, 3))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    gaps = [np.arccos((targets @ fibonacci(n).T).max(axis=1)).max() for n in (100, 1600)]
    assert gaps[0] < 0.3
    assert gaps[1] == pytest.approx(gaps[0] / 4, rel=0.3)


def test_rotations_cover_the_group(rng):
    quaternions = rotations(3000)
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1)
    np.testing.assert_allclose(quaternions.T @ quaternions / 3000, np.eye(4) / 4, atol=0.01)
    targets = rng.normal(size=(300, 4))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    angles = 2 * np.arccos(np.minimum(np.abs(targets @ quaternions.T).max(axis=1), 1))
    assert np.rad2deg(angles.max()) < 20


def test_shells():
    centres = shells(64, 2, (0.5, 1.0))
    np.testing.assert_allclose(np.linalg.norm(centres, axis=1), np.repeat([0.5, 1.0], 32))
    assert shells(10, 3).shape == (10, 3)
    assert len(shells(7, 2, (1, 2, 3))) == 7


def test_order_around_the_circle():
    assert run_around(circle(12))
    assert run_around(circle(12)[::-1])
    assert run_around(np.roll(circle(12), 5, axis=0))
    assert run_around(0.7 * circle(12))
    assert run_around(circle(12)[[0, 1, 2, 5, 8]])
    assert run_around(circle(2))
    for n in (4, 5, 12, 256):
        assert not run_around(circle(2 * n)[:n])
    assert not run_around(circle(12)[[0, 2, 1, 3, 4]])
    assert not run_around(np.concatenate([circle(6), circle(6)]))
    assert not run_around(shells(12, 2, (0.5, 1.0)))
    assert not run_around(fibonacci(12))
    assert not run_around(circle(1))


def test_determinism():
    np.testing.assert_allclose(low_discrepancy(2, 4)[1], low_discrepancy(9, 4)[1])
    np.testing.assert_allclose(fibonacci(2), [[np.sqrt(3) / 2, 0, 0.5], [-0.63858018, 0.58499175, -0.5]], atol=1e-8)


@pytest.mark.parametrize("n", [1, 3, 64])
def test_fibonacci_points_as_printed(n):
    """(sqrt(1 - z^2) cos(k phi), sqrt(1 - z^2) sin(k phi), z) with z = 1 - (2k + 1) / n and phi = pi (3 - sqrt 5)."""
    golden = math.pi * (3 - math.sqrt(5))
    for k, point in enumerate(fibonacci(n)):
        z = 1 - (2 * k + 1) / n
        r = math.sqrt(1 - z * z)
        np.testing.assert_allclose(point, [r * math.cos(k * golden), r * math.sin(k * golden), z], atol=1e-12)


@pytest.mark.parametrize("n", [1, 3, 64])
def test_super_fibonacci_points_as_printed(n):
    """(a, b, c, d) of the paper, with phi_2 in the closed form that it gives for the root of phi_2^4 = phi_2 + 4."""
    m = sum(math.cbrt((9 + sign * math.sqrt(49233)) / 18) for sign in (1, -1))
    one, two = math.sqrt(2), (math.sqrt(m) + math.sqrt(2 / math.sqrt(m) - m)) / 2
    assert two**4 == pytest.approx(two + 4, abs=1e-13)
    for k, point in enumerate(rotations(n)):
        share, turn = (2 * k + 1) / (2 * n), math.pi * (2 * k + 1)
        a, b = (math.sqrt(share) * wave(turn / one) for wave in (math.sin, math.cos))
        c, d = (math.sqrt(1 - share) * wave(turn / two) for wave in (math.cos, math.sin))
        np.testing.assert_allclose(point, [a, b, c, d], atol=1e-12)


def test_rotations_are_the_printed_matrices():
    """Euler parameters (a, b, c, d) stand for the rotation of the Euler-Rodrigues formula: they are (w, x, y, z)."""
    for quaternion, matrix in zip(rotations(5), Rotation.from_quat(rotations(5), scalar_first=True), strict=True):
        a, b, c, d = quaternion
        printed = [
            [1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)],
        ]
        np.testing.assert_allclose(matrix.as_matrix(), printed, atol=1e-12)


def test_even_spread_is_told_from_uneven(rng):
    assert evenly_spread(circle(7))
    assert evenly_spread(circle(8)[::-1])
    assert evenly_spread(fibonacci(50))
    assert not evenly_spread(circle(8)[:5])
    assert not evenly_spread(circle(8)[rng.permutation(8)])
    assert not evenly_spread(np.abs(fibonacci(50)))
    assert not evenly_spread(rotations(20))


def test_lengths_may_be_rounded_but_not_more():
    np.testing.assert_allclose(unit_vectors(np.array([[1 + 5e-6, 0.0]]), "directions"), [[1, 0]], rtol=1e-12)
    for off in (2e-5, -2e-5):
        with pytest.raises(ValueError, match="directions must be unit vectors"):
            unit_vectors(np.array([[1 + off, 0.0]]), "directions")


def test_a_run_around_keeps_its_distance():
    assert run_around(circle(12))
    assert not run_around(circle(12) * np.array([1.0, 0.9] * 6)[:, np.newaxis])


def test_shells_share_evenly():
    radii = np.linalg.norm(shells(8, 2, (1, 2, 3)), axis=1).round(9)
    assert np.bincount(radii.astype(int)).tolist() == [0, 3, 2, 3]


def test_an_even_spread_has_its_mean_in_the_middle():
    assert evenly_spread(np.concatenate([np.eye(3), -np.eye(3)]))
    assert not evenly_spread(np.concatenate([np.eye(3), np.eye(3)]))
