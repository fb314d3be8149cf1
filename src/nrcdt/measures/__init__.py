"""From what people have (images, point clouds, rotations) to checked measures.

Every error names the sample, the rule and the remedy. Arrays keep float32; everything else becomes float64, images of
whole numbers not before they are transformed.
"""

from .batches import Batch, Measures, Points, cut, dtype_of, each, pack
from .images import (
    batch_of_images,
    check_image,
    check_images,
    check_shape,
    floats,
    images_from_rows,
    looks_like_points,
    pixel_side,
)
from .paper import PaperWarning, warn_of_paper
from .points import (
    Cloud,
    check_clouds,
    check_hyperbolic,
    check_points,
    check_rank,
    check_rotations,
    check_sphere,
    rounding,
)
from .signals import check_signals, check_vertex_weights
from .values import as_floats, check_finite, check_size, float_type, is_rows, positive_integer, refuse_masked

__all__ = [
    "Batch",
    "Cloud",
    "Measures",
    "PaperWarning",
    "Points",
    "as_floats",
    "batch_of_images",
    "check_clouds",
    "check_finite",
    "check_hyperbolic",
    "check_image",
    "check_images",
    "check_points",
    "check_rank",
    "check_rotations",
    "check_shape",
    "check_signals",
    "check_size",
    "check_sphere",
    "check_vertex_weights",
    "cut",
    "dtype_of",
    "each",
    "float_type",
    "floats",
    "images_from_rows",
    "is_rows",
    "looks_like_points",
    "pack",
    "pixel_side",
    "positive_integer",
    "refuse_masked",
    "rounding",
    "warn_of_paper",
]
