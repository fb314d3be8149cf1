"""Triangle meshes: corners and faces, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from .values import as_floats, check_finite

NAMES = "be numbers of vertices, 0 to {}", "Some formats count from 1: subtract it."


def check_mesh(vertices: Any, faces: Any, fewest: int = 1, names: tuple[str, str] = NAMES) -> tuple[Array, Array]:
    """Return vertices in space, float64, and faces that are triples of their numbers.

    `fewest` vertices are needed; `names` are rule, for the largest number, and remedy where faces name others.
    """
    points, corners = as_floats(vertices, "vertices").astype(np.float64, copy=False), np.asarray(faces)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < fewest:
        raise InputError("vertices", "have shape (n_vertices, 3)", points.shape, "One row per vertex.")
    check_finite(points, "vertices")
    if corners.ndim != 2 or corners.shape[1] != 3 or len(corners) == 0 or corners.dtype.kind not in "iu":
        raise InputError(
            "faces",
            "be integers of shape (n_faces, 3)",
            f"{corners.dtype} of shape {corners.shape}",
            "Each row names three vertices; cut other polygons into triangles.",
        )
    low, high = corners.min(), corners.max()
    if low < 0 or high >= len(points):
        raise InputError("faces", names[0].format(len(points) - 1), f"{low} to {high}", names[1])
    return points, corners


def triangle_areas(corners: Array) -> Array:
    """Return the areas of triangles given by their corners, of shape (n_triangles, 3, 3).

    Examples
    --------
    >>> triangle_areas(np.array([[[0.0, 0, 0], [3, 0, 0], [0, 4, 0]]]))
    array([6.])
    """
    a, b, c = corners.transpose(1, 0, 2)
    return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2)
