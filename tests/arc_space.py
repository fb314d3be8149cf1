"""A space to copy: points on the circle, sliced by arc length to a direction.

A new space is a file like this one and a row in `SPACES`. It says which directions it has, how a measure is sliced, and
which maps leave the features alone; checks, tests, documentation and the command line read the table.
"""

import numpy as np

from nrcdt.arrays import Array
from nrcdt.directions import circle
from nrcdt.measures import Cloud, check_clouds
from nrcdt.spaces import Space


def phi(points: Array, directions: Array) -> Array:
    """Arc lengths in [0, pi], of shape (n_directions, n_points)."""
    cosines = sum(points[:, a] * directions[:, a, np.newaxis] for a in range(2))
    return np.asarray(np.arccos(np.clip(cosines, -1, 1)), dtype=points.dtype)


def dimension(cloud: Cloud) -> int:
    """Return two: directions lie in the plane."""
    return 2


def directions(n: int, d: int) -> Array:
    """Return n equispaced directions."""
    return circle(n)


ARC = Space(
    name="arc",
    check=check_clouds,
    dimension=dimension,
    directions=directions,
    phi=phi,
    group="rotations and reflections of the circle",
)
