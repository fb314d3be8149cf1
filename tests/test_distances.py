"""Sliced Wasserstein distances."""

import numpy as np
import pytest

from conftest import cloud_of
from nrcdt import rcdt, sliced_wasserstein
from nrcdt.directions import circle


def test_a_shift_moves_by_its_projections(rng):
    cloud, shift = cloud_of(rng), np.array([3.0, 4.0])
    assert sliced_wasserstein([cloud], [cloud + shift], "euclidean")[0, 0] == pytest.approx(5 / np.sqrt(2))


def test_far_from_the_origin(rng):
    cloud = rng.normal(size=(100, 3))
    near = sliced_wasserstein([cloud], [cloud + 0.01], "euclidean")[0, 0]
    assert sliced_wasserstein([cloud + 1e6], [cloud + 1e6 + 0.01], "euclidean")[0, 0] == pytest.approx(near, rel=1e-4)


def test_it_is_the_norm_of_rcdt_differences(rng):
    images = rng.random((3, 8, 8))
    quantiles = rcdt(images, n_directions=20, n_quantiles=30)
    expected = np.sqrt(np.mean((quantiles[:, np.newaxis] - quantiles) ** 2, axis=(2, 3)))
    np.testing.assert_allclose(sliced_wasserstein(images, n_directions=20, n_quantiles=30), expected, atol=1e-7)


def test_convergence_to_the_distance_of_sorted_projections(rng):
    a, b = rng.normal(size=(2, 300, 2))
    directions = circle(64)
    expected = np.sqrt(np.mean((np.sort(a @ directions.T, axis=0) - np.sort(b @ directions.T, axis=0)) ** 2))
    errors = [
        abs(sliced_wasserstein([a], [b], "euclidean", directions=directions, n_quantiles=m)[0, 0] - expected)
        for m in (30, 300, 3000)
    ]
    assert errors[2] < errors[0] / 5
    assert errors[2] < 2e-3


def test_uneven_directions_need_weights(rng):
    cloud = cloud_of(rng)
    angles = 2 * np.pi * np.linspace(0, 1, 500, endpoint=False) ** 2
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    weights = np.diff(angles, append=2 * np.pi)
    shifted = cloud + np.array([0.0, 2.0])
    even = sliced_wasserstein([cloud], [shifted], "euclidean", directions=(directions, weights))[0, 0]
    uneven = sliced_wasserstein([cloud], [shifted], "euclidean", directions=directions)[0, 0]
    assert even == pytest.approx(np.sqrt(2), rel=0.01)
    assert abs(uneven - np.sqrt(2)) > 0.05


def test_a_reference_weighs_the_levels(rng):
    a, b = [cloud_of(rng)], [cloud_of(rng)]
    plain = sliced_wasserstein(a, b, "euclidean", n_quantiles=2000)
    normal = sliced_wasserstein(a, b, "euclidean", n_quantiles=2000, reference="norm")
    np.testing.assert_allclose(normal, plain, rtol=0.02)
