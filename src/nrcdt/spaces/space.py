"""What a space says about itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..arrays import Array
from ..measures import Batch, Cloud, Measures, Points
from ..slices import Phi, PixelDensity, Slices, StripDensity, point_slices


@dataclass(frozen=True)
class Space:
    """Everything that the corridor, the checks, the audit and the command line need to know about a space.

    Attributes
    ----------
    name : str
    check : turns user input into measures, or raises
    dimension : of the directions that one measure asks for
    directions : makes n directions of that dimension
    group : the maps under which slices only change places, shift and scale
    phi : function of (points, directions) with values of shape (n_directions, n_points); left out, inner products
    place : function of (cloud, directions) that returns what phi gets, where that is something else
    stays : whether `place` does the same to every measure; left out, directions travel with the measure
    densities : for images and signals, function of (batch, directions, n_radii, mirrored) that returns slices
    measure : what lives here: "points", "images", or "signals", of which a row of a table is one as it stands
    linear : whether measures lie in flat space and slices are inner products, so that a shift of the measure shifts
        each slice by its own amount, and a measure can be whitened
    unit_directions : whether directions have length one
    groups : the maps that leave features alone, by normalisation, where averages over directions are taken or slices
        are not normalised one by one; `group` for normalisations that are left out
    random_map : function of (measure, generator) that moves a measure by a random map of `group`, for the audit
    lipschitz : how far slices move at most when no mass moves further than one: a number, or a function of the
        directions; left out, not known
    """

    name: str
    check: Callable[..., Measures]
    dimension: Callable[[Any], int]
    directions: Callable[[int, int], Array]
    group: str
    phi: Phi | None = None
    place: Callable[[Cloud, Array], tuple[Cloud, Array]] | None = None
    stays: bool = False
    densities: Callable[..., PixelDensity | StripDensity] | None = None
    measure: Literal["points", "images", "signals"] = "points"
    linear: bool = False
    unit_directions: bool = False
    groups: Mapping[str | None, str] = field(default_factory=dict)
    random_map: Callable[[Any, np.random.Generator], Any] | None = None
    lipschitz: float | Callable[[Array], Array] | None = None

    @property
    def travels(self) -> bool:
        """Whether slices follow the mean and the spread of the measure."""
        return self.place is not None and not self.stays

    @property
    def slicing(self) -> tuple[Any, ...]:
        """What of a space decides features, once the directions are known."""
        return self.name, self.check, self.phi, self.place, self.densities, self.linear

    def slices(
        self, batch: Batch, directions: Array, n_radii: int | Literal["auto"] = "auto", mirrored: bool = False
    ) -> Slices:
        """Cut measures along directions (Algorithm 1, line 2).

        Parameters
        ----------
        batch : checked measures, packed
        directions : array of shape (n_samples, n_directions, ...), or (1, n_directions, ...) for all alike
        n_radii : number of strips of an image
        mirrored : whether the second half of the directions are the opposites of the first
        """
        if self.densities is not None:
            return self.densities(batch, directions, n_radii, mirrored)
        clouds, directions = self._placed(batch, directions)
        return point_slices(clouds, directions, self.phi)

    def _placed(self, batch: Any, directions: Array) -> tuple[Points, Array]:
        if self.place is None:
            return batch, directions
        each: Iterator[Array] = (
            iter(directions) if len(directions) == len(batch) else iter([directions[0]] * len(batch))
        )
        placed = [self.place(cloud, one) for cloud, one in zip(batch, each, strict=True)]
        return Points.of([cloud for cloud, _ in placed]), np.stack([one for _, one in placed])


def fixed(d: int, measure: Any) -> int:
    """Return d whatever the measure, for spaces whose directions always have as many coordinates."""
    return d


def columns(cloud: Cloud) -> int:
    """Return the number of coordinates of a cloud, for spaces whose directions have as many."""
    return int(cloud.points.shape[1])
