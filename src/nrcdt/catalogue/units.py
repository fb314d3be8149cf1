"""Resolutions: dots per inch and millimetres per pixel."""

from __future__ import annotations

import math

from ..errors import InputError

DPI = (10, 100_000)
MM_PER_INCH = 25.4


def read_resolution(text: str, unit: str = "dpi") -> float | None:
    """Return the millimetres per pixel of a resolution as typed, in "dpi" or "mm_per_pixel"; None for an empty one.

    Examples
    --------
    >>> read_resolution("12,7"), read_resolution("0,2", "mm_per_pixel"), read_resolution("")
    (2.0, 0.2, None)
    """
    if not text.strip():
        return None
    low, high = DPI if unit == "dpi" else (MM_PER_INCH / DPI[1], MM_PER_INCH / DPI[0])
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise InputError(unit, f"be a number from {low:g} to {high:g}", repr(text), "Leave it empty if unknown.")
    return MM_PER_INCH / value if unit == "dpi" else value
