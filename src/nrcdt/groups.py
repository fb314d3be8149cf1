"""Which maps leave the features unchanged, for every combination of settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from .aggregate import find_aggregations
from .measures import Cloud, positive_integer
from .normalize import SLICEWISE
from .plan import check_frame, check_normalization, refuse_directions
from .spaces import find_space


def invariance(
    space: Any = "image",
    *,
    frame: str = "fixed",
    normalize: Any = "standardize",
    aggregate: Any = "max",
    dimension: int = 2,
) -> str:
    """Name the group of maps that leave the features of these settings unchanged, or refuse settings as `NRCDT` does.

    The statement is exact for all directions; with finitely many, features converge to it. A function of your own is
    taken at its word: that it treats all directions alike, as an aggregation does.

    Parameters
    ----------
    space, frame, normalize, aggregate : as for `NRCDT`
    dimension : int
        Number of coordinates of clouds: directions have an order around a circle in the plane only.

    Examples
    --------
    >>> invariance()
    'affine maps'
    >>> invariance(aggregate="mean")
    'similarities'
    >>> invariance(aggregate="mean", frame="whitened")
    'affine maps'
    >>> invariance("euclidean", normalize="center")
    'rotations, reflections and shifts'
    """
    found = find_space(space)
    check_frame(frame, found)
    check_normalization(normalize)
    aggregations = find_aggregations(aggregate)
    d = positive_integer(dimension, "dimension", "2 for clouds in the plane.")
    asked = found.dimension(Cloud(np.empty((0, d)), None))  # other spaces have a dimension of their own
    refuse_directions(aggregations, found.directions(8, asked), found)
    if frame == "whitened":
        return found.group  # whatever is done to the slices of the whitened measure, which affine maps only turn
    if normalize in SLICEWISE and all(one.exchange for one in aggregations):
        return found.group
    if normalize is None and found.linear and all(one.average for one in aggregations):
        normalize = "center"  # the shifts of opposite directions cancel
    return found.groups.get(normalize, found.group)
