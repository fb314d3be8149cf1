"""What an array is called in signatures, numbers in the library of another array, arrays that nobody can write to."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

Array = np.ndarray[Any, np.dtype[Any]]


def like(numbers: Array, array: Any) -> Any:
    """Return numbers in the library, on the device and of the dtype of an array."""
    return array_namespace(array).asarray(numbers, dtype=array.dtype, device=device(array))


def read_only(array: Array) -> Array:
    """Return an array that cannot be written to, for functions of users: it costs nothing.

    Examples
    --------
    >>> read_only(np.ones(2))[0] = 7
    Traceback (most recent call last):
    ValueError: assignment destination is read-only
    """
    view = array.view()
    view.flags.writeable = False
    return view
