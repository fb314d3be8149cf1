"""What transformers of images share: images in every form the package accepts, checked by its own rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..arrays import Array
from ..measures import as_floats, check_images, floats, images_from_rows, is_rows


class ImageTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer of images: arrays (n, height, width), lists of arrays, or flattened rows."""

    image_shape: tuple[int, int] | None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.three_d_array = True
        return tags

    def _images(self, X: Any, *, reset: bool) -> list[Array]:
        """Check user input; tables of flattened images go through scikit-learn's own checks first."""
        if reset:
            self.__dict__.pop("n_features_in_", None)
            self.__dict__.pop("feature_names_in_", None)
        else:
            check_is_fitted(self)
        if issparse(X) or is_rows(X) or (isinstance(X, np.ndarray) and X.ndim < 2):
            X = as_floats(X, "X") if isinstance(X, Sequence) else X
            table = validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite=False, reset=reset)
            X = images_from_rows(table, self.image_shape)
        return [floats(image) for image in check_images(X)]
