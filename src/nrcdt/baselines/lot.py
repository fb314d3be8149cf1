"""Linear optimal transport: an image as the map that carries a fixed reference measure to it."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..errors import InputError, optional_package
from ..measures import Cloud, pixel_side, positive_integer
from .images import ImageTransformer

MAX_STEPS = 10_000_000
# Between parallel grids many plans are optimal, and rounding would choose one. Turned by a hair, one grid has one plan.
TURN = 1e-3


def _load_ot() -> Any:
    return optional_package("ot", "LOT", "POT", "paper")


class LOT(ImageTransformer):
    """Linear optimal transport: where the optimal plan sends every point of a uniform reference, on average.

    Images are reduced to at most `size` pixels along the longer side, and to mass one. The exact plan under the squared
    distance is taken between the reference and the centres of the inked pixels; a feature is the mean of where a
    reference point goes (barycentric projection), times the root of its weight. Euclidean distances of features are
    LOT distances, in the unit of the package: the longer side of an image spans [-1/sqrt 2, 1/sqrt 2].

    Parameters
    ----------
    n_points : int
        Points of the reference; rounded to a square number, as they form a regular grid over the whole canvas.
    image_shape : (height, width), optional
        Shape of flattened images. Left out, they must be square. (1, -1) makes each one row of pixels.
    size : int
        Pixels along the longer side to which larger images are reduced; smaller ones stay as they are.

    Attributes
    ----------
    reference_ : array of shape (n_points, 2)
        Points of the reference, x and y.

    Examples
    --------
    >>> import numpy as np
    >>> left, right = np.zeros((2, 16, 16))
    >>> left[5:9, 2:5] = right[5:9, 10:13] = 1
    >>> a, b = LOT(n_points=64).fit_transform([left, right])
    >>> bool(np.isclose(np.linalg.norm(a - b), 8 * np.sqrt(2) / 16))
    True
    """

    def __init__(self, n_points: int = 1024, *, image_shape: tuple[int, int] | None = None, size: int = 64) -> None:
        self.n_points = n_points
        self.image_shape = image_shape
        self.size = size

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the images and the settings; nothing is learnt from the data."""
        _load_ot()
        positive_integer(self.size, "size", "The paper's images have 64 pixels along a side.")
        n_points = positive_integer(self.n_points, "n_points", "1024 is a good start.")
        self._images(X, reset=True)
        self.reference_ = _reference(max(1, round(math.sqrt(n_points))))
        return self

    def transform(self, X: Any) -> Array:
        """Return features of shape (n_samples, 2 * n_points): x and y of one reference point after the other."""
        images = self._images(X, reset=False)
        return np.stack([self._features(image, f"X[{i}]") for i, image in enumerate(images)])

    def _features(self, image: Array, name: str) -> Array:
        small = reduce(image.astype(np.float64), self.size)
        side = pixel_side(small.shape)
        targets = transport(self.reference_ / side, inked_pixels(small), name)
        return np.asarray(side * targets.ravel() / math.sqrt(len(targets)))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return one name per feature: reference point and axis."""
        check_is_fitted(self)
        names = [f"lot_{i}_{axis}" for i in range(len(self.reference_)) for axis in "xy"]
        return np.asarray(names, dtype=object)


def _reference(n: int) -> Array:
    """Centres (x, y) of n x n equal cells of the square that images span, row by row, turned by a hair."""
    ticks = (2 * np.arange(n) + 1 - n) / (2 * n) * math.sqrt(2)
    x, y = np.meshgrid(ticks, ticks)
    cos, sin = math.cos(TURN), math.sin(TURN)
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=2).reshape(-1, 2)


def reduce(image: Array, size: int) -> Array:
    """Return masses on a square of size x size cells, the longer side of the image spanning it; small images stay.

    A pixel that straddles cells is shared out by area, so that no mass is lost.

    Examples
    --------
    >>> import numpy as np
    >>> reduce(np.arange(16.0).reshape(4, 4), 2)
    array([[10., 18.],
           [42., 50.]])
    >>> reduce(np.ones((3, 1)), 2)
    array([[0.75, 0.75],
           [0.75, 0.75]])
    """
    longest = max(image.shape)
    if longest <= size:
        return image
    rows, columns = (_overlaps(n, longest, size) for n in image.shape)
    return np.asarray(rows @ image @ columns.T)


def _overlaps(n_pixels: int, longest: int, size: int) -> Array:
    """Shares of pixels in cells, of shape (size, n_pixels): `size` cells lie along `longest` pixels."""
    # Edges in units of 1/(2 size) pixel are whole numbers: no crumb of mass lands in a cell by rounding.
    pixels = size * (2 * np.arange(n_pixels + 1) - n_pixels)
    cells = longest * (2 * np.arange(size + 1) - size)
    upper = np.minimum.outer(cells[1:], pixels[1:])
    lower = np.maximum.outer(cells[:-1], pixels[:-1])
    return np.asarray(np.maximum(upper - lower, 0) / (2 * size))


def inked_pixels(image: Array) -> Cloud:
    """Return the centres (x, y) of the pixels with mass, in pixels from the middle of the image; masses sum to one."""
    rows, columns = np.nonzero(image)
    middle = (np.array(image.shape[::-1]) - 1) / 2
    return Cloud(np.stack([columns, rows], axis=1) - middle, image[rows, columns] / image.sum())


def transport(reference: Array, target: Cloud, name: str) -> Array:
    """Return the barycentric projection of the optimal plan from a uniform reference, of shape (n_points, 2)."""
    weights = np.full(len(reference), 1 / len(reference))
    costs = cdist(reference, target.points, "sqeuclidean")
    plan, log = _load_ot().emd(weights, target.weights, costs, numItermax=MAX_STEPS, log=True)
    if log["warning"] is not None:
        raise InputError(
            name,
            f"be transported within {MAX_STEPS} steps",
            "no optimal plan",
            "Take fewer n_points or a smaller size.",
        )
    return np.asarray(plan @ target.points * len(reference))
