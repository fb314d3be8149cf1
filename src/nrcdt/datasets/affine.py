"""Random affine maps, and what they make of images and clouds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..measures import positive_integer
from ..rasters import resample
from ..slices import Array

MAX_DRAWS = 1000
Range = tuple[float, float]


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


def warp(image: Array, matrix: Array, shift: Array) -> Array:
    """Move an image by x -> matrix x + shift about its centre, with bilinear interpolation and zeros from outside.

    Parameters
    ----------
    image : array of shape (height, width)
    matrix, shift : as `random_affine` returns them, in (x, y)

    Examples
    --------
    >>> image = np.zeros((5, 5)); image[2, 1] = 1
    >>> np.argwhere(warp(image, np.eye(2), [2, 1]))
    array([[3, 3]])
    """
    image, centre = np.asarray(image), (np.array(image.shape[::-1]) - 1) / 2
    moved = resample(image.astype(np.float64), np.column_stack([matrix, centre + shift - matrix @ centre]), image.shape)
    return (moved if image.dtype.kind == "f" else np.rint(moved)).astype(image.dtype)


def distorted(images: Array, n_samples: int, random_state: int | None = None, **ranges: Any) -> tuple[Array, Array]:
    """Put every image through `n_samples` random affine maps that keep its ink on the canvas.

    Parameters
    ----------
    images : array of shape (n_images, height, width)
    n_samples : copies of each image
    random_state : seed
    **ranges : as for `random_affine`

    Returns
    -------
    samples : array of shape (n_images * n_samples, height, width), multiples of 1/255
    labels : array of shape (n_images * n_samples,), positions in `images`

    Examples
    --------
    >>> from nrcdt.datasets import watermarks
    >>> samples, labels = distorted(watermarks(2, size=64)[0], 3, random_state=0, shift=(-5, 5))
    >>> samples.shape, labels
    ((6, 64, 64), array([0, 0, 0, 1, 1, 1]))
    """
    images = check_batch(images, "Pass one image as [image].", fewest=1)
    n_samples = positive_integer(n_samples, "n_samples", "20 is a good start.")
    rng = np.random.default_rng(random_state)
    labels = np.repeat(np.arange(len(images)), n_samples)
    return np.stack([distorted_once(images[label], rng, **ranges) for label in labels]), labels


def check_batch(images: Any, remedy: str = "Pass one image as image[None].", fewest: int = 0) -> Array:
    """Return images of one shape as an array of three axes."""
    array = np.asarray(images)
    if array.ndim != 3 or len(array) < fewest:
        raise InputError("images", "have shape (n_images, height, width)", array.shape, remedy)
    return array


def distorted_once(image: Array, rng: np.random.Generator, **ranges: Any) -> Array:
    """Put one image through one random affine map that keeps its ink on the canvas."""
    return eight_bits(warp(image, *_map_inside(image, rng, **ranges)))


def _map_inside(image: Array, rng: np.random.Generator, **ranges: Any) -> tuple[Array, Array]:
    rows, columns = np.nonzero(image)
    centre = (np.array(image.shape)[::-1] - 1) / 2
    ink = np.stack([columns, rows], axis=1) - centre
    for _ in range(MAX_DRAWS):
        matrix, shift = random_affine(rng, **ranges)
        # One pixel of margin: bilinear interpolation smears the outermost ink that far.
        if np.all(np.abs(ink @ matrix.T + shift) <= centre - 1):
            return matrix, shift
    raise InputError(
        "ranges",
        "let the ink stay on the canvas",
        f"{MAX_DRAWS} maps that push it off",
        "Narrow scale, shear or shift, or pad the images.",
    )


def eight_bits(image: Array) -> Array:
    """Round to multiples of 1/255, so that rounding in the last digit of a float cannot show."""
    return np.asarray(np.round(image * 255) / 255)


def sample_rng(random_state: int, label: int, index: int) -> np.random.Generator:
    """Random numbers of one sample: the same however many samples and classes are drawn beside it."""
    return np.random.default_rng([random_state, label, index])


def haar(n_rotations: int, rng: np.random.Generator) -> Array:
    """Rotation matrices of shape (n_rotations, 3, 3), uniformly distributed."""
    q = orthogonal(3, rng, n_rotations)
    return np.asarray(q * np.linalg.det(q)[:, np.newaxis, np.newaxis])


def orthogonal(dimension: int, rng: np.random.Generator, *n: int) -> Array:
    """Draw rotations, half of them with a reflection, uniformly; of shape (*n, dimension, dimension).

    Q of Gaussian matrices is not uniform by itself: the signs of R's diagonal are undone.
    """
    q, r = np.linalg.qr(rng.normal(size=(*n, dimension, dimension)))
    return np.asarray(q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., np.newaxis, :])


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


def distorted_clouds(
    clouds: Sequence[Array], n_samples: int, random_state: int = 0, **ranges: Any
) -> tuple[list[Array], Array]:
    """Put every cloud through `n_samples` random affine maps of space.

    Parameters
    ----------
    clouds : list of arrays of shape (n_points, 3)
    n_samples : copies of each cloud
    random_state : seed
    **ranges : as for `random_affine_3d`

    Returns
    -------
    samples : list of ``len(clouds) * n_samples`` arrays
    labels : array of shape (n_clouds * n_samples,), positions in `clouds`

    Examples
    --------
    >>> samples, labels = distorted_clouds([np.eye(3), np.ones((5, 3))], 2)
    >>> [sample.shape for sample in samples], labels
    ([(3, 3), (3, 3), (5, 3), (5, 3)], array([0, 0, 1, 1]))
    """
    samples = []
    for label, cloud in enumerate(clouds):
        for index in range(n_samples):
            matrix, shift = random_affine_3d(sample_rng(random_state, label, index), **ranges)
            samples.append(np.asarray(cloud, dtype=np.float64) @ matrix.T + shift)
    return samples, np.repeat(np.arange(len(clouds)), n_samples)
