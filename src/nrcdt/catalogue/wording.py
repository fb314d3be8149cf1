"""What an affine map does, in words that a person can check with a ruler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array


class Motion(NamedTuple):
    """What a map of the plane does, in this order: mirror, stretch, shear, turn.

    Attributes
    ----------
    mirrored : whether left and right change places first
    across, down : factors by which x and y are stretched
    shear : pixels by which a point then moves to the right for every pixel further down
    rotation : degrees of the turn that follows, clockwise as seen on the screen, between -180 and 180
    """

    mirrored: bool
    across: float
    down: float
    shear: float
    rotation: float


def motion(matrix: Array) -> Motion:
    """Take apart a map of pixel coordinates, x right and y down: an array of shape (2, 2) or (2, 3).

    Examples
    --------
    A quarter turn clockwise after a stretch by two; and a mirror image:

    >>> [round(float(value), 3) for value in motion(np.array([[0, -1], [2, 0]]))]
    [0.0, 2.0, 1.0, 0.0, 90.0]
    >>> motion(np.array([[-1.0, 0], [0, 1]])).mirrored
    True
    """
    linear = np.array(matrix, dtype=np.float64)[:, :2]
    mirrored = bool(np.linalg.det(linear) < 0)
    if mirrored:
        linear[:, 0] *= -1
    across = float(np.hypot(*linear[:, 0]))
    cosine, sine = linear[:, 0] / across
    along, down = float(linear[:, 1] @ (cosine, sine)), float(linear[:, 1] @ (-sine, cosine))
    return Motion(mirrored, across, down, along / down, float(np.degrees(np.arctan2(sine, cosine))))


def times(stretch: tuple[float, float]) -> str:
    """Say how many times longer lengths become, at least and at most.

    Examples
    --------
    >>> times((1.996, 2.001)), times((0.74, 1.35))
    ('2.00 times', '0.74 to 1.35 times')
    """
    least, most = (f"{factor:.2f}" for factor in stretch)
    return f"{least} times" if least == most else f"{least} to {most} times"


def turn(degrees: float) -> str:
    """Say which way something is turned.

    Examples
    --------
    >>> turn(12.34), turn(-90), turn(0.04)
    ('12.3° clockwise', '90.0° anticlockwise', 'none')
    """
    if abs(degrees) < 0.05:
        return "none"
    return f"{abs(degrees):.1f}° {'clockwise' if degrees > 0 else 'anticlockwise'}"


def millimetres(size: tuple[float, float] | None) -> str:
    """Say how large a mark is on paper, width first.

    Examples
    --------
    >>> millimetres((38.2, 7.04)), millimetres(None)
    ('38 × 7.0 mm', '')
    """
    if size is None:
        return ""
    return " \N{MULTIPLICATION SIGN} ".join(f"{side:.0f}" if side >= 10 else f"{side:.1f}" for side in size) + " mm"


def svg_matrix(matrix: Array) -> str:
    """Write a map of pixel coordinates as SVG does, where the first pixel is centred at (0.5, 0.5) instead of (0, 0).

    Examples
    --------
    >>> svg_matrix(np.array([[2.0, 0, 1], [0, 2.0, 0]]))
    'matrix(2 0 0 2 0.5 -0.5)'
    """
    (a, c, e), (b, d, f) = np.asarray(matrix, dtype=np.float64)
    e, f = e + 0.5 * (1 - a - c), f + 0.5 * (1 - b - d)
    return f"matrix({' '.join(f'{value:.6g}' for value in (a, b, c, d, e, f))})"
