"""From photograph to ink: what the paper, the light and the camera added is taken away.

paper.py    working size, border, background, polarity, noise
laid.py     the ripple of laid lines
lines.py    chain lines in any direction
strokes.py  thresholds, specks, foreign groups, scale bars
find.py     one picture through all of these; steps and confidence
grey.py     pictures in memory as grey levels
plain.py    the short way, for drawings and scans: even paper is subtracted, and all that stands out stays

Lengths are meant for sheets of 256 pixels and strokes of about 2. Numbers without another reason were set on simulated
photographs (`nrcdt.datasets.photograph`); benchmarks/ink.py judges them with other seeds, and on tracings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .find import Ink, NoInkError, find_ink
from .plain import remove_paper

if TYPE_CHECKING:
    from .transformer import InkFinder, PaperRemover

__all__ = ["Ink", "InkFinder", "NoInkError", "PaperRemover", "find_ink", "remove_paper"]


def __getattr__(name: str) -> Any:
    """Load estimators on first use: programs that read one picture need not wait for scikit-learn."""
    if name in ("InkFinder", "PaperRemover"):
        from . import transformer

        return getattr(transformer, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
