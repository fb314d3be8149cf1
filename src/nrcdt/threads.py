"""Work on several threads: how many, and who does what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from threading import Event
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: Any, n_items: int) -> int:
    """Return how many threads `n_jobs` stands for, no more than there are items."""
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise ValueError(f"n_jobs must be a number of threads, or -1 for all cores; got {n_jobs!r}. None means one.")
    return int(min(effective_n_jobs(n_jobs), n_items))


def share(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """Map in order; results come as they are done, and after an error nothing more is begun.

    Items are collected before the first result is asked for; other threads begin with the first while the rest come.

    The calling thread takes part: idle, it would be in the way of those that work.

    Examples
    --------
    >>> list(share(abs, [-3, 2, -1], 2))
    [3, 2, 1]
    """
    return map(work, list(items)) if n_threads == 1 else _share(work, items, n_threads)


def _share(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    pool = ThreadPoolExecutor(n_threads - 1)
    failed = Event()

    def attempt(item: Item) -> Result:
        if failed.is_set():  # an item before this one: they are begun in order, and nobody will ask for this one
            raise CancelledError
        try:
            return work(item)
        except BaseException:
            failed.set()
            raise

    try:
        tasks = [(item, pool.submit(attempt, item)) for item in items]
        n_tried = 0
        while tasks:
            while not tasks[0][1].done() and n_tried < len(tasks):
                item, task = tasks[n_tried]
                if task.cancel():
                    tasks[n_tried] = item, _do(attempt, item)
                n_tried += 1
            yield tasks.pop(0)[1].result()
            n_tried = max(n_tried - 1, 0)
    finally:
        pool.shutdown(cancel_futures=True)


def _do(work: Callable[[Item], Result], item: Item) -> Future[Result]:
    """Do some work now, and keep what comes of it until it is asked for."""
    task: Future[Result] = Future()
    try:
        task.set_result(work(item))
    except Exception as error:
        task.set_exception(error)
    return task
