"""Options that several commands of `nrcdt catalogue` share, and what they are turned into."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from .console import one_red_line

if TYPE_CHECKING:
    from ..catalogue.model import Filter
    from ..catalogue.store import Store


Polarity = StrEnum("Polarity", ["auto", "dark", "light"])

File = Annotated[Path, Argument(metavar="CATALOGUE", help="The file of the catalogue.")]
MarkName = Annotated[str, Argument(metavar="MARK", help="Id or its beginning, name, reference or file of a mark.")]
Side = Annotated[Polarity, Option(help="Which side of the paper is ink.")]
Drawing = Annotated[bool, Option("--drawing", help="Clean drawings: whatever is not paper is ink.")]
BarLength = Annotated[float | None, Option(help="Length of the scale bar in the pictures, in millimetres.")]
Crop = Annotated[
    tuple[int, int, int, int] | None, Option(metavar="LEFT TOP RIGHT BOTTOM", help="Part to look at, in pixels.")
]
Motif = Annotated[list[str] | None, Option(help="Only this motif; may be repeated.")]
Method = Annotated[list[str] | None, Option(help="Only this method; may be repeated.")]
Place = Annotated[list[str] | None, Option(help="Only this place; may be repeated.")]
Since = Annotated[int | None, Option("--from", min=0, max=9999, help="Only marks dated to this year or later.")]
Until = Annotated[int | None, Option("--to", min=0, max=9999, help="Only marks dated to this year or earlier.")]
Text = Annotated[str, Option(help="Only marks with this in name, motif, date, place, method, reference or note.")]


@contextmanager
def opened(path: Path, *, readonly: bool = True) -> Iterator[Store]:
    """Open the file of a catalogue; what goes wrong meanwhile is said in one red line."""
    with one_red_line():
        from ..catalogue.store import Store

        with Store(path, readonly=readonly) as store:
            yield store


def filter_of(
    text: str, motif: list[str] | None, method: list[str] | None, place: list[str] | None, *years: int | None
) -> Filter:
    """Put the options that choose marks together."""
    from ..catalogue.model import Filter

    return Filter(text, tuple(motif or ()), tuple(method or ()), tuple(place or ()), *years)
