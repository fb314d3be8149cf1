"""From what people have (images, point clouds, rotations) to checked measures.

Every error names the sample, the rule and the remedy. Arrays keep float32; everything else becomes float64, images of
whole numbers not before they are transformed.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from .slices import Array

RANK_TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}
ROTATION_TOLERANCE = 1e-4
SMALLEST, LARGEST = 1e-100, 1e100


class Cloud(NamedTuple):
    """Points with weights; None means equal weights."""

    points: Array
    weights: Array | None


def pixel_side(shape: tuple[int, ...]) -> float:
    """Side of a pixel when the longer side of the image spans [-1/sqrt 2, 1/sqrt 2]."""
    return math.sqrt(2) / max(shape)


def positive_integer(value: Any, name: str, advice: str) -> int:
    """Return a count, or say what is wrong with it."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a positive integer; got {value!r}. {advice}")
    return int(value)


def as_floats(values: Any, name: str) -> Array:
    """Return a float32 or float64 array, without a copy where possible."""
    if issparse(values):
        raise TypeError(f"{name} must be dense; got a sparse matrix. Call its toarray method first.")
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must not be masked; got masked values. Fill them, with 0 for no mass.")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise ValueError("complex data not supported")
        return array if array.dtype in RANK_TOLERANCE else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        got = str(error).rstrip(".")
        raise ValueError(
            f"{name} must hold real numbers in a regular array; got {got}. Convert it to an array of floats first."
        ) from None


def check_finite(array: Array, name: str) -> tuple[float, float]:
    """Return the extremes of an array that has to be finite."""
    low, high = float(array.min()), float(array.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        kind = "NaN" if math.isnan(low) else "infinity"
        raise ValueError(f"{name} must be finite; got {kind}. Replace these values or drop the sample.")
    return low, high


def _check_size(points: Array, name: str) -> None:
    """Refuse coordinates whose squares would leave the range of floating point numbers."""
    size = max(map(abs, check_finite(points, name)))
    if size > 0 and not SMALLEST < size < LARGEST:
        raise ValueError(
            f"{name} must have a size between {SMALLEST:g} and {LARGEST:g}; got {size:g}. Choose other units."
        )


def check_image(image: Any, name: str, *, signed: bool = False) -> Array:
    """Return one image as a two-dimensional float array with finite, non-negative values and positive mass."""
    array = as_floats(image, name)
    high = _check_pixels(array, name, signed)
    return array if signed or SMALLEST < high < LARGEST else np.asarray(array / high)


def _check_pixels(array: Array, name: str, signed: bool = False) -> float:
    """Refuse what is no image, or has no mass to be transported; return the largest value."""
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"{name} must be a two-dimensional image with at least one pixel; got shape {array.shape}. "
            "Convert colour pictures to grey first."
        )
    low, high = check_finite(array, name)
    if low < 0 and not signed:
        raise ValueError(
            f"{name} must not have negative mass; got a minimum of {low:g}. "
            "Negative values in data cannot be transported: shift, clip or take absolute values."
        )
    if high == 0 and not signed:
        raise ValueError(
            f"{name} must have positive mass; got an image of zeros. Drop the empty image, or check that ink is bright."
        )
    return high


def check_shape(shape: Any, name: str) -> tuple[int, int]:
    """Return the height and width of an image as two positive whole numbers."""
    try:
        height, width = map(operator.index, shape)
    except (TypeError, ValueError):
        height = width = 0
    if min(height, width) < 1:
        raise ValueError(
            f"{name} must be two positive whole numbers; got {shape!r}. Give (height, width) of one image."
        )
    return height, width


def images_from_rows(rows: Array, image_shape: tuple[int, int] | None) -> Array:
    """Give flattened rows their two dimensions back."""
    n_rows, n_columns = rows.shape
    if n_columns < 2:
        raise ValueError("X must have at least two pixels per row; got n_features = 1. A single pixel has no shape.")
    side = math.isqrt(n_columns)
    if image_shape is None:
        image_shape = (side, side) if side * side == n_columns else (1, n_columns)
        if n_rows == n_columns and n_rows > 1:
            warnings.warn(
                f"X has shape {rows.shape} and is read as {n_rows} flattened images of shape {image_shape}. "
                "If it is a single image, pass X[numpy.newaxis]; otherwise set image_shape to silence this warning.",
                UserWarning,
                stacklevel=2,
            )
    height, width = check_shape(image_shape, "image_shape")
    if height * width != n_columns:
        raise ValueError(
            f"image_shape must have {n_columns} pixels, as the rows of X do; got {(height, width)}. "
            "Give (height, width) of one image."
        )
    return rows.reshape(n_rows, height, width)


def check_images(X: Any, image_shape: tuple[int, int] | None = None) -> list[Array]:
    """Return images from an (n, height, width) array, from flattened rows, or from a sequence of arrays.

    Arrays of whole numbers are checked and stay what they are: `floats` turns them into floats one by one.

    Examples
    --------
    >>> import numpy as np
    >>> [image.shape for image in check_images([np.ones((2, 3)), np.ones((4, 4))])]
    [(2, 3), (4, 4)]
    >>> check_images(np.ones((5, 9)))[0].shape
    (3, 3)
    """
    if is_rows(X):
        X = images_from_rows(X if _is_compact(X) else as_floats(X, "X"), image_shape)
    samples = _samples(X, "images of shape (height, width)")
    return [_check_compact(image, f"X[{i}]") for i, image in enumerate(samples)]


def _check_compact(image: Any, name: str) -> Array:
    if not _is_compact(image):
        return check_image(image, name)
    _check_pixels(image, name)
    return np.asarray(image)


def _is_compact(array: Any) -> bool:
    """Tell whether an array holds whole numbers or half floats, which become floats when their turn comes."""
    plain = isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray)
    return plain and (array.dtype.kind in "biu" or array.dtype == np.float16)


def floats(measure: Any) -> Any:
    """Return a checked measure in floats, as transforms want it."""
    return measure.astype(np.float64) if _is_compact(measure) else measure


def is_rows(X: Any) -> bool:
    """Tell whether X is a table: one flattened sample per row."""
    if hasattr(X, "__array__"):
        return np.asarray(X).ndim == 2
    return isinstance(X, Sequence) and len(X) > 0 and all(_is_row(row) for row in X)


def _is_row(row: Any) -> bool:
    if hasattr(row, "ndim"):
        return bool(row.ndim == 1)
    return isinstance(row, Sequence) and not isinstance(row, str) and not any(isinstance(x, Sequence) for x in row)


def _samples(X: Any, what: str) -> list[Any]:
    """Split X along its first axis, with a message for people who pass a single sample."""
    if issparse(X):
        raise TypeError("X must be dense; got a sparse matrix. Call its toarray method first.")
    if not isinstance(X, Iterable) or (isinstance(X, np.ndarray) and X.ndim < 3 and X.dtype != object):
        raise ValueError(
            f"X must be a batch of {what}; got {f'shape {X.shape}' if isinstance(X, np.ndarray) else repr(X)[:60]}. "
            "For one sample pass X[numpy.newaxis] or [X]."
        )
    samples = list(X)
    if not samples:
        raise ValueError(f"X must hold at least one sample; got none. Pass a batch of {what}.")
    return samples


def _weighted(sample: Any, name: str) -> tuple[Any, Array | None]:
    """Split (points, weights); a bare array has equal weights."""
    if not (isinstance(sample, tuple) and len(sample) == 2):
        return sample, None
    points, weights = sample
    if weights is None:
        return points, None
    points = as_floats(points, name)
    weights = as_floats(weights, f"the weights of {name}")
    if weights.ndim != 1 or len(weights) != len(points):
        raise ValueError(
            f"the weights of {name} must be one number per point; "
            f"got shape {weights.shape} for {len(points)} points. Pass (points, weights)."
        )
    if len(weights) == 0:
        return points, weights
    low, high = check_finite(weights, f"the weights of {name}")
    if low < 0 or high == 0:
        raise ValueError(
            f"the weights of {name} must be non-negative with positive sum; "
            f"got a minimum of {low:g} and a maximum of {high:g}. Clip them or drop the sample."
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


def _check_rank(cloud: Cloud, name: str) -> None:
    """Refuse clouds in a hyperplane: some slice of them has no spread."""
    dimension = cloud.points.shape[1]
    spreads = _spreads(cloud)
    rounding = 4 * np.finfo(cloud.points.dtype).eps * np.abs(cloud.points).max()
    rank = int((spreads > max(RANK_TOLERANCE[cloud.points.dtype] * spreads[0], rounding)).sum())
    if rank < dimension:
        flat = {0: "a single point", 1: "a line", 2: "a plane"}.get(rank, f"a {rank}-dimensional plane")
        raise ValueError(
            f"{name} must span all {dimension} dimensions; got points on {flat}. "
            "Drop the sample, or describe it by fewer coordinates."
        )


def check_points(
    X: Any, what: str = "clouds of points", convert: Callable[[Array, str], Array] = lambda array, name: array
) -> list[Cloud]:
    """Return clouds from a batch of arrays or (points, weights) pairs; `convert` checks and reshapes each array."""
    clouds = []
    for i, sample in enumerate(_samples(X, what)):
        name = f"X[{i}]"
        raw, weights = _weighted(sample, name)
        points = as_floats(raw, name)
        if points.ndim == 0 or len(points) == 0:
            raise ValueError(f"{name} must hold at least one point; got shape {points.shape}. Drop the sample.")
        _check_size(points, name)
        clouds.append(_drop_weightless(convert(points, name), weights))
    return clouds


def check_clouds(X: Any) -> list[Cloud]:
    """Return clouds from an (n, N, d) array or from a sequence of (N, d) arrays or (points, weights) pairs.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> check_clouds([triangle, (triangle, [1, 2, 3])])[1].weights
    array([1., 2., 3.])
    """
    clouds = check_points(X, "clouds of shape (n_points, d)", _coordinates)
    for i, cloud in enumerate(clouds):
        dimension = clouds[0].points.shape[1]
        if cloud.points.shape[1] != dimension:
            raise ValueError(
                f"X[{i}] must have {dimension} coordinates like X[0]; got {cloud.points.shape[1]}. "
                "Transform clouds of different dimension separately."
            )
        _check_rank(cloud, f"X[{i}]")
    return clouds


def _coordinates(points: Array, name: str) -> Array:
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError(
            f"{name} must be a cloud of shape (n_points, d) with d at least 2; got shape {points.shape}. "
            "One row per point, one column per coordinate."
        )
    return points


def check_rotations(X: Any) -> list[Cloud]:
    """Return clouds of unit quaternions (w, x, y, z) from rotation matrices (N, 3, 3) or quaternions (N, 4).

    Examples
    --------
    >>> import numpy as np
    >>> check_rotations(np.eye(3)[np.newaxis, np.newaxis])[0].points
    array([[1., 0., 0., 0.]])
    """
    return check_points(X, "rotations of shape (n_rotations, 3, 3) or (n_rotations, 4)", _quaternions)


def _quaternions(array: Array, name: str) -> Array:
    if array.shape[1:] == (4,):
        return _of_unit_length(array, name, "quaternions")
    if array.shape[1:] == (3, 3):
        return _quaternions_from_matrices(array, name)
    raise ValueError(
        f"{name} must hold matrices (n_rotations, 3, 3) or unit quaternions (n_rotations, 4); "
        f"got shape {array.shape}. Quaternions are (w, x, y, z)."
    )


def _of_unit_length(vectors: Array, name: str, what: str) -> Array:
    lengths = np.linalg.norm(vectors, axis=1)
    bad = np.flatnonzero(np.abs(lengths - 1) > ROTATION_TOLERANCE)
    if len(bad):
        raise ValueError(
            f"{name} must hold {what} of unit length; got length {lengths[bad[0]]:g} in row {bad[0]}. "
            "Divide each of them by its norm."
        )
    return np.asarray(vectors / lengths[:, np.newaxis])


def _quaternions_from_matrices(matrices: Array, name: str) -> Array:
    gram = matrices @ matrices.transpose(0, 2, 1)
    wrong = np.abs(gram - np.eye(3)).max(axis=(1, 2)) > ROTATION_TOLERANCE
    wrong |= np.linalg.det(matrices) < 0
    if wrong.any():
        raise ValueError(
            f"{name} must hold rotations: orthogonal with determinant +1; "
            f"got another matrix at position {np.flatnonzero(wrong)[0]}. Project it with an SVD, or drop it."
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


def _unit_vectors(points: Array, name: str) -> Array:
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(
            f"{name} must hold points on the sphere, of shape (n_points, 3); got shape {points.shape}. "
            "Turn longitude and latitude into x, y, z first."
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
    for i, cloud in enumerate(clouds):
        dimension = clouds[0].points.shape[1]
        if cloud.points.shape[1] != dimension:
            raise ValueError(
                f"X[{i}] must lie in a space of dimension {dimension} like X[0]; got {cloud.points.shape[1]}. "
                "Points of the Lorentz model have one coordinate more."
            )
    return clouds


def _hyperboloid(points: Array, name: str) -> Array:
    wide = points.astype(np.float64)
    squares = (wide**2).sum(axis=1) if points.ndim == 2 else np.zeros(0)
    in_ball = bool((squares < 1).all())
    if points.ndim != 2 or points.shape[1] < (2 if in_ball else 3):
        raise ValueError(
            f"{name} must hold points of the Poincare ball, of shape (n_points, d), or of the Lorentz model, of shape "
            f"(n_points, d + 1), with d at least 2; got shape {points.shape}. One row per point."
        )
    if in_ball:
        return np.asarray(2 * wide / (1 - squares)[:, np.newaxis], dtype=points.dtype)
    excess = np.abs(2 * wide[:, 0] ** 2 - squares - 1) / squares.clip(1)
    bad = np.flatnonzero((excess > ROTATION_TOLERANCE) | (wide[:, 0] < 0))
    if len(bad):
        row = bad[squares[bad].argmax()]
        raise ValueError(
            f"{name} must hold points shorter than one (Poincare ball), or with first coordinate sqrt(1 + the others "
            f"squared) (Lorentz model); got length {np.sqrt(squares[row]):g} in row {row}. Move it into the ball."
        )
    return points[:, 1:]


def check_vertex_weights(X: Any, n_vertices: int) -> list[Array]:
    """Return non-negative weights from an (n, n_vertices) array, or from a sequence of rows.

    Examples
    --------
    >>> check_vertex_weights([[0, 1, 2]], 3)
    [array([0., 1., 2.])]
    """
    if not is_rows(X) or len(X) == 0:
        raise ValueError(
            f"X must be a batch of weights, of shape (n_samples, {n_vertices}); got "
            f"{f'shape {X.shape}' if isinstance(X, np.ndarray) else repr(X)[:60]}. For one sample pass [X]."
        )
    rows = [as_floats(row, f"X[{i}]") for i, row in enumerate(X)]
    for i, row in enumerate(rows):
        if row.shape != (n_vertices,):
            raise ValueError(f"X[{i}] must have one weight for each of {n_vertices} vertices; got shape {row.shape}.")
        low, high = check_finite(row, f"X[{i}]")
        if low < 0 or high == 0:
            raise ValueError(
                f"X[{i}] must hold non-negative weights with positive sum; got a minimum of {low:g} and a maximum of "
                f"{high:g}. Clip them or drop the sample."
            )
    return [row if SMALLEST < float(row.max()) < LARGEST else np.asarray(row / row.max()) for row in rows]


def check_signals(X: Any) -> list[Cloud]:
    """Return signals from an (n, length) array, or from a sequence of one-dimensional arrays of any lengths.

    A signal is a piecewise constant density on [-1, 1]. Each of its samples becomes two points with half of its mass,
    where Gauss puts them: mean and covariance of the points are those of the density.

    Examples
    --------
    >>> [signal] = check_signals([[1, 3]])
    >>> signal.points.ravel().round(2), signal.weights
    (array([-0.79, -0.21,  0.21,  0.79]), array([0.5, 0.5, 1.5, 1.5]))
    """
    if isinstance(X, str) or not isinstance(X, Iterable) or getattr(X, "ndim", 2) not in (1, 2):
        got = f"shape {X.shape}" if isinstance(X, np.ndarray) else repr(X)[:60]
        raise ValueError(
            f"X must be a batch of signals, of shape (n_samples, length) or a list of one-dimensional arrays; "
            f"got {got}. For one signal pass [X]."
        )
    rows = [_check_signal(row, f"X[{i}]") for i, row in enumerate(X)]
    if not rows:
        raise ValueError("X must hold at least one sample; got none. Pass a batch of signals.")
    return [_gauss_points(row) for row in rows]


def _check_signal(row: Any, name: str) -> Array:
    signal = as_floats(row, name)
    if signal.ndim != 1:
        raise ValueError(
            f"{name} must be a signal, of shape (length,); got shape {signal.shape}. "
            "For one signal pass [X], for pictures take the image space."
        )
    if len(signal) < 2:
        raise ValueError(f"{name} must have at least two samples; got n_features = {len(signal)}. Drop the signal.")
    low, high = check_finite(signal, name)
    if low < 0:
        raise ValueError(
            f"{name} must not have negative mass; got a minimum of {low:g}. "
            "Negative values in data go through nrcdt.signed.Signed: wrap the estimator in it, or shift or clip."
        )
    if high == 0:
        raise ValueError(f"{name} must have positive mass; got a signal of zeros. Drop it.")
    return signal if SMALLEST < high < LARGEST else np.asarray(signal / high)


def _gauss_points(signal: Array) -> Cloud:
    n = len(signal)
    middles = (2 * np.arange(n) + 1 - n) / n
    points = middles[:, np.newaxis] + np.array([-1, 1]) / (math.sqrt(3) * n)
    return Cloud(points.reshape(-1, 1).astype(signal.dtype), np.repeat(signal / 2, 2))
