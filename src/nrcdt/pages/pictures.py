"""Pictures inside a page: as addresses that hold the whole picture."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def png_address(png: bytes) -> str:
    """Return a picture as an address.

    Examples
    --------
    >>> png_address(b"ink")
    'data:image/png;base64,aW5r'
    """
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def new_figure(width: float, height: float) -> tuple[Figure, Any]:
    """Make a figure of one plot, without the global state of pyplot; sizes are in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures must have matplotlib; got none. Run pip install 'nrcdt[plot]'.") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def figure_address(figure: Figure, dpi: int) -> str:
    """Return a figure as an address."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    return png_address(buffer.getvalue())
