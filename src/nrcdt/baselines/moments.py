"""Affine moment invariants I1 to I4 of Flusser and Suk (Pattern Recognition 26, 1993)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..errors import InputError
from ..measures import check_images, floats
from .images import ImageTransformer

NAMES = ("I1", "I2", "I3", "I4")
DARKEST, BRIGHTEST = 1e-20, 1e20


def invariants(mu: Array) -> Array:
    """Return I1 to I4 from central moments; mu[p, q] belongs to (x - mean x)^p (y - mean y)^q, up to order three.

    Examples
    --------
    >>> import numpy as np
    >>> mu = np.zeros((4, 4))
    >>> mu[0, 0], mu[2, 0], mu[0, 2] = 1, 1 / 12, 1 / 12
    >>> 144 * invariants(mu)
    array([1., 0., 0., 0.])
    """
    # Each invariant is a polynomial divided by mu_00 to the power degree + weight: the orders share that out evenly.
    order = np.add.outer(np.arange(4), np.arange(4))
    eta = mu / mu[0, 0] ** (1 + order / 2)
    a, b, c = eta[2, 0], eta[1, 1], eta[0, 2]
    p, q, r, s = eta[3, 0], eta[2, 1], eta[1, 2], eta[0, 3]
    i1 = a * c - b**2
    i2 = p**2 * s**2 - 6 * p * q * r * s + 4 * p * r**3 + 4 * q**3 * s - 3 * q**2 * r**2
    i3 = a * (q * s - r**2) - b * (p * s - q * r) + c * (p * r - q**2)
    i4 = (
        a**3 * s**2
        - 6 * a**2 * b * r * s
        + 3 * a**2 * c * (3 * r**2 - 2 * q * s)
        + 12 * b**2 * (a * q * s + c * p * r)
        + 6 * a * b * c * (p * s - 3 * q * r)
        - 8 * b**3 * p * s
        + 3 * a * c**2 * (3 * q**2 - 2 * p * r)
        - 6 * b * c**2 * p * q
        + c**3 * p**2
    )
    return np.array([i1, i2, i3, i4])


def central_moments(image: Array) -> Array:
    """Return the central moments mu[p, q], p and q up to 3, of an image whose pixels are squares of side one."""
    image = image.astype(np.float64)
    mass, powers = image.sum(), np.arange(4)
    y, x = (np.arange(n) - (n - 1) / 2 for n in image.shape)
    x_powers = (x - image.sum(axis=0) @ x / mass)[:, np.newaxis] ** powers
    y_powers = (y - image.sum(axis=1) @ y / mass)[:, np.newaxis] ** powers
    mu = x_powers.T @ image.T @ y_powers
    # A square has a spread of its own; moments of order three do not feel it.
    mu[2, 0] += mass / 12
    mu[0, 2] += mass / 12
    return np.asarray(mu)


def affine_moments(images: Any) -> Array:
    """Return the affine moment invariants I1 to I4 of every image, from its grey values as they are.

    An affine map that carries the grey values along leaves them alone. A reflection does too: a map multiplies the four
    polynomials by its determinant to the powers 2, 6, 4 and 6, all of them even, so no sign changes. Brightness does
    matter: c times as bright, they are divided by c to the powers 2, 6, 4 and 6. I2 to I4 vanish for shapes that half
    a turn maps to themselves.

    Parameters
    ----------
    images : array of shape (n, height, width), list of arrays, or table of flattened square images

    Returns
    -------
    array of shape (n, 4)

    See Also
    --------
    AffineMoments : the same as a scikit-learn transformer.

    Examples
    --------
    >>> import numpy as np
    >>> square, wide = np.zeros((2, 32, 32))
    >>> square[4:12, 4:12] = 1
    >>> wide[10:12, 3:30] = 1
    >>> 144 * affine_moments([square, wide])[:, 0]
    array([1., 1.])
    """
    return _all_invariants(map(floats, check_images(images)))


def _all_invariants(images: Iterable[Array]) -> Array:
    return np.stack([_image_invariants(image, f"X[{i}]") for i, image in enumerate(images)])


def _image_invariants(image: Array, name: str) -> Array:
    mu = central_moments(image)
    if not DARKEST < mu[0, 0] < BRIGHTEST:
        raise InputError(
            name,
            f"have grey values with a sum between {DARKEST:g} and {BRIGHTEST:g}",
            f"{mu[0, 0]:g}",
            "Choose another unit of brightness.",
        )
    return invariants(mu)


class AffineMoments(ImageTransformer):
    """Affine moment invariants I1 to I4 as features.

    Parameters
    ----------
    image_shape : (height, width), optional
        Shape of flattened images. Left out, they must be square. (1, -1) makes each one row of pixels.
    scale : bool
        Divide every invariant by its standard deviation over the samples seen in `fit`. As they are, the four differ by
        orders of magnitude, and the largest decides every distance.

    Attributes
    ----------
    scales_ : array of shape (4,)
        What the invariants are divided by; one where all samples of `fit` agree.

    See Also
    --------
    affine_moments : the same as a function; says what is invariant.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.stack([np.tri(8, k=k) for k in range(-2, 3)])
    >>> AffineMoments(scale=True).fit_transform(images).std(axis=0)
    array([1., 1., 1., 1.])
    """

    def __init__(self, *, image_shape: tuple[int, int] | None = None, scale: bool = False) -> None:
        self.image_shape = image_shape
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the images and store the scales."""
        images = self._images(X, reset=True)
        self.scales_ = _spreads(_all_invariants(images)) if self.scale else np.ones(len(NAMES))
        return self

    def transform(self, X: Any) -> Array:
        """Return features of shape (n_samples, 4)."""
        return np.asarray(_all_invariants(self._images(X, reset=False)) / self.scales_)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names I1 to I4."""
        check_is_fitted(self)
        return np.asarray(NAMES, dtype=object)


def _spreads(values: Array) -> Array:
    """Standard deviations; one where there is no more spread than rounding makes."""
    spreads = values.std(axis=0)
    rounding = 10 * np.finfo(np.float64).eps * np.abs(values).max(axis=0)
    return np.where(spreads > rounding, spreads, 1.0)
