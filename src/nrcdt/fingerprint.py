"""A digest of settings: the same on every machine, another one as soon as anything changes that decides features."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

DIGITS = 9  # of numbers in arrays: what another processor rounds otherwise is no other setting


def digest(value: Any) -> str:
    """Return 32 hexadecimal digits that stand for a value.

    Numbers, text, arrays and containers count by what they hold, functions of this package by their name, others
    by name, code, defaults and what they are closed over, methods by their object, other objects by their type and
    attributes.

    Examples
    --------
    >>> digest({"a": 1, "b": [2.0]}) == digest({"b": [2.0], "a": 1}), digest(1) == digest(1.5)
    (True, False)
    """
    text = json.dumps(_plain(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(value: Any, around: tuple[int, ...] = ()) -> Any:
    """Return a value as JSON has it; `around` are the identities of the values that it stands in."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain_array(np.asarray(value))
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if id(value) in around:
        return ["again", around[::-1].index(id(value))]
    plain = partial(_plain, around=(*around, id(value)))
    if isinstance(value, Mapping):
        return sorted(([plain(key), plain(one)] for key, one in value.items()), key=json.dumps)
    if isinstance(value, (set, frozenset)):
        return sorted(json.dumps(plain(one)) for one in value)
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(plain, value)]
    if isinstance(value, partial):
        return ["partial", plain(value.func), plain(value.args), plain(value.keywords)]
    if isinstance(value, FunctionType):
        return _plain_function(value, plain)
    name = [getattr(value, "__module__", None), getattr(value, "__qualname__", None)]
    if isinstance(value, (MethodType, BuiltinMethodType)) and not isinstance(value.__self__, ModuleType):
        return ["method", *name, plain(value.__self__)]
    if hasattr(value, "__wrapped__"):
        return ["wrapper", type(value).__module__, type(value).__qualname__, plain(value.__wrapped__)]
    state = None if name[1] else object.__getstate__(value)
    if state is not None:
        return [type(value).__module__, type(value).__qualname__, plain(state)]
    if name[1] is None and repr(value) == object.__repr__(value):  # no more than an address
        return [type(value).__module__, type(value).__qualname__]
    return [name[0], name[1] or repr(value)]


def _plain_function(function: FunctionType, plain: Callable[[Any], Any]) -> Any:
    name = [function.__module__, function.__qualname__]
    if (name[0] or "").startswith(f"{__package__}."):
        return name  # other Pythons compile it otherwise
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    defaults = [function.__defaults__, function.__kwdefaults__ or {}, cells]
    return [*name, _code(function.__code__), plain(defaults)]


def _code(code: CodeType) -> Any:
    """Return what a function does, wherever it stands."""
    constants = [_code(one) if isinstance(one, CodeType) else _plain(one) for one in code.co_consts]
    return [code.co_code.hex(), constants, list(code.co_names)]


def _plain_array(array: np.ndarray[Any, Any]) -> Any:
    kind = ["array", str(array.dtype), list(array.shape)]
    if array.dtype.kind != "f":
        return [*kind, array.tolist()]
    exponent = int(np.frexp(np.abs(array).max(initial=0.0))[1])
    return [*kind, exponent, (np.round(np.ldexp(array, -exponent), DIGITS) + 0.0).tolist()]
