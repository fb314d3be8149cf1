"""scikit-learn transformers around `find_ink` and `remove_paper`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from ..arrays import Array
from ..errors import InputError, SampleError, Where
from ..threads import map_threads, thread_count
from .find import Ink, NoInkError, find_ink
from .plain import check_way, remove_paper

Result = TypeVar("Result")


class _PictureTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What both have in common: pictures one by one, on threads; nothing is learnt."""

    n_jobs: int | None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: every picture speaks for itself."""
        return self

    def _each(self, pictures: Any, one: Callable[[Any], Result]) -> list[Result]:
        """Return what becomes of every picture; errors name it."""
        if len(pictures) == 0:
            raise InputError("X", "hold at least one picture", "none", "Pass a list of arrays.")

        def named(position: int) -> Result:
            try:
                return one(pictures[position])
            except ValueError as error:
                raise SampleError(Where("X", position), str(error)) from None

        return list(map_threads(named, range(len(pictures)), thread_count(self.n_jobs, len(pictures))))


class InkFinder(_PictureTransformer):
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
    PaperRemover : for drawings and scans; everything that stands out from even paper stays.

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

    def transform(self, X: Any) -> Array | list[Array]:
        """Return images of ink, float32.

        Parameters
        ----------
        X : array of shape (n, height, width), or list of grey images of any sizes

        Returns
        -------
        array of shape (n, height, width) if the images of ink have one shape, else a list
        """
        return _stacked([ink.image for ink in self.find(X)])

    def find(self, X: Any) -> list[Ink]:
        """Return all that `find_ink` has to say of every picture."""
        if not isinstance(X, Sequence) and np.ndim(X) != 3:
            raise InputError(
                "X",
                "be a list of grey images, or have shape (n, height, width)",
                f"shape {np.shape(X)}",
                "Pass one picture as picture[None].",
            )
        return self._each(X, lambda picture: find_ink(picture, polarity=self.polarity, size=self.size))


class PaperRemover(_PictureTransformer):
    """Turn pictures into ink on blank paper, which is what `NRCDT` wants; nothing is learnt.

    `InkFinder` looks for the motif of a photograph and returns it at a size of its own. This transformer keeps every
    pixel where it is and all that stands out from the paper; with "photograph" it is `InkFinder` by another name, so
    that one word chooses.

    Parameters
    ----------
    ink : "auto", "dark", "light", "photograph" or "none"
        See `remove_paper`. These are the words of ``nrcdt features --ink`` and of `nrcdt.files.read_image`, too.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.

    See Also
    --------
    remove_paper : the same for one picture, and how it is done.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from nrcdt import NRCDT
    >>> from nrcdt.datasets import watermarks
    >>> drawings, _ = watermarks(3, size=64)
    >>> scans = np.uint8(220 - 150 * drawings)
    >>> bool(np.abs(PaperRemover().transform(scans) - 150 * drawings).max() < 1)
    True
    >>> make_pipeline(PaperRemover(), NRCDT(n_directions=64, n_quantiles=32)).fit_transform(scans).shape
    (3, 32)
    """

    def __init__(self, ink: str = "auto", *, n_jobs: int | None = None) -> None:
        self.ink = ink
        self.n_jobs = n_jobs

    def transform(self, X: Any) -> Array | list[Array]:
        """Return ink on blank paper.

        Parameters
        ----------
        X : array of shape (n, height, width) or (n, height, width, 3 or 4), or list of pictures of any sizes
            Whole numbers, floats or booleans; in colour, with transparency or grey.

        Returns
        -------
        array of shape (n, height, width) if the images have one shape, else a list
        """
        check_way(self.ink, "ink")
        if np.ndim(X) < 3 or _is_one_in_colour(X) if hasattr(X, "ndim") else not isinstance(X, Sequence):
            shape = f"shape {np.shape(X)}" if hasattr(X, "ndim") else type(X).__name__
            raise InputError("X", "be a batch of pictures", shape, "Pass one picture as [picture].")
        return _stacked(self._each(X, self._ink_of))

    def _ink_of(self, picture: Any) -> Array:
        image = remove_paper(picture, self.ink)
        if not image.any():
            raise NoInkError("picture", "show ink", f"none with ink={self.ink!r}", "Choose another ink, or drop it.")
        return image


def _is_one_in_colour(X: Array) -> bool:
    """Tell a single picture in colour from grey ones, which would be three or four pixels wide."""
    return X.ndim == 3 and X.shape[2] in (3, 4) and X.shape[1] > X.shape[2]


def _stacked(images: list[Array]) -> Array | list[Array]:
    return np.stack(images) if len({image.shape for image in images}) == 1 else images
