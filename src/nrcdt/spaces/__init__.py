"""The spaces that measures live in: one small file each, one row each in `SPACES`."""

from __future__ import annotations

from functools import partial
from typing import Any

from .. import directions as sets
from .. import random_maps
from ..arrays import Array
from ..errors import InputError
from ..measures import (
    as_floats,
    batch_of_images,
    check_clouds,
    check_hyperbolic,
    check_points,
    check_rotations,
    check_signals,
    check_sphere,
)
from ..slices import Phi
from . import circular, euclidean, hyperbolic, image, rotation, signal, sphere
from .crystal import crystal_space
from .manifold import manifold_space, manifold_spaces
from .space import Space, columns, fixed

SPACES: dict[str, Space] = {
    space.name: space
    for space in (
        Space(
            name="image",
            check=batch_of_images,
            dimension=partial(fixed, 2),
            directions=sets.sphere,
            group="affine maps",
            groups=euclidean.GROUPS,
            densities=image.densities,
            measure="images",
            linear=True,
            unit_directions=True,
            random_map=random_maps.moved_image,
            lipschitz=1.0,
        ),
        Space(
            name="euclidean",
            check=check_clouds,
            dimension=columns,
            directions=sets.sphere,
            group="affine maps",
            groups=euclidean.GROUPS,
            linear=True,
            unit_directions=True,
            random_map=partial(random_maps.moved_cloud, random_maps.affine),
            lipschitz=1.0,
        ),
        Space(
            name="circular",
            check=check_clouds,
            dimension=columns,
            directions=sets.shells,
            group="similarities",
            groups=circular.GROUPS,
            phi=circular.phi,
            place=circular.place,
            random_map=partial(random_maps.moved_cloud, random_maps.similarity),
            lipschitz=circular.lipschitz,
        ),
        Space(
            name="rotation",
            check=check_rotations,
            dimension=columns,
            directions=rotation.directions,
            group="rotations from the left and from the right, inversion",
            phi=rotation.phi,
            unit_directions=True,
            # Unit quaternions are turned from both sides by the rotations of R^4, and inverted by a reflection.
            random_map=partial(random_maps.moved_cloud, random_maps.orthogonal),
            lipschitz=1.0,
        ),
        Space(
            name="sphere_vertical",
            check=check_sphere,
            dimension=partial(fixed, 2),
            directions=sets.sphere,
            group="rotations about the z axis, reflections that keep it",
            place=sphere.seen_from_above,
            stays=True,
            unit_directions=True,
            lipschitz=1.0,
        ),
        Space(
            name="sphere_parallel",
            check=check_sphere,
            dimension=partial(fixed, 3),
            directions=sets.sphere,
            group="rotations and reflections of the sphere",
            unit_directions=True,
            random_map=partial(random_maps.moved_cloud, random_maps.orthogonal),
            lipschitz=1.0,
        ),
        Space(
            name="hyperbolic_horospherical",
            check=check_hyperbolic,
            dimension=columns,
            directions=sets.sphere,
            group="isometries of hyperbolic space",
            phi=hyperbolic.busemann,
            place=hyperbolic.seen_from_the_mean,
            unit_directions=True,
        ),
        Space(
            name="hyperbolic_geodesic",
            check=check_hyperbolic,
            dimension=columns,
            directions=sets.sphere,
            group="isometries of hyperbolic space",
            phi=hyperbolic.along_geodesic,
            place=hyperbolic.seen_from_the_mean,
            unit_directions=True,
        ),
        crystal_space("cubic"),
        crystal_space("hexagonal"),
        Space(
            name="signal",
            check=check_signals,
            dimension=partial(fixed, 1),
            directions=sets.sphere,
            group="affine maps of the line",
            groups=signal.GROUPS,
            densities=signal.densities,
            measure="signals",
            linear=True,
            unit_directions=True,
            lipschitz=1.0,
        ),
    )
}


def own_space(phi: Phi, directions: Any) -> Space:
    """Build a space from a function of (points, directions), with values (n_directions, n_points), and an array."""
    return Space(
        name=getattr(phi, "__name__", "phi"),
        check=check_points,
        dimension=partial(fixed, 0),
        directions=partial(_given, as_floats(directions, "the directions beside phi")),
        group="the maps under which phi only exchanges directions",
        phi=phi,
    )


def _given(directions: Array, n: int, d: int) -> Array:
    return directions


def find_space(space: str | Space | tuple[Phi, Any]) -> Space:
    """Look a space up by name, or build one from (phi, directions)."""
    if isinstance(space, Space):
        return space
    if isinstance(space, tuple) and len(space) == 2 and callable(space[0]):
        return own_space(*space)
    if not isinstance(space, str) or space not in SPACES:
        raise InputError(
            "space",
            f"be one of {', '.join(SPACES)}, or (phi, directions)",
            repr(space),
            "A space of your own is a function and an array.",
        )
    return SPACES[space]


__all__ = ["SPACES", "Space", "crystal_space", "find_space", "manifold_space", "manifold_spaces", "own_space"]
