"""Pictures as grey levels, and as ink on blank paper; how many a file holds."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..ink.plain import check_way, remove_paper
from .checks import TooLarge, check_bytes, check_file, first_line

# Pillow also opens formats that start other programs, such as EPS; none of those here.
PICTURE_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "PPM")
DEEP_MODES = ("F", "I", "I;16", "I;16B", "I;16L")
MEANINGLESS_DPI = (72, 96)  # of screens
MAX_PIXELS = 100_000_000


def read_image(path: Path | str, ink: str = "auto") -> Array:
    """Read a picture as ink on blank paper.

    Parameters
    ----------
    path : PNG, JPEG, TIFF, BMP, GIF, WebP or PGM file
        Colours become grey, transparent parts white, or black if all else is white; of several frames the first is
        taken.
    ink : "auto", "dark", "light", "photograph" or "none"
        Which side of the paper is ink, or how it is found: see `nrcdt.ink.remove_paper`.

    Returns
    -------
    array of shape (height, width), non-negative, 0 where there is paper; in the picture's own grey levels, except for
    photographs, whose ink goes from 0 to 1
    """
    check_way(ink, "ink")
    return remove_paper(read_picture(Path(path))[0], ink)


def read_picture(source: Path | str | bytes) -> tuple[Array, float | None]:
    """Read the grey levels of a picture, and how large its pixels are.

    Parameters
    ----------
    source : PNG, JPEG, TIFF, BMP, GIF, WebP or PGM file, or what such a file holds
        The camera's orientation is applied. Colours become grey, transparent parts white, or black if all else is
        white; of several frames the first is taken.

    Returns
    -------
    grey : array of shape (height, width), float64, in the picture's own grey levels
    millimetres : side of a pixel, where the file states a resolution; None where it does not, or only the 72 or 96
        dots per inch that programs write when they know nothing

    See Also
    --------
    nrcdt.ink.find_ink : the ink of such a picture.
    """
    from PIL import Image, ImageOps

    check_bytes(len(source)) if isinstance(source, bytes) else check_file(source)
    try:
        with warnings.catch_warnings():
            # Pillow warns from 89 megapixels on; the cap here is checked before a pixel is decoded.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            # An open file, not its name: by name Pillow maps pictures into memory, and turned ones come out sheared.
            with (
                BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as file,
                Image.open(file, formats=PICTURE_FORMATS) as picture,
            ):
                if picture.width * picture.height > MAX_PIXELS:
                    raise _too_many_pixels(f"{picture.width} x {picture.height} pixels")
                grey = _grey_levels(ImageOps.exif_transpose(picture))
                millimetres = _pixel_side(picture)
    except Image.DecompressionBombError as error:  # of more than twice the pixels that Pillow opens
        raise _too_many_pixels(first_line(error)) from None
    except Exception as error:  # decoders of damaged files raise whatever comes to their mind
        if isinstance(error, InputError) or getattr(error, "errno", None) is not None:  # the file, not what is in it
            raise
        raise _not_a_picture(error) from error
    if not np.isfinite(grey).all():
        raise InputError("the picture", "have finite grey levels", "NaN or infinity", "Replace these values.")
    return grey, millimetres


def count_pages(path: Path | str) -> int:
    """Return how many pages, or frames, a picture has; `read_picture` takes the first.

    Nothing is decoded. One where the others cannot be counted, since the first could be read.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> target = Path(tempfile.mkdtemp(), "pages.tif")
    >>> page = Image.new("L", (4, 4))
    >>> page.save(target, save_all=True, append_images=[page, page])
    >>> count_pages(target)
    3
    """
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whatever is odd about it was said when the first was read
        try:
            with Path(path).open("rb") as file, Image.open(file, formats=PICTURE_FORMATS) as picture:
                return int(getattr(picture, "n_frames", 1))
        except Exception:  # decoders of damaged files raise whatever comes to their mind
            return 1


def _not_a_picture(error: Exception) -> InputError:
    from PIL import UnidentifiedImageError

    got = "something else" if isinstance(error, UnidentifiedImageError) else first_line(error)
    rule = "be a whole PNG, JPEG, TIFF, BMP, GIF, WebP or PGM file"
    return InputError("the picture", rule, got, "Copy or export it again.")


def _too_many_pixels(got: str) -> TooLarge:
    return TooLarge("the picture", f"have at most {MAX_PIXELS / 1e6:g} megapixels", got, "Scale it down first.")


def _pixel_side(picture: Any) -> float | None:
    """Millimetres of a pixel from the dots per inch that a file states, unless nobody meant them."""
    try:
        across, down = (float(dots) for dots in picture.info.get("dpi", (0, 0)))
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    # Metric files round: 72 dots per inch come back as 71.98. Pixels that are not square have no side.
    meant = np.isfinite(across) and across > 1.5 and all(abs(across - dots) > 0.5 for dots in MEANINGLESS_DPI)
    return 25.4 / across if meant and abs(across - down) <= 0.01 * across else None


def _grey_levels(picture: Any) -> Array:
    """Grey levels of a picture in any mode; where it is transparent, on white paper, or on black to show white ink."""
    from PIL import Image

    if picture.mode in DEEP_MODES:
        return np.asarray(picture, dtype=np.float64)
    if picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        ink = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", ink.size, "white"), ink)
        if picture.convert("L").getextrema() == (255, 255):
            picture = Image.alpha_composite(Image.new("RGBA", ink.size, "black"), ink)
    if picture.mode not in ("1", "L", "P", "RGB"):
        picture = picture.convert("RGB")
    return np.asarray(picture.convert("L"), dtype=np.float64)
