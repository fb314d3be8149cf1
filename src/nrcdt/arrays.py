"""What an array is called in signatures, and numbers of a plan in the library of another array."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

Array = np.ndarray[Any, np.dtype[Any]]


def like(numbers: Array, array: Any) -> Any:
    """Return numbers in the library, on the device and of the dtype of an array."""
    return array_namespace(array).asarray(numbers, dtype=array.dtype, device=device(array))
