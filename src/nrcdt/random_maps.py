"""Random maps, drawn and applied. Each space names the one that should leave its features alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .affine_maps import about_centre, in_dtype
from .arrays import Array
from .measures import Cloud
from .rasters import resample

Range = tuple[float, float]
SCALE, SHEAR = (0.5, 1.0), (-15.0, 15.0)  # of the maps that the audit draws


def sample_rng(random_state: int, label: int, index: int) -> np.random.Generator:
    """Random numbers of one sample: the same however many samples and classes are drawn beside it."""
    return np.random.default_rng([random_state, label, index])


def random_affine(
    rng: np.random.Generator,
    *,
    rotation: Range = (0, 360),
    scale: Range = (0.75, 1.0),
    shear: Range = (-30, 30),
    shift: Range = (-20, 20),
    reflect: bool = True,
) -> tuple[Array, Array]:
    """Draw an affine map: scales along both axes, then a shear, perhaps a reflection, a rotation, and a shift.

    Parameters
    ----------
    rng : numpy.random.Generator
    rotation, shear : ranges of angles in degrees
    scale : range of the two scales
    shift : range of the two shifts, in pixels
    reflect : whether every second map, by chance, is mirrored

    Returns
    -------
    matrix : array of shape (2, 2), acting on (x, y)
    shift : array of shape (2,)

    See Also
    --------
    about_centre : the map of pixel coordinates that this is for an image.

    Examples
    --------
    >>> matrix, shift = random_affine(np.random.default_rng(0))
    >>> matrix.shape, shift.shape
    ((2, 2), (2,))
    """
    angle, slope = np.radians([rng.uniform(*rotation), rng.uniform(*shear)])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    mirror = np.diag([-1.0 if reflect and rng.random() < 0.5 else 1.0, 1.0])
    slant = np.array([[1.0, np.tan(slope)], [0.0, 1.0]])
    return turn @ mirror @ slant @ np.diag(rng.uniform(*scale, size=2)), rng.uniform(*shift, size=2)


def moved_about_centre(image: Array, matrix: Array, shift: Array) -> Array:
    """Move an image by x -> matrix x + shift about its centre: `warp` without smoothing, whatever the scale.

    Datasets are made by it, and keep their bits.

    Examples
    --------
    >>> image = np.zeros((5, 5)); image[2, 1] = 1
    >>> np.argwhere(moved_about_centre(image, np.eye(2), [2, 1]))
    array([[3, 3]])
    """
    image = np.asarray(image)
    moved = resample(image.astype(np.float64), about_centre(matrix, shift, image.shape), image.shape)
    return in_dtype(moved, image.dtype)


def orthogonal(dimension: int, rng: np.random.Generator, *n: int) -> Array:
    """Draw rotations, half of them with a reflection, uniformly; of shape (*n, dimension, dimension).

    Q of Gaussian matrices is not uniform by itself: the signs of R's diagonal are undone.
    """
    q, r = np.linalg.qr(rng.normal(size=(*n, dimension, dimension)))
    return np.asarray(q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., np.newaxis, :])


def haar(n_rotations: int, rng: np.random.Generator) -> Array:
    """Rotation matrices of shape (n_rotations, 3, 3), uniformly distributed."""
    q = orthogonal(3, rng, n_rotations)
    return np.asarray(q * np.linalg.det(q)[:, np.newaxis, np.newaxis])


def random_linear(
    turn: Callable[[], Array], dimension: int, rng: np.random.Generator, scale: Range, shear: Range
) -> Array:
    """Draw a linear map: scales along the axes, then shears in degrees of all pairs of axes, then a turn."""
    slant, upper = np.eye(dimension), np.triu_indices(dimension, 1)
    slant[upper] = np.tan(np.radians(rng.uniform(*shear, size=len(upper[0]))))
    return np.asarray(turn() @ slant @ np.diag(rng.uniform(*scale, size=dimension)))


def random_affine_3d(
    rng: np.random.Generator,
    *,
    scale: Range = (0.5, 1.0),
    shear: Range = (-15, 15),
    shift: Range = (-25, 25),
) -> tuple[Array, Array]:
    """Draw an affine map of space: scales along the axes, then a shear, a rotation, and a shift.

    Parameters
    ----------
    rng : numpy.random.Generator
    scale : range of the three scales
    shear : range of the angles, in degrees, of the shears of each pair of axes
    shift : range of the three shifts

    Returns
    -------
    matrix : array of shape (3, 3)
    shift : array of shape (3,)

    Examples
    --------
    >>> matrix, shift = random_affine_3d(np.random.default_rng(0))
    >>> matrix.shape, shift.shape
    ((3, 3), (3,))
    """
    return random_linear(lambda: haar(1, rng)[0], 3, rng, scale, shear), rng.uniform(*shift, size=3)


def moved_image(image: Array, rng: np.random.Generator) -> Array:
    """Move an image on a canvas that is large enough for it before and after."""
    matrix, shift = random_affine(rng, shift=(-0.5, 0.5))
    half = np.array(image.shape[::-1]) / 2
    # Two pixels more, for the shift and for the smear of interpolation.
    reach = np.abs(matrix) @ half + 2
    x, y = np.ceil(np.maximum(reach - half, 0)).astype(int)
    return moved_about_centre(np.pad(image, ((y, y), (x, x))), matrix, shift)


def affine(dimension: int, rng: np.random.Generator) -> Array:
    """Draw a linear map for the audit."""
    return random_linear(lambda: orthogonal(dimension, rng), dimension, rng, SCALE, SHEAR)


def similarity(dimension: int, rng: np.random.Generator) -> Array:
    """Draw a rotation, perhaps with a reflection, and a scale for the audit."""
    return rng.uniform(*SCALE) * orthogonal(dimension, rng)


def moved_cloud(draw: Callable[[int, np.random.Generator], Array], cloud: Cloud, rng: np.random.Generator) -> Cloud:
    """Move a cloud by a matrix so drawn; shifts are undone to the last digits anyway."""
    points = cloud.points.astype(np.float64)
    return Cloud(points @ draw(points.shape[1], rng).T, cloud.weights)
