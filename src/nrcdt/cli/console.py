"""What the commands say, how far they are, and how they fail: one line each, and an exit code."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rich.table
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from ..errors import InputError, LocatedError

if TYPE_CHECKING:
    from ..pages import Table

SOME_FAILED, NOTHING_WRITTEN = 1, 2
FAILURES = (ValueError, OSError, MemoryError)
ROW_STYLES = {"best": "bold", "mixed up": "red"}
OUTPUT, ERRORS = Console(), Console(stderr=True)


def say(message: str) -> None:
    """Print one line as it is: no markup in file names, no breaks."""
    OUTPUT.print(message, markup=False, highlight=False, soft_wrap=True)


def show_table(table: Table) -> None:
    """Print a table: its first column to the left, numbers to the right."""
    shown = rich.table.Table(title=table.title, caption=table.caption or None, title_justify="left")
    for place, column in enumerate(table.columns):
        shown.add_column(column, justify="right" if place else "left")
    for row, style in zip(table.rows, table.styles, strict=True):
        shown.add_row(*row, style=ROW_STYLES.get(style))
    OUTPUT.print(shown)


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
    silent = not ERRORS.is_terminal  # where nothing moves, all that is left of a bar is an empty line
    with Progress(*spinning, *columns, console=ERRORS, transient=True, disable=silent) as progress:
        yield Bar(progress, what, total)


def complain(message: str) -> None:
    """Print one red line to where errors go."""
    ERRORS.print(message, style="red", markup=False, highlight=False, soft_wrap=True)


def remark(message: str) -> None:
    """Print one line to where errors go: what is no error, but no result either."""
    ERRORS.print(message, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def one_red_line() -> Iterator[None]:
    """Show errors of the library as one line, and leave with code 2."""
    try:
        yield
    except (*FAILURES, ImportError) as error:
        complain(reason(error))
        raise typer.Exit(NOTHING_WRITTEN) from None


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Put the name of a file before what is wrong with it."""
    try:
        yield
    except FAILURES as error:
        raise ValueError(f"{printable(path)}: {reason(error)}") from error


def check_choice(option: str, given: Iterable[str], names: Collection[str]) -> None:
    """Refuse what an option does not know."""
    for one in given:
        if one not in names:
            raise InputError(option, f"be one of {', '.join(names)}", one)


def check_output(path: Path | None, *suffixes: str) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise InputError("the file to write", f"end in {' or '.join(suffixes)}", repr(path.name), "Name another.")
    if not path.parent.is_dir():
        raise InputError(f"the folder of {path.name}", "exist", printable(path.parent), "Make it first.")


def report(path: Path, error: BaseException) -> str:
    """Name a file and what is wrong with it; return the line."""
    if isinstance(error, OSError) and error.strerror:
        error = unreadable(error)
    if isinstance(error, LocatedError) and error.sample is not None:
        error = error.about(argument="the sample", sample=None)
    line = f"{printable(path)}: {reason(error)}"
    complain(line)
    return line


def unreadable(error: OSError) -> ValueError:
    """Return what is wrong with a file that cannot be opened."""
    return ValueError(f"the file must be readable; got: {error.strerror}. Check where it is and who may read it.")


def reason(error: BaseException) -> str:
    """Return what an error says, in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def storable(path: Path) -> str:
    """Path as text that can be stored: bytes of its name that are no text are spelled out, so that names stay apart."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def printable(path: Path) -> str:
    """Path as text that can be printed in one line: what would break it or colour it is spelled out."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in storable(path))
