"""Affine-invariant features of images, point clouds and rotations by optimal transport on slices."""

import lazy_loader

__version__ = "0.1.0"

# Public names stand in `__init__.pyi`; scikit-learn and numba take a second that `nrcdt --help` need not pay.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
