"""Functions of users: they get arrays that they cannot write to, and their errors note the sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .arrays import Array
from .errors import InputError


def read_only(array: Array) -> Array:
    """Return an array that cannot be written to: it costs nothing."""
    view = array.view()
    view.flags.writeable = False
    return view


def call_read_only(function: Callable[..., Any], arrays: Sequence[Array], name: str, what: str) -> Any:
    """Call a function with arrays that belong to others; say so where it fails only because it may not change them.

    Examples
    --------
    >>> import numpy as np
    >>> call_read_only(np.ndarray.sort, [np.ones(2)], "the function", "its numbers")
    Traceback (most recent call last):
    nrcdt.errors.InputError: the function must not change its numbers; got: sort array is read-only. Let it work on a \
copy.
    """
    try:
        return function(*map(read_only, arrays))
    except ValueError as error:
        try:
            function(*(array.copy() for array in arrays))
        except Exception:
            raise error from None
        raise InputError(name, f"not change {what}", error, "Let it work on a copy.") from None


def blame(error: Exception, sample: int) -> None:
    """Remember with an error which sample of a batch it was about."""
    vars(error)["_sample"] = sample


def note_sample(error: Exception, start: int) -> None:
    """Note the sample that `blame` has remembered, where the batch begins with that of number `start`."""
    if "_sample" in vars(error):
        error.add_note(f"This happened to sample {start + vars(error).pop('_sample')}.")
