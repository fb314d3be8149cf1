"""R^d: weighted points, sliced by inner products with unit vectors."""

from __future__ import annotations

from ..measures import Cloud
from ..slices import Array, Atoms


def phi(points: Array, directions: Array) -> Array:
    """Inner products, of shape (n_directions, n_points)."""
    return directions @ points.T


def slices(cloud: Cloud, directions: Array) -> Atoms:
    """Project a cloud on the directions (Algorithm 1, line 2)."""
    return Atoms(cloud.points, cloud.weights, directions, phi)
