"""scikit-learn transformers over the corridor, and their function twins."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .arrays import Array
from .errors import InputError
from .inverse import inverse_rcdt
from .measures import Batch
from .scales import BlockScales
from .slicer import Slicer
from .transform import fill, walk


class RCDT(Slicer):
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
    >>> images = np.stack([np.eye(8), np.tri(8)])
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
        self._fit_plan(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit to measures, and transform them."""
        quantiles = self._gather(self._fit_plan(X), self.plan_.quantiles)
        return quantiles.reshape(len(quantiles), -1)

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
        fitted = self._settings
        if (
            self.plan_.space.measure != "images"
            or fitted["normalize"] is not None
            or self.plan_.frame != "fixed"
            or fitted["trim"]
        ):
            raise InputError(
                "inverse_transform",
                "have space='image', normalize=None, frame='fixed' and trim=0",
                f"space={self.plan_.space.name!r}, normalize={fitted['normalize']!r}, frame={fitted['frame']!r} and "
                f"trim={fitted['trim']!r}",
                "Normalised or trimmed slices have lost their place.",
            )
        if self.image_shape_ is None:
            raise InputError("inverse_transform", "know the shape of images", "several in fit", "Fit to images alike.")
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
        return inverse_rcdt(quantiles, self.image_shape_, directions=directions, reference=fitted["reference"])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return one name per feature: direction and quantile."""
        check_is_fitted(self)
        names = [f"rcdt_{k}_{j}" for k in range(len(self.directions_)) for j in range(len(self.levels_))]
        return np.asarray(names, dtype=object)


class NRCDT(Slicer):
    """Normalized Radon cumulative distribution transform: features that affine maps leave alone.

    Parameters
    ----------
    space : "image", "euclidean", "circular", "rotation", another name in `SPACES`, a `Space`, or (phi, directions)
        Where the measures live. Images come as (n, height, width), as flattened rows, or as a list of arrays; clouds as
        (n, n_points, d), or as a list of (n_points, d) arrays or (points, weights) pairs; rotations as matrices
        (n, n_rotations, 3, 3), unit quaternions (n, n_rotations, 4) or SciPy's `Rotation`, also in lists and with
        weights.
    image_shape : (height, width), optional
        Shape of flattened images. Left out, they must be square. (1, -1) makes each one row of pixels.
    n_directions : int
        Number of directions: equispaced on the circle, Fibonacci on the sphere, Super-Fibonacci on SO(3); each space
        has its own. The line has two, +1 and -1, whatever the number.
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
        """Check the measures, resolve the settings, and learn the scales of a list of aggregations."""
        measures, lock = self._fit_plan(X, self.aggregate), Lock()
        if not self.plan_.scaled:
            return self._keep(None)
        scales = BlockScales(self.plan_.block_sizes)

        def learn(batch: Batch) -> None:
            features = self.plan_.features(batch)
            with lock:
                scales.partial_fit(features)

        with self._learning():
            deque(walk(measures, self.plan_, learn, self.n_jobs), maxlen=0)
        return self._keep(scales)

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit to measures, and return their features, which are computed once."""
        measures = self._fit_plan(X, self.aggregate)
        if not self.plan_.scaled:
            return self._keep(None)._gather(measures, self.plan_.features)
        scales = BlockScales(self.plan_.block_sizes)
        with self._learning():
            parts = deque(walk(measures, self.plan_, self.plan_.features, self.n_jobs))
            for part in parts:
                scales.partial_fit(part)
        self._keep(scales)
        return fill((scales.transform(parts.popleft()) for _ in range(len(parts))), measures)

    @contextmanager
    def _learning(self) -> Iterator[None]:
        """Leave the estimator unfitted where learning fails: the new plan does not go with old scales."""
        try:
            yield
        except BaseException:
            del self.plan_
            raise

    def _keep(self, scales: BlockScales | None) -> Self:
        self._scales, self.block_sizes_ = scales, list(self.plan_.block_sizes)
        self.scales_ = np.ones(1) if scales is None else scales.scales_
        return self

    def _features(self, batch: Batch) -> Array:
        features: Array = self.plan_.features(batch)
        return features if self._scales is None else self._scales.transform(features)

    def transform(self, X: Any) -> Array:
        """Return features of shape (n_samples, n_features)."""
        return self._gather(self._fitted(X), self._features)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return one name per feature: aggregation and position."""
        check_is_fitted(self)
        return np.asarray(self.plan_.feature_names, dtype=object)


def rcdt(
    X: Any,
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
) -> Array:
    """Return the R-CDT of every measure in X, of shape (n_samples, n_directions, n_quantiles).

    Parameters
    ----------
    X : measures
    others : as for `RCDT`

    Examples
    --------
    >>> import numpy as np
    >>> rcdt(np.random.default_rng(0).normal(size=(3, 50, 3)), "euclidean", n_directions=10, n_quantiles=7).shape
    (3, 10, 7)
    """
    model = RCDT(
        space,
        image_shape=image_shape,
        n_directions=n_directions,
        directions=directions,
        n_radii=n_radii,
        n_quantiles=n_quantiles,
        frame=frame,
        normalize=normalize,
        reference=reference,
        trim=trim,
        n_jobs=n_jobs,
    )
    return model._gather(model._fit_plan(X), model.plan_.quantiles)


def nrcdt(
    X: Any,
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
) -> Array:
    """Return the features of every measure in X, of shape (n_samples, n_features).

    Parameters
    ----------
    X : measures
    others : as for `NRCDT`

    Examples
    --------
    >>> import numpy as np
    >>> cloud = np.random.default_rng(0).normal(size=(500, 2))
    >>> sheared = cloud @ np.array([[1.0, 0.4], [0.0, 2.0]]) + 3
    >>> a, b = nrcdt([cloud, sheared], "euclidean", n_directions=2000, n_quantiles=8)
    >>> bool(np.abs(a - b).max() < 0.01)
    True
    """
    model = NRCDT(
        space,
        image_shape=image_shape,
        n_directions=n_directions,
        directions=directions,
        n_radii=n_radii,
        n_quantiles=n_quantiles,
        frame=frame,
        normalize=normalize,
        aggregate=aggregate,
        reference=reference,
        trim=trim,
        n_jobs=n_jobs,
    )
    return np.asarray(model.fit_transform(X))
