"""What a space says about itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..measures import Cloud
from ..slices import Array


@dataclass(frozen=True)
class Space:
    """What the corridor needs to know about a space.

    Attributes
    ----------
    name : str
    check : turns user input into measures, or raises, at the latest when a wrong one is asked for
    dimension : of the directions that one measure asks for
    directions : makes n directions of that dimension
    slices : cuts one measure along directions, into Atoms, or into Bins where there are `densities`
    group : the maps under which slices only change places, shift and scale
    linear : whether phi is linear, so that a shift of the measure shifts each slice by its own amount
    unit_directions : whether directions have length one
    densities : whether slices are Bins, whose number is a third argument of `slices`
    rows : whether a row of a table is a measure as it stands, not a flattened image
    """

    name: str
    check: Callable[..., Sequence[Any]]
    dimension: Callable[[Any], int]
    directions: Callable[[int, int], Array]
    slices: Callable[..., Any]
    group: str
    linear: bool
    densities: bool = False
    rows: bool = False
    unit_directions: bool = False


def fixed(d: int, measure: Any) -> int:
    """Return d whatever the measure, for spaces whose directions always have as many coordinates."""
    return d


def columns(cloud: Cloud) -> int:
    """Return the number of coordinates of a cloud, for spaces whose directions have as many."""
    return int(cloud.points.shape[1])
