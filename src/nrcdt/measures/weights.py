"""Weights as shares of one."""

from __future__ import annotations

import numpy as np

from ..slices import Array
from .points import Cloud


def probabilities(cloud: Cloud) -> Array:
    """Return the weights of a cloud, brought to the sum one; equal ones where it has none.

    Examples
    --------
    >>> probabilities(Cloud(np.eye(2), None)), probabilities(Cloud(np.eye(2), np.array([1.0, 3.0])))
    (array([0.5, 0.5]), array([0.25, 0.75]))
    """
    points, weights = cloud
    return np.full(len(points), 1 / len(points)) if weights is None else np.asarray(weights / weights.sum())
