"""The two kinds of slice that travel from the spaces to the quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Phi = Callable[[Array, Array], Array]


class Shadows(NamedTuple):
    """Masses of the strips of [-1, 1] that an image casts its shadow on, not yet summed.

    Attributes
    ----------
    image : array of shape (height, width)
    pixel : side of a pixel
    directions : array of shape (n_directions, 2)
    n_strips : int
    """

    image: Array
    pixel: float
    directions: Array
    n_strips: int


class Bins(NamedTuple):
    """Sampled densities: masses of equally wide strips, linear cumulative mass within each.

    Attributes
    ----------
    masses : array of shape (n_directions, n_strips), or the shadows of an image
    lower : where the first strip begins
    upper : where the last strip ends
    mirrored : whether the directions in the array are followed by their opposites, which are not computed
    """

    masses: Array | Shadows
    lower: float = -1.0
    upper: float = 1.0
    mirrored: bool = False


class Atoms(NamedTuple):
    """An empirical measure pushed forward by phi(., direction), not yet evaluated.

    Attributes
    ----------
    points : array of shape (n_points, ...)
    weights : array of shape (n_points,), or None for equal weights
    directions : array of shape (n_directions, ...)
    phi : function of (points, directions) with values of shape (n_directions, n_points)
    """

    points: Array
    weights: Array | None
    directions: Array
    phi: Phi
