"""What transformers of images share: images in every form the package accepts, checked by its own rules."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..errors import samples_called
from ..measures import check_images, floats, images_from_rows
from ..slicer import check_table, forget_columns, is_table


class ImageTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer of images: arrays (n, height, width), lists of arrays, or flattened rows."""

    image_shape: tuple[int, int] | None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.three_d_array = True
        return tags

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit to images, and return their features."""
        self.fit(X, y)
        with samples_called(None):
            features: Array = self.transform(X)
        return features

    def _images(self, X: Any, *, reset: bool) -> list[Array]:
        """Check user input; tables of flattened images go through scikit-learn's own checks first."""
        if reset:
            forget_columns(self)
        else:
            check_is_fitted(self)
        if is_table(X):
            X = images_from_rows(check_table(self, X, reset=reset), self.image_shape)
        return [floats(image) for image in check_images(X)]
