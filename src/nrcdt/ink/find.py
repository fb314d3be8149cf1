"""From one photograph to its ink."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import find_objects, gaussian_filter, maximum_filter

from ..arrays import Array
from ..errors import InputError
from ..measures import as_floats, check_finite, positive_integer
from ..rasters import check_polarity, reduced
from .laid import find_ripple
from .lines import Line, erase_lines, find_lines, line_pixels, spans_sheet
from .paper import Residual, background, estimate_levels, find_border, find_polarity, flat_paper, paper_samples
from .strokes import Strokes, select_strokes

SMALLEST = 8  # pixels: two squares of paper each way
PAPER = 0.4  # rank of the paper's grey; ink is bright then: where it is dense, the median would be too
UNEVEN = 0.2  # of the ink level: backgrounds that differ less are not worth a word
STICKING_OUT, BESIDE_END = 0.02, 0.1  # of the sheet, along and across: blank paper at either end of a chain line
CLEAR_CONTRAST = 4.0  # standard deviations of noise, as for strokes: ink of so much has a confidence of 1 - 1/e
FEW, MANY = (0.0005, 0.003), (0.25, 0.5)  # of the sheet under ink: nothing to nearly nothing, much to too much
NAMES = {
    "specks": ("speck", "specks"),
    "rests": ("rest of a line", "rests of lines"),
    "groups": ("group away from the motif", "groups away from the motif"),
    "free lines": ("straight line beside the motif", "straight lines beside the motif"),
}


class NoInkError(InputError):
    """A picture in which no ink is found."""


class Ink(NamedTuple):
    """The ink of a photograph, and how it was found.

    Attributes
    ----------
    image : array of shape (height, width), float32
        From 0 for paper to 1 for full ink, soft grey kept, at working resolution.
    polarity : "dark" for dark ink on light paper, or "light"
    confidence : float
        From 0 to 1: the product of four numbers, see `find_ink`.
    steps : tuple of str
        What was done, in plain sentences.
    scale : float
        Working pixels per pixel of the picture, at most 1.
    bar : float or None
        Length of a scale bar that was cut, in pixels of the picture.
    """

    image: Array
    polarity: str
    confidence: float
    steps: tuple[str, ...]
    scale: float
    bar: float | None


class _Sheet(NamedTuple):
    """A picture as ink on paper, and what was learnt on the way."""

    found: Residual
    polarity: str
    clear: float
    border: Array | None
    steps: list[str]


def find_ink(picture: Any, *, polarity: str = "auto", size: int = 256) -> Ink:
    """Find the ink of a drawing or watermark in a photograph.

    Uneven background, a border around the sheet, laid and chain lines in any direction, a ruled frame, specks, scale
    bars and ink far from the motif are removed.

    Parameters
    ----------
    picture : array of shape (height, width)
        Grey values of any range; `nrcdt.files.read_picture` reads files.
    polarity : "auto", "dark" or "light"
        Whether ink is darker or lighter than paper; "auto" finds out.
    size : int
        Pixels of the longest side of the working picture; larger ones are averaged down, smaller ones stay. Strokes
        should be about 2 pixels wide then: choose more for a small mark on a large sheet.

    Returns
    -------
    Ink (image, polarity, confidence, steps, scale, bar)
        The confidence is the product of: how far ink stands out from noise; how clearly one polarity shows (1 if it is
        set); the share of all ink that was kept, where ink on the rim counts half; and whether ink covers a believable
        part of the sheet.

    See Also
    --------
    InkFinder : the same for many pictures, in a pipeline.

    Examples
    --------
    >>> from nrcdt.datasets import photograph, watermarks
    >>> drawings, _ = watermarks(1)
    >>> ink = find_ink(photograph(drawings, "chain_lines", random_state=0)[0])
    >>> ink.polarity, ink.steps[:2]
    ('light', ('light ink on dark paper', '7 chain lines at 1 degree removed'))
    >>> found, true = ink.image > 0.5, drawings[0] > 0.5
    >>> bool((found & true).sum() > 0.9 * (found | true).sum())
    True
    """
    grey, scale = reduced(_check_picture(picture, polarity, size), size)
    sheet = _flatten_sheet(grey, polarity)
    found, strokes, chains, frame = _select_motif(sheet)
    if not strokes.mask.any():
        raise NoInkError(
            "picture",
            "show ink",
            "a sheet on which nothing stands out",
            "Set polarity, cut the picture to the motif, or choose a larger size for thin strokes.",
        )
    steps = [*([f"reduced to {grey.shape[1]} x {grey.shape[0]} pixels"] if scale < 1 else []), *sheet.steps]
    steps += [*_describe_lines(chains, frame), *_describe_strokes(strokes, scale)]
    bar = strokes.bar / scale if strokes.bar else None
    confidence = sheet.clear * _contrast(found) * strokes.share * _believable(strokes.mask.mean())
    return Ink(_soft_ink(found, strokes.mask), sheet.polarity, min(1.0, float(confidence)), tuple(steps), scale, bar)


def _check_picture(picture: Any, polarity: str, size: int) -> Array:
    check_polarity(polarity, "polarity")
    if positive_integer(size, "size", "256 is a good start.") < 32:
        raise InputError("size", "be at least 32 pixels", size, "Thin strokes need room.")
    grey = as_floats(picture, "picture")
    if grey.ndim != 2 or min(grey.shape, default=0) < SMALLEST:
        raise InputError(
            "picture",
            f"be a grey image of at least {SMALLEST} x {SMALLEST} pixels",
            f"shape {grey.shape}",
            "Convert colour pictures to grey, and scan small ones at a higher resolution.",
        )
    low, high = check_finite(grey, "picture")
    return (grey - low) / (high - low) if high > low else np.zeros(grey.shape)


def _flatten_sheet(grey: Array, polarity: str) -> _Sheet:
    """Take away the paper, a border around it and laid lines; turn ink bright."""
    flat, border = flat_paper(grey), find_border(grey)
    if flat is not None:
        deviation = _blank_border(grey - np.float32(flat), border)
        side, clear = _choose_polarity(deviation, polarity)
        found = estimate_levels(deviation if side == "light" else -deviation)
        return _Sheet(found, side, clear, border, _describe_sheet(side, border))
    samples = paper_samples(grey, border)
    rough = _blank_border(grey - background(samples, grey.shape, 0.5, 4), border)
    side, clear = _choose_polarity(gaussian_filter(rough, 1.0), polarity)
    steps = _describe_sheet(side, border)
    sign = 1 if side == "light" else -1
    paper = background(sign * samples, grey.shape, PAPER, 2)
    deviation = sign * grey - paper
    found = estimate_levels(_blank_border(deviation - np.median(deviation[::2, ::2]), border))
    if np.ptp(paper) > UNEVEN * found.level:
        steps.append("uneven background removed")
    ripple = find_ripple(found)
    if ripple is not None:
        steps.append(f"laid lines every {ripple.period:.1f} pixels removed")
        found = estimate_levels(found.image - ripple.image)
    return _Sheet(found, side, clear, border, steps)


def _choose_polarity(deviation: Array, polarity: str) -> tuple[str, float]:
    return find_polarity(deviation) if polarity == "auto" else (polarity, 1.0)


def _blank_border(deviation: Array, border: Array | None) -> Array:
    """Blank the border of a sheet."""
    return deviation if border is None else np.where(border, np.float32(0), deviation)


def _select_motif(sheet: _Sheet) -> tuple[Residual, Strokes, list[Line], list[Line]]:
    """Select strokes after lines across the sheet, and a ruled frame, were taken out; returns both kinds of lines, too.

    What does not stick out of the remaining motif, or stand beside it, was a part of it and is put back.
    """
    lines = find_lines(sheet.found, sheet.border)
    chains = [line for line in lines if spans_sheet(sheet.found, line, sheet.border)]
    frame = [line for line in lines if line not in chains]
    if min(sum(line.across for line in frame), sum(not line.across for line in frame)) < 2:
        frame = []
    while True:
        rest, bands, lines = sheet.found, None, chains + frame
        if lines:
            image, bands = erase_lines(sheet.found, lines)
            rest = estimate_levels(image)
        strokes = select_strokes(rest, lines, bands, sheet.border)
        outer = [line for line in chains if _sticks_out(line, strokes.mask, sheet.border)]
        around = frame if all(_is_beside(line, strokes.mask) for line in frame) else []
        if len(outer + around) == len(lines):
            return rest, strokes, chains, frame
        chains, frame = outer, around


def _sticks_out(line: Line, mask: Array, border: Array | None) -> bool:
    """Tell whether a line leaves the motif behind at both ends: a stroke of a motif cut to its size does not."""
    if not mask.any():
        return False
    mask, border = (mask.T, None if border is None else border.T) if line.across else (mask, border)
    rows, columns = line_pixels(line, mask.shape, border)
    margin, reach = round(STICKING_OUT * max(mask.shape)), round(BESIDE_END * max(mask.shape))
    for y, x in ((rows[0], columns[0]), (rows[-1], columns[-1])):
        if mask[max(y - margin, 0) : y + margin + 1, max(x - reach, 0) : x + reach + 1].any():
            return False
    return True


def _is_beside(line: Line, mask: Array) -> bool:
    """Tell whether the whole motif lies on one side of a line."""
    y, x = np.nonzero(mask.T if line.across else mask)
    side = x - line.start - line.slope * (y - (mask.shape[1 if line.across else 0] - 1) / 2)
    return len(y) > 0 and bool(side.min() > 0 or side.max() < 0)


def _soft_ink(found: Residual, mask: Array) -> Array:
    """Grey of the strokes, with their soft rims, from 0 to 1."""
    rows, columns = find_objects(mask.astype(np.uint8))[0]
    box = slice(max(rows.start - 1, 0), rows.stop + 1), slice(max(columns.start - 1, 0), columns.stop + 1)
    image = np.zeros(mask.shape, np.float32)
    image[box] = np.where(maximum_filter(mask[box], 3), np.clip(found.image[box] / found.level, 0, 1), 0)
    return image


def _contrast(found: Residual) -> float:
    return float(-np.expm1(-((found.level / (CLEAR_CONTRAST * found.noise)) ** 2))) if found.noise else 1.0


def _believable(share: float) -> float:
    """Tell whether strokes cover neither next to nothing nor half of the sheet: 1 in between, 0 beyond."""
    return float(np.interp(share, [*FEW, *MANY], [0.0, 1.0, 1.0, 0.0]))


def _describe_sheet(side: str, border: Array | None) -> list[str]:
    told = ["light ink on dark paper" if side == "light" else "dark ink on light paper"]
    return told + ([] if border is None else ["border around the sheet cut"])


def _describe_lines(chains: list[Line], frame: list[Line]) -> list[str]:
    told = ["ruled frame removed"] if frame else []
    for across in (False, True):
        lines = [line for line in chains if line.across == across]
        if lines:
            angle = _plural(round(lines[0].angle), "degree", "degrees")
            told.append(f"{_plural(len(lines), 'chain line', 'chain lines')} at {angle} removed")
    return told


def _describe_strokes(strokes: Strokes, scale: float) -> list[str]:
    told = [f"{_plural(n, *NAMES[reason])} dropped" for reason, n in strokes.dropped.items() if n]
    told += [f"scale bar of {strokes.bar / scale:.0f} pixels cut"] if strokes.bar else []
    return told + (["motif touches the rim and may be cut off"] if strokes.on_rim else [])


def _plural(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
