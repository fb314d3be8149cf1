"""Pages that people read in a browser: one base template and one style sheet, for files and for the server."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from ..errors import InputError

STATIC = files(__package__) / "static"


class Table(NamedTuple):
    """Rows of texts under headings, for a page or a terminal; every row has a style, such as "best", or ""."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    styles: Sequence[str]
    caption: str = ""


def environment(*packages: str) -> Environment:
    """Return the templates of this room, after those of other packages; what is put into them is escaped."""
    loader = ChoiceLoader([PackageLoader(package) for package in (*packages, __package__)])
    # What is forgotten must not turn into nothing: a page with a gap would not be noticed.
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def render(template: str, **values: Any) -> str:
    """Return a page that holds its style and its pictures, and needs nothing else.

    Examples
    --------
    >>> "<title>&lt;ink&gt;</title>" in render("file.html", title="<ink>")
    True
    """
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    return environment().get_template(template).render(style=style, **values)


def claim_folder(out: Path, title: str, rule: str, page: str, *others: str) -> Path:
    """Make a folder for a page, unless somebody else's files would be lost; return where the page goes.

    Parameters
    ----------
    out : folder
    title : with which the pages begin that may be replaced
    rule : what the folder must, if it holds other ones
    page, others : names of files that will be written; one that stands beside a page of ours may be replaced
    """
    if out.exists() and not out.is_dir():
        raise InputError("out", "be a folder", f"the file {out}", "Choose another name.")
    target = out / page
    ours = target.exists() and f"<title>{title}" in target.read_text(encoding="utf-8", errors="replace")
    found = next((out / name for name in (page, *others) if (out / name).exists()), None)
    if found is not None and not ours:
        raise InputError("out", rule, found, "Choose another folder.")
    out.mkdir(parents=True, exist_ok=True)
    return target
