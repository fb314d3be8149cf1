"""Points of two clouds on top of each other: how many have company, and a map that gives more of them company."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from ..arrays import Array
from .affine import apply_affine

STEPS = 30  # at most
FAR = 3.0  # times the median distance of matches, from which on a point has no partner
CONVERGED = 1e-5  # of the size of the cloud: far below the distance between points


def overlap_of_points(a: Array, b: Array, matrix: Array) -> float:
    """Share of the points of a, moved by a map, and of b that have a point of the other nearby.

    Nearby is within twice the median distance, in b, of a point to its nearest neighbour.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(50, 3))
    >>> overlap_of_points(points, points, np.eye(3, 4))
    1.0
    """
    there, tree = apply_affine(a, matrix), cKDTree(b)
    spacing = np.median(tree.query(b, 2)[0][:, 1])
    nearest = tree.query(there)[0], cKDTree(there).query(b)[0]
    return float(np.mean([np.mean(distances <= 2 * spacing) for distances in nearest]))


def affine_icp(matrix: Array, a: Array, b: Array) -> tuple[Array, float]:
    """Iterative closest points: match every point with the nearest of the other cloud, fit a map, and repeat.

    Matches further apart than a few times the median are left out. Returns the map, and the mean distance of matches
    both ways, cut off at a few times the distance between neighbours in b.
    """
    tree = cKDTree(b)
    reach = np.sqrt(b.var(axis=0).sum())
    spacing = np.median(tree.query(b, 2)[0][:, 1])
    for _ in range(STEPS):
        there = apply_affine(a, matrix)
        to_b, in_b = tree.query(there)
        to_a, in_a = cKDTree(there).query(b)
        distances = np.concatenate([to_b, to_a])
        near = distances <= FAR * np.median(distances)
        sources = np.concatenate([a, a[in_a]])[near]
        fitted = least_squares_affine(sources, np.concatenate([b[in_b], b])[near])
        change = np.abs(apply_affine(sources, fitted) - apply_affine(sources, matrix)).max()
        matrix = fitted
        if change < CONVERGED * reach:
            break
    return matrix, float(np.mean(np.minimum(distances, FAR * spacing)))


def least_squares_affine(a: Array, b: Array) -> Array:
    """Affine map with the least squares of differences."""
    centre = a.mean(axis=0)
    design = np.column_stack([a - centre, np.ones(len(a))])
    solution = np.linalg.lstsq(design, b, rcond=None)[0].T
    linear = solution[:, :-1]
    return np.column_stack([linear, solution[:, -1] - linear @ centre])
