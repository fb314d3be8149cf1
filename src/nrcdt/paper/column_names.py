"""The names of columns: what is measured, in which frame, and by which norm or classifier.

``max`` is a feature of the fixed frame, ``whitened.tv+spectrum`` two of the whitened one side by side. Behind a slash
follows what else is special: a norm (``max/inf``), or a classifier instead of the table's own (``max/subspace``).
"""

from __future__ import annotations

BASELINES = {
    "eucl": "Euclidean",
    "moments": "affine moments",
    "moments_scaled": "affine moments, scaled",
    "lot": "LOT",
    "rcdt": "R-CDT",
}
DETAILS = {
    "inf": "Chebyshev norm",
    "2": "Euclidean norm",
    "rcdt": "R-CDT",
    "nrcdt": "NR-CDT",
    "subspace": "nearest subspace",
    "nca": "NCA and nearest neighbour",
}


def read_method(column: str) -> tuple[str, list[str]]:
    """Return the frame of a column and its aggregations or baseline, which stand before the slash.

    Examples
    --------
    >>> read_method("whitened.tv+spectrum/nca")
    ('whitened', ['tv', 'spectrum'])
    """
    *frame, names = column.partition("/")[0].split(".")
    return frame[0] if frame else "fixed", names.split("+")


def is_baseline(column: str) -> bool:
    """Tell whether a column is something that the paper compares its features with."""
    return column.partition("/")[0] in BASELINES


def column_label(column: str) -> str:
    """Name of a column for people: frame and method, and the norm or classifier where it is named.

    Examples
    --------
    >>> column_label("rcdt/inf"), column_label("nearest_template/nrcdt")
    ('R-CDT, Chebyshev norm', 'nearest template, NR-CDT')
    >>> column_label("whitened.tv+spectrum/subspace")
    'whitened tv + spectrum, nearest subspace'
    """
    frame, names = read_method(column)
    label = " + ".join(BASELINES.get(name, name) for name in names).replace("nearest_", "nearest ")
    detail = column.partition("/")[2]
    return (f"{frame} " if frame != "fixed" else "") + label + (f", {DETAILS[detail]}" if detail else "")
