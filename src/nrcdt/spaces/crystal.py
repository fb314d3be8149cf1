"""SO(3) with crystal symmetry: rotations x and x s are the same orientation of a crystal for s in its point group.

phi(x, theta) is the smallest angle between theta and x s over all s. Rotations x take the frame of the crystal to that
of the sample; those that go the other way, as many measuring devices store them, are to be inverted first.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..measures import check_rotations
from .rotation import directions
from .space import Space, columns

X, Y, Z, DIAGONAL = (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)

DIRECTIONS_AT_ONCE = 8  # what fits in the cache, with all equivalents of some thousand points

# Generators of the eleven groups of proper rotations: how many turns make a whole one, and the axis.
POINT_GROUPS: dict[str, tuple[tuple[int, tuple[int, int, int]], ...]] = {
    "1": (),
    "2": ((2, Y),),
    "222": ((2, Z), (2, X)),
    "4": ((4, Z),),
    "422": ((4, Z), (2, X)),
    "3": ((3, Z),),
    "32": ((3, Z), (2, X)),
    "6": ((6, Z),),
    "622": ((6, Z), (2, X)),
    "23": ((2, Z), (3, DIAGONAL)),
    "432": ((4, Z), (3, DIAGONAL)),
}
SYSTEMS = {
    "triclinic": "1",
    "monoclinic": "2",
    "orthorhombic": "222",
    "tetragonal": "422",
    "trigonal": "32",
    "hexagonal": "622",
    "cubic": "432",
}


def multiply(a: Array, b: Array) -> Array:
    """Product of quaternions (w, x, y, z): the rotation b, then the rotation a."""
    w, v = a[..., :1], a[..., 1:]
    wb, vb = b[..., :1], b[..., 1:]
    real = w * wb - (v * vb).sum(axis=-1, keepdims=True)
    return np.concatenate([real, w * vb + wb * v + np.cross(v, vb)], axis=-1)


def symmetry_rotations(crystal: str) -> Array:
    """Return the proper rotations of a point group as unit quaternions, of shape (n_rotations, 4).

    Parameters
    ----------
    crystal : "cubic", "hexagonal", "trigonal", "tetragonal", "orthorhombic", "monoclinic" or "triclinic"
        Or one of the eleven groups of proper rotations, such as "432" or "23". Main axes are along z, those of order
        two along x; the one of monoclinic crystals is along y.

    Examples
    --------
    >>> len(symmetry_rotations("cubic")), len(symmetry_rotations("hexagonal"))
    (24, 12)
    """
    name = SYSTEMS.get(crystal, crystal) if isinstance(crystal, str) else ""
    if name not in POINT_GROUPS:
        known = ", ".join([*SYSTEMS, *POINT_GROUPS])
        raise InputError(
            "crystal",
            f"be one of {known}",
            repr(crystal),
            "Mirrors and inversion do not act on rotations: name the group without them.",
        )
    return _closure([_turn(order, axis) for order, axis in POINT_GROUPS[name]])


def _turn(order: int, axis: tuple[int, int, int]) -> Array:
    return np.array([np.cos(np.pi / order), *(np.sin(np.pi / order) * np.array(axis) / np.linalg.norm(axis))])


def _closure(generators: list[Array]) -> Array:
    """Multiply by the generators until nothing new comes out; q and -q are the same rotation."""
    found = [np.array([1.0, 0, 0, 0])]
    for element in found:
        for generator in generators:
            new = multiply(element, generator)
            if np.abs(np.array(found) @ new).max() < 1 - 1e-9:
                found.append(new)
    return np.array(found)


def phi(points: Array, directions: Array, symmetry: Array) -> Array:
    """Smallest angles in [0, pi] to all equivalents, of shape (n_directions, n_points)."""
    equivalents = multiply(points, symmetry.astype(points.dtype)[:, np.newaxis]).transpose(0, 2, 1)
    n_parts = -(-len(directions) // DIRECTIONS_AT_ONCE)
    parts = np.array_split(directions.astype(points.dtype), n_parts)
    cosines = np.concatenate([np.abs(part @ equivalents).max(axis=0) for part in parts])
    return np.asarray(2 * np.arccos(np.minimum(cosines, 1)))


def crystal_space(crystal: str) -> Space:
    """Return the space of orientations of a crystal, to be passed as ``space=``.

    Parameters
    ----------
    crystal : as for `symmetry_rotations`

    Examples
    --------
    >>> from nrcdt import nrcdt
    >>> from scipy.spatial.transform import Rotation
    >>> grains = Rotation.from_rotvec(np.random.default_rng(0).normal(size=(50, 3)) / 4)
    >>> quarter = Rotation.from_euler("z", 90, degrees=True)
    >>> a, b = nrcdt([grains.as_matrix(), (grains * quarter).as_matrix()], crystal_space("tetragonal"))
    >>> bool(np.allclose(a, b))
    True
    """
    return Space(
        name=f"rotation_{crystal}",
        check=check_rotations,
        dimension=columns,
        directions=directions,
        phi=partial(phi, symmetry=symmetry_rotations(crystal)),
        group="rotations from the left, crystal symmetry from the right",
        unit_directions=True,
    )
