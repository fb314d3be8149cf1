"""Reading what people have: pictures, tables of points, meshes.

Every reader raises a ValueError that names the rule and the remedy; the name of the file is the caller's to add. Sizes
are checked before anything is decoded, so that a hostile or mistaken file costs no memory.
"""

from .checks import MAX_BYTES
from .kinds import SUFFIXES, Kind, collect, kind_of
from .meshes import read_mesh
from .pictures import MAX_PIXELS, PICTURE_FORMATS, count_pages, read_image, read_picture
from .points import read_cloud

__all__ = [
    "MAX_BYTES",
    "MAX_PIXELS",
    "PICTURE_FORMATS",
    "SUFFIXES",
    "Kind",
    "collect",
    "count_pages",
    "kind_of",
    "read_cloud",
    "read_image",
    "read_mesh",
    "read_picture",
]
