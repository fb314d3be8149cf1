"""Things in space drawn in the plane: seen from far away, near parts over far ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..arrays import Array

CLOUD_MAP = "Blues"
CONE_MAP = "hsv"
MAX_POINTS = 1500
CONE_FACETS = 36
LIGHT = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])


def camera(elevation: float, azimuth: float) -> Array:
    """Return unit vectors as columns: to the right, upwards, towards the viewer."""
    e, a = np.deg2rad([elevation, azimuth])
    right = np.array([-np.sin(a), np.cos(a), 0])
    near = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    return np.stack([right, np.cross(near, right), near], axis=1)


def show_cloud(axes: Any, points: Array, view: Array) -> None:
    """Draw points as a viewer sees them, near ones dark over far ones light, scaled to the panel."""
    if len(points) > MAX_POINTS:
        points = np.random.default_rng(0).permutation(points)[:MAX_POINTS]
    seen = points @ view
    seen = seen - (seen.max(axis=0) + seen.min(axis=0)) / 2
    seen = seen[np.argsort(seen[:, 2])]
    seen[:, :2] /= max(np.abs(seen[:, :2]).max(), 1e-12)
    depth = seen[:, 2] / max(np.abs(seen[:, 2]).max(), 1e-12)
    inches = axes.get_position().width * axes.figure.get_size_inches()[0]
    size = 6 * inches**2 * max(0.3, (400 / len(points)) ** 0.5)
    axes.scatter(
        seen[:, 0], seen[:, 1], s=size, c=depth, cmap=CLOUD_MAP, vmin=-2.2, vmax=1, linewidth=0, rasterized=True
    )
    axes.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
    axes.set_axis_off()


def cones(quaternions: Array) -> tuple[list[Array], list[Array]]:
    """Return the visible triangles of turned cones as seen by a viewer, and their colours.

    A cone is convex: a triangle is visible where it faces the viewer, and visible ones do not overlap.
    """
    import matplotlib

    view = camera(20, -60)
    solid, hues = _cone()
    turned = np.einsum("nab,fvb->nfva", Rotation.from_quat(np.roll(quaternions, -1, axis=1)).as_matrix(), solid)
    normals = np.cross(turned[:, :, 1] - turned[:, :, 0], turned[:, :, 2] - turned[:, :, 0])
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    base = matplotlib.colormaps[CONE_MAP](hues)[:, :3] * 0.82 + 0.1
    base[CONE_FACETS:] = 0.45 * base[CONE_FACETS:] + 0.55
    faces, paints = [], []
    for triangles, normal in zip(turned, normals, strict=True):
        visible = normal @ view[:, 2] > 0
        faces.append(triangles[visible] @ view[:, :2])
        paints.append(base[visible] * (0.72 + 0.28 * np.clip(normal[visible] @ LIGHT, 0, 1))[:, np.newaxis])
    return faces, paints


def _cone() -> tuple[Array, Array]:
    """Return the triangles of a cone that points to the north pole, the side first, then the base; and their hues."""
    angles = 2 * np.pi * np.arange(CONE_FACETS + 1) / CONE_FACETS
    rim = np.stack([0.5 * np.cos(angles), 0.5 * np.sin(angles), np.full_like(angles, -0.6)], axis=1)
    tip, foot = np.broadcast_to([0, 0, 0.95], (CONE_FACETS, 3)), np.broadcast_to([0, 0, -0.6], (CONE_FACETS, 3))
    side = np.stack([tip, rim[:-1], rim[1:]], axis=1)
    base = np.stack([foot, rim[1:], rim[:-1]], axis=1)
    return np.concatenate([side, base]), np.tile(np.arange(CONE_FACETS) / CONE_FACETS, 2)
