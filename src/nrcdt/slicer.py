"""What the estimators share: checked input, the plan that fit resolves, and quantiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .arrays import Array
from .errors import InputError, Where
from .measures import Batch, Measures, as_floats, images_from_rows, is_rows, refuse_masked
from .plan import NOTHING, Plan
from .spaces import Space, find_space
from .threads import thread_count
from .transform import gather

PLANNED = ("n_directions", "directions", "n_radii", "n_quantiles", "frame", "normalize", "reference", "trim")


class Slicer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What both estimators share: checking input, the plan, the (sample, direction, quantile) array."""

    space: Any
    image_shape: tuple[int, int] | None
    n_directions: int
    directions: Any
    n_radii: int | Literal["auto"]
    n_quantiles: int
    frame: str
    normalize: Any
    reference: Any
    trim: float
    n_jobs: int | None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = isinstance(self.space, str) and find_space(self.space).densities is not None
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _measures(self, X: Any, space: Space, *, reset: bool) -> Measures:
        """Check user input; tables of images or signals go through scikit-learn's own checks first."""
        if reset:
            forget_columns(self)
        lines = space.measure == "signals" and isinstance(X, Sequence)  # perhaps of different lengths
        if space.measure == "points" or lines or not is_table(X):
            return space.check(X)
        X = check_table(self, X, reset=reset)
        return space.check(X if space.measure == "signals" else self._images(X, reset))

    def _images(self, rows: Array, reset: bool) -> Array:
        """Give rows their two dimensions back: those of the images seen in fit, else as `image_shape` says."""
        shape = None if reset else self.image_shape_
        if shape is None:
            return images_from_rows(rows, self.image_shape)
        if rows.shape[1] != shape[0] * shape[1]:
            raise InputError(
                "X",
                f"have {shape[0] * shape[1]} columns where it is a table, as images of shape {shape} were seen in fit",
                f"shape {rows.shape}",
                "Pass images as (n, height, width), or a single one as X[numpy.newaxis].",
            )
        return rows.reshape(-1, *shape)

    def _fit_plan(self, X: Any, aggregate: Any = NOTHING) -> Measures:
        """Check measures and resolve the settings into `plan_`, which decides from now on; an iterator is read once.

        Where that fails the estimator is left unfitted: an old plan does not go with what is known of new measures.
        """
        self.__dict__.pop("plan_", None)
        space = find_space(self.space)
        thread_count(self.n_jobs, 1)
        measures = self._measures(list(X) if isinstance(X, Iterator) else X, space, reset=True)
        self.dimension_ = space.dimension(measures[0])
        self._settings = {name: value for name, value in vars(self).items() if name in PLANNED}
        self.plan_ = Plan.resolve(space, dimension=self.dimension_, aggregate=aggregate, **self._settings)
        self.directions_, self.direction_weights_ = self.plan_.directions, self.plan_.direction_weights
        self.levels_ = self.plan_.levels.values
        self.image_shape_ = _common_shape(measures)
        return measures

    def _fitted(self, X: Any) -> Measures:
        """Check measures as `fit` saw them."""
        if "plan_" not in vars(self):
            check_is_fitted(self, "plan_")
        measures = self._measures(X, self.plan_.space, reset=False)
        dimension = self.plan_.space.dimension(measures[0])
        if dimension != self.dimension_:
            raise InputError(
                Where("X", 0), f"have {self.dimension_} coordinates as in fit", dimension, "Fit again for others."
            )
        return measures

    def quantiles(self, X: Any) -> Array:
        """Return the normalised quantile functions of every slice.

        Parameters
        ----------
        X : measures, as for `fit`

        Returns
        -------
        array of shape (n_samples, n_directions, n_quantiles)
        """
        return self._gather(self._fitted(X), self.plan_.quantiles)

    def _gather(self, measures: Measures, stage: Callable[[Batch], Array]) -> Array:
        return gather(measures, self.plan_, stage, self.n_jobs)


def is_table(X: Any) -> bool:
    """Tell whether scikit-learn's checks are to look at X: rows, and what it knows how to refuse."""
    return is_rows(X) or issparse(X) or (isinstance(X, np.ndarray) and X.ndim < 2 and X.dtype != object)


def forget_columns(estimator: BaseEstimator) -> None:
    """Forget the columns of the table that an earlier fit saw: what comes now may be none."""
    for name in ("n_features_in_", "feature_names_in_"):
        vars(estimator).pop(name, None)


def check_table(estimator: BaseEstimator, X: Any, *, reset: bool) -> Array:
    """Put a table through scikit-learn's own checks, which keep or compare the names of its columns."""
    refuse_masked(X, "X")
    X = as_floats(X, "X") if isinstance(X, Sequence) else X
    try:
        return np.asarray(validate_data(estimator, X, dtype="numeric", ensure_all_finite=False, reset=reset))
    except ValueError as error:
        if not _holds_words(X):
            raise
        raise InputError("X", "hold numbers", str(error), "Leave out columns of words.") from None


def _holds_words(X: Any) -> bool:
    """Tell whether some of the entries of a table cannot be read as numbers."""
    values = np.asarray(X)
    try:
        if values.dtype.kind in "OSU":
            values.astype(np.float64)
    except (TypeError, ValueError):
        return True
    return False


def _common_shape(measures: Measures) -> tuple[int, int] | None:
    """Return the shape that all images have; None where they differ, or are no images."""
    if isinstance(measures, np.ndarray):
        height, width = measures.shape[1:]
        return height, width
    shapes = {measure.shape if isinstance(measure, np.ndarray) else None for measure in measures}
    return shapes.pop() if len(shapes) == 1 else None
