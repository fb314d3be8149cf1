"""Second normalisation: h collapses the directions, whose order an unknown map has changed (Algorithm 1, line 9).

Written in the words of the array API: any library's arrays go in and come out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from scipy.special import sph_harm_y

from .arrays import Array, like
from .errors import InputError, Where
from .measures import as_floats, positive_integer
from .user_functions import blame, call_read_only, read_only

STEP_TOLERANCE = 1e-12  # of a level: weights that exceed it by so much are still the level, rounded

Function = Callable[..., Any]
Needs = Literal["any", "circle", "even", "even circle"]


class Aggregation(NamedTuple):
    """A function of (quantiles, direction_weights, directions) and what is known about it.

    Attributes
    ----------
    name, function : what it is called and what it does
    exchange : whether h looks only at the set of values (or, around a circle, at their order), so that an affine map
        leaves it alone even in the fixed frame
    needs : which directions it asks for: any, in order around a circle, spread evenly over a circle or a sphere, or
        spread evenly over a circle
    extremes : whether the smallest and the largest value over the directions are all that counts
    average : whether it averages over the directions, so that shifts of opposite ones cancel
    n_rows : how many numbers it makes of each quantile; None where only the function knows
    """

    name: str
    function: Function
    exchange: bool = True
    needs: Needs = "any"
    extremes: bool = False
    average: bool = False
    n_rows: int | None = None


def _max(quantiles: Any, weights: Any, directions: Any) -> Any:
    return array_namespace(quantiles).max(quantiles, axis=1)


def _abs_max(quantiles: Any, weights: Any, directions: Any) -> Any:
    xp = array_namespace(quantiles)
    return xp.max(xp.abs(quantiles), axis=1)


def _abs_min(quantiles: Any, weights: Any, directions: Any) -> Any:
    xp = array_namespace(quantiles)
    return xp.min(xp.abs(quantiles), axis=1)


def _abs_range(quantiles: Any, weights: Any, directions: Any) -> Any:
    return _range(array_namespace(quantiles).abs(quantiles), weights, directions)


def _range(quantiles: Any, weights: Any, directions: Any) -> Any:
    xp = array_namespace(quantiles)
    return xp.max(quantiles, axis=1) - xp.min(quantiles, axis=1)


def _total_variation(quantiles: Any, weights: Any, directions: Any) -> Any:
    xp = array_namespace(quantiles)
    steps = xp.sum(xp.abs(quantiles[:, 1:, :] - quantiles[:, :-1, :]), axis=1)
    return steps + xp.abs(quantiles[:, 0, :] - quantiles[:, -1, :])


def _mean(quantiles: Any, weights: Any, directions: Any) -> Any:
    return array_namespace(quantiles).sum(quantiles * like(weights, quantiles)[:, None], axis=1)


def _mean_abs(quantiles: Any, weights: Any, directions: Any) -> Any:
    return _mean(array_namespace(quantiles).abs(quantiles), weights, directions)


def _std(quantiles: Any, weights: Any, directions: Any) -> Any:
    mean = _mean(quantiles, weights, directions)[:, None, :]
    return array_namespace(quantiles).sqrt(_mean((quantiles - mean) ** 2, weights, directions))


def _pair(eta: Function, outer: Function, quantiles: Any, weights: Any, directions: Any) -> Any:
    return outer(eta(quantiles), axis=1)


def _of_quantiles(function: Function, quantiles: Any, weights: Any, directions: Any) -> Any:
    return function(quantiles)


def angular_quantiles(levels: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0)) -> Aggregation:
    """Return the aggregation that takes quantiles over the directions: a block of features for every level.

    Parameters
    ----------
    levels : numbers between 0, the minimum over all directions, and 1, the maximum

    Notes
    -----
    Of n directions of equal weight, the k-th smallest value belongs to the level (k - 1) / (n - 1), and values between
    two of them are interpolated. Of directions with weights the quantile is that of a measure: the smallest value at
    which the weights up to there exceed the level, which is the right end of a plateau. Directions of weight zero are
    left out.

    Examples
    --------
    >>> values = np.array([[[1.0], [5.0], [3.0]]])
    >>> angular_quantiles([0.5]).function(values, np.ones(3) / 3, None)
    array([[3.]])
    >>> angular_quantiles([0.5]).function(values, np.array([0.1, 0.8, 0.1]), None)
    array([[5.]])
    """
    wanted = np.asarray(levels, dtype=np.float64)
    if wanted.ndim != 1 or wanted.size == 0 or not np.all((wanted >= 0) & (wanted <= 1)):
        raise InputError("levels", "be numbers between 0 and 1", repr(levels), "Try (0, 0.25, 0.5, 0.75, 1).")
    function = partial(_angular_quantiles, wanted)
    exchange = bool(np.isin(wanted, (0, 1)).all())
    return Aggregation("angular_quantiles", function, exchange=exchange, n_rows=len(wanted))


def _angular_quantiles(levels: Array, quantiles: Any, weights: Array, directions: Any) -> Any:
    xp = array_namespace(quantiles)
    if not weights.all():
        kept = xp.asarray(np.flatnonzero(weights), device=device(quantiles))
        quantiles, weights = xp.take(quantiles, kept, axis=1), weights[weights > 0]
    ordered = xp.sort(quantiles, axis=1, stable=False)
    if not weights_are_even(weights):
        return xp.concat(_weighted_quantiles(levels, quantiles, ordered, weights), axis=1)
    places = levels * (ordered.shape[1] - 1)
    return xp.concat([_between(ordered, float(place)) for place in places], axis=1)


def weights_are_even(weights: Array) -> bool:
    """Tell whether weights are all the same, up to rounding."""
    return bool(np.ptp(weights) < 1e-9 * weights.max())


def _weighted_quantiles(levels: Array, quantiles: Any, ordered: Any, weights: Array) -> list[Any]:
    """Generalised inverses of the weighted distributions over the directions, one per level."""
    xp = array_namespace(quantiles)
    shares = xp.asarray(weights / weights.sum(), dtype=xp.float64, device=device(quantiles))
    order = xp.argsort(quantiles, axis=1, stable=False)
    up_to = xp.cumulative_sum(xp.reshape(xp.take(shares, xp.reshape(order, (-1,))), order.shape), axis=1)
    highest = ordered[:, -1:, :]  # at level 1 nothing exceeds
    beyond = [up_to > float(level) * (1 + STEP_TOLERANCE) for level in levels]
    return [xp.min(xp.where(one, ordered, highest), axis=1) for one in beyond]


def _between(ordered: Any, place: float) -> Any:
    """Interpolate between two neighbours in a sorted array, from the nearer one, so that both ends are exact."""
    below = min(int(place), ordered.shape[1] - 1)
    above = min(below + 1, ordered.shape[1] - 1)
    share, low, high = place - below, ordered[:, below, :], ordered[:, above, :]
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)


def spectrum(n_frequencies: int = 16, weights: Sequence[float] | None = None, *, lowest: int = 0) -> Aggregation:
    """Return the aggregation that keeps how strongly slices vary with the direction, at each frequency.

    Around a circle these are the magnitudes of the Fourier coefficients 0 to `n_frequencies`, over a sphere the norms
    of the spherical harmonics of these degrees. Turning and reflecting the directions changes phases only.

    Parameters
    ----------
    n_frequencies : the highest frequency
    weights : one factor per frequency, 0 included; all one if left out
    lowest : the lowest frequency that is kept

    Examples
    --------
    >>> from nrcdt.directions import circle
    >>> angles = 2 * np.pi * np.arange(16) / 16
    >>> slices = (3 + 2 * np.cos(3 * angles + 0.7))[np.newaxis, :, np.newaxis]
    >>> spectrum(4).function(slices, np.full(16, 1 / 16), circle(16)).round(9) + 0.0
    array([[3., 0., 0., 1., 0.]])
    """
    n_frequencies = positive_integer(n_frequencies, "n_frequencies", "16 is a good start.")
    factors = np.ones(n_frequencies + 1) if weights is None else np.asarray(weights, dtype=np.float64)
    if factors.shape != (n_frequencies + 1,):
        raise InputError("weights", f"be {n_frequencies + 1} numbers, for 0 to {n_frequencies}", repr(weights))
    if not 0 <= lowest <= n_frequencies:
        raise InputError("lowest", f"be a frequency from 0 to {n_frequencies}", repr(lowest), "0 keeps the mean.")
    function = partial(_spectrum, factors, lowest)
    return Aggregation("spectrum", function, exchange=False, needs="even", n_rows=n_frequencies + 1 - lowest)


def _spectrum(factors: Array, lowest: int, quantiles: Any, weights: Any, directions: Array) -> Any:
    basis = _fourier if directions.shape[1] == 2 else _harmonics
    parts = basis(quantiles, directions, len(factors) - 1)
    kept = list(zip(factors.tolist(), parts, strict=True))[lowest:]
    return array_namespace(quantiles).concat([factor * part for factor, part in kept], axis=1)


def _coefficients(quantiles: Any, n_frequencies: int) -> list[Any]:
    """Fourier coefficients over the directions for frequencies 0 to `n_frequencies`; zero beyond what there are."""
    xp = array_namespace(quantiles)
    found = xp.fft.rfft(quantiles, axis=1, norm="forward")
    zero = xp.zeros_like(found[:, 0, :])
    return [found[:, k, :] if k < found.shape[1] else zero for k in range(n_frequencies + 1)]


def _fourier(quantiles: Any, directions: Array, n_frequencies: int) -> list[Any]:
    return [array_namespace(quantiles).abs(found) for found in _coefficients(quantiles, n_frequencies)]


def _harmonics(quantiles: Any, directions: Array, n_frequencies: int) -> list[Any]:
    """Norms of the spherical harmonics per degree; opposite orders have equal norms, so that half of them suffice."""
    xp = array_namespace(quantiles)
    wide, norms = xp.astype(quantiles, xp.float64, copy=False), []
    for real, imaginary in _harmonic_basis(directions.tobytes(), len(directions), n_frequencies):
        energy = (like(real, wide) @ wide) ** 2 + (like(imaginary, wide) @ wide) ** 2
        norms.append(xp.sqrt(2 * xp.sum(energy, axis=1) - energy[:, 0, :]))
    return norms


@lru_cache(maxsize=8)
def _harmonic_basis(directions: bytes, n_directions: int, n_frequencies: int) -> list[tuple[Array, Array]]:
    """Real and imaginary parts of the spherical harmonics at unit vectors, given by their bytes, degree by degree."""
    x, y, z = np.frombuffer(directions).reshape(n_directions, 3).T
    polar, azimuth = np.arccos(np.clip(z, -1, 1)), np.arctan2(y, x)
    orders = [np.arange(degree + 1)[:, np.newaxis] for degree in range(n_frequencies + 1)]
    found = [sph_harm_y(len(m) - 1, m, polar, azimuth) * np.sqrt(4 * np.pi) / n_directions for m in orders]
    return [(np.ascontiguousarray(one.real), np.ascontiguousarray(one.imag)) for one in found]


def bispectrum(n_frequencies: int = 6) -> Aggregation:
    """Return the aggregation that keeps magnitudes and phases of how slices vary around the circle.

    Features are F(f) F(g) conj(F(f + g)) for frequencies f <= g with f + g up to `n_frequencies`, where F are the
    Fourier coefficients over the directions. Turning the directions leaves these products alone, reflecting them
    conjugates the products: real parts are kept. Magnitudes are replaced by their cube roots, to be on the scale of
    the slices.

    Parameters
    ----------
    n_frequencies : the highest frequency

    See Also
    --------
    spectrum : magnitudes alone; also on spheres.

    Examples
    --------
    >>> from nrcdt.directions import circle
    >>> angles = 2 * np.pi * np.arange(16) / 16
    >>> slices = np.array([np.cos(angles) + np.cos(2 * angles), np.cos(angles) - np.cos(2 * angles)])
    >>> bispectrum(2).function(slices[:, :, np.newaxis], np.full(16, 1 / 16), circle(16)).round(3) + 0.0
    array([[ 0. ,  0. ,  0. ,  0.5],
           [ 0. ,  0. ,  0. , -0.5]])
    """
    n_frequencies = positive_integer(n_frequencies, "n_frequencies", "6 is a good start.")
    pairs = [(f, g) for f in range(n_frequencies // 2 + 1) for g in range(f, n_frequencies + 1 - f)]
    function = partial(_bispectrum, n_frequencies, pairs)
    return Aggregation("bispectrum", function, exchange=False, needs="even circle", n_rows=len(pairs))


def _bispectrum(
    n_frequencies: int, pairs: list[tuple[int, int]], quantiles: Any, weights: Any, directions: Array
) -> Any:
    xp = array_namespace(quantiles)
    found = _coefficients(quantiles, n_frequencies)
    return xp.concat([_cube_root(found[f] * found[g] * xp.conj(found[f + g])) for f, g in pairs], axis=1)


def _cube_root(products: Any) -> Any:
    """Real parts after the magnitudes were replaced by their cube roots."""
    xp = array_namespace(products)
    sizes = xp.abs(products)
    return xp.real(products) / xp.where(sizes > 0, sizes, xp.ones_like(sizes)) ** (2 / 3)


# What depends only on the set of values, not on how many directions have them.
SET_FUNCTIONS = (np.max, np.min, np.ptp)

AGGREGATIONS: dict[str, Aggregation] = {
    aggregation.name: aggregation
    for aggregation in (
        Aggregation("max", _max, extremes=True, n_rows=1),
        Aggregation("abs_max", _abs_max, extremes=True, n_rows=1),
        Aggregation("abs_min", _abs_min, n_rows=1),
        Aggregation("abs_range", _abs_range, n_rows=1),
        Aggregation("range", _range, extremes=True, n_rows=1),
        Aggregation("tv", _total_variation, needs="circle", n_rows=1),
        Aggregation("mean", _mean, exchange=False, average=True, n_rows=1),
        Aggregation("mean_abs", _mean_abs, exchange=False, n_rows=1),
        Aggregation("std", _std, exchange=False, n_rows=1),
        angular_quantiles(),
        spectrum(),
        bispectrum(),
    )
}


def find_aggregations(aggregate: Any) -> list[Aggregation]:
    """Look up what `aggregate` asks for: a name, a function, a pair (eta, H), or a list of these.

    A function takes an array (n_samples, n_directions, n_quantiles), which it must not change, and returns (n_samples,
    n_features). In a pair, eta works on each value and H, called with ``axis=1``, on each set of directions. An
    `Aggregation` speaks for itself.

    Examples
    --------
    >>> import numpy as np
    >>> [a.name for a in find_aggregations(["max", (np.abs, np.median)])]
    ['max', 'median_absolute']
    """
    if isinstance(aggregate, list):
        if not aggregate:
            raise InputError("aggregate", "name at least one aggregation", "an empty list", "Try ['max', 'tv'].")
        return _told_apart([_find(one) for one in aggregate])
    return [_find(aggregate)]


def _told_apart(found: list[Aggregation]) -> list[Aggregation]:
    """Number what has one name; an aggregation of the table has no reason to come twice."""
    names: list[str] = []
    for i, one in enumerate(found):
        if one in found[:i]:
            raise InputError("aggregate", "name each aggregation once", f"{one.name!r} again", "Leave one of them out.")
        name, n = one.name, 1
        while name in names:
            n += 1
            name = f"{one.name}_{n}"
        names.append(name)
    return [one._replace(name=name) for one, name in zip(found, names, strict=True)]


def _find(aggregate: Any) -> Aggregation:
    if isinstance(aggregate, Aggregation):
        return aggregate
    if isinstance(aggregate, str) and aggregate in AGGREGATIONS:
        return AGGREGATIONS[aggregate]
    if isinstance(aggregate, tuple) and len(aggregate) == 2 and all(callable(part) for part in aggregate):
        eta, outer = aggregate
        name = f"{_name(outer)}_{_name(eta)}"
        return Aggregation(name, partial(_pair, eta, outer), exchange=outer in SET_FUNCTIONS)
    if callable(aggregate):
        return Aggregation(_name(aggregate), partial(_of_quantiles, aggregate), exchange=False)
    raise InputError(
        "aggregate",
        f"be one of {', '.join(AGGREGATIONS)}, a function, a pair (eta, H), or a list of these",
        repr(aggregate),
    )


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__)).strip("<>")


def aggregate(
    quantiles: Any, aggregations: Sequence[Aggregation], direction_weights: Array, directions: Array
) -> list[Any]:
    """Collapse the directions: one block of shape (n_samples, n_features) per aggregation, dtype kept."""
    return [_collapse(one, quantiles, direction_weights, directions) for one in aggregations]


def _collapse(aggregation: Aggregation, quantiles: Any, *rest: Array) -> Any:
    """Apply one aggregation; what a function of the user returns is checked, and NumPy's arrays alone are for it."""
    if aggregation.n_rows is not None:
        found = aggregation.function(quantiles, *rest)
        return found if found.dtype == quantiles.dtype else like(found, quantiles)
    try:  # read-only, or one function could spoil what the next one gets
        found = call_read_only(
            aggregation.function, (quantiles, *rest), f"aggregate {aggregation.name}", "the quantiles"
        )
    except Exception as error:
        _blame_sample(aggregation, error, quantiles, *rest)
        raise
    block = as_floats(found, f"what aggregate {aggregation.name} returns")
    if block.ndim != 2 or len(block) != len(quantiles):
        raise InputError(
            "aggregate",
            "return shape (n_samples, n_features)",
            f"{block.shape} from {aggregation.name} for {len(quantiles)} samples",
            "Collapse axis 1 only, as lambda q: q.max(axis=1) does.",
        )
    with np.errstate(over="ignore"):  # too large for float32: infinite, and refused
        block = block.astype(quantiles.dtype, copy=np.may_share_memory(block, quantiles))  # a view would keep them
    for i in np.flatnonzero(~np.isfinite(block).all(axis=1)).tolist():
        where = Where("X", i, f"what aggregate {aggregation.name} returns for {{}}")
        got = "NaN" if np.isnan(block[i]).any() else f"infinity in {block.dtype}"
        raise InputError(where, "be finite", got, "Mend the function, or drop the sample.")
    return block


def _blame_sample(aggregation: Aggregation, error: Exception, *given: Array) -> None:
    """Find out which sample a function fails on: no feature depends on the samples beside."""
    quantiles, *rest = map(read_only, given)
    for i in range(len(quantiles)):
        try:
            aggregation.function(quantiles[i : i + 1], *rest)
        except Exception:
            blame(error, i)
            return
