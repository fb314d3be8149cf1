"""Measures of both signs: the positive and the negative part go through a transform apart, as in the signed CDT."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .arrays import Array
from .errors import InputError, InputTypeError, LocatedError, Where, samples_called
from .measures import as_floats, check_finite
from .slicer import check_table
from .spaces import find_space

SIGNS = ("positive", "negative")


class _Part(NamedTuple):
    """What one sample has of one sign: its place in the batch, 0 or 1 for the sign, the measure, its relative mass."""

    sample: int
    sign: int
    measure: Any
    mass: float


class Signed(MetaEstimatorMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features of signed measures: of the positive part, of the negative part, and the share of mass in each.

    A part that a sample does not have gives zeros. The features ignore the maps that `transformer` ignores, where
    values move along with the map, and positive factors in front of a sample; negative ones exchange the two parts.
    Where `transformer` normalises, it does so part by part: where the positive part lies relative to the negative one
    is then not seen.

    Parameters
    ----------
    transformer : `NRCDT` or `RCDT`
        Images and signals come as for it, with values of both signs; clouds as (points, weights) pairs with weights of
        both signs, or as bare points with weight one.

    Attributes
    ----------
    transformer_ : the transformer, fitted to the parts of all samples
    n_part_features_ : int
        Number of features of one part.

    Examples
    --------
    >>> from nrcdt import NRCDT
    >>> wave = np.sin(np.linspace(0, 9, 60)) * np.linspace(1, 2, 60)
    >>> features = Signed(NRCDT("signal", n_quantiles=8)).fit_transform([wave, np.abs(wave)])
    >>> features.shape, features[:, -2:].round(2)
    ((2, 18), array([[0.66, 0.34],
           [1.  , 0.  ]]))
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the transformer to the parts of all samples."""
        if not hasattr(self.transformer, "space"):
            raise InputTypeError(
                "transformer",
                "have a space, as NRCDT and RCDT do",
                type(self.transformer).__name__,
                "Wrap NRCDT itself, and put Signed into the pipeline.",
            )
        parts, _ = self._parts(X, reset=True)
        self.transformer_ = clone(self.transformer)
        _call(self.transformer_.fit, parts)
        with samples_called(None):
            self.n_part_features_ = _call(self.transformer_.transform, parts[:1]).shape[1]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit to measures, and return their features."""
        self.fit(X, y)
        with samples_called(None):
            return np.asarray(self.transform(X))

    def transform(self, X: Any) -> Array:
        """Return features of shape (n_samples, 2 * p + 2): p of either part, then the shares."""
        check_is_fitted(self)
        parts, n_samples = self._parts(X, reset=False)
        features = _call(self.transformer_.transform, parts)
        blocks = np.zeros((n_samples, 2, features.shape[1]), features.dtype)
        shares = np.zeros((n_samples, 2))
        for part, row in zip(parts, features, strict=True):
            blocks[part.sample, part.sign] = row
            shares[part.sample, part.sign] = part.mass
        shares /= shares.sum(axis=1, keepdims=True)
        return np.hstack([blocks.reshape(n_samples, -1), shares.astype(features.dtype)])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return one name per feature: the sign, and the name that the transformer gives."""
        check_is_fitted(self)
        names = self.transformer_.get_feature_names_out()
        parts = [f"{sign}_{name}" for sign in SIGNS for name in names]
        return np.asarray([*parts, *(f"{sign}_share" for sign in SIGNS)], dtype=object)

    def _parts(self, X: Any, *, reset: bool) -> tuple[list[_Part], int]:
        """Split a batch into parts in the order of samples; return them and the number of samples."""
        space = find_space(self.transformer.space)
        table = issparse(X) or (hasattr(X, "__array__") and np.asarray(X).ndim < 3)
        if table:
            X = check_table(self, X, reset=reset)
        values = space.measure != "points" or table
        samples = list(X)
        if not samples:
            raise InputError("X", "hold at least one sample", "none", "Pass a batch of measures.")
        parts = [part for place, sample in enumerate(samples) for part in _split(sample, place, values)]
        for part in parts:
            _check(part, space)
        return parts, len(samples)


def _split(sample: Any, place: int, values: bool) -> list[_Part]:
    """Return the positive part of a sample, its negative part, or both."""
    name = f"X[{place}]"
    if not values and not (isinstance(sample, tuple) and len(sample) == 2 and sample[1] is not None):
        points = sample[0] if isinstance(sample, tuple) else sample
        return [_Part(place, 0, points, float(len(points)))]
    held, named = (sample, name) if values else (sample[1], f"the weights of {name}")
    masses = as_floats(held, named)
    if not masses.any():
        raise InputError(named, "hold positive or negative mass", "zeros only", "Drop the sample.")
    largest = max(map(abs, check_finite(masses, named)))
    parts = [np.maximum(masses, 0), np.maximum(-masses, 0)]
    return [
        _Part(place, sign, part if values else (sample[0], part), float((part / largest).sum(dtype=np.float64)))
        for sign, part in enumerate(parts)
        if part.any()
    ]


@samples_called(None)
def _check(part: _Part, space: Any) -> None:
    """Check a part alone, so that errors name the sample and the sign."""
    row = space.measure == "images" and part.measure.ndim == 1  # of a table; `transformer` knows its shape
    try:
        space.check([part.measure[np.newaxis] if row else part.measure])
    except LocatedError as error:
        part_of = f"the {SIGNS[part.sign]} part of {Where('X', part.sample)}"
        raise error.about(argument=part_of, sample=None) from None


def _call(method: Any, parts: list[_Part]) -> Any:
    try:
        return method([part.measure for part in parts])
    except LocatedError as error:
        if error.sample is None:
            raise
        part = parts[error.sample]
        phrase = f"the {SIGNS[part.sign]} part of {{}}"
        raise error.about(sample=part.sample, phrase=error.where.part(phrase).phrase) from error.__cause__
