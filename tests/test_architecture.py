"""The plan of the house: imports run one way, files and functions stay small."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "nrcdt"
FLOORS = [
    {"errors", "arrays", "fingerprint", "whole_files"},
    {"pages"},
    {"kernels", "threads"},
    {"rasters"},
    {"measures"},
    {"directions", "slices", "random_maps"},
    {"frames", "levels", "scales"},
    {"alignment", "spaces"},
    {"quantiles", "normalize", "aggregate"},
    {"plan"},
    {"transform", "inverse"},
    {"slicer"},
    {"estimators", "groups", "classifiers"},
    {"conversions", "distances", "files", "signed", "tables", "plot"},
    {"datasets", "baselines", "registration", "ink"},
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
            assert not body or body[-1].end_lineno - body[0].lineno < 50, node.name
