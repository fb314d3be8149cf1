"""The reference leaves nothing out, and names nothing that is not there."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import nrcdt

SOURCE = Path(nrcdt.__file__).parent
PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")


def value_of(path):
    """What a dotted path stands for: an attribute of the longest part of it that is a module."""
    parts = path.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(path)


def public_names():
    """Names of the package, and of `__all__` of its public modules."""
    stub = ast.parse((SOURCE / "__init__.pyi").read_text(encoding="utf-8"))
    for node in stub.body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            name = f"nrcdt.{alias.asname}"
            if node.module is not None:
                yield name
            else:
                yield from (f"{name}.{one}" for one in getattr(value_of(name), "__all__", ()))


PATHS = sorted(set(re.findall(r"\bnrcdt(?:\.\w+)+", PAGE)))
NAMES = sorted(set(public_names()))
MEMBERS = re.findall(r"^\.\. autoclass:: (\S+)\n   :members: (.+)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("path", PATHS)
def test_what_the_reference_names_is_there(path):
    assert value_of(path) is not None


def test_every_public_name_is_in_the_reference():
    shown = [value_of(path) for path in PATHS]
    assert len(NAMES) > 100
    assert not [name for name in NAMES if not any(value_of(name) is one for one in shown)]


@pytest.mark.parametrize(("path", "members"), MEMBERS)
def test_members_that_the_reference_lists_are_documented(path, members):
    for member in members.split(", "):
        described = getattr(value_of(path), member)
        assert described.__doc__, member
        # What comes before a colon would be shown as the type of a property.
        assert not isinstance(described, property) or ": " not in described.__doc__.splitlines()[0], member
