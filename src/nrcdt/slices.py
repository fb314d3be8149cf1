"""The kinds of slice: objects that hold the slices of a batch and have one operation, their quantiles at levels.

Densities that pixels cast, densities in strips, points on the line. Densities also hand out the masses of their strips
(`atoms`), points themselves with their weights (`points`). What one kind can do better is a method of its own
(`PixelDensity.extremes`); a plan asks for it, see `Plan.fused`. None of them is evaluated before it is asked, so that
one kernel can finish a direction while it is in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .arrays import Array
from .errors import InputError, LocatedError, SampleError, Where
from .kernels import kernel, kernels_for
from .measures import Points, as_floats, check_size, float_type, floats
from .user_functions import blame, call_read_only

__all__ = ["Levels", "Phi", "PhiValues", "PixelDensity", "Projection", "Slices", "StripDensity"]

Phi = Callable[[Array, Array], Array]


class Levels(NamedTuple):
    """Sampling points of the reference: their levels in (0, 1), and the share of the reference that each stands for.

    `symmetric` tells whether 1 - t is a level whenever t is.
    """

    values: Array
    weights: Array
    symmetric: bool


class Extremes(NamedTuple):
    """Smallest and largest standardised quantile over the directions, and moments of all slices.

    Attributes
    ----------
    bounds : array of shape (n_samples, 2, n_quantiles)
    means, variances : arrays of shape (n_samples, n_directions)
    """

    bounds: Array
    means: Array
    variances: Array


class Atoms(NamedTuple):
    """The densities of one measure as points of the line, in the middles of strips, with masses.

    Attributes
    ----------
    values, masses : arrays of shape (n_directions, n_atoms); the masses of every row sum to one
    """

    values: Array
    masses: Array


@dataclass(frozen=True)
class PixelDensity:
    """Masses of the strips of [-1, 1] that images of one shape cast their shadows on, not yet summed.

    Attributes
    ----------
    images : array of shape (n_samples, height, width)
    directions : array of shape (n_samples, n_directions, 2), or (1, n_directions, 2) for all alike
    pixel : side of a pixel
    n_strips : number of strips across [-1, 1]
    mirrored : whether the directions are followed by their opposites, which cost nothing where levels are symmetric
    """

    kind: ClassVar[str] = "pixels"
    images: Array
    directions: Array
    pixel: float
    n_strips: int
    mirrored: bool = False

    def quantiles(self, levels: Levels) -> Array:
        """Return quantiles of shape (n_samples, n_directions, n_quantiles)."""
        directions, n_directions = self._seen(levels)
        out = np.empty((len(self.images), n_directions, len(levels.values)), float_type(self.images.dtype))
        invert = kernel(self.kind, "quantiles", self.images)
        for image, seen, row in zip(self.images, one_per_sample(directions, len(out)), out, strict=True):
            invert(floats(image), seen, self.pixel, self.n_strips, levels.values, row)
        return out

    def extremes(self, levels: Levels) -> Extremes:
        """Standardise every slice and keep no more than the bounds of all; bytes are read as they are."""
        directions, n_directions = self._seen(levels)
        dtype = float_type(self.images.dtype)
        out = np.empty((len(self.images), 2, len(levels.values)), dtype)
        means, variances = np.empty((2, len(self.images), n_directions))
        fuse = kernel(self.kind, "extremes", self.images)
        settings = (self.pixel, self.n_strips, levels.values, levels.weights)
        for i, seen in enumerate(one_per_sample(directions, len(out))):
            image = self.images[i] if self.images.dtype == np.uint8 else floats(self.images[i])
            fuse(image, seen, *settings, means[i], variances[i], out[i])
        return Extremes(out, means, variances)

    def atoms(self) -> Iterator[Atoms]:
        """Yield the slices of every image as the masses of strips."""
        for image, seen in zip(self.images, one_per_sample(self.directions, len(self.images)), strict=True):
            every = np.concatenate([seen, -seen]) if self.mirrored else np.ascontiguousarray(seen)
            masses = np.empty((len(every), self.n_strips))
            kernels_for(image).strip_sums(floats(image), every, self.pixel, False, masses)
            yield _in_strips(masses, -1.0, 1.0)

    def _seen(self, levels: Levels) -> tuple[Array, int]:
        """Return the directions that a kernel has to look at, and their number with the mirror images."""
        n_directions = self.directions.shape[1] * (1 + self.mirrored)
        if self.mirrored and not levels.symmetric:
            return np.concatenate([self.directions, -self.directions], axis=1), n_directions
        return self.directions, n_directions


@dataclass(frozen=True)
class StripDensity:
    """Sampled densities: masses of equally wide strips, linear cumulative mass within each.

    Attributes
    ----------
    masses : one array of shape (n_directions, n_strips) per sample
    lower : where the first strip begins
    upper : where the last strip ends
    mirrored : whether the directions are followed by their opposites, which come from the mirror: q(t) becomes
        -q(1 - t), plateaus by their other end
    dtype : of the quantiles
    """

    kind: ClassVar[str] = "strips"
    masses: Sequence[Array]
    lower: float = -1.0
    upper: float = 1.0
    mirrored: bool = False
    dtype: Any = np.float64

    def quantiles(self, levels: Levels) -> Array:
        """Return quantiles of shape (n_samples, n_directions, n_quantiles)."""
        n_slices = len(self.masses[0])
        out = np.empty((len(self.masses), n_slices * (1 + self.mirrored), len(levels.values)), self.dtype)
        invert = kernel(self.kind, "quantiles", self.masses[0])
        for masses, row in zip(self.masses, out, strict=True):
            settings = (levels.values, self.lower, (self.upper - self.lower) / masses.shape[1])
            if self.mirrored and not levels.symmetric:
                invert(np.ascontiguousarray(masses[:, ::-1]), *settings, row[n_slices:])
                invert(masses, *settings, row[:n_slices])
            else:
                invert(masses, *settings, row)
        return out

    def atoms(self) -> Iterator[Atoms]:
        """Yield the slices of every sample as the masses of strips."""
        for masses in self.masses:
            every = np.concatenate([masses, masses[:, ::-1]]) if self.mirrored else masses
            yield _in_strips(every, self.lower, self.upper)


@dataclass(frozen=True)
class Projection:
    """Weighted points projected on directions: empirical measures, whose step functions are inverted exactly.

    Attributes
    ----------
    clouds : the batch of points with weights
    directions : array of shape (n_samples, n_directions, d), or (1, n_directions, d) for all alike
    """

    kind: ClassVar[str] = "projections"
    clouds: Points
    directions: Array

    def quantiles(self, levels: Levels) -> Array:
        """Return quantiles of shape (n_samples, n_directions, n_quantiles)."""
        dtype = self.clouds.points.dtype
        out = np.empty((len(self.clouds), self.directions.shape[1], len(levels.values)), dtype)
        invert = kernel(self.kind, "quantiles", self.clouds.points)
        directions = np.ascontiguousarray(self.directions, dtype)
        for i, seen in enumerate(one_per_sample(directions, len(out))):
            points, weights = self.clouds[i]
            invert(np.ascontiguousarray(points.T), seen, _wide(weights), levels.values, out[i])
        return out

    def points(self) -> Iterator[tuple[Array, Array | None]]:
        """Yield the slices of every sample as they are: points of shape (n_directions, n_points), and their weights."""
        project = kernel(self.kind, "points", self.clouds.points)
        directions = np.ascontiguousarray(self.directions, self.clouds.points.dtype)
        for (points, weights), seen in zip(self.clouds, one_per_sample(directions, len(self.clouds)), strict=True):
            yield project(np.ascontiguousarray(points.T), seen), weights


@dataclass(frozen=True)
class PhiValues:
    """Weighted points pushed forward by phi(., direction), not yet evaluated.

    Attributes
    ----------
    clouds : the batch of points with weights
    directions : array of shape (n_samples, n_directions, ...), or (1, n_directions, ...) for all alike
    phi : function of (points, directions) with values of shape (n_directions, n_points)
    """

    kind: ClassVar[str] = "values"
    clouds: Points
    directions: Array
    phi: Phi

    def quantiles(self, levels: Levels) -> Array:
        """Return quantiles of shape (n_samples, n_directions, n_quantiles)."""
        out = np.empty((len(self.clouds), self.directions.shape[1], len(levels.values)), self.clouds.points.dtype)
        invert = kernel(self.kind, "quantiles", self.clouds.points)
        for (values, weights), row in zip(self.points(), out, strict=True):
            invert(values, _wide(weights), levels.values, row)
        return out

    def points(self) -> Iterator[tuple[Array, Array | None]]:
        """Yield the slices of every sample as they are: points of shape (n_directions, n_points), and their weights."""
        for i, seen in enumerate(one_per_sample(self.directions, len(self.clouds))):
            points, weights = self.clouds[i]
            try:
                found = call_read_only(self.phi, (points, seen), "phi", "its points or directions")
                values = _checked_values(found, (len(seen), len(points)), points.dtype)
            except LocatedError as error:
                raise error.about(argument="X", sample=i, phrase=f"{{}}: {error.where}") from error
            except ValueError as error:
                raise SampleError(Where("X", i), str(error)) from error
            except Exception as error:
                blame(error, i)
                raise
            yield values, weights


Slices = PixelDensity | StripDensity | Projection | PhiValues


def point_slices(clouds: Points, directions: Array, phi: Phi | None) -> Projection | PhiValues:
    """Cut points along directions by a function phi; left out, by inner products."""
    return Projection(clouds, directions) if phi is None else PhiValues(clouds, directions, phi)


def one_per_sample(directions: Array, n_samples: int) -> Iterator[Array]:
    """Return the directions of every sample, one after the other; one set may serve all."""
    return iter(directions) if len(directions) == n_samples else iter([directions[0]] * n_samples)


def _in_strips(masses: Array, lower: float, upper: float) -> Atoms:
    """Return the masses of strips in their middles, divided by the mass of each slice."""
    n_strips = masses.shape[1]
    middles = lower + (np.arange(n_strips) + 0.5) * (upper - lower) / n_strips
    return Atoms(np.broadcast_to(middles, masses.shape), masses / masses.sum(axis=1, keepdims=True))


def _wide(weights: Array | None) -> Array:
    """Return weights as the kernels take them: in double precision, an empty array for equal ones."""
    return np.empty(0) if weights is None else weights.astype(np.float64)


def _checked_values(values: Any, expected: tuple[int, int], dtype: Any) -> Array:
    name = "phi of every point and direction"
    array = np.ascontiguousarray(as_floats(values, name), dtype)
    check_size(array, name)
    if array.shape != expected:
        raise InputError(
            "phi",
            f"return an array of shape (n_directions, n_points) = {expected}",
            array.shape,
            "Directions are the first axis.",
        )
    return array
