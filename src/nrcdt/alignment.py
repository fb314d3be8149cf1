"""Turning whitened plane measures onto each other: one FFT along the directions gives the best angle.

Let the slices of two whitened measures a and b be equal after a rotation: that of b in direction t is that of a in
direction t - angle. After a reflection, that of b in direction t is that of a in direction angle - t. The correlation
of their quantiles is a trigonometric polynomial in the angle, and the angle sought is where it is largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arrays import Array

OVERSAMPLING = 4
NEWTON_STEPS = 3


class DirectionSpectrum(NamedTuple):
    """Whitened quantiles seen around the circle, ready for comparison, of n measures.

    Attributes
    ----------
    spectrum : array of shape (n, n_frequencies, n_quantiles), Fourier coefficients along the directions
    squares : array of shape (n,), mean squares of the quantiles
    tilt : array of shape (n,), complex; the inverse of the whitening matrix takes z = x + iy to a multiple of
        z + tilt * conj(z)
    """

    spectrum: Array
    squares: Array
    tilt: Array


class Peaks(NamedTuple):
    """Best alignments: the squared distances, the angles between whitened measures, and whether one is mirrored."""

    squares: Array
    angles: Array
    reflected: Array


def direction_spectrum(quantiles: Array, matrices: Array | None = None) -> DirectionSpectrum:
    """Prepare whitened quantiles of shape (n, n_directions, n_quantiles); without whitening matrices nothing tilts."""
    n_directions, n_quantiles = quantiles.shape[1:]
    quantiles = quantiles.astype(np.float64, copy=False)
    spectrum = np.fft.rfft(quantiles, axis=1) / (n_directions * np.sqrt(n_quantiles))
    squares = np.mean(quantiles**2, axis=(1, 2))
    tilt = np.zeros(len(quantiles), complex)
    if matrices is not None:
        across = matrices[:, 0, 1] + matrices[:, 1, 0]
        tilt = -(matrices[:, 0, 0] - matrices[:, 1, 1] + 1j * across) / np.trace(matrices, axis1=1, axis2=2)
    return DirectionSpectrum(spectrum, squares, tilt)


def correlations(a: DirectionSpectrum, b: DirectionSpectrum, n_directions: int, reflection: bool) -> Array:
    """Fourier coefficients, in the angle between them, of the correlation of every a with every b.

    Of shape (n_kinds, n_a, n_b, n_frequencies), without and, if asked for, with a reflection. The correlation at an
    angle is the real part of the sum of coefficients times ``exp(i * frequency * angle)``.
    """
    weights = np.full((a.spectrum.shape[1], 1), 2.0)
    weights[0] = 1
    if n_directions % 2 == 0:
        weights[-1] = 1
    left = (weights * a.spectrum).transpose(1, 0, 2)
    right = b.spectrum.transpose(1, 2, 0)
    kinds = [left.conj() @ right, left @ right] if reflection else [left.conj() @ right]
    return np.stack([products.transpose(1, 2, 0) for products in kinds])


def sample(coefficients: Array, n_angles: int) -> Array:
    """Values of trigonometric polynomials at equispaced angles, along the last axis."""
    halves = coefficients / 2
    halves[..., 0] *= 2
    return np.asarray(np.fft.irfft(halves, n_angles, axis=-1) * n_angles)


def climb(coefficients: Array, angles: Array, low: Array, high: Array, step: float) -> tuple[Array, Array]:
    """Newton steps from angles near maxima of trigonometric polynomials, never below `low` or above `high`.

    Returns the values and the angles; a start is kept where the steps do not lead up.
    """
    frequencies = np.arange(coefficients.shape[-1])

    def terms(at: Array) -> Array:
        powers = np.ones((*at.shape, len(frequencies)), complex)
        powers[..., 1:] = np.exp(1j * at)[..., np.newaxis]
        return np.asarray(coefficients * np.multiply.accumulate(powers, axis=-1))

    start = angles
    for _ in range(NEWTON_STEPS):
        here = terms(angles)
        slope, curvature = -(here.imag @ frequencies), -(here.real @ frequencies**2)
        newton = np.divide(-slope, curvature, out=np.sign(slope) * step, where=curvature < 0)
        angles = np.clip(angles + np.clip(newton, -step, step), low, high)
    before, values = terms(start).real.sum(axis=-1), terms(angles).real.sum(axis=-1)
    return np.maximum(values, before), np.where(values >= before, angles, start)


def peaks(coefficients: Array, low: Array, high: Array, n_angles: int, n_peaks: int = 1) -> tuple[Array, Array]:
    """Highest maxima of trigonometric polynomials between two angles, highest first.

    Parameters
    ----------
    coefficients : array of shape (..., n_frequencies)
    low, high : arrays of shape (...); not further apart than the circle
    n_angles : where to look, before Newton steps
    n_peaks : how many

    Returns
    -------
    values, angles : arrays of shape (..., n_peaks); values are -inf where there are fewer maxima
    """
    step = 2 * np.pi / n_angles
    values = sample(coefficients, n_angles)
    middle = (low + high)[..., np.newaxis] / 2
    grid = middle + (np.arange(n_angles) * step - middle + np.pi) % (2 * np.pi) - np.pi
    # Half a step to spare, so that even a point has a neighbour on the grid.
    values[np.abs(grid - middle) > (high - low)[..., np.newaxis] / 2 + 0.501 * step] = -np.inf
    if n_peaks == 1:
        best = values.argmax(axis=-1)[..., np.newaxis]
    else:
        values[(values < np.roll(values, 1, axis=-1)) | (values < np.roll(values, -1, axis=-1))] = -np.inf
        best = np.argsort(-values, axis=-1, kind="stable")[..., :n_peaks]
    low, high = low[..., np.newaxis], high[..., np.newaxis]
    start = np.clip(np.take_along_axis(grid, best, axis=-1), low, high)
    climbed, angles = climb(coefficients[..., np.newaxis, :], start, low, high, step)
    return np.where(np.isneginf(np.take_along_axis(values, best, axis=-1)), -np.inf, climbed), angles


def allowed_angles(
    a: DirectionSpectrum, b: DirectionSpectrum, max_rotation: float | None, reflection: bool
) -> tuple[Array, Array]:
    """Between which angles of the whitened measures the pictures are turned by at most `max_rotation` degrees.

    The map between the pictures is a stretch, for reflections a left-right mirror, and then a rotation: this rotation
    of the polar decomposition is bounded. It grows with the angle between the whitened measures. Written as
    z -> z + tilt * conj(z), the two whitenings make it the argument of exp(i angle) + c exp(-i angle).

    Returns two arrays of shape (n_kinds, n_a, n_b).
    """
    n_kinds = 2 if reflection else 1
    if max_rotation is None or max_rotation >= 180:
        # Twice the circle: Newton steps may cross its end.
        everything = np.full((n_kinds, len(a.tilt), len(b.tilt)), 2 * np.pi)
        return -everything, everything
    # The tilt of a whitening is minus that of its inverse.
    product = -np.stack([a.tilt.conj(), a.tilt][:n_kinds])[..., np.newaxis] * b.tilt
    middle = np.array([0.0, np.pi][:n_kinds])[:, np.newaxis, np.newaxis]
    reach = np.radians(max_rotation)
    return _angle_of_turn(product, middle - reach), _angle_of_turn(product, middle + reach)


def _angle_of_turn(product: Array, turn: Array) -> Array:
    """Solve ``arg(exp(i angle) + product * exp(-i angle)) = turn`` for the angle nearest to turn."""
    # The imaginary part of exp(-i turn) times the sum has to vanish: a linear equation in cosine and sine.
    ahead, back = np.exp(-1j * turn), np.exp(-1j * turn) * product
    angle = np.arctan2(-(ahead + back).imag, (ahead - back).real)
    angle = angle + np.where(np.cos(angle - turn) < 0, np.pi, 0.0)
    return np.asarray(turn + (angle - turn + np.pi) % (2 * np.pi) - np.pi)


def alignments(
    a: DirectionSpectrum,
    b: DirectionSpectrum,
    n_directions: int,
    max_rotation: float | None,
    reflection: bool,
    n_peaks: int = 1,
) -> Peaks:
    """Best alignments of every a with every b, best first; arrays of shape (n_a, n_b, n_peaks)."""
    coefficients = correlations(a, b, n_directions, reflection)
    limits = allowed_angles(a, b, max_rotation, reflection)
    values, angles = (
        np.concatenate(kinds, axis=-1) for kinds in peaks(coefficients, *limits, OVERSAMPLING * n_directions, n_peaks)
    )
    best = np.argsort(-values, axis=-1, kind="stable")[..., :n_peaks]
    values, angles = np.take_along_axis(values, best, axis=-1), np.take_along_axis(angles, best, axis=-1)
    squares = a.squares[:, np.newaxis, np.newaxis] + b.squares[:, np.newaxis] - 2 * values
    return Peaks(np.maximum(squares, 0), angles, best >= n_peaks)
