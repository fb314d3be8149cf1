"""Points with weights: in flat space, rotations, on the sphere, in hyperbolic space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InputError, Where, warn, where_of
from .values import LARGEST, RANK_TOLERANCE, SMALLEST, as_floats, check_finite, check_size, samples_of

ROTATION_TOLERANCE = 1e-4
ROUNDINGS = 4  # of the largest coordinate: half of one is lost in each coordinate, and a few more in sums
PICTURE_WIDTH = 8  # pixels: the smallest pictures in use are scanned digits of that size


class Cloud(NamedTuple):
    """Points with weights; None means equal weights."""

    points: Array
    weights: Array | None


def _weighted(sample: Any, name: Where | str) -> tuple[Any, Array | None]:
    """Split (points, weights); a bare array has equal weights."""
    if not (isinstance(sample, tuple) and len(sample) == 2):
        return sample, None
    points, weights = sample
    if weights is None:
        return points, None
    points, weights_of = as_floats(points, name), where_of(name).part("the weights of {}")
    weights = as_floats(weights, weights_of)
    if weights.ndim != 1 or points.ndim == 0 or len(weights) != len(points):
        raise InputError(
            weights_of,
            "be one number per point",
            f"shape {weights.shape} for points of shape {points.shape}",
            "Pass (points, weights).",
        )
    if len(weights) == 0:
        return points, weights
    low, high = check_finite(weights, weights_of)
    if low < 0 or high == 0:
        raise InputError(
            weights_of,
            "be non-negative with positive sum",
            f"a minimum of {low:g} and a maximum of {high:g}",
            "Clip them or drop the sample.",
        )
    return points, weights if SMALLEST < high < LARGEST else np.asarray(weights / high)


def _drop_weightless(points: Array, weights: Array | None) -> Cloud:
    if weights is None or weights.all():
        return Cloud(points, weights)
    return Cloud(points[weights > 0], weights[weights > 0])


def _spreads(cloud: Cloud) -> Array:
    """Root mean square extents of a cloud along its principal axes, largest first."""
    points = cloud.points.astype(np.float64)
    share = np.full(len(points), 1 / len(points)) if cloud.weights is None else cloud.weights / cloud.weights.sum()
    centred = (points - share @ points) * np.sqrt(share)[:, np.newaxis]
    variances = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    if variances[-1] > 1e-8 * variances[0]:
        return np.sqrt(variances)
    return np.pad(np.linalg.svd(centred, compute_uv=False), (0, max(0, points.shape[1] - len(points))))


def rounding(cloud: Cloud) -> float:
    """Return the largest spread that rounded coordinates of this size may make of none."""
    return float(ROUNDINGS * np.finfo(cloud.points.dtype).eps * np.abs(cloud.points).max())


def check_rank(
    cloud: Cloud, name: Where | str, remedy: str = "Drop the sample, or describe it by fewer coordinates."
) -> None:
    """Refuse clouds in a hyperplane, up to rounding: they have no spread across it, and cannot be whitened.

    Examples
    --------
    >>> check_rank(Cloud(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]), None), "the cloud")
    Traceback (most recent call last):
    nrcdt.errors.InputError: the cloud must span all 2 dimensions; got points on a line. Drop the sample, or describe \
it by fewer coordinates.
    """
    dimension = cloud.points.shape[1]
    spreads = _spreads(cloud)
    rank = int((spreads > max(RANK_TOLERANCE[cloud.points.dtype] * spreads[0], rounding(cloud))).sum())
    if rank < dimension:
        if len(cloud.points) <= dimension and dimension >= PICTURE_WIDTH:
            remedy = "Rows are points: transpose it if columns are; for pictures say space='image'."
        flat = {0: "a single point", 1: "a line", 2: "a plane"}.get(rank, f"a {rank}-dimensional plane")
        raise InputError(name, f"span all {dimension} dimensions", f"points on {flat}", remedy)


def _as_it_is(array: Array, name: Where | str) -> Array:
    return array


def check_points(
    X: Any, what: str = "clouds of points", convert: Callable[[Array, Where | str], Array] = _as_it_is
) -> list[Cloud]:
    """Return clouds from a batch of arrays or (points, weights) pairs; `convert` checks and reshapes each array."""
    clouds = []
    for i, sample in enumerate(samples_of(X, what)):
        name = Where("X", i)
        raw, weights = _weighted(sample, name)
        points = as_floats(raw, name)
        if points.ndim == 0 or points.size == 0:
            raise InputError(name, "hold at least one point", f"shape {points.shape}", "Drop the sample.")
        check_size(points, name)
        clouds.append(_drop_weightless(convert(points, name), weights))
    return clouds


def check_clouds(X: Any) -> list[Cloud]:
    """Return clouds from an (n, N, d) array or from a sequence of (N, d) arrays or (points, weights) pairs.

    They may lie on a line or in a single point: what cannot be done with such clouds is refused where it is done.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> check_clouds([triangle, (triangle, [1, 2, 3])])[1].weights
    array([1., 2., 3.])
    """
    clouds = check_points(X, "clouds of shape (n_points, d)", _coordinates)
    _check_dimensions(clouds, "have {} coordinates", "Transform clouds of different dimension separately.")
    if clouds[0].points.shape[1] >= PICTURE_WIDTH and all(map(_looks_like_a_picture, clouds)):
        n, d = clouds[0].points.shape
        warn(f"is read as {n} points with {d} coordinates. For pictures say space='image'.", Where("X", 0))
    return clouds


def _looks_like_a_picture(cloud: Cloud) -> bool:
    """Tell clouds without a negative coordinate, in a space of nearly as many dimensions as they have points.

    So few points hardly tell how a cloud is spread; and pages are rarely more than four times as high as wide.
    """
    points = cloud.points
    return cloud.weights is None and len(points) <= 4 * points.shape[1] and float(points.min()) >= 0


def _check_dimensions(clouds: list[Cloud], rule: str, remedy: str) -> None:
    dimension = clouds[0].points.shape[1]
    for i, cloud in enumerate(clouds):
        if cloud.points.shape[1] != dimension:
            must = rule.format(dimension)
            raise InputError(Where("X", i), f"{must} like X[0]", cloud.points.shape[1], remedy)


def _coordinates(points: Array, name: Where | str) -> Array:
    if points.ndim != 2:
        raise InputError(
            name,
            "be a cloud of shape (n_points, d)",
            f"shape {points.shape}",
            "One row per point, one column per coordinate; one cloud with weights goes as [(points, weights)].",
        )
    return points


def check_rotations(X: Any) -> list[Cloud]:
    """Return clouds of unit quaternions (w, x, y, z) from matrices (N, 3, 3), quaternions (N, 4) or `Rotation` objects.

    Examples
    --------
    >>> import numpy as np
    >>> check_rotations(np.eye(3)[np.newaxis, np.newaxis])[0].points
    array([[1., 0., 0., 0.]])
    """
    what = "rotations of shape (n_rotations, 3, 3) or (n_rotations, 4)"
    return check_points([_without_object(sample) for sample in samples_of(X, what)], what, _quaternions)


def _without_object(sample: Any) -> Any:
    """Return quaternions where SciPy's `Rotation` is, perhaps beside weights."""
    if isinstance(sample, tuple):
        return tuple(map(_without_object, sample))
    return sample.as_quat(scalar_first=True) if hasattr(sample, "as_quat") else sample


def _quaternions(array: Array, name: Where | str) -> Array:
    if array.shape[1:] == (4,):
        return _of_unit_length(array, name, "quaternions")
    if array.shape[1:] == (3, 3):
        return _quaternions_from_matrices(array, name)
    raise InputError(
        name,
        "hold matrices (n_rotations, 3, 3) or unit quaternions (n_rotations, 4)",
        f"shape {array.shape}",
        "Quaternions are (w, x, y, z); a single sample goes as [X].",
    )


def _of_unit_length(vectors: Array, name: Where | str, what: str) -> Array:
    lengths = np.linalg.norm(vectors, axis=1)
    bad = np.flatnonzero(np.abs(lengths - 1) > ROTATION_TOLERANCE)
    if len(bad):
        raise InputError(
            name,
            f"hold {what} of unit length",
            f"length {lengths[bad[0]]:g} in row {bad[0]}",
            "Divide each of them by its norm.",
        )
    return np.asarray(vectors / lengths[:, np.newaxis])


def _quaternions_from_matrices(matrices: Array, name: Where | str) -> Array:
    gram = matrices @ matrices.transpose(0, 2, 1)
    wrong = np.abs(gram - np.eye(3)).max(axis=(1, 2)) > ROTATION_TOLERANCE
    wrong |= np.linalg.det(matrices) < 0
    if wrong.any():
        raise InputError(
            name,
            "hold rotations: orthogonal with determinant +1",
            f"another matrix at position {np.flatnonzero(wrong)[0]}",
            "Project it with an SVD, or drop it.",
        )
    from scipy.spatial.transform import Rotation

    return np.asarray(np.roll(Rotation.from_matrix(matrices).as_quat(), 1, axis=1), dtype=matrices.dtype)


def check_sphere(X: Any) -> list[Cloud]:
    """Return clouds of unit vectors in space from an (n, N, 3) array, or from arrays or (points, weights) pairs.

    Examples
    --------
    >>> check_sphere([[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]])[0].points.shape
    (2, 3)
    """
    return check_points(X, "points on the sphere, of shape (n_points, 3)", _unit_vectors)


def _unit_vectors(points: Array, name: Where | str) -> Array:
    if points.ndim != 2 or points.shape[1] != 3:
        raise InputError(
            name,
            "hold points on the sphere, of shape (n_points, 3)",
            f"shape {points.shape}",
            "Turn longitude and latitude into x, y, z first.",
        )
    return _of_unit_length(points, name, "points")


def check_hyperbolic(X: Any) -> list[Cloud]:
    """Return clouds in hyperbolic space: the last d coordinates of the Lorentz model.

    A cloud comes in the Poincare ball, as (N, d) points shorter than one, or in the Lorentz model, as (N, d + 1) points
    with first coordinate sqrt(1 + the others squared), which are never shorter than one: so nobody has to say which.

    Examples
    --------
    >>> import numpy as np
    >>> in_ball, in_lorentz = [[0.0, 0.5]], [[5 / 3, 0.0, 4 / 3]]
    >>> [cloud.points.round(3) for cloud in check_hyperbolic([in_ball, in_lorentz])]
    [array([[0.   , 1.333]]), array([[0.   , 1.333]])]
    """
    clouds = check_points(X, "points in hyperbolic space, of shape (n_points, d)", _hyperboloid)
    remedy = "Points of the Lorentz model have one coordinate more."
    _check_dimensions(clouds, "lie in a space of dimension {}", remedy)
    return clouds


def _hyperboloid(points: Array, name: Where | str) -> Array:
    wide = points.astype(np.float64)
    squares = (wide**2).sum(axis=1) if points.ndim == 2 else np.zeros(0)
    in_ball = bool((squares < 1).all())
    if points.ndim != 2 or points.shape[1] < (2 if in_ball else 3):
        raise InputError(
            name,
            "hold points of the Poincare ball, of shape (n_points, d), or of the Lorentz model, of shape "
            "(n_points, d + 1), with d at least 2",
            f"shape {points.shape}",
            "One row per point.",
        )
    if in_ball:
        return np.asarray(2 * wide / (1 - squares)[:, np.newaxis], dtype=points.dtype)
    excess = np.abs(2 * wide[:, 0] ** 2 - squares - 1) / squares.clip(1)
    bad = np.flatnonzero((excess > ROTATION_TOLERANCE) | (wide[:, 0] < 0))
    if len(bad):
        row = bad[squares[bad].argmax()]
        raise InputError(
            name,
            "hold points shorter than one (Poincare ball), or with first coordinate sqrt(1 + the others squared) "
            "(Lorentz model)",
            f"length {np.sqrt(squares[row]):g} in row {row}",
            "Move it into the ball.",
        )
    return points[:, 1:]
