"""From quantiles back to an image."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .arrays import Array
from .errors import InputError, LocatedError
from .measures import as_floats, check_shape
from .plan import resolve_directions
from .quantiles import inverse_cdt
from .spaces import SPACES
from .spaces.image import filtered_back_projection, strip_count

CANVAS_TOLERANCE = 1e-5


def inverse_rcdt(
    quantiles: Any,
    shape: tuple[int, int],
    *,
    directions: Any = None,
    n_radii: int | Literal["auto"] = "auto",
    reference: Any = "uniform",
) -> Array:
    """Image with this R-CDT, through the inverse CDT of each slice and filtered back projection.

    Parameters
    ----------
    quantiles : array of shape (n_directions, n_quantiles), or (n_samples, n_directions, n_quantiles)
        Not normalised, as `rcdt` returns it.
    shape : (height, width) of the image
    directions : array of shape (n_directions, 2), or (array, weights); equispaced on the circle if left out
    n_radii : strips between the two stages; "auto" as for `radon`
    reference : as for `rcdt`

    Returns
    -------
    array of shape `shape`, or (n_samples, *shape); non-negative, mass one

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((32, 32)); image[10:20, 8:24] = 1 / 160
    >>> from nrcdt import rcdt
    >>> back = inverse_rcdt(rcdt(image[np.newaxis]), (32, 32))[0]
    >>> bool(np.abs(back - image).sum() < 0.15)
    True
    """
    array = as_floats(quantiles, "quantiles")
    if array.ndim not in (2, 3):
        raise InputError(
            "quantiles",
            "have shape (n_directions, n_quantiles) or (n_samples, n_directions, n_quantiles)",
            array.shape,
            "Reshape flattened rows first.",
        )
    unit, weights = resolve_directions(SPACES["image"], 2, array.shape[-2], directions)
    if len(unit) != array.shape[-2]:
        raise InputError(
            "directions", f"be as many as in quantiles, {array.shape[-2]}", len(unit), "Pass the same directions."
        )
    shape = check_shape(shape, "shape")
    n_strips = strip_count(shape, n_radii)
    samples = array if array.ndim == 3 else array[np.newaxis]
    images = np.empty((len(samples), *shape), array.dtype)
    for i, sample in enumerate(samples):
        try:
            images[i] = _invert_one(sample, shape, unit, weights, n_strips, reference)
        except LocatedError as error:
            raise error.about(phrase=f"sample {i}: {error.where.phrase}") from None
    return images if array.ndim == 3 else images[0]


def _invert_one(
    quantiles: Array, shape: tuple[int, int], directions: Array, weights: Array, n_radii: int, reference: Any
) -> Array:
    sinogram = inverse_cdt(quantiles, edges=(-1.0, 1.0), n_radii=n_radii, reference=reference)
    image = np.maximum(filtered_back_projection(sinogram, shape, directions, weights), 0)
    if np.abs(quantiles).max() > 1 + CANVAS_TOLERANCE:
        raise InputError(
            "quantiles",
            "lie on the canvas, in [-1, 1]",
            f"{quantiles.min():.3g} to {quantiles.max():.3g}",
            "Invert what `rcdt` returns, not normalised, and clip what was moved off the canvas.",
        )
    if image.sum() == 0:
        raise InputError(
            "quantiles", "have mass in the image", "none", "Pass the reference, directions and shape of `rcdt`."
        )
    return np.asarray((image / image.sum()).astype(quantiles.dtype))
