"""Signals: piecewise constant densities on [-1, 1], seen from the left and from the right.

The samples of a signal are the strips, so that a slice is the signal itself and `n_radii` has no meaning here. There
are two directions, +1 and -1, whatever `n_directions` says: aggregations over both do not see which way the line runs.
With ``directions=[[1.0]]`` they do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..measures import Points
from ..slices import StripDensity

GROUPS: dict[str | None, str] = {"center": "shifts and reflections", None: "the reflection about the origin"}


def densities(signals: Points, directions: Array, n_radii: Any, mirrored: bool) -> StripDensity:
    """Hand out the masses of signals as they are, or backwards.

    Examples
    --------
    >>> from nrcdt.measures import check_signals, pack
    >>> densities(pack(check_signals([[1, 3, 0]])), np.array([[[-1.0]]]), "auto", False).masses
    [array([[0., 3., 1.]])]
    """
    seen = directions[:, : directions.shape[1] // 2] if mirrored else directions
    each = np.broadcast_to(seen, (len(signals), *seen.shape[1:]))
    masses = [2 * np.asarray(signal.weights, np.float64)[::2] for signal in signals]
    ways = [np.where(one > 0, mass, mass[::-1]) for one, mass in zip(each, masses, strict=True)]
    return StripDensity(ways, mirrored=mirrored, dtype=signals.points.dtype)
