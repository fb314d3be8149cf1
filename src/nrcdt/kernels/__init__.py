"""Hot loops behind one dispatcher.

    cpu.py         numba (its head says which file holds what)
    plain.py       NumPy alone, where numba may not compile (NUMBA_DISABLE_JIT)
    portable.py    what comes after the quantiles, for every other array library
    compiling.py   one line for whoever waits while kernels are compiled

The obvious loops, of the same names and arguments, are in `tests/reference.py`: specification, and judge of the others.

Callers ask `kernel` or `kernels_for` and never import a backend themselves, so that `import nrcdt` stays light.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from ..errors import InputTypeError

# Which function does what for which kind of slice and which library of arrays. Another library is another few rows.
KERNELS: dict[tuple[str, str, str], tuple[str, str]] = {
    ("pixels", "quantiles", "numpy"): ("cpu", "shadow_quantiles"),
    ("pixels", "extremes", "numpy"): ("cpu", "shadow_extremes"),
    ("strips", "quantiles", "numpy"): ("cpu", "linear_quantiles"),
    ("projections", "quantiles", "numpy"): ("cpu", "projected_quantiles"),
    ("values", "quantiles", "numpy"): ("cpu", "step_quantiles"),
    ("projections", "points", "numpy"): ("cpu", "projected_points"),
    ("steps", "distances", "numpy"): ("cpu", "step_distances"),
}


def library_of(array: object) -> str:
    """Return the name of the library that an array belongs to, without importing anything."""
    return type(array).__module__.partition(".")[0]


def kernel(kind: str, operation: str, array: object) -> Callable[..., Any]:
    """Return the function that does this for slices of this kind in this type of array."""
    try:
        return _found(kind, operation, library_of(array))
    except KeyError:
        raise _no_array(array) from None


@cache
def _found(kind: str, operation: str, library: str) -> Callable[..., Any]:
    file, name = KERNELS[kind, operation, library]
    function: Callable[..., Any] = getattr(compiled(file), name)
    return function


def kernels_for(array: object) -> ModuleType:
    """Return the module of kernels that works on this type of array; slices need those of `kernel`."""
    if library_of(array) == "numpy":
        return compiled("cpu")
    if not hasattr(array, "__array_namespace__"):
        raise _no_array(array)
    return import_module(".portable", __name__)


def _no_array(array: object) -> InputTypeError:
    return InputTypeError("array", "be a NumPy array", type(array).__name__, "Convert it with numpy.asarray.")


@cache
def compiled(name: str) -> ModuleType:
    """Import a file of compiled loops, also where numba may write neither beside it nor in the user's own cache.

    Where numba may not compile, `cpu` is `plain`, and others, which have no instructions of their own, run as Python.
    """
    compiling = import_module(".compiling", __name__)
    if compiling.config.DISABLE_JIT and name == "cpu":
        return import_module(".plain", __name__)
    try:
        return import_module(f".{name}", __name__)
    except RuntimeError:
        compiling.cache_in_passing()
        return import_module(f".{name}", __name__)
