"""scikit-learn transformers over the corridor, and their function twins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .aggregate import Aggregation, block_scales, find_aggregations, join_blocks, row_sizes
from .errors import InputError
from .measures import as_floats, images_from_rows, is_rows, refuse_masked
from .slices import Array
from .spaces import find_space
from .transform import (
    Plan,
    feature_blocks,
    gather,
    inverse_rcdt,
    make_plan,
    quantile_array,
    refuse_directions,
    walk,
)


class _Slicer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What both estimators share: checking input, resolving names, the (sample, direction, quantile) array."""

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
        tags.input_tags.positive_only = isinstance(self.space, str) and self.space in ("image", "signal")
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _measures(self, X: Any, *, reset: bool) -> Sequence[Any]:
        """Check user input; tables of images or signals go through scikit-learn's own checks first."""
        space = find_space(self.space)
        if reset:
            self.__dict__.pop("n_features_in_", None)
            self.__dict__.pop("feature_names_in_", None)
        if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
            X = list(X)
        refuse_masked(X, "X")
        ragged = space.rows and isinstance(X, Sequence)
        table = issparse(X) or is_rows(X) or (isinstance(X, np.ndarray) and X.ndim < 2)
        if space.densities and table and not ragged:
            X = as_floats(X, "X") if isinstance(X, Sequence) else X
            X = self._rows(X, reset)
            X = X if space.rows else images_from_rows(X, self.image_shape)
        return space.check(X)

    def _rows(self, X: Any, reset: bool) -> Array:
        try:
            return np.asarray(validate_data(self, X, dtype="numeric", ensure_all_finite=False, reset=reset))
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            raise InputError("X", "hold numbers", error, "Leave out columns of words.") from None

    def _fit_plan(self, X: Any) -> tuple[list[Any], Plan]:
        measures = list(self._measures(X, reset=True))
        self.dimension_ = find_space(self.space).dimension(measures[0])
        plan = self._make_plan(self.directions)
        self.directions_, self.direction_weights_ = plan.directions, plan.direction_weights
        self.levels_ = plan.levels.values
        return measures, plan

    def _make_plan(self, directions: Any) -> Plan:
        return make_plan(
            self.space,
            self.dimension_,
            self.n_directions,
            directions,
            self.n_radii,
            self.n_quantiles,
            self.frame,
            self.normalize,
            self.reference,
            self.trim,
        )

    def _fitted(self, X: Any) -> tuple[Sequence[Any], Plan]:
        check_is_fitted(self)
        measures = self._measures(X, reset=False)
        dimension = find_space(self.space).dimension(measures[0])
        if dimension != self.dimension_:
            raise InputError(
                "X[0]", f"have {self.dimension_} coordinates as in fit", dimension, "Fit again for others."
            )
        return measures, self._make_plan((self.directions_, self.direction_weights_))

    def fit_transform(self, X: Any, y: Any = None, **settings: Any) -> Array:
        """Fit to measures, and transform them; an iterator is read once."""
        X = list(X) if isinstance(X, Iterator) else X
        return np.asarray(super().fit_transform(X, y, **settings))

    def quantiles(self, X: Any) -> Array:
        """Return the normalised quantile functions of every slice.

        Parameters
        ----------
        X : measures, as for `fit`

        Returns
        -------
        array of shape (n_samples, n_directions, n_quantiles)
        """
        measures, plan = self._fitted(X)
        return gather(measures, plan, lambda chunk: quantile_array(chunk, plan), self.n_jobs)


class RCDT(_Slicer):
    """Radon cumulative distribution transform: quantile functions of all slices, direction by direction.

    Parameters
    ----------
    space, image_shape, n_directions, directions, n_radii, n_quantiles, frame, reference, trim, n_jobs
        See `NRCDT`.
    normalize : None, or as for `NRCDT`
        None is the R-CDT; "standardize" makes it the NR-CDT.

    Attributes
    ----------
    directions_ : array of shape (n_directions, ...)
        The directions used.
    direction_weights_ : array of shape (n_directions,)
        Their weights, which sum to one.
    levels_ : array of shape (n_quantiles,)
        Levels of the quantiles.

    See Also
    --------
    rcdt : the same as a function.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).random((2, 8, 8))
    >>> transform = RCDT(n_directions=16, n_quantiles=32).fit(images)
    >>> transform.transform(images).shape, transform.quantiles(images).shape
    ((2, 512), (2, 16, 32))
    """

    def __init__(
        self,
        space: Any = "image",
        *,
        image_shape: tuple[int, int] | None = None,
        n_directions: int = 256,
        directions: Any = None,
        n_radii: int | Literal["auto"] = "auto",
        n_quantiles: int = 256,
        frame: str = "fixed",
        normalize: Any = None,
        reference: Any = "uniform",
        trim: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        self.space = space
        self.image_shape = image_shape
        self.n_directions = n_directions
        self.directions = directions
        self.n_radii = n_radii
        self.n_quantiles = n_quantiles
        self.frame = frame
        self.normalize = normalize
        self.reference = reference
        self.trim = trim
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the measures and resolve the settings; nothing is learnt from the data but their dimension."""
        measures, _ = self._fit_plan(X)
        self.image_shape_ = measures[0].shape if isinstance(measures[0], np.ndarray) else None
        return self

    def transform(self, X: Any) -> Array:
        """Return quantiles of shape (n_samples, n_directions * n_quantiles), direction after direction."""
        quantiles = self.quantiles(X)
        return quantiles.reshape(len(quantiles), -1)

    def inverse_transform(self, X: Any) -> Array:
        """Return images of the shape seen in `fit`, of shape (n_samples, height, width) and mass one.

        Parameters
        ----------
        X : array of shape (n_samples, n_directions * n_quantiles), as `transform` returns it
        """
        check_is_fitted(self)
        if self.image_shape_ is None or self.normalize is not None or self.frame != "fixed" or self.trim:
            raise InputError(
                "inverse_transform",
                "have space='image', normalize=None, frame='fixed' and trim=0",
                f"space={self.space!r}, normalize={self.normalize!r}, frame={self.frame!r} and trim={self.trim!r}",
                "Normalised or trimmed slices have lost their place.",
            )
        n_features = len(self.directions_) * len(self.levels_)
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != n_features:
            raise InputError(
                "X",
                f"have shape (n_samples, {n_features}), as transform returns it",
                rows.shape,
                "Pass one sample as X[numpy.newaxis].",
            )
        quantiles = rows.reshape(-1, len(self.directions_), len(self.levels_))
        directions = (self.directions_, self.direction_weights_)
        return inverse_rcdt(quantiles, self.image_shape_, directions=directions, reference=self.reference)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return one name per feature: direction and quantile."""
        check_is_fitted(self)
        names = [f"rcdt_{k}_{j}" for k in range(len(self.directions_)) for j in range(len(self.levels_))]
        return np.asarray(names, dtype=object)


class NRCDT(_Slicer):
    """Normalized Radon cumulative distribution transform: features that affine maps leave alone.

    Parameters
    ----------
    space : "image", "euclidean", "circular", "rotation", another name in `SPACES`, a `Space`, or (phi, directions)
        Where the measures live. Images come as (n, height, width), as flattened rows, or as a list of arrays; clouds as
        (n, n_points, d), or as a list of (n_points, d) arrays or (points, weights) pairs; rotations as matrices
        (n, n_rotations, 3, 3), unit quaternions (n, n_rotations, 4) or SciPy's `Rotation`, also in lists and with
        weights.
    image_shape : (height, width), optional
        Shape of flattened images. Left out, they are square if their length is a square, else one row of pixels.
    n_directions : int
        Number of directions: equispaced on the circle, Fibonacci on the sphere, Super-Fibonacci on SO(3); each space
        has its own.
    directions : array, or (array, weights), optional
        Directions to use instead.
    n_radii : int or "auto"
        Strips across an image; "auto" makes them about a third of a pixel wide. Clouds need none.
    n_quantiles : int
        Levels at which quantile functions are sampled.
    frame : "fixed" or "whitened"
        The frame in which directions are spread evenly: that of the data, or that in which the covariance of each
        measure is the identity, where affine maps only turn or reflect the directions. Not for curved slices.
    normalize : "standardize", "winsorize", "median", "center", "global" or None
        What is undone: shift and scale of every slice (by mean and spread; by these after the tails were cut down; by
        median and quantile range), its shift, one shift and scale for the whole measure, nothing.
    aggregate : str, function, pair (eta, H), or a list of these
        How directions are collapsed: "max", "abs_max", "abs_min", "abs_range", "range", "tv", "mean", "mean_abs",
        "std", "angular_quantiles", "spectrum" or "bispectrum". All but the first six need ``frame="whitened"`` to be
        unchanged by shears. Blocks of a list are concatenated, each divided by its root mean square over the samples
        of `fit`.
    reference : "uniform", a continuous distribution of `scipy.stats`, or its name
        Reference measure of the transport.
    trim : float
        Share of the mass that is left out at either end of every slice. 0.1 makes features far less sensitive to
        specks and to a grey veil; the affine maps they ignore stay the same.
    n_jobs : int, optional
        Threads; -1 for all cores. The features do not depend on it.

    Attributes
    ----------
    directions_ : array of shape (n_directions, ...)
        The directions used.
    direction_weights_ : array of shape (n_directions,)
        Their weights, which sum to one.
    levels_ : array of shape (n_quantiles,)
        Levels of the quantiles.
    scales_ : array of shape (n_blocks,)
        Root mean squares of the blocks of a list; one otherwise.
    block_sizes_ : list of int
        Number of features in each block.

    See Also
    --------
    nrcdt.nrcdt : the same as a function.
    nrcdt.invariance : the maps that leave the features alone.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((32, 32)); image[8:20, 8:14] = 1; image[14:20, 8:26] = 1
    >>> turned = np.rot90(image)
    >>> features = NRCDT(n_directions=64).fit_transform([image, turned])
    >>> features.shape, bool(np.abs(features[0] - features[1]).max() < 1e-9)
    ((2, 256), True)
    """

    def __init__(
        self,
        space: Any = "image",
        *,
        image_shape: tuple[int, int] | None = None,
        n_directions: int = 256,
        directions: Any = None,
        n_radii: int | Literal["auto"] = "auto",
        n_quantiles: int = 256,
        frame: str = "fixed",
        normalize: Any = "standardize",
        aggregate: Any = "max",
        reference: Any = "uniform",
        trim: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        self.space = space
        self.image_shape = image_shape
        self.n_directions = n_directions
        self.directions = directions
        self.n_radii = n_radii
        self.n_quantiles = n_quantiles
        self.frame = frame
        self.normalize = normalize
        self.aggregate = aggregate
        self.reference = reference
        self.trim = trim
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the measures, resolve the settings, and store the scales of a list of aggregations."""
        measures, plan = self._fit_plan(X)
        aggregations = find_aggregations(self.aggregate)
        refuse_directions(aggregations, plan.directions, plan.space, plan.direction_weights)
        first = next(walk(measures[:1], plan, lambda chunk: feature_blocks(chunk, plan, aggregations), self.n_jobs))
        self.block_sizes_ = [block.shape[1] for block in first]
        in_list = isinstance(self.aggregate, list)
        self.scales_ = self._scales(measures, plan, aggregations) if in_list else np.ones(1)
        return self

    def transform(self, X: Any) -> Array:
        """Return features of shape (n_samples, n_features)."""
        measures, plan = self._fitted(X)
        aggregations = find_aggregations(self.aggregate)
        if len(aggregations) != len(self.scales_):
            raise InputError(
                "aggregate",
                f"ask for as many blocks as in fit, {len(self.scales_)}",
                len(aggregations),
                "Fit again after a change of settings.",
            )

        def features(chunk: Sequence[Any]) -> Array:
            return join_blocks(feature_blocks(chunk, plan, aggregations), self.scales_)

        return gather(measures, plan, features, self.n_jobs)

    def _scales(self, measures: list[Any], plan: Plan, aggregations: list[Aggregation]) -> Array:
        def sizes(chunk: Sequence[Any]) -> Array:
            return np.hstack([row_sizes(block) for block in feature_blocks(chunk, plan, aggregations)])

        return block_scales(list(gather(measures, plan, sizes, self.n_jobs).T))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return one name per feature: aggregation and position."""
        check_is_fitted(self)
        names = [one.name for one in find_aggregations(self.aggregate)]
        pairs = zip(names, self.block_sizes_, strict=True)
        return np.asarray([f"{name}_{j}" for name, size in pairs for j in range(size)], dtype=object)


def rcdt(X: Any, space: Any = "image", **settings: Any) -> Array:
    """Return the R-CDT of every measure in X, of shape (n_samples, n_directions, n_quantiles).

    Parameters
    ----------
    X, space, **settings : as for `RCDT`

    Examples
    --------
    >>> import numpy as np
    >>> rcdt(np.random.default_rng(0).normal(size=(3, 50, 3)), "euclidean", n_directions=10, n_quantiles=7).shape
    (3, 10, 7)
    """
    X = list(X) if isinstance(X, Iterator) else X
    return RCDT(space, **settings).fit(X).quantiles(X)


def nrcdt(X: Any, space: Any = "image", **settings: Any) -> Array:
    """Return the features of every measure in X, of shape (n_samples, n_features).

    Parameters
    ----------
    X, space, **settings : as for `NRCDT`

    Examples
    --------
    >>> import numpy as np
    >>> cloud = np.random.default_rng(0).normal(size=(500, 2))
    >>> sheared = cloud @ np.array([[1.0, 0.4], [0.0, 2.0]]) + 3
    >>> a, b = nrcdt([cloud, sheared], "euclidean", n_directions=2000, n_quantiles=8)
    >>> bool(np.abs(a - b).max() < 0.01)
    True
    """
    X = list(X) if isinstance(X, Iterator) else X
    return np.asarray(NRCDT(space, **settings).fit(X).transform(X))
