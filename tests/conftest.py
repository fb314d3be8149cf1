"""Measures with known answers, shared by the tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    # numba does not lock its cache: two processes that compile at once may file machine code under each other's name.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".numba_cache" / worker))
settings.register_profile("project", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("project")


@pytest.fixture
def rng():
    return np.random.default_rng(20250711)


def cloud_of(rng, n=200, d=2):
    """A skewed cloud without symmetry."""
    return rng.exponential(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


def affine_map(rng, d=2):
    """A random affine map with bounded condition."""
    left, _ = np.linalg.qr(rng.normal(size=(d, d)))
    right, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return left * rng.uniform(0.6, 1.4, d) @ right, rng.normal(size=d)


def supersampled(shape, inside, n=16):
    """Pixel means of an indicator function on the square that the image spans; x right, y down."""
    height, width = shape
    side = np.sqrt(2) / max(shape)
    y = (np.arange(height * n) + 0.5) / n - height / 2
    x = (np.arange(width * n) + 0.5) / n - width / 2
    values = inside(x[np.newaxis] * side, y[:, np.newaxis] * side).astype(float)
    return values.reshape(height, n, width, n).mean(axis=(1, 3)) * side**2


def uneven_directions(n=12):
    """Plane directions that crowd on one side, and the arcs that they stand for."""
    angles = 2 * np.pi * np.linspace(0, 1, n, endpoint=False) ** 1.5
    return np.stack([np.cos(angles), np.sin(angles)], axis=1), np.diff(angles, append=2 * np.pi)
