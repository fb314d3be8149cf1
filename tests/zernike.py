"""Measures on the disc whose slices are known in closed form, in pairs that share features.

The Radon transform of the Zernike function R_l^n(r) exp(i n phi) is 2 / (l + 1) sqrt(1 - s^2) U_l(s) exp(i n theta): of
the number of waves n only the last factor is left. So the measure with density

    1 / pi (1 + strength * real part of the sum of a_n R_l^n(r) exp(i n phi)),   n = l, l - 2, ..., not negative,

has the slice 2 / pi sqrt(1 - s^2) (1 + strength c / (l + 1) U_l(s)) in direction theta, where c is the real part of the
sum of a_n exp(i n theta): all slices belong to one family with one parameter, and c says which of them is seen from
where. For l > 2 all of them have the mean and the variance of those of the disc.
"""

from math import factorial
from typing import NamedTuple

import numpy as np

from nrcdt.aggregate import aggregate, find_aggregations
from nrcdt.directions import circle
from nrcdt.levels import reference_levels
from nrcdt.normalize import normalize

STRENGTH = 0.8


class Pair(NamedTuple):
    """Two measures of one degree, by their amplitudes {n: a_n}.

    Seen from so many directions they share features to rounding; some others only in the limit of all directions.
    """

    degree: int
    n_directions: int
    one: dict
    other: dict
    shared: tuple
    in_the_limit: tuple = ()


ORDERLESS = ("max", "abs_max", "abs_min", "abs_range", "range", "mean", "mean_abs", "std", "angular_quantiles")


def homometric(chosen):
    """Amplitudes for c = 0.6 in the chosen ones of eight directions on half a circle, and -0.6 in the others."""
    found = np.fft.rfft(np.where(np.isin(np.arange(8), chosen), 0.6, -0.6)) / 8
    return {2 * n: value * (1 if n in (0, 4) else 2) for n, value in enumerate(found)}


PAIRS = {
    "three waves, five waves": Pair(5, 256, {3: 1}, {5: 1}, ORDERLESS),
    "one wave, round or steep": Pair(
        3, 256, {1: 1}, {1: 9 / 8, 3: -1 / 8}, ("max", "abs_max", "range", "tv"), ("abs_min", "abs_range")
    ),
    "seven waves, nine waves": Pair(9, 256, {7: 1}, {9: 1}, (*ORDERLESS, "bispectrum")),
    "equal differences": Pair(
        8, 16, homometric([0, 1, 3, 4]), homometric([0, 1, 2, 5]), (*ORDERLESS, "tv", "spectrum")
    ),
}


def parameters(amplitudes, angles):
    """c, for each angle."""
    return np.real(sum(a * np.exp(1j * n * np.asarray(angles)) for n, a in amplitudes.items()))


def radial(degree, n, r):
    """The Zernike polynomial R_degree^n."""
    half = (degree + n) // 2, (degree - n) // 2
    terms = [
        (-1) ** k * factorial(degree - k) / (factorial(k) * factorial(half[0] - k) * factorial(half[1] - k))
        for k in range(half[1] + 1)
    ]
    return sum(term * r ** (degree - 2 * k) for k, term in enumerate(terms))


def density(degree, amplitudes, x, y):
    """The density at points of the disc, times pi."""
    r, phi = np.hypot(x, y), np.arctan2(y, x)
    return 1 + STRENGTH * np.real(sum(a * radial(degree, n, r) * np.exp(1j * n * phi) for n, a in amplitudes.items()))


def disc_image(degree, amplitudes, size=128, oversample=4):
    """Masses of the pixels of a square in which the disc has a radius of 0.95 half sides."""
    axis = ((np.arange(size * oversample) + 0.5) / (size * oversample) * 2 - 1) / 0.95
    x, y = np.meshgrid(axis, axis)
    values = np.where(np.hypot(x, y) < 1, density(degree, amplitudes, x, y), 0)
    return values.reshape(size, oversample, size, oversample).sum(axis=(1, 3))


def slice_quantiles(degree, c, levels):
    """Quantiles of the slices with parameters c, of shape (len(c), len(levels)), by bisection of the exact CDF.

    With s = cos(a) the mass before s is (pi - a + sin(2 a) / 2) / pi; the term of degree l adds
    strength c / (l + 1) / pi (sin((l + 2) a) / (l + 2) - sin(l a) / l).
    """
    share = STRENGTH * np.asarray(c)[:, np.newaxis] / (degree + 1)
    low, high = np.zeros((len(c), len(levels))), np.full((len(c), len(levels)), np.pi)
    for _ in range(60):
        a = (low + high) / 2
        term = np.sin((degree + 2) * a) / (degree + 2) - np.sin(degree * a) / degree
        before = (np.pi - a + np.sin(2 * a) / 2 + share * term) / np.pi
        low, high = np.where(before > levels, a, low), np.where(before > levels, high, a)
    return np.cos((low + high) / 2)


def exact_features(degree, amplitudes, aggregation, n_directions, n_quantiles=32):
    """Features of a measure from its exact slices, through the stages of the package."""
    directions, levels = circle(n_directions), reference_levels(n_quantiles)
    c = parameters(amplitudes, np.arctan2(*directions.T[::-1]))
    weights = np.full(n_directions, 1 / n_directions)
    quantiles = slice_quantiles(degree, c, levels.values)[np.newaxis]
    slices = normalize(quantiles, "standardize", levels.weights, weights)
    return aggregate(slices, find_aggregations(aggregation), weights, directions)[0][0]


def feature_gap(pair, aggregation, n_directions=None):
    """Largest difference of the features of two measures, in parts of the largest feature."""
    n_directions = n_directions or pair.n_directions
    one, other = (exact_features(pair.degree, some, aggregation, n_directions) for some in (pair.one, pair.other))
    return np.abs(one - other).max() / np.abs(one).max()


def parity_clouds():
    """Two clouds with the same projections on the directions of `circle(8)`: sums of even and of odd subsets.

    Each of four vectors is orthogonal to one direction and its opposite. Putting it in or leaving it out pairs the even
    subsets with the odd ones, and does not change the projection.
    """
    x, y = circle(8)[:4].T
    vectors = np.array([1.0, 1.3, 0.7, 1.6])[:, np.newaxis] * np.stack([-y, x], axis=1)
    subsets = (np.arange(16)[:, np.newaxis] >> np.arange(4)) & 1
    odd = subsets.sum(axis=1) % 2 == 1
    return subsets[~odd] @ vectors, subsets[odd] @ vectors
