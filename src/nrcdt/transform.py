"""The corridor: Algorithm 1 of the paper, one room per line. Batches are cut into chunks here and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from .aggregate import Aggregation, aggregate
from .directions import evenly_spread, run_around, unit_vectors
from .errors import InputError, LocatedError, SampleError, Where
from .frames import FRAMES, centred, sight, whitening
from .measures import Cloud, as_floats, check_finite, check_shape, float_type, floats, positive_integer
from .normalize import NORMALIZATIONS, Normalization, normalize, refuse_flat
from .quantiles import (
    Levels,
    inverse_cdt,
    linear_quantiles,
    reference_levels,
    standardized_extremes,
    step_quantiles,
)
from .slices import Array
from .spaces import Space, find_space
from .spaces.image import filtered_back_projection, strip_count
from .threads import share, thread_count

CHUNK_BYTES = 2**22
CANVAS_TOLERANCE = 1e-5

Result = TypeVar("Result")


class Plan(NamedTuple):
    """Everything that is the same for all samples."""

    space: Space
    directions: Array
    direction_weights: Array
    n_radii: int | Literal["auto"]
    levels: Levels
    normalization: Normalization
    frame: str = "fixed"


def make_plan(
    space: Any,
    dimension: int,
    n_directions: int,
    directions: Any,
    n_radii: Any,
    n_quantiles: int,
    frame: str,
    normalization: Any,
    reference: Any,
    trim: float = 0.0,
) -> Plan:
    """Resolve names into what the corridor walks with, or say what is wrong with them."""
    space = find_space(space)
    chosen, weights = resolve_directions(space, dimension, n_directions, directions)
    check_frame(frame, space)
    if not (normalization is None or isinstance(normalization, str)) or normalization not in NORMALIZATIONS:
        names = ", ".join(map(repr, NORMALIZATIONS))
        raise InputError("normalize", f"be one of {names}", repr(normalization))
    strip_count((1, 1), n_radii)
    levels = reference_levels(n_quantiles, reference, trim)
    if n_quantiles < 2 and normalization not in ("center", None):
        raise InputError("n_quantiles", "be at least 2 to have a spread", n_quantiles, "256 is a good start.")
    return Plan(space, chosen, weights, n_radii, levels, normalization, frame)


def check_frame(frame: Any, space: Space) -> None:
    """Refuse frames that are unknown, or that a space does not have."""
    if not isinstance(frame, str) or frame not in FRAMES:
        raise InputError("frame", f"be one of {', '.join(FRAMES)}", repr(frame))
    if frame == "whitened" and not space.linear:
        raise InputError(
            "frame",
            f"be 'fixed' in the {space.name} space, whose slices are not linear",
            repr(frame),
            "Images, signals and the euclidean space can be whitened.",
        )


def resolve_directions(space: Space, dimension: int, n_directions: int, given: Any) -> tuple[Array, Array]:
    """Return directions and weights that sum to one: the space's own, or a given array or (array, weights)."""
    if given is None:
        n_directions = positive_integer(n_directions, "n_directions", "256 is a good start.")
        directions, weights = space.directions(n_directions, dimension), None
    else:
        directions, weights = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    directions = np.ascontiguousarray(as_floats(directions, "directions"), np.float64)
    if directions.ndim == 0 or len(directions) == 0:
        raise InputError("directions", "be at least one", f"shape {directions.shape}", "One direction per row.")
    check_finite(directions, "directions")
    if dimension and (directions.ndim != 2 or directions.shape[1] != dimension or len(directions) == 0):
        raise InputError(
            "directions",
            f"have shape (n_directions, {dimension}) in the {space.name} space",
            directions.shape,
            "One direction per row.",
        )
    if space.unit_directions:
        directions = unit_vectors(directions, "directions")
    if weights is None:
        return directions, np.full(len(directions), 1 / len(directions))
    weights = as_floats(weights, "the weights of directions")
    if weights.shape != (len(directions),):
        raise InputError(
            "the weights of directions",
            f"be one number per direction, {len(directions)}",
            f"shape {weights.shape}",
            "Pass (directions, weights).",
        )
    low, high = check_finite(weights, "the weights of directions")
    if low < 0 or high == 0:
        raise InputError(
            "the weights of directions",
            "be non-negative with positive sum",
            f"a minimum of {low:g} and a maximum of {high:g}",
            "Pass (directions, weights).",
        )
    weights = weights / high  # or the sum of large ones might not be finite
    return directions, weights / weights.sum()


def refuse_directions(
    aggregations: Sequence[Aggregation], directions: Array, space: Space, weights: Array | None = None
) -> None:
    """Refuse aggregations that ask for an order or an even spread that directions, or their weights, do not have."""
    even = weights is None or bool(np.ptp(weights) < 1e-9 * weights.max())
    for one in aggregations:
        if "circle" in one.needs and not run_around(directions):
            raise InputError(
                f"aggregate {one.name!r}",
                "have directions in order around a whole circle",
                f"directions of shape {directions.shape} in the {space.name} space",
                "Use 'max', or plane directions sorted by angle, at least two.",
            )
        if "even" in one.needs and not (even and space.unit_directions and evenly_spread(directions)):
            raise InputError(
                f"aggregate {one.name!r}",
                "have directions spread evenly over a circle or a sphere",
                f"directions of shape {directions.shape}{('' if even else ', weighted,')} in the {space.name} space",
                "Leave directions out, take more of them, or use 'max'.",
            )


def quantile_array(measures: Sequence[Any], plan: Plan) -> Array:
    """Lines 1 to 7 for measures of one dtype: normalised quantiles of shape (n_samples, n_directions, n_quantiles)."""
    out = np.empty((len(measures), len(plan.directions), len(plan.levels.values)), dtype_of(measures[0]))
    for i, measure in enumerate(measures):
        try:
            _fill_quantiles(floats(measure), plan, out[i])
        except LocatedError as error:
            raise error.about(argument="X", sample=i, phrase=f"{{}}: {error.where}") from error
        except ValueError as error:
            raise SampleError(Where("X", i), str(error)) from error
    weights = (plan.levels.weights, plan.direction_weights)
    return normalize(out, plan.normalization, *weights, linear=plan.space.linear)


def _fill_quantiles(measure: Any, plan: Plan, out: Array) -> None:
    if isinstance(measure, Cloud) and not plan.space.densities and _ignores_shifts(plan):
        measure = centred(measure)  # far from the origin inner products would lose digits
    if plan.frame == "fixed":
        _slice(measure, plan, plan.directions, out)
        return
    seen = sight(whitening(measure), plan.directions)
    _slice(measure, plan, seen.directions, out)
    out -= seen.shifts[:, np.newaxis]
    out *= seen.stretches[:, np.newaxis]


def _ignores_shifts(plan: Plan) -> bool:
    return plan.space.linear and (plan.frame == "whitened" or plan.normalization is not None)


def _slice(measure: Any, plan: Plan, directions: Array, out: Array) -> None:
    if plan.space.densities:
        linear_quantiles(plan.space.slices(measure, directions, plan.n_radii), plan.levels, out)
    else:
        step_quantiles(plan.space.slices(measure, directions), plan.levels, out)


def feature_blocks(measures: Sequence[Any], plan: Plan, aggregations: list[Aggregation]) -> list[Array]:
    """Lines 1 to 10: one block of features per aggregation."""
    of_extremes = all(one.extremes for one in aggregations) and _has_extremes(plan)
    quantiles = extreme_array(measures, plan) if of_extremes else quantile_array(measures, plan)
    return aggregate(quantiles, aggregations, plan.direction_weights, plan.directions)


def _has_extremes(plan: Plan) -> bool:
    return (plan.space.name, plan.frame, plan.normalization) == ("image", "fixed", "standardize")


def extreme_array(measures: Sequence[Any], plan: Plan) -> Array:
    """Smallest and largest value over the directions of what `quantile_array` returns; (n_samples, 2, n_quantiles).

    A direction is finished while it is in the cache, and bytes are read as they are.
    """
    out = np.empty((len(measures), 2, len(plan.levels.values)), dtype_of(measures[0]))
    means, variances = np.empty((2, len(measures), len(plan.directions)))
    for i, measure in enumerate(measures):
        image = measure if measure.dtype == np.uint8 else floats(measure)
        bins = plan.space.slices(image, plan.directions, plan.n_radii)
        standardized_extremes(bins, plan.levels, means[i], variances[i], out[i])
    refuse_flat(means, np.sqrt(variances), np.finfo(out.dtype).eps)
    return out


def walk(
    measures: Sequence[Any], plan: Plan, stage: Callable[[Sequence[Any]], Result], n_jobs: int | None = None
) -> Iterator[Result]:
    """Send a batch through the corridor in chunks, on `n_jobs` threads; results come in order, as they are done."""

    def one(chunk: tuple[int, int]) -> Result:
        start, stop = chunk
        try:
            return stage(measures[start:stop])
        except LocatedError as error:
            if error.sample is None:
                raise
            raise error.about(sample=error.sample + start) from error.__cause__
        except SystemError as error:  # how a compiled function returns when Ctrl-C was pressed meanwhile
            raise (error.__cause__ if isinstance(error.__cause__, KeyboardInterrupt) else error) from None

    n_threads = thread_count(n_jobs, len(measures))
    return share(one, _chunks(measures, plan, n_threads), n_threads)


def gather(measures: Sequence[Any], plan: Plan, stage: Callable[[Sequence[Any]], Array], n_jobs: int | None) -> Array:
    """Walk, and put the results into one array as they come, so that none is held twice."""
    parts = walk(measures, plan, stage, n_jobs)
    first = next(parts)
    out = np.empty((len(measures), *first.shape[1:]), np.result_type(*set(map(dtype_of, measures))))
    n = 0
    for part in chain([first], parts):
        out[n : n + len(part)] = part
        n += len(part)
    return out


def _chunks(measures: Sequence[Any], plan: Plan, n_threads: int) -> Iterator[tuple[int, int]]:
    """Cut the batch where the dtype changes or quantiles would take too much memory.

    Threads get smaller and smaller chunks, so that none waits long for another at the end.
    """
    sample_bytes = 8 * len(plan.directions) * len(plan.levels.values)
    longest = max(1, CHUNK_BYTES // sample_bytes)
    n_shares = 1 if n_threads == 1 else 2 * n_threads
    start = 0
    while start < len(measures):
        dtypes = map(dtype_of, measures[start : start + min(longest, math.ceil((len(measures) - start) / n_shares))])
        _, alike = next(groupby(dtypes))
        stop = start + len(list(alike))
        yield start, stop
        start = stop


def dtype_of(measure: Any) -> Any:
    """Return the dtype in which a measure is transformed."""
    dtype = measure.dtype if isinstance(measure, np.ndarray) else measure.points.dtype
    return float_type(dtype)


def inverse_rcdt(
    quantiles: Any,
    shape: tuple[int, int],
    *,
    directions: Any = None,
    n_radii: int | Literal["auto"] = "auto",
    reference: Any = "uniform",
) -> Array:
    """Image with this R-CDT, through the inverse CDT of each slice and filtered back projection.

    Parameters
    ----------
    quantiles : array of shape (n_directions, n_quantiles), or (n_samples, n_directions, n_quantiles)
        Not normalised, as `rcdt` returns it.
    shape : (height, width) of the image
    directions : array of shape (n_directions, 2), or (array, weights); equispaced on the circle if left out
    n_radii : strips between the two stages; "auto" as for `radon`
    reference : as for `rcdt`

    Returns
    -------
    array of shape `shape`, or (n_samples, *shape); non-negative, mass one

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((32, 32)); image[10:20, 8:24] = 1 / 160
    >>> from nrcdt import rcdt
    >>> back = inverse_rcdt(rcdt(image[np.newaxis]), (32, 32))[0]
    >>> bool(np.abs(back - image).sum() < 0.15)
    True
    """
    array = as_floats(quantiles, "quantiles")
    if array.ndim not in (2, 3):
        raise InputError(
            "quantiles",
            "have shape (n_directions, n_quantiles) or (n_samples, n_directions, n_quantiles)",
            array.shape,
            "Reshape flattened rows first.",
        )
    unit, weights = resolve_directions(find_space("image"), 2, array.shape[-2], directions)
    if len(unit) != array.shape[-2]:
        raise InputError(
            "directions", f"be as many as in quantiles, {array.shape[-2]}", len(unit), "Pass the same directions."
        )
    shape = check_shape(shape, "shape")
    n_strips = strip_count(shape, n_radii)
    samples = array if array.ndim == 3 else array[np.newaxis]
    images = np.empty((len(samples), *shape), array.dtype)
    for i, sample in enumerate(samples):
        try:
            images[i] = _invert_one(sample, shape, unit, weights, n_strips, reference)
        except ValueError as error:
            raise ValueError(f"sample {i}: {error}") from None
    return images if array.ndim == 3 else images[0]


def _invert_one(
    quantiles: Array, shape: tuple[int, int], directions: Array, weights: Array, n_radii: int, reference: Any
) -> Array:
    sinogram = inverse_cdt(quantiles, edges=(-1.0, 1.0), n_radii=n_radii, reference=reference)
    image = np.maximum(filtered_back_projection(sinogram, shape, directions, weights), 0)
    if np.abs(quantiles).max() > 1 + CANVAS_TOLERANCE:
        raise InputError(
            "quantiles",
            "lie on the canvas, in [-1, 1]",
            f"{quantiles.min():.3g} to {quantiles.max():.3g}",
            "Invert what `rcdt` returns, not normalised, and clip what was moved off the canvas.",
        )
    if image.sum() == 0:
        raise InputError(
            "quantiles", "have mass in the image", "none", "Pass the reference, directions and shape of `rcdt`."
        )
    return np.asarray((image / image.sum()).astype(quantiles.dtype))
