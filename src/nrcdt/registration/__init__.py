"""Registration: the affine map that takes one measure to another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..affine_maps import about_centre, warp
from ..arrays import Array
from ..distances import check_max_rotation
from ..errors import InputError, InputTypeError, LocatedError
from ..measures import Cloud, as_floats, check_image, check_rank, positive_integer, warn_of_paper
from ..plan import Plan
from ..rasters import box_around
from ..spaces import find_space
from ..threads import map_threads, thread_count
from .affine import Candidates, rotation_angle
from .clouds import affine_icp, overlap_of_points
from .pixels import InkField, ink_field, ink_overlap, overlap, refined_maps, refined_with_all_ink
from .plane import WhitenedSpectrum, plane_candidates, to_pixels, whitened_spectrum, without_outliers
from .result import Registration, Shape
from .spatial import spatial_candidates

__all__ = [
    "PreparedImage",
    "Registration",
    "about_centre",
    "overlap",
    "prepare_image",
    "register",
    "register_all",
    "rotation_angle",
    "warp",
]

STRIPS = 4  # per quantile: more of them do not bring maps nearer
N_PEAKS = 4  # of the alignment of two pictures, all of which are refined
MANY_POINTS = 9  # rows of two or three numbers, from which on they are no image that has three directions of ink
N_BEST = 6  # maps between two clouds, of which refinement takes the best


def register(
    a: Any,
    b: Any,
    space: str = "image",
    *,
    n_directions: int = 64,
    n_quantiles: int = 64,
    max_rotation: float | None = None,
    reflection: bool = True,
    refine: bool = False,
) -> Registration:
    """Find the affine map that takes one picture, or one cloud of points, to another.

    Parameters
    ----------
    a, b : two images of any sizes, bright ink on dark ground, or what `prepare_image` made of them with the same
        settings; or two clouds (n_points, d), with d 2 or 3, or pairs (points, weights)
    space : "image" or "euclidean"
    n_directions, n_quantiles : as for `RCDT`
    max_rotation : degrees, optional
        Bounds the rotation of the map: a stretch, a mirror of x if it reflects, then this rotation.
    reflection : bool
        Whether the map may mirror.
    refine : bool
        Whether to try several maps and to improve them step by step: for pictures with foreign ink or with gaps, and
        for different samples of one surface. Takes a few times longer.

    Returns
    -------
    Registration (matrix, residual, overlap, reflected, shapes)
        Its matrix acts on (x, y, 1); it can be applied to points, inverted, and passed to `warp`.

    See Also
    --------
    register_all : one image against many.
    nrcdt.distances.aligned : distances only, of many measures at once.

    Examples
    --------
    >>> from nrcdt.datasets import watermarks
    >>> drawing = watermarks(1, size=128)[0][0]
    >>> copy = warp(drawing, [[0.9, 0.3, -10.0], [-0.2, 0.7, 30.0]])
    >>> found = register(drawing, copy)
    >>> found.matrix[:, :2].round(2), bool(found.overlap > 0.9), found.reflected
    (array([[ 0.9,  0.3],
           [-0.2,  0.7]]), True, False)
    >>> bool(np.abs(warp(drawing, found) - copy).mean() < 0.01)
    True
    """
    search = _search(n_directions, n_quantiles, max_rotation, reflection, refine)
    if not isinstance(space, str):
        raise InputTypeError(
            "space", "be 'image' or 'euclidean'", f"a {type(space).__name__}", "Many images go to register_all."
        )
    if space == "image":
        _warn_of_paper([a], ["a"])
        _warn_of_paper([b], ["b"])
        return _register_images(_prepared(a, "a", search), _prepared(b, "b", search), search)
    if space == "euclidean":
        return _register_clouds(_check_cloud(a, "a"), _check_cloud(b, "b"), search)
    raise InputError("space", "be 'image' or 'euclidean' to be registered", repr(space), "Others are not affine.")


def register_all(
    a: Any,
    images: Iterable[Any],
    *,
    n_directions: int = 64,
    n_quantiles: int = 64,
    max_rotation: float | None = None,
    reflection: bool = True,
    refine: bool = False,
    n_jobs: int | None = None,
) -> list[Registration]:
    """Find the affine maps that take one image to each of many: `register`, with the work on the one done once.

    Parameters
    ----------
    a : image
    images : images of any sizes
    n_jobs : threads, as in scikit-learn
    others : as for `register`

    Examples
    --------
    >>> from nrcdt.datasets import distorted, watermarks
    >>> drawings, _ = watermarks(3, size=96)
    >>> copy = distorted(drawings, 1, random_state=0, shift=(-5, 5))[0][1]
    >>> overlaps = [found.overlap for found in register_all(copy, drawings)]
    >>> int(np.argmax(overlaps))
    1
    """
    search = _search(n_directions, n_quantiles, max_rotation, reflection, refine)
    others = list(images)
    _warn_of_paper([a], ["a"])
    _warn_of_paper(others, [f"images[{n}]" for n in range(len(others))])
    one = _prepared(a, "a", search)

    def match(n: int) -> Registration:
        return _register_images(one, _prepared(others[n], f"images[{n}]", search), search)

    return list(map_threads(match, range(len(others)), thread_count(n_jobs, len(others))))


class _Search(NamedTuple):
    """The options of `register`."""

    n_directions: int
    n_quantiles: int
    max_rotation: float | None
    reflection: bool
    refine: bool


def _search(n_directions: int, n_quantiles: int, max_rotation: float | None, reflection: bool, refine: bool) -> _Search:
    check_max_rotation(max_rotation)
    n_directions = positive_integer(n_directions, "n_directions", "64 is a good start.")
    n_quantiles = positive_integer(n_quantiles, "n_quantiles", "64 is a good start.")
    return _Search(n_directions, n_quantiles, max_rotation, reflection, refine)


class PreparedImage(NamedTuple):
    """An image cut to its ink, which starts at a pixel (x, y), and what is needed of it to find a map.

    `shape` is that of the whole image. For refinement it is whitened once more without outlying ink, and has a field of
    distances to its ink. `settings` are those of `prepare_image`.
    """

    image: Array
    start: Array
    shape: Shape
    spectra: list[WhitenedSpectrum]
    field: InkField | None
    settings: tuple[int, int, bool]

    @property
    def nbytes(self) -> int:
        """How much memory it takes, but for a few numbers."""
        arrays = [self.image, *(one.spectrum.spectrum for one in self.spectra)]
        arrays += [self.field.points, self.field.field] if self.field else []
        return sum(array.nbytes for array in arrays)


def prepare_image(image: Any, *, n_directions: int = 64, n_quantiles: int = 64, refine: bool = False) -> PreparedImage:
    """Do the work that `register` has with one image whatever the other is, for images that are registered often.

    Examples
    --------
    >>> from nrcdt.datasets import watermarks
    >>> a, b = watermarks(2, size=96)[0]
    >>> register(prepare_image(a), prepare_image(b)).overlap == register(a, b).overlap
    True
    """
    _warn_of_paper([image], ["image"])
    return _prepared(image, "image", _search(n_directions, n_quantiles, None, True, refine))


def _prepared(image: Any, name: str, search: _Search) -> PreparedImage:
    settings = search.n_directions, search.n_quantiles, search.refine
    if isinstance(image, PreparedImage):
        if image.settings != settings:
            raise InputError(name, f"be prepared with n_directions, n_quantiles, refine = {settings}", image.settings)
        return image
    image, start = _no_points(image, name), np.zeros(2)
    shape = image.shape
    if image.ndim == 2:
        rows, columns = box_around(image != 0)
        image, start = image[rows, columns], np.array([columns.start, rows.start])
    image = check_image(image, name)
    plan = _plane_plan("image", search.n_directions, search.n_quantiles)
    versions = [image, without_outliers(image)] if search.refine else [image]
    spectra = [whitened_spectrum(version, plan) for version in versions]
    return PreparedImage(image, start, shape, spectra, ink_field(image) if search.refine else None, settings)


def _warn_of_paper(images: Sequence[Any], names: Sequence[str]) -> None:
    """Warn of images whose paper is not zero; those that are prepared have been looked at."""
    seen = (np.ndarray, PreparedImage, tuple)  # what else may be an image is a list of its rows
    given = [one if isinstance(one, seen) else as_floats(one, name) for one, name in zip(images, names, strict=True)]
    warn_of_paper(given, names, "pass what nrcdt.ink.remove_paper returns")


def _no_points(image: Any, name: str) -> Array:
    """Return floats, and refuse what is a cloud rather than an image: points and weights, or a few long columns."""
    weighted = isinstance(image, tuple) and len(image) == 2 and getattr(image[0], "ndim", 0) == 2
    array = as_floats(image[0] if weighted else image, name)
    if weighted or (array.ndim == 2 and array.shape[1] in (2, 3) and len(array) >= MANY_POINTS):
        raise InputError(
            name,
            "be an image",
            f"{array.shape[0]} points of {array.shape[1]} coordinates, as it seems",
            'Clouds are registered with space="euclidean"; an image so narrow is to be padded to four columns.',
        )
    return array


def _register_images(a: PreparedImage, b: PreparedImage, search: _Search) -> Registration:
    matrices, residuals, reflected = _image_candidates(a, b, search)
    best, matrix = 0, matrices[0]
    if a.field is not None and b.field is not None:
        better, costs = refined_maps(matrices, a.field, b.field)
        better, best = _bounded(better, matrices, search.max_rotation), int(np.argmin(costs))
        matrix = refined_with_all_ink(better[best], a.field, b.field) if np.isfinite(costs[best]) else matrices[best]
        matrix = matrix if _within(matrix, search.max_rotation) else better[best]
    agreement = ink_overlap(a.image, b.image, matrix)
    matrix[:, 2] += b.start - matrix[:, :2] @ a.start
    return Registration(matrix, float(residuals[best]), agreement, bool(reflected[best]), (a.shape, b.shape))


def _image_candidates(a: PreparedImage, b: PreparedImage, search: _Search) -> Candidates:
    """Maps between pixel coordinates; for refinement several, some of them found without outlying ink."""
    options = (search.n_directions, search.max_rotation, search.reflection, N_PEAKS if search.refine else 1)
    found = [plane_candidates(one, other, *options) for one, other in zip(a.spectra, b.spectra, strict=True)]
    matrices, residuals, reflected = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Candidates(to_pixels(matrices, a.image.shape, b.image.shape), residuals, reflected)


def _bounded(better: Array, matrices: Array, max_rotation: float | None) -> Array:
    """Return improved maps, or those that they come from where improving them has turned them too far."""
    return np.where(_within(better, max_rotation)[..., np.newaxis, np.newaxis], better, matrices)


def _within(matrices: Array, max_rotation: float | None) -> Array:
    return np.asarray(max_rotation is None or rotation_angle(matrices) <= max_rotation + 1e-6)


def _check_cloud(cloud: Any, name: str) -> Cloud:
    """Check one cloud."""
    shape: tuple[int, ...] = getattr(cloud, "shape", ())
    if len(shape) == 2 and shape[1] > 3:
        remedy = 'Pictures are registered with space="image"; project other clouds first.'
        raise InputError(name, "have 2 or 3 coordinates to be registered", shape[1], remedy)
    try:
        (checked,) = find_space("euclidean").check([cloud])
    except LocatedError as error:
        raise error.about(argument=name, sample=None) from None
    check_rank(checked, name)
    return Cloud(checked.points.astype(np.float64, copy=False), checked.weights)


def _register_clouds(a: Cloud, b: Cloud, search: _Search) -> Registration:
    dimensions = a.points.shape[1], b.points.shape[1]
    if dimensions not in ((2, 2), (3, 3)):
        raise InputError(
            "a and b",
            "both have 2 or 3 coordinates to be registered",
            f"{dimensions[0]} and {dimensions[1]}",
            "Project them first.",
        )
    matrices, residuals, reflected = _cloud_candidates(a, b, search)
    better, costs = matrices, residuals.copy()
    if search.refine:
        fits = [affine_icp(matrix, a.points, b.points) for matrix in matrices]
        better, costs = np.stack([matrix for matrix, _ in fits]), np.array([cost for _, cost in fits])
    better, best = _bounded(better, matrices, search.max_rotation), int(np.argmin(costs))
    matrix = better[best] if np.isfinite(costs[best]) else matrices[best]
    return Registration(
        matrix, float(residuals[best]), overlap_of_points(a.points, b.points, matrix), bool(reflected[best])
    )


def _cloud_candidates(a: Cloud, b: Cloud, search: _Search) -> Candidates:
    options = (search.max_rotation, search.reflection, N_BEST)
    if a.points.shape[1] == 3:
        return spatial_candidates(a, b, search.n_directions, search.n_quantiles, *options)
    plan = _plane_plan("euclidean", search.n_directions, search.n_quantiles)
    return plane_candidates(whitened_spectrum(a, plan), whitened_spectrum(b, plan), search.n_directions, *options)


@lru_cache(maxsize=8)
def _plane_plan(space: str, n_directions: int, n_quantiles: int) -> Plan:
    return Plan.resolve(
        space,
        n_directions=n_directions,
        n_quantiles=n_quantiles,
        n_radii=STRIPS * n_quantiles,
        frame="whitened",
        normalize=None,
    )
