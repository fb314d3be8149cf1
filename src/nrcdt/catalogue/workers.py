"""Pictures are read in processes of their own, because files are hostile.

A worker is ``python -m nrcdt.catalogue.workers``. It gets bytes on standard input and answers on standard output. Once
it is warm it can write no file and take no more than a fixed amount of memory, so that a picture that breaks a decoder
breaks nothing else. The parent kills a worker that takes too long, and starts another.

A message is a header, a line of JSON that tells the length of the body, then the body: raw bytes.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Timer
from typing import IO, Any, Self

import numpy as np

from ..datasets import photograph, watermarks
from ..errors import InputError
from ..files import MAX_BYTES, MAX_PIXELS, PICTURE_FORMATS
from ..files.checks import regular_size
from ..ink import NoInkError
from ..kernels import compiled
from .intake import Prepared, Settings, check_settings, prepare

Message = tuple[dict[str, Any], bytes]
Job = tuple[Any, bytes | Callable[[], bytes], Settings]

MAX_HEADER = 1_000_000
MAX_ANSWER = 16_000_000
MAX_ERROR = 1_000
# The arrays of an answer, in the order of the body; the preview fills the rest of it.
ARRAYS: dict[str, tuple[str, int]] = {"mark": ("|u1", 2), "features": ("<f4", 1)}

MAX_PER_CORE = 4
MEMORY = 2_000_000_000
MAX_OPEN_FILES = 32
OUT_OF_MEMORY = 77
START_SECONDS = 300  # the very first worker compiles all kernels
# A worker whose parent was killed ends itself this many seconds after the time limit.
GRACE_SECONDS = 5
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


class Workers:
    """Processes that prepare pictures, each picture within limits of time and memory.

    Parameters
    ----------
    n : number of processes, at most four per core; as many as there are cores if left out
    seconds : time for one picture
    memory : bytes that a picture may take, on top of what an idle worker takes; enforced where the system can

    Examples
    --------
    >>> with Workers(1) as workers:
    ...     try:
    ...         workers.prepare(b"no picture")
    ...     except ValueError as error:
    ...         print(str(error)[:27])
    the picture must be a whole
    """

    def __init__(self, n: int | None = None, *, seconds: float = 30, memory: int = MEMORY) -> None:
        if n is not None and n < 1:
            raise InputError("n", "be a positive number of processes", n, "Leave it out for all cores.")
        cores = os.cpu_count() or 1
        self.n = min(n or cores, MAX_PER_CORE * cores)
        self.seconds, self.memory = seconds, memory
        self._lock = Lock()
        self._closed = False
        self._all: set[_Worker] = set()
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()
        for _ in range(self.n):
            self._idle.put(self._started())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        with self._lock:
            self._closed = True
            for worker in self._all:
                worker.kill()
        self._idle.put(None)  # for whoever waits

    def prepare(self, data: bytes, settings: Settings | None = None) -> Prepared:
        """Do what `nrcdt.catalogue.intake.prepare` does, in a worker; threads may call this at the same time.

        A picture that cannot be used, or takes too much time or memory, is a ValueError.
        """
        _check_bytes(len(data))
        settings = check_settings((settings or Settings())._asdict())
        worker = self._idle.get()
        if worker is None or self._closed:
            self._idle.put(None)
            raise RuntimeError("workers must be open; got closed ones. Use them inside their with block.")
        try:
            return worker.prepare(data, settings)
        finally:
            self._idle.put(worker if worker.process.returncode is None else self._started(worker))

    def map(self, jobs: Iterable[Job]) -> Iterator[tuple[Any, Prepared | Exception]]:
        """Prepare many pictures, and yield (key, result) in the order in which they are done.

        Jobs are (key, data, settings); data are bytes, or a function that returns them and is called just before. They
        are taken as workers become free, at most two per worker ahead. A result is Prepared, or the ValueError of the
        picture, or the OSError or ValueError that reading its data raised.
        """
        pool = ThreadPoolExecutor(self.n)
        keys: dict[Future[Prepared | Exception], Any] = {}
        waiting = iter(jobs)
        try:
            while True:
                while len(keys) < 2 * self.n and (job := next(waiting, None)) is not None:
                    keys[pool.submit(self._one, *job[1:])] = job[0]
                if not keys:
                    return
                for future in wait(keys, return_when=FIRST_COMPLETED).done:
                    yield keys.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _one(self, data: bytes | Callable[[], bytes], settings: Settings) -> Prepared | Exception:
        try:
            return self.prepare(data if isinstance(data, bytes) else data(), settings)
        except (ValueError, OSError) as error:
            return error

    def _started(self, dead: _Worker | None = None) -> _Worker | None:
        """Start a worker, in place of a dead one; none where all is closed."""
        with self._lock:
            self._all -= {dead}
            if self._closed:
                return None
            worker = _Worker(self.seconds, self.memory)
            self._all.add(worker)
            return worker


def read_bytes(path: Path) -> bytes:
    """Read a file, unless it is too large, or no file but a pipe or a device.

    Examples
    --------
    >>> len(read_bytes(Path(__file__))) > 1000
    True
    """
    _check_bytes(regular_size(path))
    # A pipe that has taken its place meanwhile would wait for somebody to write into it.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        data = file.read(MAX_BYTES + 1) or b""
    _check_bytes(len(data))
    return data


def _check_bytes(n_bytes: int) -> None:
    if not 0 < n_bytes <= MAX_BYTES:
        remedy = "Copy it again, or save it with fewer pixels."
        raise InputError("the file", f"have 1 to {MAX_BYTES} bytes", n_bytes, remedy)


class _Worker:
    """One process, and the talk with it."""

    def __init__(self, seconds: float, memory: int) -> None:
        self.seconds, self.memory = seconds, memory
        self.ready = self.late = False
        # -P: a folder of hostile files must not become the first place where modules are looked for.
        command = [sys.executable, "-P", "-m", "nrcdt.catalogue.workers", str(math.ceil(seconds)), str(memory)]
        # A session of its own: Ctrl-C is for the parent to handle.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | ONE_THREAD, start_new_session=True
        )

    def prepare(self, data: bytes, settings: Settings) -> Prepared:
        self._wait_until_ready()
        answer = self._ask(self.seconds, {"settings": settings._asdict()}, data)
        if answer is None:
            raise self._failure()
        header, body = answer
        try:
            found = _error_of(header["error"]) if "error" in header else unpack(header, body)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            self.kill()
            raise _unreadable(f"an answer that makes no sense ({error})") from error
        if isinstance(found, InputError):
            raise found
        return found

    def _wait_until_ready(self) -> None:
        if self.ready:
            return
        answer = self._ask(START_SECONDS)
        if answer is not None and "compiling" in answer[0]:
            compiled("compiling").NOTICE.say()  # here, and once, however many workers wait for the compiler
            answer = self._ask(START_SECONDS)
        self.ready = answer is not None
        if not self.ready:
            code, remedy = self.process.returncode, "Run python -m nrcdt.catalogue.workers to see why."
            raise RuntimeError(f"a worker must start; got exit code {code}. {remedy}")

    def _ask(self, seconds: float, header: dict[str, Any] | None = None, body: bytes = b"") -> Message | None:
        """Return the next answer, to a question if there is one; None from a process that died or had to be killed."""
        timer = Timer(seconds, self._be_late)
        timer.daemon = True
        timer.start()
        answer = None
        try:
            with contextlib.suppress(OSError, ValueError, TypeError, RecursionError):
                if header is not None:
                    _send(self.process.stdin, header, body)
                answer = _receive(self.process.stdout, MAX_ANSWER)
            if answer is None:
                with contextlib.suppress(subprocess.TimeoutExpired):  # the exit code says what was wrong
                    self.process.wait(1)
        finally:
            timer.cancel()
            timer.join()
            if answer is None or self.late:
                self.kill()
        return answer

    def _be_late(self) -> None:
        self.late = True
        self.process.kill()

    def _failure(self) -> InputError:
        code = self.process.returncode
        if self.late:
            within = f"be read within {self.seconds:g} s"
            return InputError("the picture", within, "a longer time", "Save it with fewer pixels.")
        if code == OUT_OF_MEMORY:
            within = f"be read in {self.memory / 1e6:g} MB of memory"
            return InputError("the picture", within, "more", "Save fewer pixels.")
        return _unreadable(f"a crash of its decoder (exit code {code})")

    def kill(self) -> None:
        """End the process and close the pipes; whoever talks with it hears the end of its output."""
        with contextlib.suppress(OSError), self.process:
            self.process.kill()


def _unreadable(got: str) -> InputError:
    return InputError("the picture", "be readable", got, "Open it in another program and export it again.")


def _error_of(told: Any) -> InputError:
    """Read an error that a worker tells of, which is not believed to be as short as it should be."""
    kind, *parts = (str(part)[:MAX_ERROR] for part in told)
    return (NoInkError if kind == NoInkError.__name__ else InputError)(*parts)


def _send(pipe: IO[bytes] | None, header: dict[str, Any], body: bytes) -> None:
    assert pipe is not None
    pipe.write(json.dumps(header | {"n_bytes": len(body)}).encode() + b"\n")
    pipe.write(body)
    pipe.flush()


def _receive(pipe: IO[bytes] | None, max_body: int) -> Message | None:
    """Return the next message, or None where the pipe ends."""
    assert pipe is not None
    line = pipe.readline(MAX_HEADER)
    if not line.endswith(b"\n"):
        return None
    header = dict(json.loads(line))
    n_bytes = header.pop("n_bytes", -1)
    if not 0 <= n_bytes <= max_body:
        raise ValueError("a message must keep its bounds")
    body = pipe.read(n_bytes)
    return (header, body) if len(body) == n_bytes else None


def pack(prepared: Prepared) -> Message:
    """Return a message that holds what was prepared."""
    values = prepared._asdict()
    arrays = [np.ascontiguousarray(values.pop(name), dtype) for name, (dtype, _) in ARRAYS.items()]
    preview = values.pop("preview")
    header = {"values": values, "shapes": [array.shape for array in arrays]}
    return header, b"".join([*(array.tobytes() for array in arrays), preview])


def unpack(header: dict[str, Any], body: bytes) -> Prepared:
    """Return what a message holds. The worker may have been taken over by a picture: nothing is believed unseen."""
    values, start = dict(header["values"]), 0
    for (name, (dtype, n_axes)), shape in zip(ARRAYS.items(), header["shapes"], strict=True):
        if len(shape) != n_axes or not all(isinstance(n, int) and 0 < n <= MAX_ANSWER for n in shape):
            raise ValueError(f"{name} must have {n_axes} axes; got {shape}")
        # Copied, so that arrays are aligned and can be written to.
        values[name] = np.frombuffer(body, dtype, math.prod(shape), start).reshape(shape).copy()
        start += values[name].nbytes
    scale, dx, dy = map(float, values["to_mark"])
    values |= {"to_mark": (scale, dx, dy), "preview": body[start:], "steps": tuple(map(str, values["steps"]))}
    values |= {name: str(values[name]) for name in ("sha256", "polarity")}
    values |= {name: int(values[name]) for name in ("width", "height")}
    values |= {name: float(values[name]) for name in ("confidence", "mm_per_pixel") if values[name] is not None}
    return _in_range(Prepared(**values))


def _in_range(prepared: Prepared) -> Prepared:
    positive = np.array([prepared.width, prepared.height, prepared.to_mark[0], prepared.mm_per_pixel or 1], dtype=float)
    numbers = np.concatenate([prepared.features, prepared.to_mark, positive, [prepared.confidence]])
    if not np.isfinite(numbers).all() or positive.min() <= 0 or positive.max() > MAX_PIXELS:
        raise ValueError("numbers out of range")
    return prepared


def main(seconds: int, memory: int) -> None:
    """Answer questions until standard input ends."""
    source = sys.stdin.buffer
    # What a library prints must not get between the messages.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with _reported_compiling(sink):
        _warm_up()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    _lower_limits(memory)
    _send(sink, {"ready": True}, b"")
    alarm = getattr(signal, "alarm", lambda seconds: 0)
    while (message := _receive(source, MAX_BYTES)) is not None:
        alarm(seconds + GRACE_SECONDS)
        _send(sink, *_answer(*message))
        alarm(0)


def _answer(header: dict[str, Any], body: bytes) -> Message:
    try:
        return pack(prepare(body, check_settings(header["settings"])))
    except Exception as error:  # whatever a hostile picture leads to
        if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
            os._exit(OUT_OF_MEMORY)
        if not isinstance(error, InputError):
            error = _unreadable(f"{type(error).__name__}: {error}")
        return {"error": [type(error).__name__, *map(str, error.args)]}, b""


@contextlib.contextmanager
def _reported_compiling(sink: IO[bytes]) -> Iterator[None]:
    """Tell the parent that kernels are being compiled, instead of saying so in the middle of what it shows."""
    log, handler = logging.getLogger("nrcdt"), logging.Handler()
    handler.emit = lambda record: _send(sink, {"compiling": True}, b"")  # type: ignore[method-assign]
    log.addHandler(handler)
    yield
    log.removeHandler(handler)


def _warm_up() -> None:
    """Load decoders and compiled kernels, while files may still be opened and written."""
    from PIL import Image

    # A photograph with everything in it calls every kernel.
    sheet = Image.fromarray((255 * photograph(watermarks(1)[0], "all", random_state=0)[0]).astype(np.uint8))
    for name in PICTURE_FORMATS:
        file = io.BytesIO()
        with contextlib.suppress(KeyError, OSError):  # a Pillow built without this format
            sheet.save(file, name)
        if file.tell():
            prepare(file.getvalue(), Settings(ink=name == PICTURE_FORMATS[0]))


def _lower_limits(memory: int) -> None:
    """Bound the memory, forbid writing files and core dumps, and allow few open files, for good."""
    try:
        import resource
    except ImportError:  # Windows, where the parent's time limit is all there is
        return
    limits = {"RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": MAX_OPEN_FILES}
    with contextlib.suppress(OSError):  # only Linux tells how much is in use
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits["RLIMIT_AS"] = pages * resource.getpagesize() + memory
    for name, limit in limits.items():
        _, hardest = resource.getrlimit(getattr(resource, name))
        limit = limit if hardest == resource.RLIM_INFINITY else min(limit, hardest)
        resource.setrlimit(getattr(resource, name), (limit, limit))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
