"""Affine-invariant features of images, point clouds and rotations by optimal transport on slices."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .aggregate import AGGREGATIONS
    from .classifiers import NearestSubspace
    from .distances import sliced_wasserstein
    from .estimators import NRCDT, RCDT, nrcdt, rcdt
    from .groups import invariance
    from .inverse import inverse_rcdt
    from .normalize import NORMALIZATIONS
    from .quantiles import cdt, inverse_cdt
    from .spaces import SPACES
    from .spaces.image import back_projection, radon

__version__ = "0.1.0"

__all__ = [
    "AGGREGATIONS",
    "NORMALIZATIONS",
    "NRCDT",
    "RCDT",
    "SPACES",
    "NearestSubspace",
    "back_projection",
    "cdt",
    "invariance",
    "inverse_cdt",
    "inverse_rcdt",
    "nrcdt",
    "radon",
    "rcdt",
    "sliced_wasserstein",
]

_HOMES = {
    "aggregate": ("AGGREGATIONS",),
    "classifiers": ("NearestSubspace",),
    "distances": ("sliced_wasserstein",),
    "estimators": ("NRCDT", "RCDT", "nrcdt", "rcdt"),
    "groups": ("invariance",),
    "normalize": ("NORMALIZATIONS",),
    "quantiles": ("cdt", "inverse_cdt"),
    "spaces": ("SPACES",),
    "spaces.image": ("back_projection", "radon"),
    "inverse": ("inverse_rcdt",),
}

_ROOMS = (
    "audit",
    "baselines",
    "catalogue",
    "conversions",
    "datasets",
    "directions",
    "distances",
    "files",
    "ink",
    "measures",
    "plot",
    "registration",
    "signed",
    "spaces",
)


def __getattr__(name: str) -> Any:
    """Load a public name on first use: scikit-learn and numba take a second that `nrcdt --help` need not pay."""
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
