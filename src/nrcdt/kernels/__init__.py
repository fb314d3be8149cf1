"""Hot loops behind one dispatcher.

    reference.py   the obvious loops: specification, and judge of the others
    cpu.py         numba; same names, same arguments (its head says which file holds what)

Callers ask `kernels_for(array)` and never import a backend themselves, so that `import nrcdt` stays light.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np


def kernels_for(array: object) -> ModuleType:
    """Return the module of kernels that works on this type of array."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"array must be a NumPy array; got {type(array).__name__}. Convert it with numpy.asarray.")
    from . import cpu

    return cpu
