"""Distances between measures: sliced Wasserstein, and the aligned distance, which affine maps leave alone.

An affine map turns or reflects a whitened measure and does nothing else. In the plane that is a circular shift of the
direction axis of its quantiles, after a reversal for reflections. The best shift comes out of one FFT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from .alignment import DirectionSpectrum, alignments, direction_spectrum
from .arrays import Array
from .errors import InputError, samples_called
from .estimators import RCDT
from .frames import whitening
from .measures import as_floats, check_finite, floats, positive_integer
from .measures.values import is_number
from .sorted_slices import Pairs, distance_powers
from .spaces import find_space

CHUNK_PAIRS = 1024
SAMPLED = 256  # quantiles of a slice where only samples are compared; docs/performance.md shows what that costs
SAMPLE_THEM = "Pass n_quantiles=256 to compare sampled quantiles, to which it applies."


def sliced_wasserstein(
    X: Any,
    Y: Any = None,
    space: Any = "image",
    *,
    p: int = 2,
    paired: bool = False,
    image_shape: tuple[int, int] | None = None,
    n_directions: int = 256,
    directions: Any = None,
    n_radii: int | Literal["auto"] = "auto",
    n_quantiles: int | None = None,
    frame: str = "fixed",
    normalize: Any = None,
    reference: Any = "uniform",
    trim: float = 0.0,
    n_jobs: int | None = None,
) -> Array:
    """Sliced Wasserstein distances: exact between clouds, sampled between images.

    The p-th power is the mean over the directions of the p-th powers of the Wasserstein-p distances between slices.

    Parameters
    ----------
    X, Y : measures
        Without Y, distances are taken within X. Two clouds, arrays x and y of shape (n_points, d), go as
        ``sliced_wasserstein([x], [y], "euclidean")``; one against many as ``([x], many, "euclidean")``.
    space : as for `RCDT`
        Where slices are points on the line, which is everywhere but for images and signals, distances are exact in the
        given directions, and clouds may lie on a line or in a single point.
    p : 1 or 2
    paired : bool
        Only the distances of X[i] and Y[i].
    n_quantiles : int, optional
        Compare so many sampled quantiles of every slice: all that images and signals can, 256 where nothing is said.
        Between clouds that misses what lies in the tails: up to a third of the distance where they are heavy, as a
        table in the documentation shows. `reference`, `trim`, and the normalisations "winsorize" and "median" need it.
    others : as for `RCDT`
        Directions that are not evenly spread come as ``directions=(array, weights)``.

    Returns
    -------
    array of shape (n_X, n_Y), or (n_X,) where paired
        In float64. It does not depend on `n_jobs`.

    See Also
    --------
    sliced_wasserstein_kernel : for support vector machines and other kernel methods.

    Notes
    -----
    Exact distances are so up to rounding: levels that differ by less than 2^-46 of the mass count as one, and points
    lighter than that may not be seen, however far away they are.

    Beyond the table, exact distances take 8 bytes (float32: 4) per point and direction, with weights 8 more: for as
    many directions at a time as fit into 64 MB, at least one, and with ``normalize="global"`` for all of them. Sampled
    ones hold ``8 * n_directions * n_quantiles`` bytes for every measure, half a megabyte by default.

    Examples
    --------
    >>> import numpy as np
    >>> cloud = np.random.default_rng(0).normal(size=(40, 2))
    >>> shifted = cloud + [3.0, 4.0]
    >>> sliced_wasserstein([cloud, shifted], space="euclidean").round(3)
    array([[0.   , 3.536],
           [3.536, 0.   ]])
    >>> sliced_wasserstein([cloud], [cloud[:7]], "euclidean", p=1).shape
    (1, 1)
    """
    found = find_space(space)
    exact = n_quantiles is None and found.measure == "points"
    if exact:
        _refuse_sampled(reference, trim, normalize)
    model = RCDT(
        found,
        image_shape=image_shape,
        n_directions=n_directions,
        directions=directions,
        n_radii=n_radii,
        n_quantiles=SAMPLED if n_quantiles is None else n_quantiles,
        frame=frame,
        normalize=normalize,
        reference=reference,
        trim=trim,
        n_jobs=n_jobs,
    )
    return (_exact if exact else _sampled)(model, X, Y, _checked_power(p), paired)


def _exact(model: RCDT, X: Any, Y: Any, p: int, paired: bool) -> Array:
    left = list(model._fit_plan(X))
    with samples_called("Y"):
        right = left if Y is None else list(model._fitted(Y))
    _check_pairs(left, None if Y is None else right, paired)
    which: Pairs = "paired" if paired else "half" if Y is None else "all"
    powers = distance_powers(left, right, model.plan_, p, which, model.n_jobs)
    return np.sqrt(powers) if p == 2 else powers


def _sampled(model: RCDT, X: Any, Y: Any, p: int, paired: bool) -> Array:
    """Norms of differences of R-CDTs."""
    left = np.asarray(model.fit_transform(X))
    weights = (model.direction_weights_[:, np.newaxis] * model.plan_.levels.weights).ravel() ** (1 / p)
    left = left * weights
    with samples_called("Y"):
        right = left if Y is None else np.asarray(model.transform(Y)) * weights
    _check_pairs(left, None if Y is None else right, paired)
    if paired:
        return np.asarray(np.linalg.norm(left - right, ord=p, axis=1))
    return np.asarray(cdist(left, right, "euclidean" if p == 2 else "cityblock"))


def _checked_power(p: Any) -> int:
    if not (is_number(p) and p in (1, 2)):
        raise InputError("p", "be 1 or 2", repr(p), "2 is the root mean square of what mass has to move, 1 the mean.")
    return int(p)


def _check_pairs(left: Sequence[Any] | Array, right: Sequence[Any] | Array | None, paired: bool) -> None:
    if paired and (right is None or len(left) != len(right)):
        got = "none" if right is None else len(right)
        raise InputError("Y", f"hold as many measures as X, {len(left)}, to be paired", got, "Leave paired out.")


def _refuse_sampled(reference: Any, trim: Any, normalize: Any) -> None:
    """Refuse settings that only sampled quantiles know."""
    if not (isinstance(reference, str) and reference == "uniform"):
        raise InputError("reference", "be 'uniform' for exact distances", repr(reference), SAMPLE_THEM)
    if trim != 0:
        raise InputError("trim", "be 0 for exact distances", repr(trim), SAMPLE_THEM)
    if isinstance(normalize, str) and normalize in ("winsorize", "median"):
        rule = "be None, 'center', 'standardize' or 'global' for exact distances"
        raise InputError("normalize", rule, repr(normalize), SAMPLE_THEM)


def sliced_wasserstein_kernel(
    X: Any, Y: Any = None, space: Any = "image", *, gamma: float, p: int = 2, **settings: Any
) -> Array:
    """Return exp(-gamma d^p) of sliced Wasserstein-p distances d: a positive definite kernel between measures.

    Both powers are of negative type: the slices' quantile functions lie in an L^p, where W_2^2 is a squared distance of
    a Hilbert space and W_1 a distance of an L^1; by Schoenberg's theorem the kernel is positive definite for every
    gamma (Kolouri, Zou, Rohde, "Sliced Wasserstein kernels for probability distributions", CVPR 2016).

    Parameters
    ----------
    X, Y, space, p : as for `sliced_wasserstein`
    gamma : positive number
        In units of 1 / d^p; 1 / median(d^p) of the training measures is a good start.
    settings : others of `sliced_wasserstein`

    Returns
    -------
    array of shape (n_X, n_Y)

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> rng = np.random.default_rng(0)
    >>> round_ones, long_ones = rng.normal(size=(2, 10, 50, 2)) * np.array([[1, 1], [2, 0.5]])[:, None, None]
    >>> clouds, labels = [*round_ones, *long_ones], np.repeat([0, 1], 10)
    >>> gram = sliced_wasserstein_kernel(clouds, space="euclidean", gamma=1.0)
    >>> model = SVC(kernel="precomputed").fit(gram, labels)
    >>> new = rng.normal(size=(3, 50, 2)) * [2, 0.5]
    >>> model.predict(sliced_wasserstein_kernel(new, clouds, "euclidean", gamma=1.0))
    array([1, 1, 1])
    """
    if not (is_number(gamma) and 0 < gamma < np.inf):
        raise InputError("gamma", "be a positive number", repr(gamma), "Try 1 / numpy.median(distances ** p).")
    return np.asarray(np.exp(-gamma * sliced_wasserstein(X, Y, space, p=p, **settings) ** p))


def check_max_rotation(max_rotation: Any) -> None:
    """Refuse what is not an angle between 0 and 180 degrees, or None."""
    if max_rotation is not None and not (is_number(max_rotation) and 0 <= max_rotation <= 180):
        raise InputError(
            "max_rotation",
            "be an angle between 0 and 180 degrees, or None",
            repr(max_rotation),
            "None allows every rotation.",
        )


def _distances(
    a: DirectionSpectrum, b: DirectionSpectrum, n_directions: int, max_rotation: float | None, reflection: bool
) -> Array:
    """Aligned distances, a few rows of the table at a time."""
    out = np.empty((len(a.squares), len(b.squares)))
    rows = max(1, CHUNK_PAIRS // len(b.squares))
    for start in range(0, len(out), rows):
        part = DirectionSpectrum(*(field[start : start + rows] for field in a))
        peak = alignments(part, b, n_directions, max_rotation, reflection)
        out[start : start + rows] = np.sqrt(peak.squares[..., 0])
    return out


def aligned(
    X: Any,
    Y: Any = None,
    space: Any = "image",
    *,
    n_directions: int = 64,
    n_quantiles: int = 64,
    max_rotation: float | None = None,
    reflection: bool = True,
    n_radii: int | Literal["auto"] = "auto",
    n_jobs: int | None = None,
) -> Array:
    """Affine-invariant distances in the plane: sliced Wasserstein between whitened measures, best rotation first.

    Parameters
    ----------
    X, Y : images, or clouds in the plane
        Without Y, distances are taken within X. One image against many: ``aligned([image], many)``.
    space : "image" or "euclidean"
    n_directions, n_quantiles, n_radii, n_jobs : as for `RCDT`
    max_rotation : degrees, optional
        For pictures that are roughly upright. The affine map between two pictures is a stretch followed by a rotation
        (its polar decomposition), with a left-right mirror between the two if it reflects. Only maps with a rotation
        up to this angle are considered.
    reflection : bool
        Whether mirrored pictures count as alike.

    Returns
    -------
    array of shape (n_X, n_Y)
        Root mean squares over directions and quantiles, in units of the spread of the measures. Without
        `max_rotation` this is a metric on measures up to affine maps; with it the triangle inequality is lost.

    See Also
    --------
    AlignedMetric : the same for features, as a scikit-learn metric.
    nrcdt.registration.register : the affine map that goes with the distance.

    Examples
    --------
    >>> import numpy as np
    >>> cloud, other = np.random.default_rng(0).exponential(size=(2, 100, 2))
    >>> moved = cloud @ [[1.0, 0.5], [-3.0, 0.2]] + 7
    >>> aligned([cloud], [moved, other], "euclidean").round(2)
    array([[0.02, 0.22]])
    """
    check_max_rotation(max_rotation)
    settings = {"n_directions": n_directions, "n_quantiles": n_quantiles, "n_radii": n_radii, "n_jobs": n_jobs}
    left = _look_at(X, space, settings)
    with samples_called("Y"):
        right = left if Y is None else _look_at(Y, space, settings)
    return _distances(left, right, n_directions, max_rotation, reflection)


def _look_at(X: Any, space: Any, settings: dict[str, Any]) -> DirectionSpectrum:
    measures = plane_measures(X, space)
    with samples_called(None):
        quantiles = RCDT(space, frame="whitened", **settings).fit(measures).quantiles(measures)
    return direction_spectrum(quantiles, np.stack([whitening(measure).matrix for measure in measures]))


def plane_measures(X: Any, space: Any) -> list[Any]:
    """Check images or plane clouds; refuse spaces in which nothing can be aligned around a circle."""
    found = find_space(space)
    if not found.linear:
        raise InputError(
            "space",
            "be 'image' or 'euclidean' to be aligned",
            repr(found.name),
            "Elsewhere affine maps do more than turn the directions.",
        )
    measures = [floats(measure) for measure in found.check(X)]
    if found.dimension(measures[0]) != 2:
        raise InputError(
            "X",
            "lie in the plane to be aligned",
            f"clouds in {found.dimension(measures[0])} dimensions",
            "nrcdt.registration.register aligns two clouds in space.",
        )
    return measures


@dataclass(frozen=True)
class AlignedMetric:
    """Aligned distance between features, as a metric for scikit-learn: rows of ``RCDT(frame="whitened")``.

    Parameters
    ----------
    n_directions, n_quantiles : as in the `RCDT` that made the rows
    max_rotation : degrees, optional
        Bounds the rotation between the whitened measures: rows do not tell how they were whitened. For pictures whose
        ink is twice as long as it is wide, that is within 7 degrees of what `aligned` bounds; for 4 to 1, within 21.
        Say ``algorithm="brute"`` then: trees need the triangle inequality.
    reflection : as for `aligned`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from nrcdt import RCDT
    >>> from nrcdt.datasets import distorted, watermarks
    >>> drawings, names = watermarks(3, size=64)
    >>> copies, labels = distorted(drawings, 2, random_state=0, shift=(-5, 5))
    >>> features = RCDT(frame="whitened", n_directions=32, n_quantiles=32)
    >>> nearest = KNeighborsClassifier(1, metric=AlignedMetric(32, 32))
    >>> make_pipeline(features, nearest).fit(drawings, names).score(copies, np.array(names)[labels])
    1.0
    """

    n_directions: int = 64
    n_quantiles: int = 64
    max_rotation: float | None = None
    reflection: bool = True

    def __post_init__(self) -> None:
        positive_integer(self.n_directions, "n_directions", "64 is a good start.")
        positive_integer(self.n_quantiles, "n_quantiles", "64 is a good start.")
        check_max_rotation(self.max_rotation)

    def __call__(self, x: Array, y: Array) -> float:
        """Return the distance of two rows of n_directions * n_quantiles features."""
        return float(self.pairwise(np.atleast_2d(x), np.atleast_2d(y))[0, 0])

    def pairwise(self, X: Any, Y: Any = None) -> Array:
        """Return distances of shape (n_X, n_Y) between rows, one or many; much faster than one by one."""
        left = self._spectrum(X, "X")
        right = left if Y is None else self._spectrum(Y, "Y")
        return _distances(left, right, self.n_directions, self.max_rotation, self.reflection)

    def _spectrum(self, rows: Any, name: str) -> DirectionSpectrum:
        array = as_floats(rows, name)
        if array.ndim != 2 or len(array) == 0 or array.shape[1] != self.n_directions * self.n_quantiles:
            raise InputError(
                name,
                f"have rows of {self.n_directions} directions x {self.n_quantiles} quantiles",
                f"shape {array.shape}",
                "Use the rows and the settings of RCDT(frame='whitened').",
            )
        check_finite(array, name)
        return direction_spectrum(array.reshape(len(array), self.n_directions, self.n_quantiles))
