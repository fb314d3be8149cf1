"""A batch goes through a plan: it is cut into chunks here and nowhere else, and chunks go to threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TypeVar

import numpy as np

from .arrays import Array
from .errors import LocatedError
from .measures import Batch, Measures, cut, dtype_of, pack
from .plan import Plan
from .threads import interrupt_of, map_threads, thread_count
from .user_functions import note_sample

CHUNK_BYTES = 2**22

Result = TypeVar("Result")


def walk(
    measures: Measures, plan: Plan, stage: Callable[[Batch], Result], n_jobs: int | None = None
) -> Iterator[Result]:
    """Send measures through a stage of a plan in chunks, on `n_jobs` threads; results come in order."""

    def one(chunk: tuple[int, int]) -> Result:
        start, stop = chunk
        try:
            return stage(pack(measures[start:stop]))
        except LocatedError as error:
            if error.sample is None:
                raise
            raise error.about(sample=error.sample + start) from error.__cause__
        except SystemError as error:
            raise interrupt_of(error) from None
        except Exception as error:
            note_sample(error, start)
            raise

    n_threads = thread_count(n_jobs, len(measures))
    return map_threads(one, _chunks(measures, plan, n_threads), n_threads)


def gather(measures: Measures, plan: Plan, stage: Callable[[Batch], Array], n_jobs: int | None = None) -> Array:
    """Walk, and put the results into one array."""
    return fill(walk(measures, plan, stage, n_jobs), measures)


def fill(parts: Iterator[Array], measures: Measures) -> Array:
    """Put the results for measures into one array as they come, so that none is held twice."""
    first = next(parts)
    if len(first) == len(measures):
        return first
    out, n = np.empty((len(measures), *first.shape[1:]), dtype_of(measures)), 0
    for part in chain([first], parts):
        out[n : n + len(part)] = part
        n += len(part)
    return out


def _chunks(measures: Measures, plan: Plan, n_threads: int) -> Iterator[tuple[int, int]]:
    """Cut the batch where measures change their kind or quantiles would take too much memory.

    Threads get smaller and smaller chunks, so that none waits long for another at the end.
    """
    longest = max(1, CHUNK_BYTES // (8 * len(plan.directions) * len(plan.levels.values)))
    n_shares = 1 if n_threads == 1 else 2 * n_threads
    return cut(measures, lambda n_left: min(longest, math.ceil(n_left / n_shares)))
