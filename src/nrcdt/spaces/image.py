"""Images: piecewise constant densities in the plane, sliced by the Radon transform in closed form.

The longer side of an image spans [-1/sqrt 2, 1/sqrt 2], so that every shadow lies in [-1, 1]. x runs to the right along
a row, y runs down along a column, as pixel coordinates do.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ..arrays import Array
from ..directions import circle, unit_vectors
from ..errors import InputError
from ..kernels import kernels_for
from ..measures import as_floats, check_finite, check_image, check_shape, pixel_side, positive_integer
from ..slices import PixelDensity

STRIPS_PER_PIXEL = 3


def strip_count(shape: tuple[int, ...], n_radii: int | Literal["auto"]) -> int:
    """Number of strips across [-1, 1]; "auto" makes them about a third of a pixel wide."""
    if isinstance(n_radii, str) and n_radii == "auto":
        return math.ceil(2 * STRIPS_PER_PIXEL / pixel_side(shape))
    return positive_integer(n_radii, "n_radii", "Or say 'auto', which fits most images.")


def _strip_sums(image: Array, directions: Array, n_radii: int, lines: bool) -> Array:
    out = np.empty((len(directions), n_radii))
    kernels = kernels_for(image)
    return np.asarray(kernels.strip_sums(np.ascontiguousarray(image), directions, pixel_side(image.shape), lines, out))


def radon(
    image: Any, directions: Array | int = 256, *, n_radii: int | Literal["auto"] = "auto", lines: bool = False
) -> Array:
    """Radon transform of a piecewise constant image, in closed form.

    Parameters
    ----------
    image : array of shape (height, width)
        Mass of each pixel; may be signed. Zeros cost nothing.
    directions : array of shape (n_directions, 2), or a number of equispaced ones on the circle
    n_radii : number of strips across [-1, 1], or "auto" for strips of about a third of a pixel
    lines : bool
        False gives the mass in every strip. True gives strips of width 0: the density on the middle line of every
        strip, that is the line integral of (mass / pixel area).

    Returns
    -------
    array of shape (n_directions, n_radii)

    Examples
    --------
    >>> import numpy as np
    >>> strips = radon(np.ones((4, 6)), 8, n_radii=20)
    >>> strips.shape, bool(np.allclose(strips.sum(axis=1), 24))
    ((8, 20), True)
    """
    image = check_image(image, "image", signed=True)
    unit = _unit_directions(directions)
    strips = _strip_sums(image, unit, strip_count(image.shape, n_radii), lines)
    return np.asarray(strips, dtype=image.dtype)


def back_projection(
    sinogram: Any,
    shape: tuple[int, int],
    directions: Array | None = None,
    *,
    lines: bool = False,
    average: bool = False,
) -> Array:
    """Adjoint of `radon`: the sum of f times the back projection equals the sum of the radon transform of f times g.

    Parameters
    ----------
    sinogram : array of shape (n_directions, n_radii)
    shape : (height, width) of the image that comes out
    directions : array of shape (n_directions, 2); equispaced on the circle if left out
    lines : as in `radon`
    average : bool
        Divide by the number of directions, as the paper's R* does: each pixel gets the average over the directions of
        what its shadow meets.

    See Also
    --------
    nrcdt.GeneralizedRadon.back_projection : R* at points, for every space and for functions g.

    Examples
    --------
    >>> import numpy as np
    >>> f, g = np.eye(5), np.ones((8, 30))
    >>> left = (radon(f, 8, n_radii=30) * g).sum()
    >>> bool(np.isclose(left, (f * back_projection(g, (5, 5))).sum()))
    True
    """
    sinogram = check_image(sinogram, "sinogram", signed=True)
    unit = _unit_directions(len(sinogram) if directions is None else directions)
    if len(unit) != len(sinogram):
        raise InputError(
            "directions", f"be as many as rows of the sinogram, {len(sinogram)}", len(unit), "Pass the same ones."
        )
    shape = check_shape(shape, "shape")
    out = np.empty(shape)
    kernels_for(out).back_project(np.ascontiguousarray(sinogram, np.float64), unit, pixel_side(shape), lines, out)
    return np.asarray(out / len(unit) if average else out, dtype=sinogram.dtype)


def filtered_back_projection(sinogram: Array, shape: tuple[int, int], directions: Array, weights: Array) -> Array:
    """Approximate inverse of `radon`: strip masses through the ramp filter, then back on the pixels, as masses."""
    n_radii = sinogram.shape[1]
    width = 2 / n_radii
    n = np.arange(n_radii)
    ramp = np.zeros(n_radii)
    ramp[0] = 1 / 4
    ramp[1::2] = -1 / (np.pi * n[1::2]) ** 2
    size = 2 * n_radii
    response = np.fft.rfft(np.concatenate([ramp, [0.0], ramp[:0:-1]]))
    filtered = np.fft.irfft(np.fft.rfft(sinogram, size) * response, size)[:, :n_radii] / width**2
    density = back_projection(np.pi * weights[:, np.newaxis] * filtered, shape, directions)
    return np.asarray(density * pixel_side(shape) ** 2)


def _unit_directions(directions: Array | int) -> Array:
    if isinstance(directions, (int, np.integer)):
        return circle(positive_integer(directions, "directions", "256 is a good start."))
    array = np.ascontiguousarray(as_floats(directions, "directions"), np.float64)
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
        raise InputError(
            "directions",
            "have shape (n_directions, 2), or be their number",
            f"shape {array.shape}",
            "One direction per row.",
        )
    check_finite(array, "directions")
    return unit_vectors(array, "directions")


def densities(images: Array, directions: Array, n_radii: int | Literal["auto"], mirrored: bool) -> PixelDensity:
    """Cut images of one shape into strips (Algorithm 1, line 2), not yet summed."""
    shape = images.shape[1:]
    seen = directions[:, : directions.shape[1] // 2] if mirrored else directions
    return PixelDensity(np.ascontiguousarray(images), seen, pixel_side(shape), strip_count(shape, n_radii), mirrored)
