"""Meshes as their vertices, or as points on their surfaces."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ..slices import Array
from .checks import check_bytes, first_line

HEADER = 65_536  # bytes
STL_HEADER, STL_TRIANGLE = 84, 50  # bytes
SURFACE_SEED = 0


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
    path = Path(path)
    if n_samples is not None and n_samples < 1:
        raise ValueError(f"n_samples must be a positive integer; got {n_samples}. 2000 is a good start.")
    check_bytes(path.stat().st_size)
    mesh = _load_mesh(path)
    vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(getattr(mesh, "faces", ()))
    if vertices.size == 0:
        raise ValueError("the mesh must have vertices; got none. Drop the file or export it again.")
    if vertices.shape[1] != 3:
        raise ValueError(
            f"the mesh must have three coordinates per vertex; got {vertices.shape[1]}. Export it again in 3-D, "
            "or pass its points as a cloud, such as a .csv file."
        )
    if n_samples is None:
        return np.unique(vertices, axis=0) if len(faces) else vertices
    if not len(faces) or not mesh.area > 0:
        raise ValueError(
            f"the mesh must have faces to draw surface points from; got {len(faces)} without area. Use its vertices."
        )
    from trimesh.sample import sample_surface

    return np.asarray(sample_surface(mesh, n_samples, seed=SURFACE_SEED)[0])


def _load_mesh(path: Path) -> Any:
    try:
        import trimesh
    except ImportError as error:
        raise ImportError(
            "reading meshes must have trimesh installed; got none. Run pip install 'nrcdt[mesh]'."
        ) from error
    _check_triangles(path)
    try:
        # An open file instead of a path: nothing beside the mesh, such as textures, is looked for.
        with path.open("rb") as file:
            loaded = trimesh.load(file, file_type=path.suffix[1:].lower(), process=False)
        mesh: Any = loaded.to_mesh() if isinstance(loaded, trimesh.Scene) else loaded
        found = {"vertices": len(mesh.vertices), "faces": len(getattr(mesh, "faces", ()))}
    except OSError:
        raise
    except Exception as error:  # as for pictures: damaged files raise all kinds of errors
        # What is no whole binary file is read as text, for which a guess of its encoding would be needed.
        text = "neither text nor a whole binary file"
        got = text if isinstance(error, ImportError) else f"one that trimesh cannot read ({first_line(error)})"
        raise _not_whole(got) from error
    for what, n in _declared(path).items():
        if found[what] < n:  # the reader takes what is there; faces with many corners become several
            raise _not_whole(f"{found[what]} of {n} {what}")
    return mesh


def _not_whole(found: str) -> ValueError:
    return ValueError(f"the mesh must be a whole PLY, OBJ, STL or OFF file; got {found}. Export it again.")


def _check_triangles(path: Path) -> None:
    """Refuse a binary STL file that has fewer triangles than it declares; the reader may take it for text."""
    if path.suffix.lower() != ".stl":
        return
    with path.open("rb") as file:
        header = file.read(STL_HEADER)
    declared, found = int.from_bytes(header[-4:], "little"), (path.stat().st_size - STL_HEADER) // STL_TRIANGLE
    if found < declared and not header.startswith(b"solid"):
        raise _not_whole(f"{max(found, 0)} of {declared} triangles")


def _declared(path: Path) -> dict[str, int]:
    """Return how many vertices and faces a PLY or OFF file says that it has."""
    suffix = path.suffix.lower()
    if suffix not in (".ply", ".off"):
        return {}
    with path.open("rb") as file:
        header = file.read(HEADER)
    if suffix == ".off":
        counts = re.match(rb"\s*\S*OFF\s+(\d+)\s+(\d+)", re.sub(rb"#.*", b"", header))
        return dict(zip(("vertices", "faces"), map(int, counts.groups()), strict=True)) if counts else {}
    header = header.partition(b"end_header")[0]
    names = {"vertices": rb"vertex", "faces": rb"face"}
    found = {what: re.search(rb"^element\s+%b\s+(\d+)" % name, header, re.MULTILINE) for what, name in names.items()}
    return {what: int(match[1]) for what, match in found.items() if match}
