"""R^d sliced by distances to centres: the circular Radon transform.

A similarity x -> s Q x + y moves the centre theta to Q^T (theta - y) / s. Centres therefore travel with the measure:
they stand around its mean, at radii in units of its root mean square radius.
"""

from __future__ import annotations

import numpy as np

from ..measures import Cloud
from ..slices import Array, Atoms


def phi(points: Array, directions: Array) -> Array:
    """Distances to the centres, of shape (n_directions, n_points)."""
    wide = points.astype(np.float64)
    squares = sum((wide[:, a] - directions[:, a, np.newaxis]) ** 2 for a in range(points.shape[1]))
    return np.asarray(np.sqrt(squares), dtype=points.dtype)


def slices(cloud: Cloud, directions: Array) -> Atoms:
    """Measure distances from centres around the mean of the cloud (Algorithm 1, line 2)."""
    points = cloud.points.astype(np.float64)
    mean = np.average(points, axis=0, weights=cloud.weights)
    spread = np.sqrt(np.average(((points - mean) ** 2).sum(axis=1), weights=cloud.weights))
    return Atoms(cloud.points, cloud.weights, mean + spread * directions, phi)
