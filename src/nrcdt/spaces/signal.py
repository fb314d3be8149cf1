"""Signals: piecewise constant densities on [-1, 1], seen from the left and from the right.

The samples of a signal are the strips, so that a slice is the signal itself and `n_radii` has no meaning here. There
are two directions, +1 and -1, whatever `n_directions` says: aggregations over both do not see which way the line runs.
With ``directions=[[1.0]]`` they do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..measures import Cloud
from ..slices import Array, Bins
from .image import opposite_half


def directions(n: int, d: int) -> Array:
    """Return the two directions of the line, of shape (2, 1)."""
    return np.array([[1.0], [-1.0]])


def slices(signal: Cloud, directions: Array, n_radii: Any) -> Bins:
    """Hand out the masses of a signal as they are, or backwards; opposite directions are left to the mirror.

    Examples
    --------
    >>> from nrcdt.measures import check_signals
    >>> [signal] = check_signals([[1, 3, 0]])
    >>> slices(signal, np.array([[-1.0]]), "auto").masses
    array([[0., 3., 1.]])
    """
    masses = 2 * np.asarray(signal.weights, np.float64)[::2]
    mirrored = opposite_half(directions)
    computed = directions[: len(directions) // 2] if mirrored else directions
    return Bins(np.where(computed > 0, masses, masses[::-1]), -1.0, 1.0, mirrored)
