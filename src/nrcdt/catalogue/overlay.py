"""Two marks laid over each other."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..rasters import overlaid
from ..registration import Registration, register, warp
from ..whole_files import write_whole
from .model import Mark
from .ranking import ink_of, query_of_mark, sizes_agree, stretch_on_paper, write_ink
from .store import Store
from .wording import millimetres, motion, times, turn

MARGIN = 4


class Comparison(NamedTuple):
    """Two marks and the map that takes the ink of the first to that of the second."""

    a: Mark
    b: Mark
    registration: Registration
    stretch: tuple[float, float] | None

    def sentences(self) -> list[str]:
        """Say what was found, a line for each thing."""
        found = motion(self.registration.matrix)
        lines = [
            f"overlap {self.registration.overlap:.2f}, residual {self.registration.residual:.3f}",
            f"mirrored {'yes' if found.mirrored else 'no'}, turned {turn(found.rotation)}",
            f"stretched {found.across:.3f} across and {found.down:.3f} down, sheared by {found.shear + 0.0:.3f}",
        ]
        for mark in (self.a, self.b):
            if mark.size_mm:
                lines.append(f"{mark.name} is {millimetres(mark.size_mm)} on paper")
        if self.stretch is not None:
            size = "the same size" if sizes_agree(self.stretch) else "another size"
            lines.append(f"on paper {self.b.name} is {times(self.stretch)} as large: {size}")
        return lines


def compared(catalogue: Store, a: Mark, b: Mark) -> Comparison:
    """Register two marks of a catalogue."""
    query = query_of_mark(catalogue, a)
    found = register(query.mark, ink_of(catalogue, b), refine=True)
    return Comparison(a, b, found, stretch_on_paper(query, b, found.matrix))


def save_overlay(catalogue: Store, found: Comparison, target: Path) -> None:
    """Write a picture as a PNG file: the first mark blue, the second orange, where both are, dark."""
    a, b = (ink_of(catalogue, mark) / 255 for mark in (found.a, found.b))
    shape = (b.shape[0] + 2 * MARGIN, b.shape[1] + 2 * MARGIN)
    both = overlaid(warp(a, found.registration.matrix, shape, (-MARGIN, -MARGIN)), np.pad(b, MARGIN))
    write_whole(target, write_ink(both))
