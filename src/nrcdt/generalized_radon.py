"""The generalised Radon transform of measures, and its back projection (section 3 of the paper).

A defining function phi sends a point x and a direction theta to a number; gamma is a probability on the directions.
The transform R_{phi,gamma}[mu] is the measure on pairs (t, theta) that mu x gamma is pushed forward to by
(x, theta) -> (phi(x, theta), theta). Its slices are what the NR-CDT takes quantiles of. The back projection
R*_{phi,gamma}[g](x) is the average over gamma of g(phi(x, theta), theta), and the two are adjoint:
<R[mu], g> = <mu, R*[g]>.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .arrays import Array
from .errors import InputError, LocatedError
from .measures import Cloud, Points, as_floats, check_finite, pack
from .plan import resolve_directions
from .slices import PhiValues, Projection, point_slices
from .spaces import find_space

Integrand = Callable[[Array, Array], Any]


@dataclass(frozen=True)
class SlicedMeasure:
    """The generalised Radon transform of one measure: a measure on the line for every direction, weighted by gamma.

    Attributes
    ----------
    values : array of shape (n_directions, n_atoms)
        phi of every point; for images and signals the middles of strips.
    masses : array of shape (n_directions, n_atoms)
        The mass at each value, one in every row.
    directions : array of shape (n_directions, ...)
    direction_weights : array of shape (n_directions,)
        gamma, one in all.
    """

    values: Array
    masses: Array
    directions: Array
    direction_weights: Array

    def integrate(self, g: Integrand) -> float:
        """Return the integral of g: the average over the directions of the integrals over the slices.

        Parameters
        ----------
        g : function of (t, theta)
            Gets the values of one slice, of shape (n_atoms,), and its direction; returns as many numbers.
        """
        slices = zip(self.direction_weights, self.masses, _evaluated(g, self.values, self.directions), strict=True)
        return float(sum(weight * (masses * found).sum() for weight, masses, found in slices))


class GeneralizedRadon:
    """The generalised Radon transform R_{phi,gamma} of a space, or of a phi and directions of one's own.

    Parameters
    ----------
    space : as for `RCDT`
    n_directions : int
        Directions of the space's own set, equally weighted.
    directions : array, or (array, weights), optional
        Theta and gamma.
    n_radii : strips across an image, as for `radon`

    See Also
    --------
    radon, back_projection : the pair for images on their pixels, exact transposes of one another.
    RCDT : quantile functions of the slices.

    Examples
    --------
    >>> import numpy as np
    >>> cloud = np.random.default_rng(0).normal(size=(50, 3))
    >>> transform = GeneralizedRadon("euclidean", n_directions=20)
    >>> [sliced] = transform.transform([cloud])
    >>> sliced.values.shape, sliced.masses.sum(axis=1).round(12).max()
    ((20, 50), np.float64(1.0))

    The transform and the back projection are adjoint:

    >>> def g(t, theta):
    ...     return np.cos(t) + theta[0] * t**2
    >>> bool(np.isclose(sliced.integrate(g), transform.back_projection(g, cloud).mean()))
    True
    """

    def __init__(
        self,
        space: Any = "image",
        *,
        n_directions: int = 256,
        directions: Any = None,
        n_radii: int | Literal["auto"] = "auto",
    ) -> None:
        self.space = find_space(space)
        self.n_directions, self.directions, self.n_radii = n_directions, directions, n_radii

    def transform(self, X: Any) -> list[SlicedMeasure]:
        """Return the transform of every measure.

        Parameters
        ----------
        X : measures, as for `RCDT`
            Masses are divided by their sum.
        """
        return [self._slice(measure) for measure in self.space.check(X)[:]]

    def back_projection(self, g: Integrand, points: Any, seen_from: Any = None) -> Array:
        """Return R*[g] at points of the space: the average over the directions of g(phi(x, theta), theta).

        Parameters
        ----------
        g : function of (t, theta)
            Gets values of shape (n_points,) and one direction; returns as many numbers.
        points : one sample of the space; its weights are ignored
            For images points of the plane, of shape (n_points, 2), where the longer side of an image spans
            [-1/sqrt 2, 1/sqrt 2]; for signals points of [-1, 1], of shape (n_points, 1).
        seen_from : one sample of the space
            Where directions travel with the measure (circular slices, hyperbolic space): the measure.

        Returns
        -------
        array of shape (n_points,)
        """
        cloud = self._points(points)
        directions, weights = self._resolve(cloud)
        cloud, directions = self._placed(cloud, directions, seen_from)
        [(values, _)] = point_slices(Points.of([cloud]), directions[np.newaxis], self.space.phi).points()
        found = np.zeros(len(cloud.points))
        for weight, one in zip(weights, _evaluated(g, values, directions), strict=True):
            found += weight * one
        return found

    def _slice(self, measure: Any) -> SlicedMeasure:
        directions, weights = self._resolve(measure)
        slices = self.space.slices(pack([measure]), directions[np.newaxis], self.n_radii)
        if isinstance(slices, (Projection, PhiValues)):
            [(values, shares)] = slices.points()
            shares = np.ones(values.shape[1]) if shares is None else shares.astype(np.float64)
            masses = np.broadcast_to(shares / shares.sum(), values.shape)
            return SlicedMeasure(values, masses, slices.directions[0], weights)  # as they stand around this measure
        [atoms] = slices.atoms()
        return SlicedMeasure(*atoms, directions, weights)

    def _resolve(self, measure: Any) -> tuple[Array, Array]:
        return resolve_directions(self.space, self.space.dimension(measure), self.n_directions, self.directions)

    def _points(self, points: Any) -> Cloud:
        """Check points to project back on; pictures and signals have theirs in the plane and on the line."""
        if self.space.densities is None:
            try:
                bare = points[0] if isinstance(points, tuple) else points  # points without weight count as well
                return Cloud(self.space.check([bare])[0].points, None)
            except LocatedError as error:
                raise error.about(argument="points", sample=None) from error
        array = as_floats(points, "points")
        dimension = self.space.dimension(None)
        if array.ndim != 2 or array.shape[1] != dimension or len(array) == 0:
            remedy = "The frame of pictures is [-1/sqrt 2, 1/sqrt 2], that of signals [-1, 1]."
            raise InputError("points", f"have shape (n_points, {dimension})", f"shape {array.shape}", remedy)
        check_finite(array, "points")
        return Cloud(array, None)

    def _placed(self, cloud: Cloud, directions: Array, seen_from: Any) -> tuple[Cloud, Array]:
        """Take points and directions to where a measure sees them: beside its own points, as points without mass."""
        if self.space.place is None:
            return cloud, directions
        if not self.space.travels:
            return self.space.place(cloud, directions)
        if seen_from is None:
            rule = f"be the measure that was transformed, in the {self.space.name} space"
            raise InputError("seen_from", rule, "None", "There the directions travel with the measure.")
        try:
            [(points, weights)] = self.space.check([seen_from])[:]
        except LocatedError as error:
            raise error.about(argument="seen_from", sample=None) from error
        if points.shape[1] != cloud.points.shape[1]:
            got = f"{points.shape[1]} coordinates for points with {cloud.points.shape[1]}"
            raise InputError("seen_from", "lie in the space of the points", got, "Pass the measure with these points.")
        masses = np.ones(len(points)) if weights is None else weights
        together = Cloud(np.concatenate([points, cloud.points]), np.pad(masses, (0, len(cloud.points))))
        placed, directions = self.space.place(together, directions)
        return Cloud(placed.points[len(points) :], None), directions


def _evaluated(g: Integrand, values: Array, directions: Array) -> Iterator[Array]:
    """Yield g of the values of every slice."""
    for t, theta in zip(values, directions, strict=True):
        found = as_floats(g(t, theta), "g of values and a direction")
        if found.shape not in ((), t.shape):
            raise InputError("g", f"return one number per value, shape {t.shape}", f"shape {found.shape}")
        check_finite(found, "g of values and a direction")
        yield found
