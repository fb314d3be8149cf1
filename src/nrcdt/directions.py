"""Sets of directions: spread evenly, deterministic, the same on every machine.

Examples
--------
>>> circle(4).round(12) + 0.0
array([[ 1.,  0.],
       [ 0.,  1.],
       [-1.,  0.],
       [ 0., -1.]])
>>> sphere(100, 3).shape, rotations(100).shape
((100, 3), (100, 4))
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from .arrays import Array
from .errors import InputError

GOLDEN_ANGLE = np.pi * (3 - 5**0.5)  # phi of the paper's Fibonacci points
SUPER_FIBONACCI = 2**0.5, 1.533751168755204288118041  # phi_1, and phi_2: the positive root of phi_2^4 = phi_2 + 4
LENGTH_TOLERANCE = 1e-5
ROUNDING = 1e-12


def unit_vectors(vectors: Array, name: str) -> Array:
    """Return vectors that must have length one with exactly that length: typed or rounded ones are a little off."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    off = float(np.abs(lengths - 1).max())
    if off > LENGTH_TOLERANCE:
        row = int(np.abs(lengths - 1).argmax())
        raise InputError(
            name, "be unit vectors", f"length {lengths[row, 0]:.3g} in row {row}", "Divide each row by its norm."
        )
    return vectors if off < ROUNDING else np.asarray(vectors / lengths)


def circle(n: int) -> Array:
    """Return n equispaced unit vectors on the whole circle, beginning at (1, 0); opposite ones are exactly opposite."""
    angles = 2 * np.pi * np.arange(n) / n
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if n % 2 == 0:
        directions[n // 2 :] = -directions[: n // 2]
    return directions


def fibonacci(n: int) -> Array:
    """Return n points of the Fibonacci lattice on the unit sphere of R^3, each further round by the golden angle.

    Point k is (sqrt(1 - z^2) cos(k phi), sqrt(1 - z^2) sin(k phi), z) with z = 1 - (2 k + 1) / n and phi = pi (3 -
    sqrt 5), as the paper has it.
    """
    k = np.arange(n)
    z = 1 - (2 * k + 1) / n
    angle = k * GOLDEN_ANGLE
    radius = np.sqrt(1 - z**2)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)


def low_discrepancy(n: int, d: int) -> Array:
    """Return n unit vectors of R^d: an additive recurrence in the cube, through the normal quantile, to the sphere.

    The steps are powers of the root g of g^(d + 1) = g + 1, the golden ratio's relatives in higher dimension.
    """
    g = 2.0
    for _ in range(64):
        g = (1 + g) ** (1 / (d + 1))
    steps = g ** -np.arange(1.0, d + 1)
    gaussian = ndtri((0.5 + np.arange(1, n + 1)[:, np.newaxis] * steps) % 1)
    return np.asarray(gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True))


def sphere(n: int, d: int) -> Array:
    """Return n directions in R^d: equispaced (d = 2), Fibonacci (d = 3), low discrepancy (d > 3).

    The line (d = 1) has two directions, +1 and -1, whatever n is.
    """
    if d == 1:
        return np.array([[1.0], [-1.0]])
    if d == 2:
        return circle(n)
    return fibonacci(n) if d == 3 else low_discrepancy(n, d)


def shells(n: int, d: int, radii: Sequence[float] = (0.75,)) -> Array:
    """Return n centres in R^d on concentric shells around the origin: the centres of the circular transform.

    The radii count in units of the measure's root mean square radius.
    """
    sizes = np.diff(np.linspace(0, n, len(radii) + 1).round().astype(int))
    return np.concatenate([radius * sphere(size, d) for radius, size in zip(radii, sizes, strict=True)])


def rotations(n: int) -> Array:
    """Return n unit quaternions (w, x, y, z) of the Super-Fibonacci spiral on SO(3) (Alexa, 2022).

    With s = k + 1/2 and t = s / n, point k is (sqrt(t) sin(2 pi s / phi_1), sqrt(t) cos(2 pi s / phi_1), sqrt(1 - t)
    cos(2 pi s / phi_2), sqrt(1 - t) sin(2 pi s / phi_2)): the Euler parameters (a, b, c, d) of the paper.
    """
    s = np.arange(n) + 0.5
    alpha, beta = (2 * np.pi * s / constant for constant in SUPER_FIBONACCI)
    inner, outer = np.sqrt(s / n), np.sqrt(1 - s / n)
    return np.stack([inner * np.sin(alpha), inner * np.cos(alpha), outer * np.cos(beta), outer * np.sin(beta)], axis=1)


def opposite_half(directions: Array) -> bool:
    """Tell whether the second half of the directions are the opposites of the first: they then cost nothing."""
    half, odd = divmod(len(directions), 2)
    return not odd and bool((directions[half:] == -directions[:half]).all())


def run_around(directions: Array) -> bool:
    """Tell whether plane directions go around the origin once, in order, at one distance: what `tv` needs.

    Those of half a circle do not: the last of them is no neighbour of the first.
    """
    if directions.ndim != 2 or directions.shape[1] != 2 or len(directions) < 2:
        return False
    radii = np.linalg.norm(directions, axis=1)
    angles = np.arctan2(directions[:, 1], directions[:, 0])
    steps = np.diff(angles, append=angles[:1])
    ways = [way % (2 * np.pi) for way in (steps, -steps)]
    once = any(abs(way.sum() - 2 * np.pi) < 1e-6 and way.max() < np.pi + 1e-6 for way in ways)
    return bool(np.ptp(radii) < 1e-9 * radii.max() and once)


def evenly_spread(directions: Array) -> bool:
    """Tell whether directions are spread evenly over a circle, in order, or fill a sphere in space.

    On the sphere this looks at the first two moments only: mean 0, covariance 1/3.
    """
    if directions.ndim != 2 or len(directions) < 2:
        return False
    if directions.shape[1] == 2:
        angles = np.unwrap(np.arctan2(directions[:, 1], directions[:, 0]))
        step = 2 * np.pi / len(directions)
        return run_around(directions) and bool(np.allclose(np.abs(np.diff(angles)), step, atol=1e-6))
    moments = directions.T @ directions / len(directions)
    even = np.abs(directions.mean(axis=0)).max() < 0.1 and np.abs(moments - np.eye(directions.shape[1]) / 3).max() < 0.1
    return bool(directions.shape[1] == 3 and even)
