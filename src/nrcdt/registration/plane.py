"""Registration in the plane: the whitened measures are turned onto each other, the whitenings do the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..alignment import DirectionSpectrum, alignments, direction_spectrum
from ..arrays import Array
from ..frames import Whitening, whitening
from ..measures import pack, pixel_side
from ..plan import Plan
from ..rasters import inverse
from .affine import Candidates, apply_affine, between_whitenings

OUTLYING = 2.5  # standard deviations, from which on ink may be foreign; all of a uniform disc is within 2
TRIMS = 2  # rounds: foreign ink widens the standard deviation by which it is told


class WhitenedSpectrum(NamedTuple):
    """How a measure in the plane is whitened, and its whitened slices as a Fourier series around the circle."""

    whitening: Whitening
    spectrum: DirectionSpectrum


def whitened_spectrum(measure: Any, plan: Plan) -> WhitenedSpectrum:
    """Whiten an image or a cloud in the plane and slice it."""
    white = whitening(measure)
    return WhitenedSpectrum(white, direction_spectrum(plan.quantiles(pack([measure])), white.matrix[np.newaxis]))


def plane_candidates(
    a: WhitenedSpectrum,
    b: WhitenedSpectrum,
    n_directions: int,
    max_rotation: float | None,
    reflection: bool,
    n_peaks: int,
) -> Candidates:
    """Return the affine maps, at most `n_peaks`, under which the whitened slices of a and b agree best."""
    found = alignments(a.spectrum, b.spectrum, n_directions, max_rotation, reflection, n_peaks)
    squares, angles, reflected = (part[0, 0] for part in found)
    kept = np.isfinite(squares)
    matrices = between_whitenings(a.whitening, b.whitening, orthogonal_matrix(angles[kept], reflected[kept]))
    return Candidates(matrices, np.sqrt(squares[kept]), reflected[kept])


def orthogonal_matrix(angle: Any, reflected: Any) -> Array:
    """Orthogonal matrices that take a direction t to angle + t, or to angle - t if they reflect."""
    cosine, sine, sign = np.cos(angle), np.sin(angle), np.where(reflected, -1.0, 1.0)
    return np.stack([cosine, -sign * sine, sine, sign * cosine], axis=-1).reshape(*np.shape(angle), 2, 2)


def without_outliers(image: Array) -> Array:
    """Drop ink that lies far out in the whitened frame, as foreign ink does; affine maps leave this choice alone."""
    for _ in range(TRIMS):
        rows, columns = np.nonzero(image)
        mean, matrix = whitening(image)
        places = apply_affine(np.stack([columns, rows], axis=1), _centred_map(image.shape))
        far = (((places - mean) @ matrix) ** 2).sum(axis=1) > OUTLYING**2
        image = image.copy()
        image[rows[far], columns[far]] = 0
    return image


def to_pixels(matrices: Array, a: tuple[int, ...], b: tuple[int, ...]) -> Array:
    """Rewrite maps between images of two shapes, centred and scaled, for their pixel coordinates (x, y)."""
    back = inverse(_centred_map(b))
    linear = back[:, :2] @ matrices[:, :, :2]
    shifts = apply_affine(matrices[:, :, 2], back)
    whole = _centred_map(a)
    return np.concatenate([linear @ whole[:, :2], (linear @ whole[:, 2] + shifts)[..., np.newaxis]], axis=2)


def _centred_map(shape: tuple[int, ...]) -> Array:
    """Map from pixel coordinates (x, y) to those in which the longer side spans [-1/sqrt 2, 1/sqrt 2]."""
    side = pixel_side(shape)
    return np.column_stack([side * np.eye(2), -side * (np.array(shape[::-1]) - 1) / 2])
