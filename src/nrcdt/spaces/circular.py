"""R^d sliced by distances to centres: the circular Radon transform.

A similarity x -> s Q x + y moves the centre theta to Q^T (theta - y) / s. Centres therefore travel with the measure:
they stand around its mean, at radii in units of its root mean square radius.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..measures import Cloud, rounding

GROUPS: dict[str | None, str] = dict.fromkeys(("center", None), "rotations, reflections and shifts")


def phi(points: Array, directions: Array) -> Array:
    """Distances to the centres, of shape (n_directions, n_points)."""
    wide = points.astype(np.float64)
    squares = sum((wide[:, a] - directions[:, a, np.newaxis]) ** 2 for a in range(points.shape[1]))
    return np.asarray(np.sqrt(squares), dtype=points.dtype)


def place(cloud: Cloud, directions: Array) -> tuple[Cloud, Array]:
    """Put the centres around the mean of the cloud; what is a single point but for rounding becomes one."""
    points = cloud.points.astype(np.float64)
    mean = np.average(points, axis=0, weights=cloud.weights)
    spread = np.sqrt(np.average(((points - mean) ** 2).sum(axis=1), weights=cloud.weights))
    if spread <= rounding(cloud):
        points[:], spread = points[0], 0.0
        return cloud._replace(points=points.astype(cloud.points.dtype)), points[0] + 0 * directions
    return cloud, mean + spread * directions


def lipschitz(directions: Array) -> Array:
    """How far distances to the centres change when no mass moves further than one.

    Moves of mean y and spread s have squares that add up to no more than one, and move the centre y + s theta.

    Examples
    --------
    >>> lipschitz(np.array([[0.0, 0.75]]))
    array([2.25])
    """
    return np.asarray(1 + np.sqrt(1 + (directions**2).sum(axis=1)))
