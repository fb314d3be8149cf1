"""From photograph to ink: what the paper, the light and the camera added is taken away.

paper.py    working size, border, background, polarity, noise
laid.py     the ripple of laid lines
lines.py    chain lines in any direction
strokes.py  thresholds, specks, foreign groups, scale bars
find.py     one picture through all of these; steps and confidence
"""

from .find import Ink, find_ink
from .transformer import InkFinder

__all__ = ["Ink", "InkFinder", "find_ink"]
