"""What is remembered for a while, in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """The last few things by their keys; the longest unused are forgotten.

    Parameters
    ----------
    n : how many to keep
    n_bytes, size : how much to keep, where `size` tells how large a thing is; 0 for any amount

    Examples
    --------
    >>> recent = Recent(2)
    >>> for key in "abc":
    ...     recent.put(key, key.upper())
    >>> recent.get("a"), recent.get("c")
    (None, 'C')
    """

    def __init__(self, n: int, n_bytes: int = 0, size: Callable[[T], int] = lambda one: 0) -> None:
        self.n, self.n_bytes, self._size = n, n_bytes, size
        self._lock = threading.Lock()
        self._held: OrderedDict[str, T] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> T | None:
        """Return what is kept under a key, or None."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key]

    def put(self, key: str, one: T) -> None:
        """Keep something, in place of what had the same key."""
        with self._lock:
            if key in self._held:
                self._bytes -= self._size(self._held.pop(key))
            self._held[key] = one
            self._bytes += self._size(one)
            while len(self._held) > 1 and (len(self._held) > self.n or 0 < self.n_bytes < self._bytes):
                self._bytes -= self._size(self._held.popitem(last=False)[1])
