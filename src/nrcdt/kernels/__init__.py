"""Hot loops behind one dispatcher.

    reference.py   the obvious loops: specification, and judge of the others
    cpu.py         numba; same names, same arguments (its head says which file holds what)

Callers ask `kernels_for(array)` and never import a backend themselves, so that `import nrcdt` stays light.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import InputTypeError


def kernels_for(array: object) -> ModuleType:
    """Return the module of kernels that works on this type of array."""
    if not isinstance(array, np.ndarray):
        raise InputTypeError("array", "be a NumPy array", type(array).__name__, "Convert it with numpy.asarray.")
    return compiled("cpu")


def compiled(name: str) -> ModuleType:
    """Import a file of compiled loops, also where numba may write neither beside it nor in the user's own cache."""
    try:
        return import_module(f".{name}", __name__)
    except RuntimeError:
        _cache_in_passing()
        return import_module(f".{name}", __name__)


def _cache_in_passing() -> None:
    """Let numba keep machine code in a folder that goes when the process ends."""
    config: Any = import_module("numba.core.config")
    config.CACHE_DIR = tempfile.mkdtemp(prefix="nrcdt-")
    atexit.register(shutil.rmtree, config.CACHE_DIR, ignore_errors=True)
