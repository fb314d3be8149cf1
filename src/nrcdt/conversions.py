"""From volumes and meshes to weighted points, which the euclidean space takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import Array
from .errors import InputError
from .measures import as_floats, check_finite, positive_integer
from .measures.meshes import check_mesh, triangle_areas

N_POINTS = 5000
MAX_PIECES = 10_000_000
TIE = 1e-9  # relative difference below which two lengths or areas count as equal, so that rounding decides nothing


def volume_points(
    volume: Any, threshold: float = 0.0, spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)
) -> tuple[Array, Array]:
    """Return the voxels of a grey volume as weighted points.

    Parameters
    ----------
    volume : array of shape (depth, height, width)
        Non-negative mass of each voxel, indexed [z, y, x].
    threshold : float
        Voxels above it are kept, with their full mass. Memory is taken for these only.
    spacing : (x, y, z)
        Distances between the centres of neighbouring voxels, in the order of the coordinates that come out.

    Returns
    -------
    points : array of shape (n_points, 3)
        Centres of voxels as (x, y, z); the voxel [0, 0, 0] lies at the origin.
    weights : array of shape (n_points,)

    Examples
    --------
    >>> volume = np.zeros((2, 3, 4))
    >>> volume[1, 0, 3] = 5
    >>> volume_points(volume, spacing=(0.5, 1, 10))
    (array([[ 1.5,  0. , 10. ]]), array([5.]))
    """
    array = _check_volume(volume)
    sizes = as_floats(spacing, "spacing")
    if sizes.shape != (3,) or not np.isfinite(sizes).all() or sizes.min() <= 0:
        raise InputError("spacing", "be three positive numbers (x, y, z)", repr(spacing), "(1, 1, 1) means cubes.")
    if not 0 <= threshold < math.inf:
        raise InputError("threshold", "be at least 0 and finite", repr(threshold), "0 keeps every voxel with mass.")
    kept = np.flatnonzero(array > threshold)
    if len(kept) == 0:
        raise InputError(
            "volume",
            f"have voxels above the threshold {threshold:g}",
            f"a maximum of {float(array.max()):g}",
            "Lower the threshold or drop the volume.",
        )
    z, y, x = np.unravel_index(kept, array.shape)
    weights = as_floats(array.ravel()[kept], "volume")
    return np.stack([x, y, z], axis=1, dtype=weights.dtype) * sizes.astype(weights.dtype), weights


def _check_volume(volume: Any) -> Array:
    """Return a volume in its own dtype: eight bits per voxel need not become 64."""
    plain = isinstance(volume, np.ndarray) and volume.dtype.kind in "biuf" and not np.ma.is_masked(volume)
    array = np.asarray(volume) if plain else as_floats(volume, "volume")
    if array.ndim != 3 or array.size == 0:
        raise InputError(
            "volume",
            "have shape (depth, height, width) with at least one voxel",
            f"shape {array.shape}",
            "Pass one volume at a time, without a channel axis.",
        )
    low, _ = check_finite(array, "volume")
    if low < 0:
        raise InputError("volume", "not have negative mass", f"a minimum of {low:g}", "Shift or clip the values.")
    return array


def surface_points(
    vertices: Any, faces: Any, n_points: int | None = None, max_edge: float | None = None
) -> tuple[Array, Array]:
    """Return points all over a triangle mesh, each with the area that it stands for.

    Triangles are halved at their longest edge until every piece is small; each piece gives its centroid and its area.
    How dense the vertices are does not matter, nothing is random, and a similarity of the mesh moves the points and
    scales the weights. Other affine maps stretch the area of some triangles more than that of others: the area of the
    mapped surface is then another measure than the mapped area. Map the points and keep their weights where those
    have to count as one.

    Parameters
    ----------
    vertices : array of shape (n_vertices, 3)
    faces : integer array of shape (n_faces, 3)
        Triangles without area are left out.
    n_points : int, optional
        Pieces have at most this share of the whole area, so that about one to two times as many points come out,
        and never fewer than triangles. 5000 if `max_edge` is left out too.
    max_edge : float, optional
        Pieces have no longer edges than this.

    Returns
    -------
    points : array of shape (n_pieces, 3)
    weights : array of shape (n_pieces,)
        They sum to the area of the surface.

    Examples
    --------
    >>> points, weights = surface_points([[0, 0, 0], [2, 0, 0], [0, 2, 0]], [[0, 1, 2]], n_points=2)
    >>> points.round(2), weights
    (array([[1.  , 0.33, 0.  ],
           [0.33, 1.  , 0.  ]]), array([1., 1.]))
    """
    triangles = _check_triangles(vertices, faces)
    if n_points is None and max_edge is None:
        n_points = N_POINTS
    max_area = math.inf
    if n_points is not None:
        max_area = triangle_areas(triangles).sum() / positive_integer(n_points, "n_points", "5000 is a good start.")
    if max_edge is not None and not max_edge > 0:
        raise InputError("max_edge", "be positive", repr(max_edge), "Take a few percent of the size of the mesh.")
    pieces = _halve(triangles, max_area, math.inf if max_edge is None else max_edge)
    return pieces.mean(axis=1), triangle_areas(pieces)


def _check_triangles(vertices: Any, faces: Any) -> Array:
    """Return the corners of the triangles that have an area, of shape (n_triangles, 3, 3)."""
    points, corners = check_mesh(vertices, faces)
    triangles = points[corners]
    areas = triangle_areas(triangles)
    if not areas.sum() > 0:
        raise InputError("faces", "have an area", "none in any triangle", "Use the vertices as they are.")
    return np.asarray(triangles[areas > 0])


def _halve(triangles: Array, max_area: float, max_edge: float) -> Array:
    """Halve triangles at the middle of their longest edges until none is too large."""
    small, large = [], triangles
    n_pieces = 0
    while len(large):
        lengths = np.linalg.norm(large - np.roll(large, -1, axis=1), axis=2)
        longest = lengths.max(axis=1)
        done = (triangle_areas(large) <= (1 + TIE) * max_area) & (longest <= (1 + TIE) * max_edge)
        small.append(large[done])
        n_pieces += int(done.sum())
        first = np.argmax(lengths >= (1 - TIE) * longest[:, np.newaxis], axis=1)[~done]
        large = _bisect(large[~done], first)
        if n_pieces + len(large) > MAX_PIECES:
            raise InputError(
                "n_points and max_edge",
                f"ask for at most {MAX_PIECES:g} pieces",
                f"more, with areas up to {max_area:g} and edges up to {max_edge:g}",
                "Allow larger pieces.",
            )
    return np.concatenate(small)


def _bisect(triangles: Array, edges: Array) -> Array:
    """Cut each triangle from the middle of the edge between its corners `edge` and `edge + 1` to the third corner."""
    rows = np.arange(len(triangles))
    a, b, c = (triangles[rows, (edges + step) % 3] for step in range(3))
    middle = (a + b) / 2
    return np.stack([a, middle, c, b, c, middle], axis=1).reshape(-1, 3, 3)
