"""Processes that may read and not write, even where root runs the tests: root overrides the rights of files."""

import os
import shutil
from contextlib import contextmanager

OVERRIDES = "-dac_override,-dac_read_search"
CAN_BE_BOUND = os.name == "posix" and (os.geteuid() != 0 or shutil.which("setpriv") is not None)


def bound(command):
    """A command that the rights of files bind."""
    drop = ["setpriv", f"--bounding-set={OVERRIDES}", f"--inh-caps={OVERRIDES}"]
    return [*drop, *command] if os.geteuid() == 0 else command


def beside(path):
    """The file of a catalogue, and what SQLite keeps beside it."""
    return [one for one in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))) if one.exists()]


@contextmanager
def withheld(path, file=0o444, folder=0o555):
    """Take the right to write a catalogue, its folder, or both, from everybody."""
    try:
        for one in beside(path):
            one.chmod(file)
        path.parent.chmod(folder)
        yield
    finally:
        path.parent.chmod(0o755)
        for one in beside(path):
            one.chmod(0o644)
