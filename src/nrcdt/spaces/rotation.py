"""SO(3) as unit quaternions, sliced by rotation angles: phi(x, theta) is the angle of theta^T x."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..directions import rotations


def phi(points: Array, directions: Array) -> Array:
    """Angles between rotations in [0, pi], of shape (n_directions, n_points); q and -q are the same rotation.

    Small angles are lost where cosines are rounded: in float32, a thousandth of a radian.
    """
    wide = points.astype(np.float64)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    cosines = sum(wide[:, a] * directions[:, a, np.newaxis] for a in range(4))
    return np.asarray(2 * np.arccos(np.minimum(np.abs(cosines), 1)), dtype=points.dtype)


def directions(n: int, d: int) -> Array:
    """Return n unit quaternions of the Super-Fibonacci spiral."""
    return rotations(n)
