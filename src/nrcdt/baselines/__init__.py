"""What the paper compares with: affine moment invariants, and linear optimal transport."""

from .lot import LOT
from .moments import AffineMoments, affine_moments

__all__ = ["LOT", "AffineMoments", "affine_moments"]
