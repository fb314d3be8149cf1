"""A scikit-learn transformer around `find_ink`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from ..arrays import Array
from ..errors import InputError, SampleError, Where
from ..threads import map_threads, thread_count
from .find import Ink, find_ink


class InkFinder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Find the ink of photographs, picture by picture; nothing is learnt.

    Parameters
    ----------
    polarity, size
        See `find_ink`.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.

    See Also
    --------
    find_ink : the same for one picture, with what was done and how sure it is.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from nrcdt import NRCDT
    >>> from nrcdt.datasets import photograph, watermarks
    >>> pictures = photograph(watermarks(3)[0], "uneven_light", random_state=0)
    >>> make_pipeline(InkFinder(), NRCDT(n_directions=64, n_quantiles=32)).fit_transform(pictures).shape
    (3, 32)
    """

    def __init__(self, polarity: str = "auto", *, size: int = 256, n_jobs: int | None = None) -> None:
        self.polarity = polarity
        self.size = size
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: every picture speaks for itself."""
        return self

    def transform(self, X: Any) -> Array | list[Array]:
        """Return images of ink, float32.

        Parameters
        ----------
        X : array of shape (n, height, width), or list of grey images of any sizes

        Returns
        -------
        array of shape (n, height, width) if the images of ink have one shape, else a list
        """
        images = [ink.image for ink in self.find(X)]
        return np.stack(images) if len({image.shape for image in images}) == 1 else images

    def find(self, X: Any) -> list[Ink]:
        """Return all that `find_ink` has to say of every picture."""
        if not isinstance(X, Sequence) and np.ndim(X) != 3:
            raise InputError(
                "X",
                "be a list of grey images, or have shape (n, height, width)",
                f"shape {np.shape(X)}",
                "Pass one picture as picture[None].",
            )
        if len(X) == 0:
            raise InputError("X", "hold at least one picture", "none", "Pass a list of arrays.")
        return list(map_threads(lambda i: self._find_one(i, X[i]), range(len(X)), thread_count(self.n_jobs, len(X))))

    def _find_one(self, position: int, picture: Any) -> Ink:
        try:
            return find_ink(picture, polarity=self.polarity, size=self.size)
        except ValueError as error:
            raise SampleError(Where("X", position), str(error)) from None
