"""Registration in space: a grid of rotations between the whitened clouds, then steps on their quantiles.

Cut a cloud along a direction into shares of equal mass. The projection of the mean of a share is a quantile, averaged
over that share, and the mean itself is the slope of the quantile as the direction turns. Kept for a dense set of
directions, these means give quantiles and slopes along every direction.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from ..arrays import Array
from ..directions import rotations, sphere
from ..frames import Whitening, whitening
from ..measures import Cloud
from .affine import Candidates, between_whitenings, rotation_angle

N_ROTATIONS = 4608  # of the grid: no rotation is more than 13 degrees from one of them
N_DENSE = 512  # directions in which means are kept: no other is more than 6.3 degrees from one of them
N_STARTS = 24  # of the grid, from which steps are taken
STEPS, LAST_STEPS = 6, 8  # with the nearest of the dense directions, then at most with the very ones
GAIN = 0.99  # of the mean square, above which a step is the last
HALVINGS = 30  # of an angle: to 1e-9 of it
SAME_TRACE = 2.97  # of the turn between two matrices, 1 + 2 cos(10 degrees), above which they count as one


class SliceMeans(NamedTuple):
    """Means of the shares of a cloud along directions (n_directions, 3), of shape (n_directions, n_shares, 3)."""

    directions: Array
    means: Array


def slice_means(cloud: Cloud, directions: Array, n_shares: int) -> SliceMeans:
    """Cut a cloud along each direction into shares of equal mass, and return their means.

    Examples
    --------
    >>> line = Cloud(np.array([[3.0, 0, 0], [1, 0, 0], [0, 0, 0], [4, 0, 0]]), None)
    >>> slice_means(line, np.array([[1.0, 0, 0]]), 2).means[0]
    array([[0.5, 0. , 0. ],
           [3.5, 0. , 0. ]])
    """
    points, weights = cloud
    share = np.full(len(points), 1 / len(points)) if weights is None else weights / weights.sum()
    means = np.empty((len(directions), n_shares, points.shape[1]))
    sums, masses = np.zeros((len(points) + 1, points.shape[1])), np.append(0, np.cumsum(share))
    edges, moments = np.arange(n_shares + 1) / n_shares, points * share[:, np.newaxis]
    for direction, out in zip(directions, means, strict=True):
        order = np.argsort(points @ direction)
        np.cumsum(moments[order], axis=0, out=sums[1:])
        if weights is not None:
            np.cumsum(share[order], out=masses[1:])
        for column, sum_ in zip(out.T, sums.T, strict=True):
            column[:] = np.diff(np.interp(edges, masses, sum_)) * n_shares
    return SliceMeans(directions, means)


@lru_cache(maxsize=4)
def _grid(n_directions: int) -> tuple[Array, Array]:
    """Rotation matrices, and for each of them the dense direction that it takes closest to each direction."""
    matrices = Rotation.from_quat(rotations(N_ROTATIONS), scalar_first=True).as_matrix()
    _, nearest = cKDTree(sphere(N_DENSE, 3)).query((sphere(n_directions, 3) @ matrices).reshape(-1, 3))
    return matrices, nearest.reshape(len(matrices), n_directions)


def _quantiles(cloud: SliceMeans) -> Array:
    return np.asarray(np.einsum("kd,kjd->kj", cloud.directions, cloud.means))


def grid_search(
    a: SliceMeans, b: SliceMeans, reflection: bool, whitenings: tuple[Whitening, Whitening], max_rotation: float | None
) -> Array:
    """Orthogonal matrices of the grid that bring the quantiles of a closest to those of b."""
    matrices, nearest = _grid(len(b.directions))
    of_a, of_b = _quantiles(a), _quantiles(b)
    squares = (of_a**2).sum(axis=1)
    signs = (1.0, -1.0) if reflection else (1.0,)
    costs = []
    for sign in signs:
        turned = of_a if sign > 0 else -of_a[:, ::-1]
        table = squares - 2 * of_b @ turned.T
        costs.append(np.take_along_axis(table, nearest.T, axis=1).sum(axis=0))
    everything = np.concatenate([sign * matrices for sign in signs])
    cost = np.concatenate(costs)
    if max_rotation is not None:
        cost[rotation_angle(between_whitenings(*whitenings, everything)) > max_rotation] = np.inf
    best = np.argsort(cost, kind="stable")[:N_STARTS]
    upright = np.stack([polar_alignment(*whitenings, sign) for sign in signs])
    return np.concatenate([everything[best[np.isfinite(cost[best])]], upright])


def polar_alignment(a: Whitening, b: Whitening, sign: float) -> Array:
    """Orthogonal matrix between whitened clouds for which the map is a stretch, and a mirror of x if the sign asks."""
    mirror = np.diag([sign, 1.0, 1.0])
    root = np.linalg.inv(a.matrix)
    back = np.linalg.inv(b.matrix) @ mirror @ root
    squares, axes = np.linalg.eigh(back.T @ back)
    stretch = a.matrix @ (axes * np.sqrt(squares)) @ axes.T @ a.matrix
    return np.asarray(b.matrix @ mirror @ stretch @ root)


def bound_rotations(
    starts: Array, ends: Array, whitenings: tuple[Whitening, Whitening], max_rotation: float | None
) -> Array:
    """Follow the turns from starts to ends only as far as the maps are turned by at most `max_rotation`."""
    if max_rotation is None:
        return ends
    turns = Rotation.from_matrix(ends @ starts.transpose(0, 2, 1)).as_rotvec()
    low, high = np.zeros(len(turns)), np.ones(len(turns))
    for step in range(HALVINGS):
        middle = (low + high) / 2 if step else high
        matrices = Rotation.from_rotvec(middle[:, np.newaxis] * turns).as_matrix() @ starts
        fine = rotation_angle(between_whitenings(*whitenings, matrices)) <= max_rotation
        low, high = np.where(fine, middle, low), np.where(fine, high, middle)
    return np.asarray(Rotation.from_rotvec(low[:, np.newaxis] * turns).as_matrix() @ starts)


def _gauss_newton_step(orthogonal: Array, moved: Array, directions: Array, goal: Array) -> tuple[Array, Array]:
    """One Gauss-Newton step for many orthogonal matrices at once; `moved` are points after them.

    Returns better matrices, and the mean square differences of the quantiles before the step.
    """
    differences = np.einsum("kd,nkjd->nkj", directions, moved) - goal
    slopes = np.cross(moved, directions[:, np.newaxis])
    normal = np.einsum("nkji,nkjl->nil", slopes, slopes)
    right = np.einsum("nkji,nkj->ni", slopes, differences)
    steps = np.linalg.solve(normal, -right[..., np.newaxis])[..., 0]
    return Rotation.from_rotvec(steps).as_matrix() @ orthogonal, np.mean(differences**2, axis=(1, 2))


def gauss_newton(orthogonal: Array, a: SliceMeans, b: SliceMeans, n_steps: int) -> tuple[Array, Array]:
    """Steps with the points of the dense directions of a that are nearest at each step."""
    tree, goal = cKDTree(a.directions), _quantiles(b)
    squares = np.full(len(orthogonal), np.inf)
    for _ in range(n_steps):
        signs = np.sign(np.linalg.det(orthogonal))[:, np.newaxis, np.newaxis]
        # A reflection is a rotation and an inversion; the inverted cloud has its ranks in reverse.
        _, nearest = tree.query(b.directions @ (signs * orthogonal))
        means = a.means[nearest]
        means = np.where(signs[..., np.newaxis] > 0, means, means[:, :, ::-1])
        moved = np.einsum("nde,nkje->nkjd", orthogonal, means)
        orthogonal, squares = _gauss_newton_step(orthogonal, moved, b.directions, goal)
    return orthogonal, squares


def _gauss_newton_exact(orthogonal: Array, a: Cloud, b: SliceMeans, n_steps: int) -> tuple[Array, float]:
    """Steps with the shares of a along the very directions, while they help; back come matrix and mean square."""
    goal = _quantiles(b)
    best, least = orthogonal, np.inf
    for _ in range(n_steps):
        moved = slice_means(a, b.directions @ orthogonal, goal.shape[1]).means @ orthogonal.T
        (better,), (square,) = _gauss_newton_step(orthogonal[np.newaxis], moved[np.newaxis], b.directions, goal)
        if square > GAIN * least:
            break
        best, least, orthogonal = orthogonal, square, better
    return best, float(least)


def spatial_candidates(
    a: Cloud, b: Cloud, n_directions: int, n_quantiles: int, max_rotation: float | None, reflection: bool, n_best: int
) -> Candidates:
    """Return affine maps under which the whitened slices of two clouds in space agree best, at most `n_best`."""
    whitenings = whitening(a), whitening(b)
    white_a, white_b = (
        Cloud((cloud.points - white.mean) @ white.matrix, cloud.weights)
        for cloud, white in zip((a, b), whitenings, strict=True)
    )
    dense = slice_means(white_a, sphere(N_DENSE, 3), n_quantiles)
    goal = slice_means(white_b, sphere(n_directions, 3), n_quantiles)
    starts = grid_search(dense, goal, reflection, whitenings, max_rotation)
    found = bound_rotations(starts, gauss_newton(starts, dense, goal, STEPS)[0], whitenings, max_rotation)
    squares = gauss_newton(found, dense, goal, 1)[1]
    chosen = found[_well_apart(found, squares, n_best)]
    ends = np.stack([_gauss_newton_exact(one, white_a, goal, LAST_STEPS)[0] for one in chosen])
    turns = bound_rotations(chosen, ends, whitenings, max_rotation)
    squares = np.array([_gauss_newton_exact(one, white_a, goal, 1)[1] for one in turns])
    order = np.argsort(squares, kind="stable")
    turns, squares = turns[order], squares[order]
    return Candidates(between_whitenings(*whitenings, turns), np.sqrt(squares), np.linalg.det(turns) < 0)


def _well_apart(orthogonal: Array, squares: Array, n_best: int) -> list[int]:
    """Positions of the best matrices, no two of them within 10 degrees."""
    chosen: list[int] = []
    for n in np.argsort(squares, kind="stable"):
        if all(np.sum(orthogonal[n] * orthogonal[other]) < SAME_TRACE for other in chosen):
            chosen.append(int(n))
    return chosen[:n_best]
