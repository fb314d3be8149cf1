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
    squares = sum((points[:, a] - directions[:, a, np.newaxis]) ** 2 for a in range(points.shape[1]))
    return np.asarray(np.sqrt(squares))


def slices(cloud: Cloud, directions: Array) -> Atoms:
    """Measure distances from centres around the mean of the cloud (Algorithm 1, line 2)."""
    mean = np.average(cloud.points, axis=0, weights=cloud.weights)
    squares = ((cloud.points - mean) ** 2).sum(axis=1)
    spread = np.sqrt(np.average(squares, weights=cloud.weights))
    centres = (mean + spread * directions).astype(cloud.points.dtype)
    return Atoms(cloud.points, cloud.weights, centres, phi)
