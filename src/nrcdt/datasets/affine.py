"""Images and clouds put through random affine maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..measures import positive_integer
from ..random_maps import moved_about_centre, random_affine, random_affine_3d, sample_rng

MAX_DRAWS = 1000


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
    return eight_bits(moved_about_centre(image, *_map_inside(image, rng, **ranges)))


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
