"""Numbers and batches: what every kind of measure is checked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array
from ..errors import InputError, InputTypeError, Where

RANK_TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}
SMALLEST, LARGEST = 1e-100, 1e100
LARGEST_SINGLE = 1e36  # of float32: inner products and differences of coordinates stay in its range


def positive_integer(value: Any, name: Where | str, advice: str) -> int:
    """Return a count, or say what is wrong with it."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(name, "be a positive integer", repr(value), advice)
    return int(value)


def is_number(value: Any) -> bool:
    """Tell a real number from truth values, text and arrays."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def float_type(dtype: Any) -> Any:
    """Return the type of floats that values of some type become: float32 stays, in the byte order of this machine."""
    native = dtype.newbyteorder("=")
    return native if native in RANK_TOLERANCE else np.dtype(np.float64)


def refuse_masked(values: Any, name: Where | str) -> None:
    """Refuse values that somebody has declared void, before a conversion makes them valid again."""
    masked = np.ma.is_masked(values)
    if isinstance(values, (list, tuple)):
        masked = any(isinstance(row, np.ma.MaskedArray) and row.mask.any() for row in values)
    if masked:
        raise InputError(name, "not be masked", "masked values", "Fill them, with 0 for no mass.")


def as_floats(values: Any, name: Where | str) -> Array:
    """Return a float32 or float64 array, without a copy where possible."""
    if issparse(values):
        raise InputTypeError(name, "be dense", "a sparse matrix", "Call its toarray method first.")
    refuse_masked(values, name)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise ValueError(f"{'complex' if array.dtype.kind == 'c' else array.dtype} data not supported")
        return array.astype(float_type(array.dtype), copy=False)
    except (TypeError, ValueError) as error:
        got = str(error).rstrip(".")
        raise InputError(
            name, "hold real numbers in a regular array", got, "Convert it to an array of floats first."
        ) from None


def check_finite(array: Array, name: Where | str) -> tuple[float, float]:
    """Return the extremes of an array that has to be finite."""
    low, high = float(array.min()), float(array.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        kind = "NaN" if math.isnan(low) else "infinity"
        raise InputError(name, "be finite", kind, "Replace these values or drop the sample.")
    return low, high


def check_size(numbers: Array, name: Where | str) -> None:
    """Refuse numbers whose inner products or squares would leave the range of floating point numbers."""
    size = max(map(abs, check_finite(numbers, name)))
    largest = LARGEST_SINGLE if numbers.dtype == np.float32 else LARGEST
    if size > 0 and not SMALLEST < size < largest:
        raise InputError(
            name,
            f"have a size between {SMALLEST:g} and {largest:g} in {numbers.dtype}",
            f"{size:g}",
            "Choose other units.",
        )


def is_rows(X: Any) -> bool:
    """Tell whether X is a table: one flattened sample per row."""
    if hasattr(X, "__array__"):
        return np.asarray(X).ndim == 2
    return isinstance(X, Sequence) and len(X) > 0 and getattr(X[0], "ndim", 1) == 1 and all(map(_is_row, X))


def _is_row(row: Any) -> bool:
    if hasattr(row, "ndim"):
        return bool(row.ndim == 1)
    if not isinstance(row, Sequence) or isinstance(row, str):
        return False
    return not any(isinstance(x, Sequence) or getattr(x, "ndim", 0) for x in row)


def samples_of(X: Any, what: str) -> list[Any]:
    """Split X along its first axis, with a message for people who pass a single sample."""
    if issparse(X):
        raise InputTypeError("X", "be dense", "a sparse matrix", "Call its toarray method first.")
    if hasattr(X, "__array__") and not isinstance(X, np.ndarray):
        X = np.asarray(X)
    if not isinstance(X, Iterable) or (isinstance(X, np.ndarray) and X.ndim < 3 and X.dtype != object):
        raise InputError(
            "X",
            f"be a batch of {what}",
            f"shape {X.shape}" if isinstance(X, np.ndarray) else repr(X)[:60],
            "For one sample pass X[numpy.newaxis] or [X].",
        )
    samples = list(X)
    if not samples:
        raise InputError("X", "hold at least one sample", "none", f"Pass a batch of {what}.")
    return samples
