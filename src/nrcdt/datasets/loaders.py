"""Readers of data that people fetched: watermarks, animals, CAD shapes, bodies, furniture.

`folder` is always the data folder, which holds the sub-folder of every source; see `data_folder`. A file that cannot be
used is left out, and named with the reason in `skipped`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, LocatedError
from ..files import SUFFIXES, read_cloud, read_picture
from ..files.kinds import visible_files
from ..files.meshes import load_mesh
from ..measures import check_clouds, check_rank, positive_integer
from ..rasters import ink_on_paper
from .affine import eight_bits
from .dataset import Dataset
from .registry import MissingData, at_hand, missing, need

ANIMALS = ("lion", "cat", "camel", "horse", "flamingo", "elephant")
DISTRACTORS = "other"
MIN_PER_CLASS = 2
FURNITURE = "furniture_points2048.npz"
N_POSES = 10
N_SHAPES = 80
# STL repeats the corners of every triangle, so its vertices have no order of their own.
ORDERED = (".ply", ".off", ".obj")
LOOSE = 0.05  # of the vertices may lie on no triangle


class _Source:
    """The folder of a source; what of it cannot be used is left out, and named with the reason."""

    def __init__(self, name: str, folder: Path | str | None) -> None:
        self.name, self.root = name, need(name, folder)
        self._left_out: list[tuple[Path, str]] = []

    def skip(self, path: Path, reason: object) -> None:
        """Say why a file is left out."""
        name = path.relative_to(self.root).as_posix()
        self._left_out.append((path, f"{name}: {str(reason).rstrip('.')}"))

    def files(self, folder: Path | None = None) -> list[Path]:
        """List the files below a folder, sorted; hidden ones are left out."""
        found = visible_files(
            folder or self.root, lambda error: self.skip(Path(error.filename), error.strerror), followlinks=True
        )
        for path in found:
            if not path.is_file():
                self.skip(path, "leads nowhere, or is no file")
        return [path for path in found if path.is_file()]

    def read(self, paths: Iterable[Path], reader: Callable[[Path], Any]) -> dict[Path, Any]:
        """Read files one by one."""
        found = {}
        for path in paths:
            try:
                found[path] = reader(path)
            except (ValueError, OSError) as error:
                self.skip(path, error)
        return found

    def dataset(self, samples: Any, labels: Array, names: list[str], files: Iterable[Path], own: bool) -> Dataset:
        """Make a dataset of what was read, in which samples may be templates of their own."""
        skipped = tuple(sentence for _, sentence in self._left_out)
        return Dataset(samples, labels, names, samples if own else None, skipped, self.name, tuple(files))

    def unusable(self) -> MissingData:
        """Make the error about a folder without a usable file; reasons that name what is there come first."""
        reasons = [sentence for _, sentence in sorted(self._left_out, key=lambda one: not one[0].exists())]
        found = f"nothing usable in {self.root} ({' | '.join(reasons) or 'no files'})"
        return missing(self.name, found, self.root.parent)


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
    source = _Source(at_hand("wzis", folder), folder)
    images: dict[Path, Array] = {}
    sizes: dict[str, int] = {}
    for path in sorted(source.root.iterdir(), key=lambda path: (path.is_dir(), path)):
        if path.name.startswith("."):
            continue
        if not path.is_dir():
            source.skip(path, "lies beside the class folders")
            continue
        files = source.files(path)
        if path.name == DISTRACTORS:
            source.skip(path, f"its {len(files)} files form no class")
            continue
        usable = source.read(files, lambda file: _read_square(file, size))
        if len(usable) < MIN_PER_CLASS:
            got = f"{len(usable)} in {len(files)} files"
            source.skip(path, f"a class must have {MIN_PER_CLASS} usable pictures; got {got}")
            continue
        sizes[path.name] = len(usable)
        images |= usable
    if not images:
        raise source.unusable()
    labels = np.repeat(np.arange(len(sizes)), list(sizes.values()))
    return source.dataset(np.stack(list(images.values())), labels, list(sizes), images, own=False)


def _read_square(path: Path, size: int) -> Array:
    if path.suffix.lower() not in SUFFIXES["image"]:
        raise ValueError("not a picture")
    image, _ = ink_on_paper(read_picture(path)[0])  # as published tables were made: not a speck is dropped
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
    source = _Source("animals", folder)
    found: dict[str, Path] = {}
    files = source.files()
    for animal in ANIMALS:
        if candidates := [path for path in files if path.stem.lower().startswith(animal)]:
            found[animal] = min(candidates, key=_is_posed)
        else:
            source.skip(source.root / animal, "no file whose name begins so")
    for path in files:
        if path not in found.values():
            source.skip(path, "not the reference mesh of an animal")
    return _clouds(source, found)


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
    positive_integer(n_shapes, "n_shapes", f"The paper takes {N_SHAPES}.")
    source = _Source("abc", folder)
    found: dict[str, Path] = {}
    for path in source.files():
        taken = found.setdefault(path.relative_to(source.root).with_suffix("").as_posix(), path)
        if taken != path:
            source.skip(path, f"{taken.name} is called the same, and is taken")
    return _clouds(source, found, n_shapes)


def _clouds(source: _Source, found: dict[str, Path], n_wanted: int | None = None) -> Dataset:
    """Read one cloud per class, at most `n_wanted` of them."""
    clouds: dict[str, Array] = {}
    for what, path in found.items():
        if len(clouds) == n_wanted:
            source.skip(path, f"the first {n_wanted} files are enough")
        elif read := source.read([path], _read_points):
            clouds[what] = read[path]
    if not clouds:
        raise source.unusable()
    labels, files = np.arange(len(clouds)), [found[what] for what in clouds]
    return source.dataset(list(clouds.values()), labels, list(clouds), files, own=True)


def _read_points(path: Path) -> Array:
    """Different vertices of a mesh, or the rows of a table, that span all of space."""
    if path.suffix.lower() in SUFFIXES["cloud"]:
        points = np.asarray(read_cloud(path)[0], dtype=np.float64)
    else:
        points = np.unique(np.asarray(_read_whole_mesh(path).vertices), axis=0)
    if points.shape[1:] != (3,):
        raise InputError("the points", "have 3 coordinates", f"shape {points.shape}")
    try:
        check_rank(check_clouds([points])[0], "the points")
    except LocatedError as error:
        raise error.about(argument="the points", sample=None) from None
    return points


def _read_whole_mesh(path: Path) -> Any:
    """Read a mesh in the order of its file, as trimesh has it, and refuse one that breaks off."""
    if path.suffix.lower() not in SUFFIXES["mesh"]:
        raise ValueError("not a mesh")
    mesh = load_mesh(path, maintain_order=True)
    n_used, n_vertices = len(np.unique(getattr(mesh, "faces", ()))), len(mesh.vertices)
    # Text formats list vertices first: where the file breaks off, the last of them lie on no triangle.
    if n_used < (1 - LOOSE) * n_vertices:
        raise InputError("the mesh", "be whole", f"{n_used} of {n_vertices} vertices on triangles")
    if not np.isfinite(mesh.vertices).all():
        raise InputError("the mesh", "have finite coordinates", "NaN or infinity")
    return mesh


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
    source = _Source("faust", folder)
    meshes = _alike(source, source.read(source.files(), _read_body))
    if not meshes:
        raise source.unusable()
    poses, labels = np.unique([_pose(path) for path in meshes], return_inverse=True)
    samples = [np.array(mesh.vertices) for mesh in meshes.values()]
    return source.dataset(samples, labels, [f"pose {pose}" for pose in poses], meshes, own=False)


def _read_body(path: Path) -> Any:
    _pose(path)
    if path.suffix.lower() not in ORDERED:
        raise InputError("the mesh", f"be one of {' '.join(ORDERED)}", path.suffix)
    return _read_whole_mesh(path)


def _pose(path: Path) -> int:
    number = re.search(r"(\d+)\D*$", path.stem)
    if number is None:
        raise InputError("the name", "hold the number of the registration, as tr_reg_042.ply does", path.name)
    return int(number[1]) % N_POSES


def _alike(source: _Source, meshes: dict[Path, Any]) -> dict[Path, Any]:
    """Keep the meshes whose number of vertices and triangles most of them share."""
    kinds = {path: (len(mesh.vertices), np.asarray(mesh.faces).tobytes()) for path, mesh in meshes.items()}
    usual = Counter(kinds.values()).most_common(1)[0][0] if kinds else None
    for path, kind in kinds.items():
        if usual and kind != usual:
            what = f"{kind[0]} vertices instead of {usual[0]}" if kind[0] != usual[0] else "other triangles"
            source.skip(path, f"the mesh must have the vertices of the others in their order; got {what}")
    return {path: mesh for path, mesh in meshes.items() if kinds[path] == usual}


def load_furniture(folder: Path | str | None = None) -> Dataset:
    """Read 80 everyday objects that are well apart under affine maps, from the folder ``furniture``.

    Parameters
    ----------
    folder : data folder

    Returns
    -------
    Dataset of clouds: one per object, which is sample and template at once; see `distorted_clouds`
    """
    source = _Source("furniture", folder)
    path = source.root / FURNITURE
    if not path.is_file():
        raise missing("furniture", f"no {path.name} in {source.root}", source.root.parent)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            chosen = arrays["distinct80"]
            names = [f"{arrays['names'][index]} ({index})" for index in chosen]
            samples = list(arrays["points"][chosen].astype(np.float64))
            check_clouds(samples)
            if samples[0].shape[1] != 3:
                raise InputError("points", "have 3 coordinates", samples[0].shape[1])
    except Exception as error:  # archives that are damaged raise all kinds of errors
        source.skip(path, error)
        raise source.unusable() from error
    return source.dataset(samples, np.arange(len(samples)), names, [path], own=True)
