"""Data to try things on: synthetic watermarks under random affine maps."""

from .synthetic import MOTIFS, distorted, random_affine, warp, watermarks

__all__ = ["MOTIFS", "distorted", "random_affine", "warp", "watermarks"]
