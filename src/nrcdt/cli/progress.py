"""The bar that commands show while something lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from .console import ERRORS


class Bar:
    """A bar; to call it is to say that one more step is done."""

    def __init__(self, progress: Progress, what: str, total: int | None) -> None:
        self._progress, self._task = progress, progress.add_task(what, total=total)

    def __call__(self) -> None:
        """Move on by one step."""
        self._progress.advance(self._task)

    def show(self, done: int, total: int, what: str | None = None) -> None:
        """Say how much is done, and what is being done."""
        self._progress.update(self._task, completed=done, total=total, description=what)

    def describe(self, what: str) -> None:
        """Say what is being done."""
        self._progress.update(self._task, description=what)


@contextmanager
def progress_bar(what: str, total: int | None = None, *, spinner: bool = False) -> Iterator[Bar]:
    """Show a bar while something lasts, with a spinner where single steps last minutes."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    spinning = (SpinnerColumn(),) if spinner else ()
    with Progress(*spinning, *columns, console=ERRORS, transient=True) as progress:
        yield Bar(progress, what, total)
