"""Meshes as their vertices, or as points on their surfaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, optional_package
from ..measures import positive_integer
from .checks import check_file, first_line

STL_HEADER, STL_TRIANGLE = 84, 50  # bytes
SURFACE_SEED = 0
ZERO_CORNER = re.compile(rb"\s*f\s(.*\s)?0+(/|\s|$)")


def read_mesh(path: Path | str, n_samples: int | None = None) -> Array:
    """Read the vertices of a mesh, or points on its surface.

    Parameters
    ----------
    path : PLY, OBJ, STL or OFF file
    n_samples : int, optional
        Number of points, spread over the surface by area and drawn from a fixed seed. Left out, the vertices are
        taken, each once.

    Returns
    -------
    array of shape (n_points, 3)
    """
    if n_samples is not None:
        positive_integer(n_samples, "n_samples", "2000 is a good start.")
    mesh = load_mesh(Path(path))
    faces = getattr(mesh, "faces", ())
    if n_samples is None:
        vertices = np.asarray(mesh.vertices, dtype=np.float64)
        return np.unique(vertices, axis=0) if len(faces) else vertices
    if not len(faces) or not mesh.area > 0:
        raise InputError(
            "the mesh", "have faces to draw surface points from", f"{len(faces)} without area", "Use its vertices."
        )
    from trimesh.sample import sample_surface

    return np.asarray(sample_surface(mesh, n_samples, seed=SURFACE_SEED)[0])


def load_mesh(path: Path, **options: Any) -> Any:
    """Read a whole mesh with vertices in space, as trimesh has it; options go to `trimesh.load`."""
    check_file(path)
    trimesh = optional_package("trimesh", "reading meshes", "trimesh", "mesh")
    _check_triangles(path)
    try:
        # An open file instead of a path: nothing beside the mesh, such as textures, is looked for.
        with path.open("rb") as file:
            loaded = trimesh.load(file, file_type=path.suffix[1:].lower(), process=False, **options)
        mesh: Any = loaded.to_mesh() if isinstance(loaded, trimesh.Scene) else loaded
        n_vertices, dimension = mesh.vertices.shape  # what has none, such as a drawing, is no mesh
    except OSError:
        raise
    except Exception as error:  # as for pictures: damaged files raise all kinds of errors
        # What is no whole binary file is read as text, for which a guess of its encoding would be needed.
        text = "neither text nor a whole binary file"
        found = text if isinstance(error, ImportError) else f"one that trimesh cannot read ({first_line(error)})"
        raise _not_whole(found) from error
    _check_lines(path)
    if not n_vertices:
        raise InputError("the mesh", "have vertices", "none", "Drop the file or export it again.")
    if dimension != 3:
        raise InputError(
            "the mesh",
            "have three coordinates per vertex",
            dimension,
            "Export it again in 3-D, or pass its points as a cloud, such as a .csv file.",
        )
    _check_faces(np.asarray(getattr(mesh, "faces", ())), n_vertices)
    return mesh


def _check_corners(path: Path) -> None:
    """Refuse faces of an OBJ file with corner 0: corners count from 1, and the reader takes 0 for the last."""
    with path.open("rb") as file:
        if any(ZERO_CORNER.match(line) for line in file):
            raise InputError("the mesh", "number the corners of its faces from 1", "0 in one", "Export it again.")


def _check_faces(faces: Array, n_vertices: int) -> None:
    """Refuse faces between vertices that are not there; the reader takes them, and its surface would be made up."""
    if faces.size and not 0 <= faces.min() <= faces.max() < n_vertices:
        rule = f"have faces between its own vertices, 0 to {n_vertices - 1}"
        raise InputError("the mesh", rule, f"{faces.min()} to {faces.max()}", "Export it again.")


def _not_whole(found: str) -> InputError:
    return InputError("the mesh", "be a whole PLY, OBJ, STL or OFF file", found, "Export it again.")


def _check_triangles(path: Path) -> None:
    """Refuse a binary STL file that has fewer triangles than it declares; the reader may take it for text."""
    if path.suffix.lower() != ".stl":
        return
    with path.open("rb") as file:
        header = file.read(STL_HEADER)
    declared, found = int.from_bytes(header[-4:], "little"), (path.stat().st_size - STL_HEADER) // STL_TRIANGLE
    if found < declared and not header.startswith(b"solid"):
        raise _not_whole(f"{max(found, 0)} of {declared} triangles")


def _check_lines(path: Path) -> None:
    """Refuse a text file with fewer lines than vertices and faces are declared; the reader takes what is there."""
    declare = {".ply": _declared_in_ply, ".off": _declared_in_off}.get(path.suffix.lower())
    if path.suffix.lower() == ".obj":
        _check_corners(path)
    if declare is None:
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = (line for line in file if line.strip() and not line.startswith("#"))
        declared = declare(lines)
        found = sum(1 for _ in lines) if declared else 0
    if found < declared:
        raise _not_whole(f"{found} of {declared} lines of vertices and faces")


def _declared_in_ply(lines: Iterator[str]) -> int:
    """Read the head of a PLY file and return how many lines are to follow; none where they are no text."""
    head = [line.split() for line in takewhile(lambda line: not line.startswith("end_header"), lines)]
    if ["format", "ascii"] not in [words[:2] for words in head]:
        return 0
    return sum(int(words[2]) for words in head if words[0] == "element")


def _declared_in_off(lines: Iterator[str]) -> int:
    """Read the head of an OFF file, perhaps all on its first line, and return how many lines are to follow."""
    for line in lines:
        counts = [int(word) for word in line.partition("#")[0].split() if word.isdigit()]
        if counts:
            return sum(counts[:2])
    return 0
