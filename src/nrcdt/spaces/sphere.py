"""The sphere S^2, sliced by planes: circles that are all orthogonal to one direction.

Vertical slices (Quellmalz, Beinert, Steidl 2023) take directions on the equator: phi(x, theta) = x_1 theta_1 +
x_2 theta_2. They never see on which side of the equator a point lies. Parallel slices (Quellmalz, Buecher, Steidl 2024)
take all directions: phi(x, theta) = <x, theta>.

Rotations and reflections exchange directions and do nothing else, so that features are invariant without any
normalisation. Standardised slices forget how large a set is on the sphere, and where the vertical axis is.
"""

from __future__ import annotations

from ..arrays import Array
from ..measures import Cloud


def seen_from_above(cloud: Cloud, directions: Array) -> tuple[Cloud, Array]:
    """Project points of the sphere on the plane of the equator, where vertical slices have their directions."""
    return cloud._replace(points=cloud.points[:, :2]), directions
