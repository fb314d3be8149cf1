"""What is wrong with what people pass: where, the rule, what came instead, and the remedy; and what may be wrong.

Whoever finds a mistake says these four; they are put into words here and nowhere else. Whoever knows better where the
mistake is says that with `about`; nobody reads it off the words.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, NamedTuple, Self

BETWEEN = {__name__.partition(".")[0], "sklearn", "joblib"}  # packages that may lie between the user and a warning
# What warnings about samples call them: "" for what the check says, None where there are to be no warnings.
_CALLED: ContextVar[str | None] = ContextVar("called", default="")


class Where(NamedTuple):
    """An argument, or one sample of it, or a part of either.

    Examples
    --------
    >>> print(Where("X", 3), Where("X", 3, "the weights of {}"), Where("n_jobs"), sep=", ")
    X[3], the weights of X[3], n_jobs
    """

    argument: str
    sample: int | None = None
    phrase: str = "{}"

    def __str__(self) -> str:
        return self.phrase.format(self.argument if self.sample is None else f"{self.argument}[{self.sample}]")

    def part(self, phrase: str) -> Where:
        """Return a part of this: ``Where("X", 3).part("the weights of {}")``."""
        return self._replace(phrase=phrase.format(self.phrase))


def where_of(name: Where | str) -> Where:
    """Return the place that a name stands for."""
    return name if isinstance(name, Where) else Where(name)


class LocatedError(ValueError):
    """A mistake that knows its place, and can be raised again for another one."""

    def __init__(self, where: Where | str, *rest: str) -> None:
        self.where = where_of(where)
        super().__init__(self.where, *rest)  # so that worker processes can send it

    @property
    def sample(self) -> int | None:
        """Position of the sample, if there is one."""
        return self.where.sample

    def about(self, **place: Any) -> Self:
        """Return the same error about another `argument`, `sample` or `phrase`."""
        return type(self)(self.where._replace(**place), *self.args[1:])


class InputError(LocatedError):
    r"""What people passed breaks a rule.

    Parameters
    ----------
    where : the argument, or a `Where`
    rule : what comes after "must"
    got : what was passed instead, or the exception that it led to
    remedy : what to do, in sentences; may be empty

    Examples
    --------
    >>> error = InputError(Where("X", 0), "be finite", "NaN", "Drop the sample.")
    >>> print(error, error.about(sample=7), error.about(argument="Y", sample=None), sep="\n")
    X[0] must be finite; got NaN. Drop the sample.
    X[7] must be finite; got NaN. Drop the sample.
    Y must be finite; got NaN. Drop the sample.
    """

    def __init__(self, where: Where | str, rule: str, got: object, remedy: str = "") -> None:
        self.rule, self.remedy = rule, remedy
        self.got = f": {got}" if isinstance(got, BaseException) else str(got)
        super().__init__(where, rule, self.got, remedy)

    def __str__(self) -> str:
        got = self.got.rstrip(".") if self.got.startswith(": ") else f" {self.got}"
        return f"{self.where} must {self.rule}; got{got}.{' ' * bool(self.remedy)}{self.remedy}"


class InputTypeError(InputError, TypeError):
    """What people passed is of a type that nothing can be made of."""


class SampleError(LocatedError):
    """What the user's own function says of a sample.

    Examples
    --------
    >>> print(SampleError(Where("X", 2), "no such atom"))
    X[2]: no such atom
    """

    def __str__(self) -> str:
        return f"{self.where}: {self.args[1]}"


def called(argument: str) -> str | None:
    """Return what the caller calls an argument; None where nothing is to be said about it."""
    name = _CALLED.get()
    return argument if name == "" else name


def warn(message: str, where: Where | None = None, category: type[Warning] = UserWarning) -> None:
    """Warn the user: at the line that called the package, or scikit-learn with an estimator of it.

    Parameters
    ----------
    message : in sentences
    where : what the first of them is about, if that is an argument
    """
    if where is not None:
        name = called(where.argument)
        if name is None:
            return
        message = f"{where._replace(argument=name)} {message}"
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def samples_called(name: str | None) -> Iterator[None]:
    """Let errors and warnings about samples name them after the argument that they came in.

    None is for samples that are checked again, or that the package has made: there are no warnings about these.
    """
    token = _CALLED.set(name)
    try:
        yield
    except LocatedError as error:
        if name is None or error.where.argument != "X":  # a setting, say
            raise
        raise error.about(argument=name) from error
    finally:
        _CALLED.reset(token)


def optional_package(module: str, what: str, name: str, extra: str) -> Any:
    """Import what not everybody has, or say that `what` must have the package `name`, and which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        remedy = f"Run pip install 'nrcdt[{extra}]'."
        raise ImportError(f"{what} must have {name} installed; got none. {remedy}") from error
