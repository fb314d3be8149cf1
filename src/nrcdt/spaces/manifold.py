"""Manifolds given as triangle meshes, sliced by eigenfunctions of the Laplace-Beltrami operator.

A measure is a weight on every vertex. Its slices are the measures that eigenfunctions push forward to the line, as in
the intrinsic sliced Wasserstein distance (Rustamov, Majumdar 2023). Eigenfunctions of one eigenvalue are determined
up to an orthogonal map: the sign, where the eigenvalue is simple. The directions of one eigenvalue are therefore the
unit vectors of its eigenspace, both signs where it is simple; isometries of the mesh exchange them and nothing else.

Eigenvalues are frequencies, and no isometry exchanges slices of different frequency. `manifold_spaces` makes one space
per eigenvalue, for features one after the other. `manifold_space` puts all directions into one space: right for
sliced Wasserstein distances and the R-CDT of measures on one mesh, coarse for features, which collapse all frequencies
into one curve.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from ..arrays import Array
from ..directions import sphere
from ..errors import InputError
from ..measures import Cloud, check_vertex_weights, positive_integer
from ..measures.meshes import check_mesh, triangle_areas
from .space import Space, columns

SHIFT = -0.01  # beside the eigenvalue 0, in units of 1 / area, where the matrix can be inverted
START_SEED = 0


class Eigenspace(NamedTuple):
    """An eigenvalue, and its eigenfunctions on the vertices, of shape (n_vertices, multiplicity)."""

    value: float
    functions: Array


def laplacian(vertices: Array, faces: Array) -> tuple[Any, Array]:
    """Return the cotangent Laplacian, sparse, and the area that belongs to each vertex."""
    n = len(vertices)
    stiffness = sparse.csr_array((n, n))
    corners = vertices[faces]
    areas = triangle_areas(corners)
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        cosines = ((corners[:, b] - corners[:, a]) * (corners[:, c] - corners[:, a])).sum(axis=1)
        halves = cosines / (4 * areas)
        stiffness = stiffness - sparse.csr_array((halves, (faces[:, b], faces[:, c])), shape=(n, n))
    stiffness = stiffness + stiffness.T
    stiffness = stiffness - sparse.diags_array(stiffness.sum(axis=1))
    return stiffness.tocsc(), np.bincount(faces.ravel(), np.repeat(areas / 3, 3), n)


def eigenspaces(vertices: Any, faces: Any, n_eigenfunctions: int = 16, tolerance: float = 0.01) -> list[Eigenspace]:
    """Return the lowest eigenspaces of the Laplace-Beltrami operator of a mesh, without the constant.

    Parameters
    ----------
    vertices : array of shape (n_vertices, 3)
    faces : integer array of shape (n_faces, 3)
        One connected surface, with or without boundary.
    n_eigenfunctions : int
        How many eigenfunctions at most; an eigenspace is taken as a whole or not at all.
    tolerance : float
        Eigenvalues that follow each other within this relative distance count as one.

    Returns
    -------
    list of (value, functions)
        Values in units of 1 / area. Functions have mean square one over the area.

    Examples
    --------
    >>> corners = np.array([[0.0, 0], [2, 0], [2, 1], [0, 1]])
    >>> strip = np.pad(np.vstack([corners, corners + [0, 1], corners + [0, 2]]), ((0, 0), (0, 1)))
    >>> vertices, labels = np.unique(strip, axis=0, return_inverse=True)
    >>> faces = labels[[[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7], [8, 9, 10], [8, 10, 11]]]
    >>> [space.functions.shape for space in eigenspaces(vertices, faces, 3)]
    [(8, 1), (8, 1), (8, 1)]
    """
    vertices, faces = check_mesh(vertices, faces, 3, ("name vertices 0 to {}", "Count from 0."))
    _check_surface(vertices, faces)
    wanted = positive_integer(n_eigenfunctions, "n_eigenfunctions", "16 is a good start.")
    if wanted > len(vertices) - 3:
        raise InputError(
            "n_eigenfunctions",
            f"be at most {len(vertices) - 3} for {len(vertices)} vertices",
            wanted,
            "Ask for fewer, or refine the mesh.",
        )
    values, functions = _lowest(vertices, faces, wanted + 2)
    steps = np.diff(values[1:])
    ends = 1 + np.flatnonzero(steps > tolerance * values[2:])
    if len(ends) == 0:
        raise InputError(
            "n_eigenfunctions",
            "reach beyond the lowest eigenspace",
            f"{wanted}, all of one eigenvalue",
            "Ask for more, or lower the tolerance.",
        )
    pairs = zip([0, *ends[:-1]], ends, strict=True)
    return [Eigenspace(float(values[1:][a:b].mean()), functions[:, 1:][:, a:b]) for a, b in pairs]


def _lowest(vertices: Array, faces: Array, n: int) -> tuple[Array, Array]:
    stiffness, areas = laplacian(vertices, faces)
    total = areas.sum()
    start = np.random.default_rng(START_SEED).normal(size=len(vertices))
    values, functions = eigsh(stiffness * total, n, sparse.diags_array(areas).tocsc(), sigma=SHIFT, v0=start)
    order = np.argsort(values)
    return values[order], functions[:, order] * np.sqrt(total)


def _check_surface(vertices: Array, faces: Array) -> None:
    corners = vertices[faces]
    squares = ((corners - np.roll(corners, 1, axis=1)) ** 2).sum(axis=(1, 2))
    flat = np.flatnonzero(2 * triangle_areas(corners) <= 1e-12 * squares)
    if len(flat):
        raise InputError("faces", "have area", f"none in face {flat[0]}", "Merge its vertices, or drop it.")
    edges = (np.ones(faces.size), (faces.ravel(), np.roll(faces, 1, axis=1).ravel()))
    n_parts = connected_components(sparse.csr_array(edges, shape=(len(vertices),) * 2), directed=False)[0]
    if n_parts > 1:
        raise InputError(
            "faces",
            "connect all vertices",
            f"{n_parts} parts",
            "Drop vertices without faces, and take each surface for itself.",
        )


def manifold_spaces(vertices: Any, faces: Any, n_eigenfunctions: int = 16, tolerance: float = 0.01) -> list[Space]:
    """Return one space per eigenvalue of a mesh, lowest first, for measures given as weights on the vertices.

    Every aggregation is legitimate in each of them. Put their features side by side.

    Parameters
    ----------
    vertices, faces, n_eigenfunctions, tolerance : as for `eigenspaces`

    Examples
    --------
    >>> from nrcdt import nrcdt
    >>> x, y = (part.ravel() for part in np.meshgrid(np.arange(9.0), np.arange(5.0)))
    >>> vertices = np.stack([x, y, 0 * x], axis=1)
    >>> corner = np.flatnonzero((x < 8) & (y < 4))[:, np.newaxis]
    >>> faces = np.vstack([corner + [0, 1, 9], corner + [1, 10, 9]])
    >>> spaces = manifold_spaces(vertices, faces, 6)
    >>> left, right = np.exp(-x), np.exp(-x[::-1])
    >>> a, b = np.hstack([nrcdt([left, right], space, normalize=None) for space in spaces])
    >>> bool(np.allclose(a, b))
    True
    """
    return [_space([one]) for one in eigenspaces(vertices, faces, n_eigenfunctions, tolerance)]


def manifold_space(vertices: Any, faces: Any, n_eigenfunctions: int = 16, tolerance: float = 0.01) -> Space:
    """Return one space with the directions of all eigenvalues of a mesh, for weights on the vertices.

    Every eigenfunction has an equal share of the directions. Sliced Wasserstein distances are then intrinsic ones, with
    the same weight for all eigenfunctions.

    Parameters
    ----------
    vertices, faces, n_eigenfunctions, tolerance : as for `eigenspaces`

    See Also
    --------
    manifold_spaces : one space per eigenvalue, which keeps frequencies apart.
    """
    return _space(eigenspaces(vertices, faces, n_eigenfunctions, tolerance))


def _space(found: list[Eigenspace]) -> Space:
    return Space(
        name="manifold",
        check=partial(_check, functions=np.hstack([one.functions for one in found])),
        dimension=columns,
        directions=partial(_directions, sizes=[one.functions.shape[1] for one in found]),
        group="isometries of the mesh",
        unit_directions=True,
    )


def _check(X: Any, functions: Array) -> list[Cloud]:
    rows = check_vertex_weights(X, len(functions))
    return [Cloud(functions[row > 0].astype(row.dtype), row[row > 0]) for row in rows]


def _directions(n: int, d: int, sizes: list[int]) -> Array:
    """Unit vectors of every eigenspace, in the coordinates of all functions together, as many for each function."""
    each = 2 * max(1, n // (2 * sum(sizes))) if max(sizes) > 1 else 2
    signs = np.tile([[1.0], [-1.0]], (each // 2, 1))
    parts = [signs if size == 1 else sphere(each * size, size) for size in sizes]
    return np.asarray(block_diag(*parts))
