"""The plan of the house: imports run one way, files and functions stay small."""

import ast
import re
from pathlib import Path

import pytest

from nrcdt import SPACES

SOURCE = Path(__file__).parents[1] / "src" / "nrcdt"
FLOORS = [
    {"errors", "arrays", "fingerprint", "whole_files"},
    {"pages"},
    {"kernels", "threads", "user_functions"},
    {"rasters"},
    {"measures"},
    {"affine_maps"},
    {"directions", "slices", "random_maps", "ink"},
    {"frames", "levels", "scales"},
    {"alignment", "spaces"},
    {"quantiles", "normalize", "aggregate"},
    {"plan"},
    {"transform", "inverse", "generalized_radon"},
    {"slicer", "sorted_slices"},
    {"estimators", "groups", "classifiers"},
    {"bounds", "conversions", "distances", "files", "signed", "tables", "plot"},
    {"datasets", "baselines", "registration"},
    {"demo", "paper", "audit", "catalogue"},
    {"cli", "__init__"},
    {"__main__"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported_rooms(path):
    """Rooms of the package that a file imports, at the top or inside functions."""
    package = ["nrcdt", *path.relative_to(SOURCE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            full = [*base, *(node.module.split(".") if node.module else [])]
            if full == ["nrcdt"]:
                yield from (alias.name for alias in node.names if alias.name in FLOOR)
            elif full[0] == "nrcdt":
                yield full[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("nrcdt."))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_run_one_way(path):
    room = room_of(path)
    assert room in FLOOR, f"give {room} a floor"
    if room == "__init__":
        return
    for other in imported_rooms(path):
        assert other == room or FLOOR[other] < FLOOR[room]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_rooms_are_small(path):
    text = path.read_text()
    assert text.count("\n") <= 500
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            longest = 50 if room_of(path) == "kernels" else 40
            assert not body or body[-1].end_lineno - body[0].lineno < longest, node.name


NAMES_NO_SPACE = ["groups", "audit", "plan", "slicer", "estimators", "transform", "inverse", "quantiles", "cli"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_spaces_speak_for_themselves(path):
    """Nothing is decided by the name of a space, which may be a default or an example; `kind` is one of files."""
    if room_of(path) not in NAMES_NO_SPACE:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare) and getattr(node.left, "id", None) != "kind":
            parts = [part for one in (node.left, *node.comparators) for part in ast.walk(one)]
            compared = {part.value for part in parts if isinstance(part, ast.Constant)}
            assert not compared & set(SPACES), ast.unparse(node)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nobody_reads_what_an_error_says(path):
    """Neither searched nor cut nor replaced: where, rule, got and remedy are attributes."""
    for node in ast.walk(ast.parse(path.read_text())):
        text = ast.unparse(node) if isinstance(node, (ast.Compare, ast.Call)) else ""
        assert not (isinstance(node, ast.Compare) and re.search(r"\bin str\(\w*(error|problem)\)", text)), text
        assert not re.match(r"str\(\w*(error|problem)\)\.(replace|partition|startswith|find)\(", text), text
