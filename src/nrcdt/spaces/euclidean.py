"""R^d: weighted points, sliced by inner products with unit vectors.

Images are measures in the plane, and have its groups.
"""

from __future__ import annotations

from ..arrays import Array

GROUPS: dict[str | None, str] = {
    "standardize": "similarities",
    "winsorize": "similarities",
    "median": "similarities",
    "global": "similarities",
    "center": "rotations, reflections and shifts",
    None: "rotations and reflections about the origin",
}


def phi(points: Array, directions: Array) -> Array:
    """Inner products, of shape (n_directions, n_points); a space without phi has them from a kernel."""
    return directions @ points.T
