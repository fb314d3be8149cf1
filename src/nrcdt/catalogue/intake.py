"""From the bytes of a picture file to everything that the catalogue keeps of it."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from ..aggregate import spectrum
from ..arrays import Array
from ..errors import InputError
from ..files import read_picture
from ..ink import Ink, NoInkError, find_ink
from ..measures import pack
from ..plan import Plan
from ..rasters import averaged, box_around, check_polarity, ink_on_paper, reduced

SIZE = 256
# Large enough for a small mark on a large sheet.
CLEAN_SIZE = 4 * SIZE
PREVIEW_SIZE = 320
PREVIEW_QUALITY = 80
MAX_DISCS = 10_000
LARGEST = 1e100  # of a number in settings: no picture has so many pixels, no bar so many millimetres
# In a clean drawing what is fainter than this share of the ink is dirt of the scanner or of JPEG.
FAINT = 0.1

# Frequency 0 is nearly the same for all marks, and those beyond 8 tell drawings apart rather than motifs.
PLAN = Plan.resolve(frame="whitened", n_directions=64, n_quantiles=32, aggregate=["tv", spectrum(8, lowest=1)])
# What a catalogue notes of its features, to be read by people; the digest is what guards it against a mixture.
SETTINGS: dict[str, Any] = {
    "frame": PLAN.frame,
    "n_directions": len(PLAN.directions),
    "n_quantiles": len(PLAN.levels.values),
    "aggregate": [block.aggregation.name for block in PLAN.blocks],
    "frequencies": [1, 8],
    "plan": PLAN.digest,
}
# The plan of catalogues that do not name theirs yet.
FIRST_PLAN = "b7ff72785bafa8396f6247827daa2216"


class Settings(NamedTuple):
    """How a picture is to be read; pixels are those of the upright picture, x to the right and y down.

    Attributes
    ----------
    polarity : "auto", "dark" or "light"
        Which side of the paper is ink.
    crop : (left, top, right, bottom), optional
        The part of the picture that is looked at, in pixels from its corner.
    erase : tuple of (x, y, radius)
        Discs that are painted over with the paper around them before ink is looked for.
    ink : bool
        False for clean drawings: whatever leaves the paper level is ink then.
    bar_mm : float, optional
        Length of the scale bar in the picture, in millimetres.
    """

    polarity: str = "auto"
    crop: tuple[int, int, int, int] | None = None
    erase: tuple[tuple[float, float, float], ...] = ()
    ink: bool = True
    bar_mm: float | None = None


class Prepared(NamedTuple):
    """What the catalogue keeps of a picture.

    Attributes
    ----------
    sha256 : hexadecimal digest of the file
    width, height : of the upright picture, in pixels
    mm_per_pixel : float, or None where neither the file nor a scale bar tells
    mark : array of shape (h, w), uint8
        The ink, bright on 0, cut out; no side is longer than 256 pixels.
    to_mark : (scale, dx, dy)
        A point of the mark is scale times the point of the picture plus (dx, dy), both in pixel coordinates, where the
        centre of the first pixel is (0, 0).
    preview : bytes of a grey JPEG of the picture, no side longer than 320 pixels
    polarity, confidence, steps : what was done to find the ink, and how sure it is
    features : array of shape (p,), float32
    """

    sha256: str
    width: int
    height: int
    mm_per_pixel: float | None
    mark: Array
    to_mark: tuple[float, float, float]
    preview: bytes
    polarity: str
    confidence: float
    steps: tuple[str, ...]
    features: Array

    @property
    def unit(self) -> float | None:
        """Millimetres per pixel of the mark."""
        return None if self.mm_per_pixel is None else self.mm_per_pixel / self.to_mark[0]


def prepare(data: bytes, settings: Settings | None = None) -> Prepared:
    """Read a picture, find its ink, cut it out and describe it.

    Parameters
    ----------
    data : bytes of a PNG, JPEG, TIFF, BMP, GIF, WebP or PGM file
    settings : `Settings`; as they are by default if left out

    Returns
    -------
    Prepared

    Examples
    --------
    >>> from PIL import Image
    >>> file, paper = io.BytesIO(), np.full((40, 60), 250, np.uint8)
    >>> paper[10:30, 20:23] = paper[27:30, 20:50] = 10
    >>> Image.fromarray(paper).save(file, "PNG")
    >>> found = prepare(file.getvalue(), Settings(ink=False))
    >>> found.mark.shape, found.to_mark, found.polarity
    ((22, 32), (1.0, -19.0, -9.0), 'dark')
    """
    settings = check_settings((settings or Settings())._asdict())
    picture, mm_per_pixel = read_picture(data)
    height, width = picture.shape
    start, part = _part(picture, settings)
    ink = find_ink(part, polarity=settings.polarity) if settings.ink else _clean_ink(part, settings.polarity)
    mark, (scale, dx, dy) = cut_mark(ink.image)
    from_left, from_top = (scale * (ink.scale * (0.5 - edge) - 0.5) for edge in start)
    mm_per_pixel, steps = _millimetres(ink, settings, mm_per_pixel)
    return Prepared(
        sha256=sha256(data).hexdigest(),
        width=width,
        height=height,
        mm_per_pixel=mm_per_pixel,
        mark=mark,
        to_mark=(scale * ink.scale, from_left + dx, from_top + dy),
        preview=_preview(picture),
        polarity=ink.polarity,
        confidence=float(ink.confidence),
        steps=steps,
        features=features(mark),
    )


def check_settings(values: Mapping[str, Any]) -> Settings:
    """Return settings from plain data, such as parsed JSON; what is left out is as by default.

    Examples
    --------
    >>> check_settings({"crop": [0, 0, 80, 90]}).crop
    (0, 0, 80, 90)
    """
    if unknown := sorted(set(values) - set(Settings._fields)):
        raise InputError("settings", f"be some of {', '.join(Settings._fields)}", repr(unknown[0]))
    settings = Settings(**values)
    check_polarity(settings.polarity, "polarity")
    edges = () if settings.crop is None else _numbers(settings.crop, 4, "crop")
    listed = isinstance(settings.erase, (list, tuple))
    if not listed or len(settings.erase) > MAX_DISCS:
        got = f"{len(settings.erase)} of them" if listed else repr(settings.erase)
        raise InputError("erase", f"be a list of at most {MAX_DISCS} discs", got, "Use a wider brush.")
    erase = tuple(_numbers(disc, 3, "each disc of erase") for disc in settings.erase)
    bar_mm = settings.bar_mm
    if bar_mm is not None and _numbers([bar_mm], 1, "bar_mm")[0] <= 0:
        raise InputError("bar_mm", "be a positive length in millimetres", bar_mm, "Leave it out if unknown.")
    return settings._replace(crop=tuple(map(math.floor, edges)) or None, erase=erase, ink=bool(settings.ink))


def _numbers(values: Any, n: int, name: str) -> tuple[Any, ...]:
    several = isinstance(values, (list, tuple)) and len(values) == n
    if not several or not all(map(_is_number, values)):
        raise InputError(name, f"be {n} finite number{'s' * (n > 1)}", repr(values), "Leave it out to do without.")
    return tuple(values)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST


def _part(picture: Array, settings: Settings) -> tuple[tuple[int, int], Array]:
    """Paint over discs, then crop: the (left, top) of what comes out, and the part itself."""
    if settings.erase:
        picture = erased(picture, settings.erase)
    if settings.crop is None:
        return (0, 0), picture
    height, width = picture.shape
    left, top, right, bottom = settings.crop
    left, top, right, bottom = max(left, 0), max(top, 0), min(right, width), min(bottom, height)
    if left >= right or top >= bottom:
        rule = f"be (left, top, right, bottom) inside the picture of {width} x {height} pixels"
        raise InputError("crop", rule, settings.crop, "Draw it again.")
    return (left, top), picture[top:bottom, left:right]


def erased(picture: Array, discs: tuple[tuple[float, float, float], ...]) -> Array:
    """Paint over discs (x, y, radius) with the median of the paper around each.

    Examples
    --------
    >>> stained = np.full((9, 9), 7.0); stained[4, 4] = 0
    >>> erased(stained, ((4, 4, 2),)).min()
    np.float64(7.0)
    """
    covered = np.zeros(picture.shape, bool)
    for disc in discs:
        box, distances = _around(disc, disc[2], picture.shape)
        covered[box] |= distances <= disc[2]
    if covered.all():
        raise InputError("erase", "leave some of the picture", "discs that cover all of it", "Paint over less.")
    painted = picture.copy()
    for disc in discs:
        box, distances = _around(disc, disc[2], picture.shape)
        if distances.size:
            painted[box][distances <= disc[2]] = _paper_around(disc, picture, covered)
    return painted


def _around(disc: tuple[float, float, float], reach: float, shape: tuple[int, ...]) -> tuple[Any, Array]:
    """Return the box of pixels within reach of the centre of a disc, and their distances from it."""
    x, y, _ = disc
    # Whatever is left of the picture, or above it, begins at its edge and ends there.
    rows, columns = (
        slice(max(math.ceil(c - reach), 0), max(min(math.floor(c + reach) + 1, n), 0))
        for c, n in zip((y, x), shape, strict=True)
    )
    down, across = np.ogrid[rows, columns]
    return (rows, columns), np.hypot(down - y, across - x)


def _paper_around(disc: tuple[float, float, float], picture: Array, covered: Array) -> Any:
    """Return the median grey of a ring around a disc, so wide that not all of it is painted over as well."""
    reach = 1.5 * disc[2] + 4
    while True:
        box, _ = _around(disc, reach, picture.shape)
        free = ~covered[box]
        if free.mean() > 0.2 or free.shape == picture.shape:
            return np.median(picture[box][free])
        reach *= 2


def _clean_ink(picture: Array, polarity: str) -> Ink:
    """Take for ink whatever leaves the paper level."""
    picture, scale = reduced(picture, CLEAN_SIZE)
    ink, polarity = ink_on_paper(picture, polarity)
    highest = ink.max()
    if not highest > 0:
        raise NoInkError("the picture", "hold ink", "one grey level", "Check polarity, crop and erase.")
    ink = np.where(ink < FAINT * highest, 0, ink / highest)
    return Ink(ink, polarity, 1.0, ("taken for a clean drawing",), scale, None)


def cut_mark(ink: Array) -> tuple[Array, tuple[float, float, float]]:
    """Cut an image of ink, from 0 to 1, to what is in it, with a margin of a pixel; shrink it to 256 pixels if larger.

    Returns
    -------
    mark : array of shape (h, w), uint8, 255 where there is most ink
    to_mark : (scale, dx, dy), from pixels of the image to those of the mark

    Examples
    --------
    >>> image = np.zeros((600, 600)); image[100:501, 200:301] = 1
    >>> mark, to_mark = cut_mark(image)
    >>> mark.shape, np.round(to_mark, 3)
    ((256, 66), array([   0.633, -125.867,  -62.525]))
    """
    seen = ink * 255 >= 0.5
    if not seen.any() or not np.isfinite(ink).all():
        raise NoInkError("the picture", "hold ink", "none", "Check polarity, crop and erase.")
    rows, columns = box_around(seen)
    inside = ink[rows, columns]
    scale = min(1.0, (SIZE - 2) / max(inside.shape))
    # Pixels of the mark are averages over 1 / scale pixels of the image; there is one more of them at either end.
    mark = averaged(inside, *(np.arange(-1, math.ceil(round(n * scale, 6)) + 2) / scale for n in inside.shape))
    dx, dy = (0.5 + scale * (0.5 - side.start) for side in (columns, rows))
    return np.rint(mark * (255 / mark.max())).astype(np.uint8), (scale, dx, dy)


def _millimetres(ink: Ink, settings: Settings, of_file: float | None) -> tuple[float | None, tuple[str, ...]]:
    """Millimetres per pixel, from the scale bar if its length is known, and the steps, which say so."""
    steps = tuple(ink.steps)
    if settings.bar_mm is None:
        return of_file, steps
    if ink.bar is None:
        return of_file, (*steps, "no scale bar was found, so that its length was not used")
    return settings.bar_mm / ink.bar, (*steps, f"a scale bar of {settings.bar_mm:g} mm is {ink.bar:.0f} pixels long")


def _preview(picture: Array) -> bytes:
    """Write a small grey JPEG; levels that are not those of eight bits are stretched."""
    from PIL import Image

    low, high = float(picture.min()), float(picture.max())
    if low < 0 or not 1 < high <= 255:
        picture = (picture - low) * (255 / (high - low or 1))
    image = Image.fromarray(picture.astype(np.uint8))
    image.thumbnail((PREVIEW_SIZE, PREVIEW_SIZE), Image.Resampling.BOX)
    file = io.BytesIO()
    image.save(file, "JPEG", quality=PREVIEW_QUALITY)
    return file.getvalue()


def features(mark: Array) -> Array:
    """Describe a mark, bright ink on 0, by numbers that affine maps leave alone.

    They are of shape (p,), float32, block after block, not scaled to one another.

    Examples
    --------
    >>> mark = np.zeros((40, 40)); mark[5:30, 5:8] = mark[5:8, 5:20] = 1
    >>> a, b = features(mark), features(np.rot90(mark))
    >>> a.shape, bool(np.abs(a - b).max() < 1e-5)
    ((288,), True)
    """
    return np.asarray(PLAN.features(pack([mark.astype(np.float64)]))[0], dtype=np.float32)
