"""The frame in which directions are spread evenly: the fixed one, or the one that makes a measure's covariance one.

An affine map of a measure turns or reflects its whitened version and does nothing else. Directions that are spread
evenly around the whitened measure therefore see the same slices, in another order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .measures import Cloud, pixel_side
from .slices import Array

FRAMES = ("fixed", "whitened")


class Whitening(NamedTuple):
    """The map x -> matrix (x - mean), after which mean and covariance are zero and one; the matrix is symmetric."""

    mean: Array
    matrix: Array


def mean_and_covariance(measure: Array | Cloud) -> tuple[Array, Array]:
    """Return mean and covariance of an image, whose pixels are squares, or of a weighted cloud.

    Examples
    --------
    >>> mean_and_covariance(np.ones((1, 1)))[1] * 12
    array([[2., 0.],
           [0., 2.]])
    """
    if isinstance(measure, Cloud):
        points = measure.points.astype(np.float64)
        weights = np.ones(len(points)) if measure.weights is None else measure.weights.astype(np.float64)
        share = weights / weights.sum()
        mean = share @ points
        centred = points - mean
        return mean, (centred * share[:, np.newaxis]).T @ centred
    return _image_moments(measure)


def centred(cloud: Cloud) -> Cloud:
    """Move the mean of a cloud to the origin, dtype kept.

    Examples
    --------
    >>> centred(Cloud(np.array([[1e9], [1e9 + 2]]), None)).points
    array([[-1.],
           [ 1.]])
    """
    points = cloud.points.astype(np.float64)
    points -= np.average(points, axis=0, weights=cloud.weights)
    return cloud._replace(points=points.astype(cloud.points.dtype, copy=False))


def _image_moments(image: Array) -> tuple[Array, Array]:
    side = pixel_side(image.shape)
    y, x = (side * (np.arange(n) - (n - 1) / 2) for n in image.shape)
    columns, rows = image.sum(axis=0, dtype=np.float64), image.sum(axis=1, dtype=np.float64)
    mass = rows.sum()
    mean = np.array([columns @ x, rows @ y]) / mass
    x, y = x - mean[0], y - mean[1]
    mixed = y @ (image @ x) / mass
    covariance = np.array([[columns @ x**2 / mass, mixed], [mixed, rows @ y**2 / mass]])
    return mean, covariance + side**2 / 12 * np.eye(2)


def whitening(measure: Array | Cloud) -> Whitening:
    """Return the map that makes mean and covariance of a measure zero and one.

    Examples
    --------
    >>> cloud = Cloud(np.random.default_rng(0).normal(size=(9, 2)) * [1, 5], None)
    >>> mean, matrix = whitening(cloud)
    >>> np.cov((cloud.points - mean) @ matrix, rowvar=False, bias=True).round(9) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    mean, covariance = mean_and_covariance(measure)
    variances, axes = np.linalg.eigh(covariance)
    return Whitening(mean, (axes / np.sqrt(variances)) @ axes.T)


class Sight(NamedTuple):
    """Directions of a frame as seen from outside: unit vectors; quantiles are to be shifted, then stretched."""

    directions: Array
    shifts: Array
    stretches: Array


def sight(white: Whitening, directions: Array) -> Sight:
    """Return the directions of a whitened frame in the fixed one; opposite directions stay exactly opposite."""
    vectors = directions @ white.matrix
    half, odd = divmod(len(directions), 2)
    if not odd and np.array_equal(directions[half:], -directions[:half]):
        vectors[half:] = -vectors[:half]
    stretches = np.linalg.norm(vectors, axis=1)
    unit = vectors / stretches[:, np.newaxis]
    return Sight(unit, unit @ white.mean, stretches)
