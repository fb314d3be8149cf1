"""Classification by the nearest subspace: each class is taken for a flat piece of feature space."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .arrays import Array
from .errors import InputError


class Subspace(NamedTuple):
    """The points origin + basis' c: `origin` of shape (n_features,), orthonormal rows in `basis`, perhaps none."""

    origin: Array
    basis: Array

    def distances(self, X: Array) -> Array:
        """Return how far rows of X lie from the subspace."""
        rest = X - self.origin
        rest = rest - (rest @ self.basis.T) @ self.basis
        return np.asarray(np.linalg.norm(rest, axis=1))


class NearestSubspace(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify by the nearest of the subspaces that training samples of each class span.

    Parameters
    ----------
    n_components : int, optional
        Dimension of every subspace, or less where a class has too few samples; never so many that a subspace fills the
        whole space. Left out, `energy` decides for each class.
    energy : float
        Share of the sum of squares of its training samples that a subspace keeps, between 0 and 1.
    center : bool
        Whether subspaces run through the means of their classes, from which squares are then taken, or through the
        origin. NR-CDT features of different classes share most of their length, so that means are the better choice.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    subspaces_ : list of `Subspace`
        One per class.

    Examples
    --------
    >>> X = np.array([[1.0, 0.1, 5], [2, -0.1, 5], [3, 0, 5], [0, 1, 5], [0.1, 2, 5], [-0.1, 3, 5]])
    >>> model = NearestSubspace(n_components=1).fit(X, ["flat"] * 3 + ["steep"] * 3)
    >>> model.predict([[9, 0.5, 5], [0.5, 9, 5]])
    array(['flat', 'steep'], dtype='<U5')
    """

    def __init__(self, n_components: int | None = None, *, energy: float = 0.99, center: bool = True) -> None:
        self.n_components = n_components
        self.energy = energy
        self.center = center

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # scikit-learn's checks try blobs in the plane, where lines are no good description of them.
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Find a subspace for every class.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : labels of any kind, of shape (n_samples,)
        """
        self._check_settings()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, positions = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                "y", "have at least two classes", f"one class, {self.classes_[0]!r}", "Add samples of another."
            )
        self.subspaces_ = [self._span(X[positions == k]) for k in range(len(self.classes_))]
        return self

    def _check_settings(self) -> None:
        n = self.n_components
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n < 0):
            raise InputError("n_components", "be a whole number from 0, or None", repr(n), "3 is a good start.")
        if not isinstance(self.energy, Real) or not 0 <= self.energy <= 1:
            raise InputError("energy", "be a number between 0 and 1", repr(self.energy), "0.99 is a good start.")

    def _span(self, samples: Array) -> Subspace:
        origin = samples.mean(axis=0) if self.center else np.zeros_like(samples[0])
        _, values, basis = np.linalg.svd(samples - origin, full_matrices=False)
        # Relative to the samples themselves: subtracting their mean leaves rounding errors of that size.
        noise = np.linalg.norm(samples) * max(samples.shape) * np.finfo(values.dtype).eps
        rank = min(int(np.sum(values > noise)), samples.shape[1] - 1)
        if self.n_components is not None:
            return Subspace(origin, basis[: min(self.n_components, rank)])
        share = np.cumsum(values**2) / max(np.sum(values**2), np.finfo(values.dtype).tiny)
        return Subspace(origin, basis[: min(int(np.sum(share < self.energy)) + 1, rank)])

    def distances(self, X: Any) -> Array:
        """Return the distances to all subspaces, of shape (n_samples, n_classes), in the order of `classes_`."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return np.stack([one.distances(X) for one in self.subspaces_], axis=1)

    def decision_function(self, X: Any) -> Array:
        """Return how near the classes are: minus the distances, or their difference for two classes."""
        near = -self.distances(X)
        return near[:, 1] - near[:, 0] if len(self.classes_) == 2 else near

    def predict(self, X: Any) -> Array:
        """Return the label of the nearest subspace for every row of X."""
        nearest = np.argmin(self.distances(X), axis=1)
        return np.asarray(self.classes_[nearest])
