"""What the server remembers for a while, in memory, and how many may ask at once."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from starlette.exceptions import HTTPException

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
            self._held[key] = one
            self._held.move_to_end(key)
            while len(self._held) > 1 and self._full():
                self._held.popitem(last=False)

    def _full(self) -> bool:
        if len(self._held) > self.n:
            return True
        return self.n_bytes > 0 and sum(map(self._size, self._held.values())) > self.n_bytes


class Turns:
    """Lets a few work at once, a few more wait, and sends the others away.

    Parameters
    ----------
    n : how many work at once
    n_waiting : how many may wait
    """

    def __init__(self, n: int, n_waiting: int) -> None:
        self.most = n + n_waiting
        self._inside = 0
        self._turn = asyncio.Semaphore(n)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[asyncio.Semaphore]:
        """Hold a place in the queue; the turn itself comes with the semaphore."""
        if self._inside >= self.most:
            raise HTTPException(
                503,
                f"at most {self.most} queries must run at once; got one more. Try again in a moment.",
                {"Retry-After": "5"},
            )
        self._inside += 1
        try:
            yield self._turn
        finally:
            self._inside -= 1
