"""How many pictures a file holds."""

from __future__ import annotations

import warnings
from pathlib import Path

from .pictures import PICTURE_FORMATS


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
