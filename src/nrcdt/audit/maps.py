"""Random maps that should leave features alone, in every space that can be audited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..datasets.affine import orthogonal, random_affine, random_linear, warp
from ..measures import Cloud
from ..rasters import box_around, tiles
from ..slices import Array

MAX_SIDE = 256
SCALE, SHEAR = (0.5, 1.0), (-15.0, 15.0)


def ink_only(image: Array) -> Array:
    """Cut an image to the box around its ink, and reduce it by a whole factor to at most 256 pixels, as float32.

    Examples
    --------
    >>> image = np.zeros((1000, 2000)); image[100:400, 500:1000] = 1
    >>> ink_only(image).shape
    (150, 250)
    """
    image = image[box_around(image)]
    side = -(-max(image.shape) // MAX_SIDE)
    whole = np.pad(image, [(0, -n % side) for n in image.shape])
    return np.asarray(tiles(whole, side).mean(axis=(1, 3)), dtype=np.float32)


def _moved_image(image: Array, rng: np.random.Generator) -> Array:
    """Move an image on a canvas that is large enough for it before and after."""
    matrix, shift = random_affine(rng, shift=(-0.5, 0.5))
    half = np.array(image.shape[::-1]) / 2
    # Two pixels more, for the shift and for the smear of interpolation.
    reach = np.abs(matrix) @ half + 2
    x, y = np.ceil(np.maximum(reach - half, 0)).astype(int)
    return warp(np.pad(image, ((y, y), (x, x))), matrix, shift)


def _affine(dimension: int, rng: np.random.Generator) -> Array:
    return random_linear(lambda: orthogonal(dimension, rng), dimension, rng, SCALE, SHEAR)


def _similarity(dimension: int, rng: np.random.Generator) -> Array:
    return rng.uniform(*SCALE) * orthogonal(dimension, rng)


def _moved_by(draw: Callable[[int, np.random.Generator], Array]) -> Callable[[Cloud, np.random.Generator], Cloud]:
    """Return the function that moves clouds by matrices so drawn; shifts are undone to the last digits anyway."""

    def moved(cloud: Cloud, rng: np.random.Generator) -> Cloud:
        points = cloud.points.astype(np.float64)
        return Cloud(points @ draw(points.shape[1], rng).T, cloud.weights)

    return moved


# Unit quaternions are turned from the left and from the right by the rotations of R^4, and inverted by a reflection.
MAPS: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "image": _moved_image,
    "euclidean": _moved_by(_affine),
    "circular": _moved_by(_similarity),
    "rotation": _moved_by(orthogonal),
    "sphere_parallel": _moved_by(orthogonal),
}
