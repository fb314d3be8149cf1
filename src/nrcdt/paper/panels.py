"""How pictures are laid out: panels, texts and legends at places in inches. Needs matplotlib."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT = 9.0
WIDE = 0.56  # mean width of a letter of matplotlib's font, in sizes of it


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of its own, without the global state of pyplot."""
    check_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def check_matplotlib() -> None:
    """Say what to install where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("figures must have matplotlib; got none. Run pip install 'nrcdt[paper]'.") from error


def add_panel(figure: Figure, left: float, top: float, width: float, height: float, **look: Any) -> Any:
    """Add axes; all lengths in inches, from the upper left corner."""
    across, down = figure.get_size_inches()
    return figure.add_axes((left / across, 1 - (top + height) / down, width / across, height / down), **look)


def write_text(figure: Figure, x: float, y: float, text: str, **look: Any) -> None:
    """Write text at a place in inches, from the upper left corner."""
    across, down = figure.get_size_inches()
    figure.text(x / across, 1 - y / down, text, **{"fontsize": FONT, **look})


def fold_text(text: str, width: float, size: float = FONT) -> str:
    """Break text so that it fits a width in inches."""
    return textwrap.fill(text.replace("_", " "), max(4, int(width * 72 / (WIDE * size))))


def count_lines(texts: Sequence[str]) -> int:
    """Return the lines of the longest of some texts."""
    return max((text.count("\n") + 1 for text in texts if text), default=0)


def grid_shape(n: int, most: int) -> tuple[int, int]:
    """Return rows and columns for n panels, at most so many in a row, the rows filled evenly."""
    rows = -(-n // most)
    return rows, -(-n // rows)


def panel_grid(
    n: int, most: int, across: float, down: float, head: float = 0
) -> tuple[Figure, list[tuple[float, float]]]:
    """Return a figure for n panels of a size in inches below a head, and where their upper left corners are."""
    rows, columns = grid_shape(n, most)
    figure = new_figure(columns * across, head + rows * down)
    return figure, [(i % columns * across, head + i // columns * down) for i in range(n)]


def legend_lines(names: Sequence[str], symbol: int, width: float) -> list[list[int]]:
    """Break a legend into lines of about equal length that fit a width in inches; a symbol takes so many letters."""
    lengths = np.array([len(name) + symbol for name in names])
    n_lines = int(np.ceil(lengths.sum() / (14 * width)))
    middles = (np.cumsum(lengths) - lengths / 2) / lengths.sum()
    return [np.flatnonzero(np.floor(middles * n_lines) == line).tolist() for line in range(n_lines)]


def draw_legend(
    figure: Figure, lines: list[list[int]], handles: Sequence[Any], names: Sequence[str], **look: Any
) -> None:
    """Draw a legend above all panels, line by line."""
    spaces = {"handletextpad": 0.4, "columnspacing": 1.2, "borderaxespad": 0.3}
    look = {"loc": "upper center", "frameon": False, "fontsize": FONT, **spaces, **look}
    for row, line in enumerate(lines):
        place = (0.5, 1 - 0.3 * row / figure.get_size_inches()[1])
        own = [handles[i] for i in line], [names[i] for i in line]
        figure.legend(*own, bbox_to_anchor=place, ncols=len(line), **look)
