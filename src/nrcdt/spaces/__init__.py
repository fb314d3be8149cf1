"""The spaces that measures live in: one small file each, one row each in `SPACES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import directions as sets
from ..measures import Cloud, check_clouds, check_images, check_points, check_rotations
from ..slices import Array, Atoms, Phi
from . import circular, euclidean, image, rotation


@dataclass(frozen=True)
class Space:
    """What the corridor needs to know about a space.

    Attributes
    ----------
    name : str
    check : turns user input into a list of measures, or raises
    dimension : of the directions that one measure asks for
    directions : makes n directions of that dimension
    slices : cuts one measure along directions, into Atoms, or into Bins where there are `densities`
    group : the maps under which slices only change places, shift and scale
    linear : whether phi is linear, so that a shift of the measure shifts each slice by its own amount
    unit_directions : whether directions have length one
    densities : whether slices are Bins, whose number is a third argument of `slices`
    """

    name: str
    check: Callable[..., list[Any]]
    dimension: Callable[[Any], int]
    directions: Callable[[int, int], Array]
    slices: Callable[..., Any]
    group: str
    linear: bool
    densities: bool = False
    unit_directions: bool = False


def _columns(cloud: Cloud) -> int:
    return int(cloud.points.shape[1])


SPACES: dict[str, Space] = {
    space.name: space
    for space in (
        Space(
            name="image",
            check=check_images,
            dimension=lambda _: 2,
            directions=sets.sphere,
            slices=image.slices,
            group="affine maps",
            linear=True,
            densities=True,
            unit_directions=True,
        ),
        Space(
            name="euclidean",
            check=check_clouds,
            dimension=_columns,
            directions=sets.sphere,
            slices=euclidean.slices,
            group="affine maps",
            linear=True,
            unit_directions=True,
        ),
        Space(
            name="circular",
            check=check_clouds,
            dimension=_columns,
            directions=sets.shells,
            slices=circular.slices,
            group="similarities",
            linear=False,
        ),
        Space(
            name="rotation",
            check=check_rotations,
            dimension=lambda _: 4,
            directions=lambda n, d: sets.rotations(n),
            slices=rotation.slices,
            group="rotations from the left and from the right, inversion",
            linear=False,
            unit_directions=True,
        ),
    )
}


def own_space(phi: Phi, directions: Any) -> Space:
    """Build a space from a function of (points, directions), with values (n_directions, n_points), and an array."""
    array = np.asarray(directions)

    def slices(cloud: Cloud, chosen: Array) -> Atoms:
        return Atoms(cloud.points, cloud.weights, chosen, phi)

    return Space(
        name=getattr(phi, "__name__", "phi"),
        check=check_points,
        dimension=lambda _: 0,
        directions=lambda n, d: array,
        slices=slices,
        group="the maps under which phi only exchanges directions",
        linear=False,
    )


def find_space(space: str | Space | tuple[Phi, Any]) -> Space:
    """Look a space up by name, or build one from (phi, directions)."""
    if isinstance(space, Space):
        return space
    if isinstance(space, tuple) and len(space) == 2 and callable(space[0]):
        return own_space(*space)
    if not isinstance(space, str) or space not in SPACES:
        raise ValueError(
            f"space must be one of {', '.join(SPACES)}, or (phi, directions); got {space!r}. "
            "A space of your own is a function and an array."
        )
    return SPACES[space]


__all__ = ["SPACES", "Space", "find_space", "own_space"]
