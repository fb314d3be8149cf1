"""Readers of data that people fetched: watermarks, animals, CAD shapes, bodies, furniture.

`folder` is always the data folder, which holds the sub-folder of every source; see `data_folder`. A file that cannot be
used is left out, and named with the reason in `skipped`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, LocatedError
from ..files import SUFFIXES, read_cloud, read_image, read_mesh
from ..measures import check_clouds
from ..slices import Array
from .affine import eight_bits
from .dataset import Dataset
from .registry import at_hand, missing, need, unusable

ANIMALS = ("lion", "cat", "camel", "horse", "flamingo", "elephant")
DISTRACTORS = "other"
MIN_PER_CLASS = 2
FURNITURE = "furniture_points2048.npz"
N_POSES = 10
N_SHAPES = 80
# STL repeats the corners of every triangle, so its vertices have no order of their own.
ORDERED = (".ply", ".off", ".obj")
LOOSE = 0.05
FILE_ERRORS = (ValueError, OSError)


def load_watermarks(folder: Path | str | None = None, size: int = 256) -> Dataset:
    """Read the watermarks of the folder ``wzis``, or else those of ``watermarks``.

    Parameters
    ----------
    folder : data folder
    size : side of the pictures in pixels; others are left out

    Returns
    -------
    Dataset of images with bright ink, one class per sub-folder, without templates
        The folder ``other`` and classes with fewer than two usable pictures are left out.
    """
    name = at_hand("wzis", folder)
    root = need(name, folder)
    images: dict[Path, Array] = {}
    labels: list[int] = []
    names: list[str] = []
    visible = [path for path in sorted(root.iterdir()) if not path.name.startswith(".")]
    skipped = [f"{path.name}: lies beside the class folders" for path in visible if not path.is_dir()]
    for path in (path for path in visible if path.is_dir()):
        usable = {} if path.name == DISTRACTORS else _class_images(path, size, skipped)
        if len(usable) < MIN_PER_CLASS:
            skipped.append(_why_no_class(path, len(usable)))
            continue
        labels += [len(names)] * len(usable)
        names.append(path.name)
        images |= usable
    if not names:
        raise unusable(name, root, skipped)
    samples = np.stack(list(images.values()))
    return Dataset(samples, np.array(labels), names, None, tuple(skipped), name, tuple(images))


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES["image"]


def _why_no_class(folder: Path, n_usable: int) -> str:
    n_files = len(_files(folder))
    if folder.name == DISTRACTORS:
        return f"{folder.name}: its {n_files} files form no class"
    return f"{folder.name}: a class must have {MIN_PER_CLASS} usable pictures; got {n_usable} in {n_files} files"


def _class_images(folder: Path, size: int, skipped: list[str]) -> dict[Path, Array]:
    images = {}
    for path in _files(folder, skipped):
        try:
            images[path] = _read_square(path, size)
        except FILE_ERRORS as error:
            skipped.append(_reason(path, folder.parent, error))
    return images


def _read_square(path: Path, size: int) -> Array:
    if not _is_picture(path):
        raise ValueError("not a picture")
    image = read_image(path)
    if image.shape != (size, size):
        raise InputError("the picture", f"have {size} x {size} pixels", f"{image.shape[1]} x {image.shape[0]}")
    if not image.any():
        raise InputError("the picture", "have ink", "a blank sheet")
    return eight_bits(image / max(255.0, image.max())).astype(np.float32)


def load_animals(folder: Path | str | None = None) -> Dataset:
    """Read the reference meshes of six animals from the folder ``animals``.

    A file belongs to the animal its name begins with; of several, the one called as the animal, then the one with
    "reference" in its name is taken. CSV files hold one vertex per row.

    Parameters
    ----------
    folder : data folder

    Returns
    -------
    Dataset of clouds: one per animal, which is sample and template at once; see `distorted_clouds`
    """
    root = need("animals", folder)
    found: dict[str, Path] = {}
    skipped: list[str] = []
    files = _files(root, skipped)
    for animal in ANIMALS:
        candidates = sorted((path for path in files if path.stem.lower().startswith(animal)), key=_is_posed)
        if not candidates:
            skipped.append(f"{animal}: no file whose name begins so")
            continue
        found[animal] = candidates[0]
    rest = [path for path in files if path not in found.values()]
    skipped += [f"{path.relative_to(root).as_posix()}: not the reference mesh of an animal" for path in rest]
    return _clouds("animals", root, found, skipped)


def _is_posed(path: Path) -> tuple[bool, bool, str]:
    """Sorts plain names before reference meshes, and those before the other poses."""
    return path.stem.lower() not in ANIMALS, "reference" not in path.stem.lower(), path.as_posix()


def load_abc(folder: Path | str | None = None, n_shapes: int = N_SHAPES) -> Dataset:
    """Read CAD shapes from the folder ``abc``, one class per file.

    Parameters
    ----------
    folder : data folder
    n_shapes : the first so many usable files, by name; all if there are fewer

    Returns
    -------
    Dataset of clouds: one per shape, which is sample and template at once; see `distorted_clouds`
    """
    if n_shapes < 1:
        raise InputError("n_shapes", "be a positive integer", n_shapes, f"The paper takes {N_SHAPES}.")
    root = need("abc", folder)
    skipped: list[str] = []
    found: dict[str, Path] = {}
    for path in _files(root, skipped):
        name = path.relative_to(root)
        taken = found.setdefault(name.with_suffix("").as_posix(), path)
        if taken != path:
            skipped.append(f"{name.as_posix()}: {taken.name} is called the same, and is taken")
    return _clouds("abc", root, found, skipped, n_shapes)


def _clouds(name: str, root: Path, found: dict[str, Path], skipped: list[str], n_wanted: int | None = None) -> Dataset:
    """Read one cloud per class, at most `n_wanted` of them."""
    clouds: dict[str, Array] = {}
    for what, path in found.items():
        if len(clouds) == n_wanted:
            skipped.append(f"{path.relative_to(root).as_posix()}: the first {n_wanted} files are enough")
            continue
        try:
            clouds[what] = _read_points(path)
        except FILE_ERRORS as error:
            skipped.append(_reason(path, root, error))
    if not clouds:
        raise unusable(name, root, skipped)
    samples, files = list(clouds.values()), tuple(found[what] for what in clouds)
    return Dataset(samples, np.arange(len(samples)), list(clouds), samples, tuple(skipped), name, files)


def _read_points(path: Path) -> Array:
    """Different vertices of a mesh, or the rows of a table, that span all of space."""
    if path.suffix.lower() in SUFFIXES["cloud"]:
        points = np.asarray(read_cloud(path)[0], dtype=np.float64)
    else:
        points = np.unique(_read_whole_mesh(path).vertices, axis=0)
    if points.shape[1:] != (3,):
        raise InputError("the points", "have 3 coordinates", f"shape {points.shape}")
    try:
        check_clouds([points])
    except LocatedError as error:
        raise error.about(argument="the points", sample=None) from None
    return points


class Mesh(NamedTuple):
    """Vertices and triangles in the order of the file."""

    vertices: Array
    faces: Array


def _read_whole_mesh(path: Path) -> Mesh:
    """Read a mesh in the order of its file, and refuse one that breaks off."""
    if path.suffix.lower() not in SUFFIXES["mesh"]:
        raise ValueError("not a mesh")
    read_mesh(path)  # checks size and contents, and names what is wrong

    import trimesh

    with path.open("rb") as file:
        loaded = trimesh.load(file, file_type=path.suffix[1:].lower(), process=False, maintain_order=True)
    mesh: Any = loaded.to_mesh() if isinstance(loaded, trimesh.Scene) else loaded
    vertices = np.asarray(mesh.vertices, dtype=np.float64)
    faces = np.asarray(getattr(mesh, "faces", np.empty((0, 3), int)))
    n_used = len(np.unique(faces))
    # Text formats list vertices first: where the file breaks off, the last of them lie on no triangle.
    if n_used < (1 - LOOSE) * len(vertices):
        raise InputError("the mesh", "be whole", f"{n_used} of {len(vertices)} vertices on triangles")
    if not np.isfinite(vertices).all():
        raise InputError("the mesh", "have finite coordinates", "NaN or infinity")
    return Mesh(vertices, faces)


def load_faust(folder: Path | str | None = None) -> Dataset:
    """Read the registered bodies from the folder ``faust``; the class is the pose.

    The pose is the last digit of the number in the file's name (tr_reg_042.ply: pose 2). All meshes must have the same
    vertices in the same order, which shows in equal triangles; those unlike the majority are left out.

    Parameters
    ----------
    folder : data folder

    Returns
    -------
    Dataset of clouds of equal length, sorted by file name, without templates
    """
    root = need("faust", folder)
    meshes: dict[str, Mesh] = {}
    skipped: list[str] = []
    for path in _files(root, skipped):
        name = path.relative_to(root).as_posix()
        try:
            _pose(name)
            if path.suffix.lower() not in ORDERED:
                raise InputError("the mesh", f"be one of {' '.join(ORDERED)}", path.suffix)
            meshes[name] = _read_whole_mesh(path)
        except FILE_ERRORS as error:
            skipped.append(_reason(path, root, error))
    meshes = _alike(meshes, skipped)
    if not meshes:
        raise unusable("faust", root, skipped)
    poses = sorted({_pose(name) for name in meshes})
    labels = np.array([poses.index(_pose(name)) for name in meshes])
    names = [f"pose {pose}" for pose in poses]
    samples, files = [mesh.vertices for mesh in meshes.values()], tuple(root / name for name in meshes)
    return Dataset(samples, labels, names, None, tuple(skipped), "faust", files)


def _pose(name: str) -> int:
    number = re.search(r"(\d+)\D*$", Path(name).stem)
    if number is None:
        raise ValueError("the name must hold the number of the registration, as tr_reg_042.ply does")
    return int(number[1]) % N_POSES


def _alike(meshes: dict[str, Mesh], skipped: list[str]) -> dict[str, Mesh]:
    """Keep the meshes whose number of vertices and triangles most of them share."""
    kinds = {name: (len(mesh.vertices), mesh.faces.tobytes()) for name, mesh in meshes.items()}
    if not kinds:
        return {}
    usual = Counter(kinds.values()).most_common(1)[0][0]
    for name, kind in kinds.items():
        if kind != usual:
            what = f"{kind[0]} vertices instead of {usual[0]}" if kind[0] != usual[0] else "other triangles"
            skipped.append(f"{name}: the mesh must have the vertices of the others in their order; got {what}")
    return {name: mesh for name, mesh in meshes.items() if kinds[name] == usual}


def load_furniture(folder: Path | str | None = None) -> Dataset:
    """Read 80 everyday objects that are well apart under affine maps, from the folder ``furniture``.

    Parameters
    ----------
    folder : data folder

    Returns
    -------
    Dataset of clouds: one per object, which is sample and template at once; see `distorted_clouds`
    """
    root = need("furniture", folder)
    path = root / FURNITURE
    if not path.is_file():
        raise missing("furniture", f"no {path.name} in {root}", root.parent)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            chosen = arrays["distinct80"]
            names = [f"{arrays['names'][index]} ({index})" for index in chosen]
            samples = list(arrays["points"][chosen].astype(np.float64))
            check_clouds(samples)
            if samples[0].shape[1] != 3:
                raise InputError("points", "have 3 coordinates", samples[0].shape[1])
    except Exception as error:  # archives that are damaged raise all kinds of errors
        raise unusable("furniture", root, [f"{path.name}: {error}"]) from error
    return Dataset(samples, np.arange(len(samples)), names, samples, (), "furniture", (path,))


def _reason(path: Path, root: Path, error: BaseException) -> str:
    return f"{path.relative_to(root).as_posix()}: {str(error).rstrip('.')}"


def _files(folder: Path, skipped: list[str] | None = None) -> list[Path]:
    """Return the files below a folder, sorted; hidden ones are left out, what cannot be read is named in `skipped`."""
    found, bad = [], [] if skipped is None else skipped

    def unreadable(error: OSError) -> None:
        bad.append(f"{Path(error.filename).relative_to(folder).as_posix()}: {error.strerror}")

    for parent, folders, names in os.walk(folder, onerror=unreadable, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if path.is_file() and not name.startswith("."):
                found.append(path)
            elif not name.startswith("."):
                bad.append(f"{path.relative_to(folder).as_posix()}: leads nowhere, or is no file")
    return sorted(found)
