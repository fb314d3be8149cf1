"""The frame in which directions are spread evenly: the fixed one, or the one that makes a measure's covariance one.

An affine map of a measure turns or reflects its whitened version and does nothing else. Directions that are spread
evenly around the whitened measure therefore see the same slices, in another order.

Written in the words of the array API: any library's arrays go in and come out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, device

from .arrays import Array
from .directions import opposite_half
from .errors import Where
from .measures import Batch, Cloud, Points, check_rank, each, pixel_side

FRAMES = ("fixed", "whitened")
THIN = 1e-8  # of variances: where they differ so much, half of the digits of the smaller one are lost


class Whitening(NamedTuple):
    """The map x -> matrix (x - mean), after which mean and covariance are zero and one; the matrix is symmetric.

    For a batch both have an axis of samples in front.
    """

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
    if not isinstance(measure, Cloud):
        return _image_moments(measure)
    xp = array_namespace(measure.points)
    points = xp.astype(measure.points, xp.float64)
    if measure.weights is None:
        share = xp.full(points.shape[0], 1 / points.shape[0], dtype=xp.float64, device=device(points))
    else:
        weights = xp.astype(measure.weights, xp.float64)
        share = weights / xp.sum(weights)
    mean = share @ points
    centred = points - mean
    return mean, (centred * share[:, None]).T @ centred


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
    xp = array_namespace(image)
    side = pixel_side(image.shape)
    y, x = (side * (xp.arange(n, dtype=xp.float64, device=device(image)) - (n - 1) / 2) for n in image.shape)
    columns, rows = xp.sum(image, axis=0, dtype=xp.float64), xp.sum(image, axis=1, dtype=xp.float64)
    mass = xp.sum(rows)
    mean = xp.stack([columns @ x, rows @ y]) / mass
    x, y = x - mean[0], y - mean[1]
    mixed = y @ (image @ x) / mass
    variances = xp.stack([columns @ x**2 / mass, mixed, mixed, rows @ y**2 / mass])
    return mean, xp.reshape(variances, (2, 2)) + side**2 / 12 * xp.eye(2, dtype=xp.float64, device=device(image))


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
    xp = array_namespace(mean)
    variances, axes = xp.linalg.eigh(covariance)
    if isinstance(measure, Cloud) and not bool(variances[0] > THIN * variances[-1]):
        return Whitening(mean, _inverse_root(measure, mean))
    return Whitening(mean, (axes / xp.sqrt(variances)) @ axes.T)


def _inverse_root(cloud: Cloud, mean: Array) -> Array:
    """Inverse square root of the covariance of a thin cloud, with all digits: no square comes in."""
    xp = array_namespace(cloud.points)
    points = xp.astype(cloud.points, xp.float64) - mean
    weights = xp.ones_like(points[:, 0]) if cloud.weights is None else xp.astype(cloud.weights, xp.float64)
    share = weights / xp.sum(weights)
    _, spreads, axes = xp.linalg.svd(points * xp.sqrt(share)[:, None], full_matrices=False)
    root: Array = (axes.T / spreads) @ axes
    return root


def refuse_flat_clouds(clouds: Points) -> None:
    """Refuse clouds that cannot be whitened, the first by its number."""
    for i, cloud in enumerate(clouds):
        check_rank(
            cloud,
            Where("X", i),
            "Nothing else can be whitened: drop the sample, describe it by fewer coordinates, or take frame='fixed'.",
        )


def whitenings(batch: Batch) -> Whitening:
    """Return the whitening maps of all measures of a batch."""
    means, matrices = zip(*map(whitening, each(batch)), strict=True)
    xp = array_namespace(means[0])
    return Whitening(xp.stack(means), xp.stack(matrices))


class PulledBack(NamedTuple):
    """Directions of whitened frames as seen from outside: unit vectors; quantiles are to be shifted, then stretched.

    Attributes
    ----------
    directions : array of shape (..., n_directions, d)
    shifts, stretches : arrays of shape (..., n_directions)
    """

    directions: Array
    shifts: Array
    stretches: Array


def pull_back(white: Whitening, directions: Array) -> PulledBack:
    """Return the directions of a whitened frame in the fixed one.

    Examples
    --------
    >>> pull_back(Whitening(np.array([1.0, 1.0]), np.diag([2.0, 1.0])), np.eye(2))
    PulledBack(directions=array([[1., 0.],
           [0., 1.]]), shifts=array([1., 1.]), stretches=array([2., 1.]))
    """
    xp = array_namespace(white.matrix)
    mirrored = opposite_half(directions)
    seen = directions[: len(directions) // 2] if mirrored else directions
    vectors = xp.asarray(seen, dtype=xp.float64, device=device(white.matrix)) @ white.matrix
    stretches = xp.sqrt(xp.sum(vectors**2, axis=-1))
    unit = vectors / stretches[..., None]
    shifts = (unit @ white.mean[..., None])[..., 0]
    if not mirrored:
        return PulledBack(unit, shifts, stretches)
    return PulledBack(  # opposite directions stay exactly opposite
        xp.concat([unit, -unit], axis=-2), xp.concat([shifts, -shifts], axis=-1), xp.concat([stretches] * 2, axis=-1)
    )
