"""One number per place: signals on the line, weights of the vertices of a mesh."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..slices import Array
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
        raise ValueError(
            f"X must be a batch of weights, of shape (n_samples, {n_vertices}); got "
            f"{f'shape {X.shape}' if isinstance(X, np.ndarray) else repr(X)[:60]}. For one sample pass [X]."
        )
    rows = [as_floats(row, f"X[{i}]") for i, row in enumerate(X)]
    for i, row in enumerate(rows):
        if row.shape != (n_vertices,):
            raise ValueError(
                f"X[{i}] must have one weight for each of {n_vertices} vertices; got shape {row.shape}. "
                "Give 0 to vertices without mass."
            )
        low, high = check_finite(row, f"X[{i}]")
        if low < 0 or high == 0:
            raise ValueError(
                f"X[{i}] must hold non-negative weights with positive sum; got a minimum of {low:g} and a maximum of "
                f"{high:g}. Clip them or drop the sample."
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
        raise ValueError(
            f"X must be a batch of signals, of shape (n_samples, length) or a list of one-dimensional arrays; "
            f"got {got}. For one signal pass [X]."
        )
    rows = [_check_signal(row, f"X[{i}]") for i, row in enumerate(X)]
    if not rows:
        raise ValueError("X must hold at least one sample; got none. Pass a batch of signals.")
    return [_gauss_points(row) for row in rows]


def _check_signal(row: Any, name: str) -> Array:
    signal = as_floats(row, name)
    if signal.ndim != 1:
        raise ValueError(
            f"{name} must be a signal, of shape (length,); got shape {signal.shape}. "
            "For one signal pass [X], for pictures take the image space."
        )
    if len(signal) < 2:
        raise ValueError(f"{name} must have at least two samples; got n_features = {len(signal)}. Drop the signal.")
    low, high = check_finite(signal, name)
    if low < 0:
        raise ValueError(
            f"{name} must not have negative mass; got a minimum of {low:g}. "
            "Negative values in data go through nrcdt.signed.Signed: wrap the estimator in it, or shift or clip."
        )
    if high == 0:
        raise ValueError(f"{name} must have positive mass; got a signal of zeros. Drop it.")
    return signal if SMALLEST < high < LARGEST else np.asarray(signal / high)


def _gauss_points(signal: Array) -> Cloud:
    n = len(signal)
    middles = (2 * np.arange(n) + 1 - n) / n
    points = middles[:, np.newaxis] + np.array([-1, 1]) / (math.sqrt(3) * n)
    return Cloud(points.reshape(-1, 1).astype(signal.dtype), np.repeat(signal / 2, 2))
