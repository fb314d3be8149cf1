"""Pictures in memory as grey levels: whole numbers, floats, booleans, in colour or not, transparent or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..measures import as_floats, refuse_masked

# Brightness of red, green and blue (ITU-R BT.601), in the 65,536ths that Pillow reckons with when it reads a file.
LUMA = np.array([19595.0, 38470.0, 7471.0]) / 65536


def grey_levels(picture: Any, name: str) -> Array:
    """Return the grey levels of a picture as files have them when they are read; floats of 32 bits stay.

    Parameters
    ----------
    picture : array of shape (height, width), (height, width, 3) or (height, width, 4)
    name : what errors call it

    Examples
    --------
    >>> grey_levels(np.array([[[255, 0, 0], [255, 255, 255]]], np.uint8), "picture")
    array([[ 76., 255.]])
    """
    refuse_masked(picture, name)
    whole = np.asarray(picture).dtype.kind in "biu"
    array = as_floats(picture, name)
    if array.size and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))):
        if array.ndim == 2:
            return array
        grey = _grey(array[..., :3], whole)
        return grey if array.shape[2] == 3 else _on_paper(grey, array[..., 3], np.asarray(picture).dtype)
    raise InputError(
        name,
        "be a grey picture (height, width), or in colour (height, width, 3 or 4)",
        f"shape {array.shape}",
        "Drop its axis of length one." if 1 in array.shape[2:] else "Pass one array per picture.",
    )


def _grey(colours: Array, whole: bool) -> Array:
    grey = np.asarray(colours @ LUMA.astype(colours.dtype))
    return np.floor(grey + 0.5) if whole else grey


def _on_paper(grey: Array, opacity: Array, dtype: Any) -> Array:
    """Lay a picture on white, or on black if that leaves nothing to be seen."""
    full = float(np.iinfo(dtype).max) if dtype.kind in "iu" else 1.0 if max(opacity.max(), grey.max()) <= 1 else 255.0
    opacity = opacity / full
    on_white = grey * opacity + full * (1 - opacity)
    on_white = np.floor(on_white + 0.5) if dtype.kind in "iu" else on_white
    return np.asarray(grey * opacity if (on_white == full).all() else on_white, grey.dtype)
