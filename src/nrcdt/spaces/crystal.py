"""SO(3) with crystal symmetry: rotations x and x s are the same orientation of a crystal for s in its point group.

phi(x, theta) is the smallest angle between theta and x s over all s. Rotations x take the frame of the crystal to that
of the sample; those that go the other way, as many measuring devices store them, are to be inverted first.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation

from ..arrays import Array
from ..errors import InputError
from ..measures import check_rotations
from .rotation import directions
from .space import Space, columns

DIRECTIONS_AT_ONCE = 8  # what fits in the cache, with all equivalents of some thousand points

# The eleven groups of proper rotations, and their names by Schoenflies, under which SciPy has them.
POINT_GROUPS = {
    "1": "C1",
    "2": "C2",
    "222": "D2",
    "4": "C4",
    "422": "D4",
    "3": "C3",
    "32": "D3",
    "6": "C6",
    "622": "D6",
    "23": "T",
    "432": "O",
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
    group = Rotation.create_group(POINT_GROUPS[name], axis="Y" if name == "2" else "Z")
    return np.asarray(group.as_quat(scalar_first=True))


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
        lipschitz=1.0,
    )
