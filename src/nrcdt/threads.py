"""Work on several threads: how many, and who does what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread, current_thread
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs

from .errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: Any, n_items: int) -> int:
    """Return how many threads `n_jobs` stands for, no more than there are items."""
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise InputError("n_jobs", "be a number of threads, or -1 for all cores", repr(n_jobs), "None means one.")
    return 1 if n_items == 1 else int(min(effective_n_jobs(n_jobs), n_items))


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


def _map_threads(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    # Plain queues: one that Ctrl-C interrupts is not left locked, as an executor is, which then waits for ever.
    todo: SimpleQueue[tuple[int, Item] | None] = SimpleQueue()
    done: SimpleQueue[tuple[int, tuple[Any, BaseException | None]]] = SimpleQueue()
    failed: list[int] = []
    caller = current_thread()

    def attempt(index: int, item: Item) -> None:
        if index > min(failed, default=index):
            return  # nobody will ask for it
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = work(item), None
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and current_thread() is caller:
                raise
            failed.append(index)
            outcome = None, error
        done.put((index, outcome))

    def help_out() -> None:
        while task := todo.get():
            attempt(*task)
        todo.put(None)  # for the next one

    helpers = [Thread(target=help_out, daemon=True) for _ in range(n_threads - 1)]
    outcomes: dict[int, tuple[Any, BaseException | None]] = {}
    try:
        for helper in helpers:
            helper.start()
        n_items = 0
        for item in items:
            todo.put((n_items, item))
            n_items += 1
        for wanted in range(n_items):
            while wanted not in outcomes:
                if done.empty():
                    with suppress(Empty):
                        if task := todo.get_nowait():
                            attempt(*task)
                outcomes.update([done.get()])
            result, error = outcomes.pop(wanted)
            if error is not None:
                raise error
            yield result
    finally:
        failed.append(-1)
        todo.put(None)
        for helper in helpers:
            if helper.is_alive():
                helper.join()
