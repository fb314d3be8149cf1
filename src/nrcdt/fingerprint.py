"""A digest of settings: the same on every machine, another one as soon as anything changes that decides features."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np

DIGITS = 9  # of numbers in arrays: what another processor rounds otherwise is no other setting


def digest(value: Any) -> str:
    """Return 32 hexadecimal digits that stand for a value.

    Numbers, text, arrays and containers count by what they hold, functions of this package by their name, others
    by name, code, defaults and what they are closed over, other objects by their type and attributes.

    Examples
    --------
    >>> digest({"a": 1, "b": [2.0]}) == digest({"b": [2.0], "a": 1}), digest(1) == digest(1.5)
    (True, False)
    """
    text = json.dumps(_plain(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain_array(np.asarray(value))
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, Mapping):
        return sorted(([_plain(key), _plain(one)] for key, one in value.items()), key=json.dumps)
    if isinstance(value, (set, frozenset)):
        return sorted(json.dumps(_plain(one)) for one in value)
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(_plain, value)]
    if isinstance(value, partial):
        return ["partial", _plain(value.func), _plain(value.args), _plain(value.keywords)]
    if isinstance(value, FunctionType) and value.__module__.startswith(f"{__package__}."):
        return [value.__module__, value.__qualname__]  # other Pythons compile it otherwise
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__module__, value.__qualname__, _code(value.__code__), _plain([value.__defaults__, cells])]
    if hasattr(value, "__dict__") and not hasattr(value, "__qualname__"):
        return [type(value).__module__, type(value).__qualname__, _plain(vars(value))]
    return [getattr(value, "__module__", None), getattr(value, "__qualname__", repr(value))]


def _code(code: CodeType) -> Any:
    """Return what a function does, wherever it stands."""
    constants = [_code(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return [code.co_code.hex(), constants, list(code.co_names)]


def _plain_array(array: np.ndarray[Any, Any]) -> Any:
    kind = ["array", str(array.dtype), list(array.shape)]
    if array.dtype.kind != "f":
        return [*kind, array.tolist()]
    exponent = int(np.frexp(np.abs(array).max(initial=0.0))[1])
    return [*kind, exponent, (np.round(np.ldexp(array, -exponent), DIGITS) + 0.0).tolist()]
