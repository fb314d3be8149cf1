"""Which maps leave the features unchanged, for every combination of settings."""

from __future__ import annotations

from typing import Any

from .aggregate import AGGREGATIONS, find_aggregations
from .errors import InputError
from .normalize import NORMALIZATIONS
from .spaces import SPACES, find_space
from .transform import check_frame, refuse_directions

SLICEWISE = ("standardize", "winsorize", "median")
_MOVES = {
    "standardize": "similarities",
    "winsorize": "similarities",
    "median": "similarities",
    "global": "similarities",
    "center": "rotations, reflections and shifts",
    None: "rotations and reflections about the origin",
}
_MOVES_OF_THE_LINE = dict.fromkeys(_MOVES, SPACES["signal"].group) | {
    "center": "shifts and reflections",
    None: "the reflection about the origin",
}


def invariance(
    space: Any = "image", *, frame: str = "fixed", normalize: Any = "standardize", aggregate: Any = "max"
) -> str:
    """Name the group of maps that leave the features of these settings unchanged.

    The statement is exact for all directions; with finitely many, features converge to it. A function of your own is
    taken at its word: that it treats all directions alike, as an aggregation does.

    Examples
    --------
    >>> invariance()
    'affine maps'
    >>> invariance(aggregate="mean")
    'similarities'
    >>> invariance(aggregate="mean", frame="whitened")
    'affine maps'
    >>> invariance("euclidean", normalize="center")
    'rotations, reflections and shifts'
    """
    found = find_space(space)
    check_frame(frame, found)
    if not (normalize is None or isinstance(normalize, str)) or normalize not in NORMALIZATIONS:
        names = ", ".join(map(repr, NORMALIZATIONS))
        raise InputError("normalize", f"be one of {names}", repr(normalize))
    aggregations = find_aggregations(aggregate)
    refuse_directions(aggregations, found.directions(8, 2), found)
    if frame == "whitened":
        return found.group  # whatever is done to the slices of the whitened measure, which affine maps only turn
    if found.linear:
        moves = _MOVES_OF_THE_LINE if found.slices is SPACES["signal"].slices else _MOVES
        if normalize is None and all(one.function is AGGREGATIONS["mean"].function for one in aggregations):
            return moves["center"]  # the shifts of opposite directions cancel
        exchange = all(one.exchange for one in aggregations)
        return found.group if normalize in SLICEWISE and exchange else moves[normalize]
    if found.slices is SPACES["circular"].slices:
        return found.group if normalize in (*SLICEWISE, "global") else "rotations, reflections and shifts"
    return found.group
