"""One number per place: signals on the line, weights of the vertices of a mesh."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, Where
from .points import Cloud
from .values import LARGEST, SMALLEST, as_floats, check_finite, is_rows


def check_vertex_weights(X: Any, n_vertices: int) -> list[Array]:
    """Return non-negative weights from an (n, n_vertices) array, or from a sequence of rows.

    Examples
    --------
    >>> check_vertex_weights([[0, 1, 2]], 3)
    [array([0., 1., 2.])]
    """
    if not is_rows(X) or len(X) == 0:
        raise InputError(
            "X",
            f"be a batch of weights, of shape (n_samples, {n_vertices})",
            f"shape {X.shape}" if isinstance(X, np.ndarray) else repr(X)[:60],
            "For one sample pass [X].",
        )
    rows = [as_floats(row, Where("X", i)) for i, row in enumerate(X)]
    for i, row in enumerate(rows):
        if row.shape != (n_vertices,):
            raise InputError(
                Where("X", i),
                f"have one weight for each of {n_vertices} vertices",
                f"shape {row.shape}",
                "Give 0 to vertices without mass.",
            )
        low, high = check_finite(row, Where("X", i))
        if low < 0 or high == 0:
            raise InputError(
                Where("X", i),
                "hold non-negative weights with positive sum",
                f"a minimum of {low:g} and a maximum of {high:g}",
                "Clip them or drop the sample.",
            )
    return [row if SMALLEST < float(row.max()) < LARGEST else np.asarray(row / row.max()) for row in rows]


def check_signals(X: Any) -> list[Cloud]:
    """Return signals from an (n, length) array, or from a sequence of one-dimensional arrays of any lengths.

    A signal is a piecewise constant density on [-1, 1]. Each of its samples becomes two points with half of its mass,
    where Gauss puts them: mean and covariance of the points are those of the density.

    Examples
    --------
    >>> [signal] = check_signals([[1, 3]])
    >>> signal.points.ravel().round(2), signal.weights
    (array([-0.79, -0.21,  0.21,  0.79]), array([0.5, 0.5, 1.5, 1.5]))
    """
    if isinstance(X, str) or not isinstance(X, Iterable) or getattr(X, "ndim", 2) not in (1, 2):
        got = f"shape {X.shape}" if isinstance(X, np.ndarray) else repr(X)[:60]
        raise InputError(
            "X",
            "be a batch of signals, of shape (n_samples, length) or a list of one-dimensional arrays",
            got,
            "For one signal pass [X].",
        )
    rows = [_check_signal(row, Where("X", i)) for i, row in enumerate(X)]
    if not rows:
        raise InputError("X", "hold at least one sample", "none", "Pass a batch of signals.")
    return [_gauss_points(row) for row in rows]


def _check_signal(row: Any, name: Where | str) -> Array:
    signal = as_floats(row, name)
    if signal.ndim != 1:
        raise InputError(
            name,
            "be a signal, of shape (length,)",
            f"shape {signal.shape}",
            "For one signal pass [X], for pictures take the image space.",
        )
    if len(signal) < 2:
        raise InputError(name, "have at least two samples", f"n_features = {len(signal)}", "Drop the signal.")
    low, high = check_finite(signal, name)
    if low < 0:
        raise InputError(
            name,
            "not have negative mass",
            f"a minimum of {low:g}",
            "Negative values in data go through nrcdt.signed.Signed: wrap the estimator in it, or shift or clip.",
        )
    if high == 0:
        raise InputError(name, "have positive mass", "a signal of zeros", "Drop it.")
    return signal if SMALLEST < high < LARGEST else np.asarray(signal / high)


def _gauss_points(signal: Array) -> Cloud:
    n = len(signal)
    middles = (2 * np.arange(n) + 1 - n) / n
    points = middles[:, np.newaxis] + np.array([-1, 1]) / (math.sqrt(3) * n)
    return Cloud(points.reshape(-1, 1).astype(signal.dtype), np.repeat(signal / 2, 2))
