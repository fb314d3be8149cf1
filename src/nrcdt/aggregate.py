"""Second normalisation: h collapses the directions, whose order an unknown map has changed (Algorithm 1, line 9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import sph_harm_y

from .errors import InputError
from .measures import as_floats, positive_integer
from .slices import Array

Function = Callable[..., Array]


Needs = Literal["any", "circle", "even", "even circle"]


class Aggregation(NamedTuple):
    """A function of (quantiles, direction_weights, directions) and what is known about it.

    `exchange` says that h looks only at the set of values (or, around a circle, at their order), so that an affine map
    leaves it alone even in the fixed frame. `needs` says which directions it asks for: any, in order around a circle,
    spread evenly over a circle or a sphere, or spread evenly over a circle. `extremes` says that the smallest and the
    largest value over the directions are all that counts.
    """

    name: str
    function: Function
    exchange: bool = True
    needs: Needs = "any"
    extremes: bool = False


def _total_variation(quantiles: Array, weights: Array, directions: Array) -> Array:
    steps = np.abs(np.diff(quantiles, axis=1)).sum(axis=1)
    return np.asarray(steps + np.abs(quantiles[:, 0] - quantiles[:, -1]))


def _pair(eta: Callable[[Array], Array], outer: Function, quantiles: Array, weights: Array, directions: Array) -> Array:
    return np.asarray(outer(eta(quantiles), axis=1))


def _as_they_are(quantiles: Array) -> Array:
    return quantiles


def _mean(quantiles: Array, weights: Array, directions: Array) -> Array:
    return np.asarray((quantiles * weights.astype(quantiles.dtype)[:, np.newaxis]).sum(axis=1))


def _mean_abs(quantiles: Array, weights: Array, directions: Array) -> Array:
    return _mean(np.abs(quantiles), weights, directions)


def _std(quantiles: Array, weights: Array, directions: Array) -> Array:
    mean = _mean(quantiles, weights, directions)[:, np.newaxis]
    return np.sqrt(_mean((quantiles - mean) ** 2, weights, directions))


def angular_quantiles(levels: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0)) -> Aggregation:
    """Return the aggregation that takes quantiles over the directions: a block of features for every level.

    Parameters
    ----------
    levels : numbers between 0, the minimum over all directions, and 1, the maximum

    Examples
    --------
    >>> angular_quantiles([0.5]).function(np.array([[[1.0], [5.0], [3.0]]]), np.ones(3) / 3, None)
    array([[3.]])
    """
    wanted = np.asarray(levels, dtype=np.float64)
    if wanted.ndim != 1 or wanted.size == 0 or not np.all((wanted >= 0) & (wanted <= 1)):
        raise InputError("levels", "be numbers between 0 and 1", repr(levels), "Try (0, 0.25, 0.5, 0.75, 1).")
    function = partial(_angular_quantiles, wanted)
    return Aggregation("angular_quantiles", function, exchange=bool(np.isin(wanted, (0, 1)).all()))


def _angular_quantiles(levels: Array, quantiles: Array, weights: Array, directions: Array) -> Array:
    return np.concatenate(list(np.quantile(quantiles, levels, axis=1)), axis=1)


def spectrum(n_frequencies: int = 16, weights: Sequence[float] | None = None) -> Aggregation:
    """Return the aggregation that keeps how strongly slices vary with the direction, at each frequency.

    Around a circle these are the magnitudes of the Fourier coefficients 0 to `n_frequencies`, over a sphere the norms
    of the spherical harmonics of these degrees. Turning and reflecting the directions changes phases only.

    Parameters
    ----------
    n_frequencies : the highest frequency
    weights : one factor per frequency, 0 included; all one if left out

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
    return Aggregation("spectrum", partial(_spectrum, factors), exchange=False, needs="even")


def _spectrum(factors: Array, quantiles: Array, weights: Array, directions: Array) -> Array:
    basis = _fourier if directions.shape[1] == 2 else _harmonics
    parts = basis(quantiles, directions, len(factors) - 1)
    return np.concatenate([factor * part for factor, part in zip(factors, parts, strict=True)], axis=1)


def _fourier(quantiles: Array, directions: Array, n_frequencies: int) -> list[Array]:
    found = np.abs(np.fft.rfft(quantiles, axis=1, norm="forward")).transpose(1, 0, 2)
    zeros = np.zeros_like(found[:1])
    return [found[k] if k < len(found) else zeros[0] for k in range(n_frequencies + 1)]


def _harmonics(quantiles: Array, directions: Array, n_frequencies: int) -> list[Array]:
    """Norms of the spherical harmonics per degree; opposite orders have equal norms, so that half of them suffice."""
    polar, azimuth = np.arccos(np.clip(directions[:, 2], -1, 1)), np.arctan2(directions[:, 1], directions[:, 0])
    norms = []
    for degree in range(n_frequencies + 1):
        orders = np.arange(degree + 1)[:, np.newaxis]
        harmonics = sph_harm_y(degree, orders, polar, azimuth) * np.sqrt(4 * np.pi) / len(directions)
        energy = (harmonics.real @ quantiles) ** 2 + (harmonics.imag @ quantiles) ** 2
        norms.append(np.sqrt(2 * energy.sum(axis=1) - energy[:, 0]))
    return norms


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
    return Aggregation("bispectrum", partial(_bispectrum, n_frequencies), exchange=False, needs="even circle")


def _bispectrum(n_frequencies: int, quantiles: Array, weights: Array, directions: Array) -> Array:
    pairs = [(f, g) for f in range(n_frequencies // 2 + 1) for g in range(f, n_frequencies + 1 - f)]
    found = np.fft.rfft(quantiles, axis=1, norm="forward")
    missing = max(0, n_frequencies + 1 - found.shape[1])
    found = np.pad(found, ((0, 0), (0, missing), (0, 0)))
    products = [found[:, f] * found[:, g] * found[:, f + g].conj() for f, g in pairs]
    return np.concatenate([_shrunk(product) for product in products], axis=1)


def _shrunk(products: Array) -> Array:
    """Real parts after the magnitudes were replaced by their cube roots."""
    sizes = np.abs(products)
    return np.asarray(products.real / np.where(sizes > 0, sizes, 1) ** (2 / 3))


# What depends only on the set of values, not on how many directions have them.
SET_FUNCTIONS = (np.max, np.min, np.ptp)

AGGREGATIONS: dict[str, Aggregation] = {
    aggregation.name: aggregation
    for aggregation in (
        Aggregation("max", partial(_pair, _as_they_are, np.max), extremes=True),
        Aggregation("abs_max", partial(_pair, np.abs, np.max), extremes=True),
        Aggregation("abs_min", partial(_pair, np.abs, np.min)),
        Aggregation("abs_range", partial(_pair, np.abs, np.ptp)),
        Aggregation("range", partial(_pair, _as_they_are, np.ptp), extremes=True),
        Aggregation("tv", _total_variation, needs="circle"),
        Aggregation("mean", _mean, exchange=False),
        Aggregation("mean_abs", _mean_abs, exchange=False),
        Aggregation("std", _std, exchange=False),
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
        return Aggregation(_name(aggregate), lambda q, w, d: aggregate(q), exchange=False)
    raise InputError(
        "aggregate",
        f"be one of {', '.join(AGGREGATIONS)}, a function, a pair (eta, H), or a list of these",
        repr(aggregate),
    )


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__)).strip("<>")


def row_sizes(block: Array) -> Array:
    """Root mean square of each row, as a column of float64."""
    return np.asarray(np.sqrt(np.mean(np.square(block, dtype=np.float64), axis=1, keepdims=True)))


def block_scales(blocks: list[Array]) -> Array:
    """Root mean square of each block, which makes blocks comparable."""
    scales = np.sqrt([np.mean(np.square(block, dtype=np.float64)) for block in blocks])
    return np.where(scales > 0, scales, 1.0)


def join_blocks(blocks: list[Array], scales: Array) -> Array:
    """Divide blocks by their scales and put them side by side."""
    return np.hstack([block / block.dtype.type(scale) for block, scale in zip(blocks, scales, strict=True)])


def _blame_writing(aggregation: Aggregation, quantiles: Array, *rest: Array | ValueError) -> None:
    """Say so where a function fails only because it may not change the quantiles."""
    *others, error = rest
    try:
        aggregation.function(quantiles.copy(), *others)
    except ValueError:
        return
    raise InputError(
        f"aggregate {aggregation.name}", "not change the quantiles", error, "Let it work on a copy."
    ) from None


def aggregate(
    quantiles: Array, aggregations: list[Aggregation], direction_weights: Array, directions: Array
) -> list[Array]:
    """Collapse the directions: one block of shape (n_samples, n_features) per aggregation, dtype kept."""
    blocks = []
    quantiles = quantiles.view()
    quantiles.flags.writeable = False  # or one function could spoil what the next one gets
    for aggregation in aggregations:
        try:
            found = aggregation.function(quantiles, direction_weights, directions)
        except ValueError as error:
            _blame_writing(aggregation, quantiles, direction_weights, directions, error)
            raise
        block = as_floats(found, f"what aggregate {aggregation.name} returns")
        if block.ndim != 2 or len(block) != len(quantiles):
            raise InputError(
                "aggregate",
                "return shape (n_samples, n_features)",
                f"{block.shape} from {aggregation.name} for {len(quantiles)} samples",
                "Collapse axis 1 only, as lambda q: q.max(axis=1) does.",
            )
        blocks.append(block.astype(quantiles.dtype, copy=False))
    return blocks
