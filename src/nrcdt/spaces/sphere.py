"""The sphere S^2, sliced by planes: circles that are all orthogonal to one direction.

Vertical slices (Quellmalz, Beinert, Steidl 2023) take directions on the equator: phi(x, theta) = x_1 theta_1 +
x_2 theta_2. They never see on which side of the equator a point lies. Parallel slices (Quellmalz, Buecher, Steidl 2024)
take all directions: phi(x, theta) = <x, theta>.

Rotations and reflections exchange directions and do nothing else, so that features are invariant without any
normalisation. Standardised slices forget how large a set is on the sphere, and where the vertical axis is.
"""

from __future__ import annotations

from ..measures import Cloud
from ..slices import Array, Atoms
from .euclidean import phi


def parallel_slices(cloud: Cloud, directions: Array) -> Atoms:
    """Project points of the sphere on directions in space."""
    return Atoms(cloud.points, cloud.weights, directions, phi)


def vertical_slices(cloud: Cloud, directions: Array) -> Atoms:
    """Project points of the sphere on directions on the equator, given by two coordinates."""
    return Atoms(cloud.points[:, :2], cloud.weights, directions, phi)
