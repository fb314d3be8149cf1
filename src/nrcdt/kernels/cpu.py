"""The hot loops, compiled by numba.

Plain functions over arrays that release the interpreter lock; threads are the caller's business. Every public function
has a twin of the same name in `tests/reference.py`, which says what is computed; these files only say how it gets fast:

    shadows.py   strip_sums, back_project              one table of polynomials per direction, four strips at a time
    coverage.py  shadow_quantiles, shadow_extremes     no table, two directions in turn; finished while in the cache
    order.py     step_quantiles, projected_quantiles, projected_points
                                                       buckets, then a network that compares neighbours only
    steps.py     step_distances                        one pass over two sorted rows
    align.py     resample, pull, settle                one pass over the pixels, or over the ink per step
    invert.py    linear_quantiles                      a guess for even levels, a walk where it does not hold
    moments.py   row_moments, first_flat, shift_and_scale  one row at a time, while it is in the cache

pixels.py finds the ink and says where it is seen from a direction; vectors.py holds the instructions that the compiler
does not find; lines.py belongs to the room of ink.

Two habits of the compiler shape the code. A choice is written ``x if x < y else y`` into another array: it becomes one
vector instruction, where ``min`` or an update in place becomes a masked store. And addresses that depend on data are
loaded in groups before anything is stored, because a store whose address is not yet known holds up later loads.
"""

from __future__ import annotations

from .align import pull, resample, settle
from .coverage import shadow_extremes, shadow_quantiles
from .invert import linear_quantiles
from .moments import first_flat, row_moments, shift_and_scale
from .order import projected_points, projected_quantiles, step_quantiles
from .shadows import back_project, strip_sums
from .steps import step_distances

__all__ = [
    "back_project",
    "first_flat",
    "linear_quantiles",
    "projected_points",
    "projected_quantiles",
    "pull",
    "resample",
    "row_moments",
    "settle",
    "shadow_extremes",
    "shadow_quantiles",
    "shift_and_scale",
    "step_distances",
    "step_quantiles",
    "strip_sums",
]
