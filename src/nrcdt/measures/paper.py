"""Paper that is not exactly zero: images whose blank parts carry mass are named in one warning.

Two looks at each image. The first takes some hundred pixels, of a whole stack at once; drawings, of which little is
ink, are through then. The second takes all pixels of those that are left. A single image passes three functions here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import called, warn

SMALLEST_SIDE = 8  # pixels: below, an eighth of a side is no pixel, and nothing tells paper from ink
# Of the mean; what is brighter carries mass. Paper of just that grey holds 2 % of all mass; a veil of 0.0005, which
# holds little more, costs `max` a sixth of its hits (docs/beyond.md). Rims of blurred letters reach half of that.
CARRIES = 0.02
FAINT = 0.25  # of the brightest pixel: what is darker is a veil, or the rim of a stroke, and not a stroke itself
# Of the pixels in the corners, and of all. Noise around zero, clipped, leaves a half of both; solid letters cut to
# their ink have corners full of ink, which is not faint, and blurred ones faint rims of a quarter of the canvas.
VEILED = 0.4
# Of all pixels and of those in each corner: of noise of a grey level or two, clipped at zero and rounded, 0.23 or more.
# Of drawings cut to their ink an eighth of all may be; of digits made larger more, but there 0.16 of the pixels differ
# from the next one, in noise 0.4.
SPECKLED = 0.2
# The same for bright paper. A solid O cut to its ink has bright corners and three quarters of its pixels; drawings in
# dark ink on bright paper keep nine tenths.
BRIGHT_CORNERS, BRIGHT = 0.9, 0.8
EVEN = 0.5  # of the median, to both sides: 0.4 of all pixels lie there in a veil with blank margins, 0.2 in a bell
GLANCE = 0.3  # of 64 pixels or more: where the share is `VEILED`, or a little more, 1 sample in 20 falls below
NAMED = 3  # samples that a warning lists


class PaperWarning(UserWarning):
    """Images carry mass where paper should be."""


REMEDY = "put nrcdt.ink.PaperRemover() in front"


def warn_of_paper(images: Sequence[Any] | Array, names: Sequence[str] | None = None, remedy: str = REMEDY) -> None:
    """Warn, once, of images that carry mass in their corners, or evenly in most of their pixels.

    Parameters
    ----------
    images : array of shape (n, height, width), or list; what is no image of numbers is passed over
    names : what the images are called; left out, samples of X
    remedy : what to do, after "to subtract paper and turn dark ink bright"

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_paper([np.eye(16), np.eye(16) + 0.02])
    >>> [str(one.message)[:70] for one in caught]
    ['X[1] of 2 images should have paper of exactly 0; got a mean grey of 0.']
    """
    batch = called("X")
    if batch is None:
        return
    found = {i: got for i in _suspects(images) if (got := mass_on_paper(images[i]))}
    if not found:
        return
    calls = [*map(names.__getitem__ if names else f"{batch}[{{}}]".format, found)]
    which = ", ".join(calls[:NAMED]) + f" and {len(calls) - NAMED} more" * (len(calls) > NAMED)
    some = "" if names else f" of {len(images)} image{'s' * (len(images) > 1)}"
    message = (
        f"{which}{some} should have paper of exactly 0; got {next(iter(found.values()))} {calls[0]}. All grey is mass, "
        f"so that it is the sheet that counts. To subtract paper and turn dark ink bright, {remedy}, with 'photograph' "
        "where light is uneven; where grey is meant, ignore nrcdt.measures.PaperWarning."
    )
    warn(message, category=PaperWarning)


def _suspects(images: Sequence[Any] | Array) -> list[int]:
    """Return the positions of images of which a coarse grid of pixels says that they are worth a second look."""
    if isinstance(images, np.ndarray) and len(images) > 1:
        height, width = images.shape[1:]
        if images.dtype.kind not in "biuf" or min(height, width) < SMALLEST_SIDE:
            return []
        carries = images[:, :: height // SMALLEST_SIDE, :: width // SMALLEST_SIDE] > 0
        share, rims = carries.mean(axis=(1, 2)), carries[:, 0].any(axis=1) & carries[:, :, 0].any(axis=1)
        return [*map(int, np.flatnonzero((share >= GLANCE) | ((share >= SPECKLED) & rims)))]
    found = []
    for i, image in enumerate(images):
        plain = isinstance(image, np.ndarray) and image.ndim == 2 and image.dtype.kind in "biuf"
        if plain and min(image.shape) >= SMALLEST_SIDE:
            carries = image[:: image.shape[0] // SMALLEST_SIDE, :: image.shape[1] // SMALLEST_SIDE] > 0
            share = np.count_nonzero(carries) / carries.size
            if share >= GLANCE or (share >= SPECKLED and carries[0].any() and carries[:, 0].any()):
                found.append(i)
    return found


def mass_on_paper(image: Array) -> str:
    """Say which mass an image carries on its paper; nothing where the paper is clean."""
    corners = corners_of(*image.shape)
    with np.errstate(all="ignore"):  # what is not finite is refused elsewhere
        mean, high = float(image.mean(dtype=np.float64)), float(image.max())
        if not float(image.min()) < high:
            return ""
        carries = image > CARRIES * mean
        faint = carries & (image <= FAINT * high)
        veiled = faint.mean() >= VEILED and faint[corners].mean() >= VEILED
        bright = carries.mean() >= BRIGHT and carries[corners].mean() >= BRIGHT_CORNERS
        if veiled or bright or covers_sheet(faint):
            grey = image[corners].mean(dtype=np.float64)
            return f"a mean grey of {grey:.3g}, {high:.3g} at most, in the corners of"
        level = float(np.median(image))
        even = CARRIES * mean < level <= FAINT * high and np.mean(np.abs(image - level) <= EVEN * level) >= VEILED
    return f"a median grey of {level:.3g}, {high:.3g} at most, in" if even else ""


def covers_sheet(faint: Array) -> bool:
    """Tell whether faint pixels are many, also in each corner, and scattered as noise is, or fill the corners."""
    if faint.mean() < SPECKLED:
        return False
    height, width = faint.shape[0] // SMALLEST_SIDE, faint.shape[1] // SMALLEST_SIDE
    least = faint[corners_of(*faint.shape)].reshape(2, height, 2, width).mean(axis=(1, 3)).min()
    return bool(least >= SPECKLED and (least >= VEILED or (faint[:, 1:] != faint[:, :-1]).mean() >= SPECKLED))


@lru_cache
def corners_of(height: int, width: int) -> tuple[Array, ...]:
    """Return the index of the pixels that lie within an eighth of the sides of two edges at once."""
    rows, columns = (np.r_[: n // SMALLEST_SIDE, n - n // SMALLEST_SIDE : n] for n in (height, width))
    return np.ix_(rows, columns)
