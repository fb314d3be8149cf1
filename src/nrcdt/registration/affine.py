"""Affine maps as matrices of shape (d, d + 1), which act on a point followed by a one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..frames import Whitening
from ..measures import as_floats


class Candidates(NamedTuple):
    """Maps between two measures, best first: matrices (n, d, d + 1), residuals (n,), and whether they reflect."""

    matrices: Array
    residuals: Array
    reflected: Array


def apply_affine(points: Array, matrix: Array) -> Array:
    """Return points (n, d) after an affine map."""
    return np.asarray(points @ matrix[:, :-1].T + matrix[:, -1])


def between_whitenings(a: Whitening, b: Whitening, orthogonal: Array) -> Array:
    """Return the maps that whiten a, turn it by orthogonal matrices (..., d, d), and undo the whitening of b."""
    linear = np.linalg.inv(b.matrix) @ orthogonal @ a.matrix
    return np.concatenate([linear, (b.mean - linear @ a.mean)[..., np.newaxis]], axis=-1)


def rotation_angle(matrix: Any) -> Array:
    """Degrees by which affine maps turn: each is a stretch, a mirror of x if it reflects, then this rotation.

    For a `Registration`, or matrices of shape (..., d, d + 1) or (..., d + 1, d + 1), with d 2 or 3; the rotation is
    that of the polar decomposition.

    Examples
    --------
    >>> float(rotation_angle(np.array([[0.0, -2.0, 5.0], [1.0, 0.0, 5.0]])))
    90.0
    >>> float(rotation_angle(np.array([[-1.0, 0.0, 5.0], [0.0, 1.0, 5.0]])))
    0.0
    """
    matrix = as_floats(getattr(matrix, "matrix", matrix), "matrix")
    if matrix.shape[-2:] not in ((2, 3), (3, 3), (3, 4), (4, 4)):
        rule = "have shape (..., d, d + 1) or (..., d + 1, d + 1), with d 2 or 3"
        raise InputError("matrix", rule, f"shape {matrix.shape}", "The last column is the shift.")
    matrix = matrix[..., : matrix.shape[-1] - 1, :]
    left, _, right = np.linalg.svd(matrix[..., :-1])
    rotation = left @ right
    rotation[..., 0] *= np.sign(np.linalg.det(rotation))[..., np.newaxis]
    traces = np.trace(rotation, axis1=-2, axis2=-1)
    cosines = traces / 2 if matrix.shape[-2] == 2 else (traces - 1) / 2
    return np.asarray(np.degrees(np.arccos(np.clip(cosines, -1, 1))))
