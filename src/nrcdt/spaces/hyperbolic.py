"""Hyperbolic space, sliced along geodesics through the mean (Bonet, Chapel, Drumetz, Courty 2023).

Points x are the last d coordinates of the Lorentz model; the first one is t = sqrt(1 + |x|^2). A direction theta is a
point at infinity. Horospherical slices measure how far a point lies from it, by the Busemann function

    b(x, theta) = log(t - <x, theta>),  in the Poincare ball log(|theta - x|^2 / (1 - |x|^2)).

Geodesic slices measure where the point of the geodesic from -theta to theta lies that is closest to x, by its signed
distance from the mean: artanh(<x, theta> / t), which is (b(x, -theta) - b(x, theta)) / 2.

Directions are seen from the mean of the measure (its Lorentz centroid), which every isometry takes along. After that,
isometries only turn and reflect the directions.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..measures import Cloud


def centred(cloud: Cloud) -> Cloud:
    """Move a measure so that its Lorentz centroid becomes the origin."""
    points = cloud.points.astype(np.float64)
    times = _times(points)
    time, mean = np.average(times, weights=cloud.weights), np.average(points, axis=0, weights=cloud.weights)
    length = np.linalg.norm(mean)
    scale = np.sqrt((time - length) * (time + length))
    time, mean = time / scale, mean / scale
    moved = points + np.outer(points @ mean / (1 + time) - times, mean)
    return Cloud(moved.astype(cloud.points.dtype), cloud.weights)


def _times(points: Array) -> Array:
    return np.asarray(np.sqrt(1 + (points**2).sum(axis=1)))


def busemann(points: Array, directions: Array) -> Array:
    """Busemann functions, of shape (n_directions, n_points)."""
    return np.asarray(_busemann(points.astype(np.float64), directions), dtype=points.dtype)


def along_geodesic(points: Array, directions: Array) -> Array:
    """Signed distances along geodesics through the origin, of shape (n_directions, n_points)."""
    wide = points.astype(np.float64)
    return np.asarray((_busemann(wide, -directions) - _busemann(wide, directions)) / 2, dtype=points.dtype)


def _busemann(points: Array, directions: Array) -> Array:
    """Return log(t - <x, theta>), written without the difference of two large numbers that nearly agree."""
    lengths = np.linalg.norm(points, axis=1)
    unit = points / np.maximum(lengths, np.finfo(np.float64).tiny)[:, np.newaxis]
    gaps = sum((unit[:, a] - directions[:, a, np.newaxis]) ** 2 for a in range(points.shape[1]))
    return np.asarray(np.log(1 / (_times(points) + lengths) + lengths * gaps / 2))


def seen_from_the_mean(cloud: Cloud, directions: Array) -> tuple[Cloud, Array]:
    """Look from the mean of the measure, where the directions stand."""
    return centred(cloud), directions
