"""Paper that is even, or slopes: level and noise, found without a look at strokes; what stands out is ink."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import label

from ..arrays import Array
from ..errors import InputError
from ..measures import check_finite
from ..measures.paper import CARRIES, SMALLEST_SIDE, corners_of, covers_sheet, mass_on_paper
from .find import NoInkError, find_ink
from .grey import grey_levels
from .paper import NORMAL, estimate_levels

WAYS = ("auto", "dark", "light", "photograph", "none")
SAMPLES = 128  # pixels of a side, at most, that the slope of the paper is fitted to: more make it no steadier
ROUNDS, INLIERS = 8, 3.0  # of the fit, which settles in three or four; standard deviations that count as paper
# Standard deviations of noise, as for strokes: 4 are exceeded by 2 of 65,536 pixels, 2 by some beside any stroke.
LOW_NOISE, HIGH_NOISE = 2.0, 4.0
SPECK = 0.03  # of the ink level: isolated pixels as faint are what compression left; the rim of a stroke is not alone
# Pixels fainter than this part of the ink level are paper, and one standard deviation to either side of it are these
# quantiles of them. One side is enough: where the scanner clipped, there is no other.
FAINT, DEVIATION = 0.25, (0.16, 0.84)
ROUNDING = 1e-6  # of the ink level: what float32 leaves of a plane that is subtracted


def remove_paper(picture: Any, ink: str = "auto") -> Array:
    """Return a picture as ink on blank paper: bright where ink is, exactly 0 elsewhere.

    Parameters
    ----------
    picture : array of shape (height, width), or in colour (height, width, 3 or 4)
        Whole numbers, floats or booleans of any range. Colours become grey; what is transparent becomes white, or black
        if all else is white.
    ink : "auto", "dark", "light", "photograph" or "none"
        Which side of the paper is ink; "auto" takes the side that deviates more. "photograph" hands the picture to
        `find_ink`, "none" takes all grey for ink.

    Returns
    -------
    array of shape (height, width), float32 or float64
        In grey levels of the picture, without those of the paper. With "photograph", what `find_ink` returns.

    Notes
    -----
    The paper is the plane through the median grey: a veil may be even, slope, and be noisy. Where it is noisy, ink is
    what exceeds four standard deviations, with all beside it that exceeds two. Drawings on flat paper keep every grey,
    but for isolated pixels of less than 3 % of the ink. A solid shape that covers more than half of the sheet stays
    ink; where it fills the corners, too, only if its side is named.

    See Also
    --------
    PaperRemover : the same for many pictures, in a pipeline.

    Examples
    --------
    >>> scan = np.full((9, 9), 200, np.uint8); scan[2:7, 4] = 50
    >>> remove_paper(scan)[4].tolist()
    [0.0, 0.0, 0.0, 0.0, 150.0, 0.0, 0.0, 0.0, 0.0]
    """
    check_way(ink, "ink")
    grey = grey_levels(picture, "picture")
    if ink == "photograph":
        return _found(grey)
    low, high = check_finite(grey, "picture")
    if ink == "none":
        return grey
    sides = ("light", "dark") if ink == "auto" else (ink,)
    for side in sides:
        bright = grey - low if side == "light" else high - grey
        if _mostly_ink(bright, blank_corners=ink == "auto"):
            return bright
    deviation = grey - _paper(grey)
    if ink == "auto":
        ink = "dark" if _energy(-deviation) >= _energy(deviation) else "light"
    return _without_noise(deviation if ink == "light" else -deviation)


def check_way(ink: str, name: str) -> None:
    """Refuse what is no way to ink."""
    if ink not in WAYS:
        raise InputError(name, f"be one of {', '.join(WAYS)}", repr(ink))


def _found(grey: Array) -> Array:
    """Find ink with the settings of `find_ink`, which nobody can change here."""
    try:
        return find_ink(grey).image
    except NoInkError as error:
        remedy = "Cut the picture to the motif, or choose another ink."
        raise NoInkError(error.where, error.rule, error.got, remedy) from None


def _mostly_ink(bright: Array, *, blank_corners: bool) -> bool:
    """Tell whether the median is ink: of solid shapes on blank paper, of which nobody would have to be warned."""
    if min(bright.shape) < SMALLEST_SIDE or np.median(bright) <= CARRIES * bright.mean() or mass_on_paper(bright):
        return False
    # Dense dark ink on bright paper may look like that, too, the wrong way round: then the corners are bright.
    return not blank_corners or bool(np.median(bright[corners_of(*bright.shape)]) <= CARRIES * bright.mean())


def _energy(deviation: Array) -> float:
    ink = np.maximum(deviation, 0)
    return float(np.vdot(ink, ink))


def _paper(grey: Array) -> Any:
    """Return the paper: one grey if half of all pixels have it, else the plane that most pixels lie close to."""
    height, width = grey.shape
    y, x = np.linspace(-1, 1, height)[:, np.newaxis], np.linspace(-1, 1, width)
    some = (slice(None, None, -(-height // SAMPLES)), slice(None, None, -(-width // SAMPLES)))
    values = grey[some].astype(np.float64).ravel()
    rows = np.stack([one[some].ravel() for one in np.broadcast_arrays(np.ones_like(grey), y, x)], axis=1)
    level = np.median(grey)
    if np.count_nonzero(grey == level) * 2 > grey.size:
        return level
    plane = np.array([level, 0.0, 0.0])
    for _ in range(ROUNDS):
        rest = np.abs(values - rows @ plane)
        near = rest <= INLIERS * NORMAL * np.median(rest)
        plane = np.linalg.lstsq(rows[near], values[near], rcond=None)[0]
    return (plane[0] + plane[1] * y + plane[2] * x).astype(grey.dtype)


def _without_noise(deviation: Array) -> Array:
    """Keep what stands out from noise on the side of ink, together with all beside it that may be ink."""
    ink = np.maximum(deviation, 0)
    level = estimate_levels(ink).level
    noise = 0.0
    clipped = min(ink.shape) >= SMALLEST_SIDE and covers_sheet((ink > 0) & (ink <= FAINT * level))
    if clipped or np.count_nonzero(deviation == 0) * 2 <= deviation.size:
        faint = deviation[np.abs(deviation) <= FAINT * level]
        below, above = np.quantile(faint, DEVIATION) if faint.size else (0.0, 0.0)
        noise = max(-below, above, ROUNDING * level)
    pieces, n_pieces = label(ink > LOW_NOISE * noise, np.ones((3, 3)))
    strong = np.zeros(n_pieces + 1, bool)
    strong[pieces[ink > max(HIGH_NOISE * noise, SPECK * level)]] = True
    strong[0] = False
    return np.where(strong[pieces], ink, ink.dtype.type(0))
