"""What a registration finds: a map that can be applied, inverted and composed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..measures import as_floats
from ..rasters import inverse
from .affine import apply_affine

Shape = tuple[int, int]


class Registration(NamedTuple):
    """The affine map between two measures a and b, and how well it fits.

    Attributes
    ----------
    matrix : array of shape (d, d + 1)
        Takes a point of a, followed by a one, to a point of b. For images: from pixel coordinates (x, y) of a to those
        of b, where the centre of the first pixel is (0, 0).
    residual : float
        Aligned distance: root mean square difference of whitened quantiles. Of a refined map, that of the alignment
        it started from.
    overlap : float
        Images: intersection over union of the ink of a, moved onto b, and that of b, both widened by 2 pixels. Clouds:
        share of points that have the other cloud nearby. Near 1 for the same thing seen twice.
    reflected : bool
        Whether the map mirrors.
    shapes : ((height, width), (height, width)) or None
        Sizes of the images a and b; None for clouds.

    Examples
    --------
    >>> quarter = Registration(np.array([[0.0, -1, 63], [1, 0, 0]]), 0.0, 1.0, False, ((64, 64), (64, 64)))
    >>> quarter
    Registration(matrix=[[ 0., -1., 63.],
                         [ 1.,  0.,  0.]],
                 residual=0, overlap=1, reflected=False, shapes=((64, 64), (64, 64)))
    >>> quarter.apply([10, 0]), quarter.inverse.apply(quarter.apply([10, 0]))
    (array([63., 10.]), array([10.,  0.]))
    """

    matrix: Array
    residual: float
    overlap: float
    reflected: bool
    shapes: tuple[Shape, Shape] | None = None

    @property
    def homogeneous(self) -> Array:
        """The map as a square matrix, of shape (d + 1, d + 1); products of them do one map after the other."""
        return np.vstack([self.matrix, np.eye(self.matrix.shape[1])[-1]])

    @property
    def inverse(self) -> Registration:
        """The registration of b to a, with the inverse map; residual and overlap stay as they were found."""
        shapes = None if self.shapes is None else (self.shapes[1], self.shapes[0])
        return self._replace(matrix=inverse(self.matrix), shapes=shapes)

    def apply(self, points: Any) -> Array:
        """Take points of a to where they are in b.

        Parameters
        ----------
        points : array of shape (n_points, d) or (d,)
            Of images pixel coordinates (x, y), which is ``numpy.argwhere(image)[:, ::-1]``.

        Returns
        -------
        points : array of the same shape
        """
        array, d = as_floats(points, "points"), len(self.matrix)
        if array.ndim not in (1, 2) or array.shape[-1] != d:
            axes = "(x, y)" if d == 2 else "(x, y, z)"
            rule = f"have shape (n_points, {d}) or ({d},)"
            raise InputError("points", rule, f"shape {array.shape}", f"A row is {axes}; warp moves pictures.")
        return apply_affine(array, self.matrix)

    def __repr__(self) -> str:
        lead = f"{type(self).__name__}("
        matrix = np.array2string(self.matrix, precision=4, suppress_small=True, separator=", ", prefix=f"{lead}matrix=")
        shapes = "" if self.shapes is None else f", shapes={self.shapes}"
        numbers = f"residual={self.residual:.3g}, overlap={self.overlap:.3g}, reflected={self.reflected}{shapes}"
        return f"{lead}matrix={matrix},\n{' ' * len(lead)}{numbers})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Registration):
            return False
        return self[1:] == other[1:] and np.array_equal(self.matrix, other.matrix)

    def __ne__(self, other: object) -> bool:
        return not self == other
