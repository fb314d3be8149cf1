"""How well settings suit data of one's own, found out by random maps."""

from .search import Audit, Pair, Trial, audit

__all__ = ["Audit", "Pair", "Trial", "audit"]
