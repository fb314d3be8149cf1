"""Says that kernels are being compiled, where that takes long enough to look like a hang.

Numba tells of every function that it compiles, and of none that it finds in its cache: a warm call costs nothing.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
from threading import Lock
from time import perf_counter

from numba.core import config, event

PATIENCE = 2.0  # seconds after which people ask themselves whether a program hangs
ONCE = "nrcdt is compiling its kernels for this machine: once, seconds to a minute."
EVERY_TIME = (
    "nrcdt is compiling its kernels, for this process only: numba can write to no cache. "
    "Set NUMBA_CACHE_DIR to a folder that can be written."
)


class Notice(event.Listener):
    """Adds up the time in which kernels are compiled, and logs one line as soon as it is too long.

    Functions that the user compiles do not count. Numba compiles on one thread at a time, and calls many a small
    function of its own meanwhile: the clock is looked at often enough without a timer.
    """

    def __init__(self):
        self.text, self.said, self.lock = ONCE, False, Lock()
        self.depth, self.seconds, self.last = 0, 0.0, 0.0
        self.ours = False

    def on_start(self, event):
        """Begin to count with the first function of ours."""
        self._look_at_the_clock()
        if self.depth == 0:
            self.ours = event.data["dispatcher"].py_func.__module__.startswith(f"{__package__}.")
        self.depth += 1

    def on_end(self, event):
        """Stop counting with the function that was first."""
        self._look_at_the_clock()
        self.depth -= 1

    def _look_at_the_clock(self):
        now = perf_counter()
        if self.depth and self.ours:
            self.seconds += now - self.last
        self.last = now
        if self.seconds > PATIENCE:
            self.say()

    def say(self):
        """Log the line, once per process.

        As a warning, which Python shows on standard error where nobody has set up logging: what is too low to be seen
        explains no pause. Whoever wants silence sets the level of the logger "nrcdt".
        """
        with self.lock:
            first, self.said = not self.said, True
        if first:
            logging.getLogger("nrcdt").warning(self.text)


NOTICE = Notice()
event.register("numba:compile", NOTICE)


def cache_in_passing():
    """Let numba keep machine code in a folder that goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="nrcdt-")
    setattr(config, "CACHE_DIR", folder)  # noqa: B010  numba fills this module when it is imported
    NOTICE.text = EVERY_TIME
    atexit.register(_remove, folder, os.getpid())


def _remove(folder, owner):
    """Remove a folder, unless a forked process ends that shares it with the one that made it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
