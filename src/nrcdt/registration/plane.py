"""Registration in the plane: the whitened measures are turned onto each other, the whitenings do the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..alignment import DirectionSpectrum, alignments, direction_spectrum
from ..frames import Whitening, whitening
from ..measures import pack, pixel_side
from ..plan import Plan
from ..slices import Array
from .maps import Candidates, between, inverse

OUTLYING = 2.5
TRIMS = 2


class View(NamedTuple):
    """How a measure is whitened, and its slices around the circle."""

    whitening: Whitening
    spectrum: DirectionSpectrum


def view(measure: Any, plan: Plan) -> View:
    """Look at an image or a cloud in the plane."""
    white = whitening(measure)
    return View(white, direction_spectrum(plan.quantiles(pack([measure])), white.matrix[np.newaxis]))


def plane_candidates(
    a: View, b: View, n_directions: int, max_rotation: float | None, reflection: bool, n_peaks: int = 1
) -> Candidates:
    """Return the affine maps, at most `n_peaks`, under which the whitened slices of a and b agree best."""
    found = alignments(a.spectrum, b.spectrum, n_directions, max_rotation, reflection, n_peaks)
    squares, angles, reflected = (part[0, 0] for part in found)
    kept = np.isfinite(squares)
    turns = [turn(angle, mirrored) for angle, mirrored in zip(angles[kept], reflected[kept], strict=True)]
    matrices = np.stack([between(a.whitening, b.whitening, one) for one in turns])
    return Candidates(matrices, np.sqrt(squares[kept]), reflected[kept])


def turn(angle: float, reflected: bool) -> Array:
    """Orthogonal matrix that takes a direction t to angle + t, or to angle - t if it reflects."""
    sign = -1.0 if reflected else 1.0
    return np.array([[np.cos(angle), -sign * np.sin(angle)], [np.sin(angle), sign * np.cos(angle)]])


def without_outliers(image: Array) -> Array:
    """Drop ink that lies far out in the whitened frame, as foreign ink does; affine maps leave this choice alone."""
    for _ in range(TRIMS):
        rows, columns = np.nonzero(image)
        mean, matrix = whitening(image)
        pixels = _pixels(image.shape)
        places = np.stack([columns, rows], axis=1) @ pixels[:, :2].T + pixels[:, 2]
        far = (((places - mean) @ matrix) ** 2).sum(axis=1) > OUTLYING**2
        image = image.copy()
        image[rows[far], columns[far]] = 0
    return image


def to_pixels(matrices: Array, a: tuple[int, ...], b: tuple[int, ...]) -> Array:
    """Rewrite maps between images of two shapes, centred and scaled, for their pixel coordinates (x, y)."""
    back = inverse(_pixels(b))
    linear = back[:, :2] @ matrices[:, :, :2]
    shifts = matrices[:, :, 2] @ back[:, :2].T + back[:, 2]
    whole = _pixels(a)
    return np.concatenate([linear @ whole[:, :2], (linear @ whole[:, 2] + shifts)[..., np.newaxis]], axis=2)


def _pixels(shape: tuple[int, ...]) -> Array:
    """Map from pixel coordinates (x, y) to those in which the longer side spans [-1/sqrt 2, 1/sqrt 2]."""
    side = pixel_side(shape)
    return np.column_stack([side * np.eye(2), -side * (np.array(shape[::-1]) - 1) / 2])
