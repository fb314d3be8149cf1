"""Pages from templates."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment

from ... import pages
from ...arrays import Array
from ...rasters import inverse
from ..calibration import DOUBTFUL
from ..model import METADATA, VERDICTS
from ..ranking import SAME_SIZE
from ..wording import millimetres, motion, svg_matrix, times, turn
from .forms import filter_query
from .pictures import composed
from .security import MAX_UPLOAD
from .session import title_of, version_of

# Marks that share less ink than this are not alike: the map between them, and so their sizes, say little.
ALIKE = 0.5
KEEP = "private, max-age=31536000, immutable"
STATIC = [files(__package__) / "static", pages.STATIC]


def _asset(name: str) -> str:
    """Return the address of a style sheet or a script, which changes with its content."""
    content = next(folder / name for folder in STATIC if (folder / name).is_file()).read_bytes()
    digest = sha256(content).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def back(to_mark: Array) -> str:
    """Return, for SVG, the way from the ink back into the picture."""
    return svg_matrix(inverse(to_mark))


def templates(catalogue_name: str) -> Environment:
    """Return the templates of the pages of one catalogue."""
    environment = pages.environment(__package__)
    used = (back, composed, millimetres, motion, svg_matrix, times, title_of, turn)
    environment.filters |= {one.__name__: one for one in used}
    assets = {name: _asset(name) for name in ("style.css", "page.js", "query.js", "compare.js")}
    environment.globals.update(
        catalogue_name=catalogue_name, asset=assets.__getitem__, version=version_of, filter_query=filter_query
    )
    environment.globals.update(
        METADATA=METADATA, VERDICTS=VERDICTS, SAME_SIZE=SAME_SIZE, ALIKE=ALIKE, DOUBTFUL=DOUBTFUL, MAX_UPLOAD=MAX_UPLOAD
    )
    return environment
