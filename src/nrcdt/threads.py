"""Work on several threads: how many, and who does what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread, current_thread
from typing import Any, Generic, TypeVar

import numpy as np
from joblib.parallel import get_active_backend

from .errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: Any, n_items: int) -> int:
    """Return how many threads `n_jobs` stands for, no more than there are items.

    None is one, or what `joblib.parallel_config` says. Threads may also be started where processes may not: in workers
    of `multiprocessing`, and below other threads.
    """
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise InputError("n_jobs", "be a number of threads, or -1 for all cores", repr(n_jobs), "None means one.")
    if n_items == 1 or n_jobs == 1:
        return 1
    if n_jobs is None:
        _, n_jobs = get_active_backend()
    # Asked about processes, joblib would warn in a worker, and count one.
    backend, _ = get_active_backend(prefer="threads", require="sharedmem")
    return int(min(backend.effective_n_jobs(n_jobs), n_items))


def map_threads(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """Map in order; results come as they are done, and after an error nothing more is begun.

    Items are collected when the first result is asked for; other threads begin with the first while the rest come.

    The calling thread takes part: idle, it would be in the way of those that work.

    Examples
    --------
    >>> list(map_threads(abs, [-3, 2, -1], 2))
    [3, 2, 1]
    """
    return map(work, list(items)) if n_threads == 1 else _map_threads(work, items, n_threads)


def interrupt_of(error: SystemError) -> BaseException:
    """Return what is to be raised for the error with which compiled functions return after Ctrl-C."""
    return error.__cause__ if isinstance(error.__cause__, KeyboardInterrupt) else error


class _Shared(Generic[Item]):
    """Work that threads share: what is to be done, and what has been done.

    Plain queues: one that Ctrl-C interrupts is not left locked, as an executor is, which then waits for ever.
    """

    def __init__(self, work: Callable[[Item], Any]) -> None:
        self.work, self.caller = work, current_thread()
        self.todo: SimpleQueue[tuple[int, Item] | None] = SimpleQueue()
        self.done: SimpleQueue[tuple[int, tuple[Any, BaseException | None]]] = SimpleQueue()
        self.failed: list[int] = []

    def attempt(self, index: int, item: Item) -> None:
        """Do one item, unless an earlier one has failed: then nobody will ask for it."""
        if index > min(self.failed, default=index):
            return
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = self.work(item), None
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and current_thread() is self.caller:
                raise
            self.failed.append(index)
            outcome = None, error
        self.done.put((index, outcome))

    def help_out(self) -> None:
        """Do items until there are no more."""
        while task := self.todo.get():
            self.attempt(*task)
        self.todo.put(None)  # for the next one

    def results(self, n_items: int) -> Iterator[Any]:
        """Yield results in order; while one is missing, the calling thread takes part."""
        outcomes: dict[int, tuple[Any, BaseException | None]] = {}
        for wanted in range(n_items):
            while wanted not in outcomes:
                if self.done.empty():
                    with suppress(Empty):
                        if task := self.todo.get_nowait():
                            self.attempt(*task)
                outcomes.update([self.done.get()])
            result, error = outcomes.pop(wanted)
            if error is not None:
                raise error
            yield result


def _map_threads(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    shared = _Shared(work)
    helpers = [Thread(target=shared.help_out, daemon=True) for _ in range(n_threads - 1)]
    try:
        for helper in helpers:
            helper.start()
        n_items = 0
        for item in items:
            shared.todo.put((n_items, item))
            n_items += 1
        yield from shared.results(n_items)
    finally:
        shared.failed.append(-1)
        shared.todo.put(None)
        for helper in helpers:
            if helper.is_alive():
                helper.join()
