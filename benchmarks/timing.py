"""Seconds: of a block, and of calls that are made in turn."""

import time

ROW_SECONDS = 0.1
ROUNDS, QUICK_ROUNDS = 15, 3


class Stopwatch:
    """Times the block that it is used for: `seconds` by the clock, `busy` of this thread on the processor."""

    def __enter__(self):
        self.began = time.perf_counter(), time.thread_time()
        return self

    def __exit__(self, *error):
        self.seconds, self.busy = time.perf_counter() - self.began[0], time.thread_time() - self.began[1]


def seconds(call, n=1):
    """Seconds per call of n calls in a row."""
    with Stopwatch() as watch:
        for _ in range(n):
            call()
    return watch.seconds / n


def interleave(calls, quick):
    """Time the calls in turn, warm; return one list of seconds per call.

    Short calls are made several times in a row, so that nobody pays for what the other one left in the cache. There are
    many rounds, since others may use the machine during some of them.
    """
    for call in calls:
        call()
    first = [seconds(call) for call in calls]
    in_a_row = [max(1, round(ROW_SECONDS / once)) for once in first]
    n_rounds = QUICK_ROUNDS if quick else ROUNDS
    rounds = ([seconds(call, n) for call, n in zip(calls, in_a_row, strict=True)] for _ in range(n_rounds))
    return [list(times) for times in zip(*rounds, strict=True)]
