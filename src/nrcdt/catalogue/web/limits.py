"""How many may search at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.exceptions import HTTPException


class QueryQueue:
    """Lets a few search at once, a few more wait, and sends the others away.

    Parameters
    ----------
    n : how many search at once
    n_waiting : how many may wait
    """

    def __init__(self, n: int, n_waiting: int) -> None:
        self.most = n + n_waiting
        self._places, self._turn = asyncio.Semaphore(self.most), asyncio.Semaphore(n)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[asyncio.Semaphore]:
        """Hold a place in the queue; the turn itself comes with the semaphore."""
        if self._places.locked():
            sentence = f"at most {self.most} queries must run at once; got one more. Try again in a moment."
            raise HTTPException(503, sentence, {"Retry-After": "5"})
        async with self._places:
            yield self._turn
