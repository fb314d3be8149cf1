"""Reading what people have: pictures, tables of points, meshes.

Every reader raises a ValueError that names the rule and the remedy; the name of the file is the caller's to add. Sizes
are checked before anything is decoded, so that a hostile or mistaken file costs no memory.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zipfile import ZipFile

import numpy as np

from .slices import Array

Kind = Literal["image", "cloud", "mesh"]

SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "image": (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".pgm"),
    "cloud": (".npy", ".npz", ".csv", ".txt", ".xyz"),
    "mesh": (".ply", ".obj", ".stl", ".off"),
}
INKS = ("auto", "dark", "light")
# Pillow also opens formats that start other programs, such as EPS; none of those here.
PICTURE_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "PPM")
DEEP_MODES = ("F", "I", "I;16", "I;16B", "I;16L")
MEANINGLESS_DPI = (72, 96)
MAX_BYTES = 256_000_000
MAX_PIXELS = 100_000_000
PLY_HEADER = 65_536  # bytes
STL_HEADER, STL_TRIANGLE = 84, 50  # bytes
SURFACE_SEED = 0
WEIGHT_NAMES = {"weight", "weights"}
INDEX_NAMES = {"", "id", "index"}


def kind_of(path: Path | str) -> Kind:
    """Tell from its suffix what a file holds.

    Examples
    --------
    >>> kind_of("crown.TIFF"), kind_of("atoms.csv"), kind_of("vase.ply")
    ('image', 'cloud', 'mesh')
    """
    suffix = Path(path).suffix.lower()
    for kind, suffixes in SUFFIXES.items():
        if suffix in suffixes:
            return kind
    known = " ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
    raise ValueError(f"the suffix must be one of {known}; got {suffix!r}. Convert the file to one of these.")


class Collected(NamedTuple):
    """Files that were found, files of other kinds that were left out, folders that may not be read."""

    files: list[Path]
    left_out: list[Path]
    locked: list[Path]


def collect(paths: Iterable[Path | str]) -> Collected:
    """List files as given and files in folders, at any depth and sorted; each file once.

    A folder stands for its pictures if it has any, else for its meshes, else for its tables of points; hidden files are
    left out. Archives keep tables beside their scans: `left_out` names what a folder held of other kinds.
    """
    found: list[Path] = []
    left_out: list[Path] = []
    locked: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            wanted, others, closed = _in_folder(path)
            found += wanted
            left_out += others
            locked += closed
            continue
        if not path.is_file():
            what = "is neither" if path.exists() else "does not exist"
            raise ValueError(f"PATH must be a file or a folder; got {path}, which {what}. Check the spelling.")
        try:
            kind_of(path)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        found.append(path)
    taken = dict.fromkeys(found)
    return Collected(list(taken), [path for path in dict.fromkeys(left_out) if path not in taken], locked)


def _in_folder(folder: Path) -> Collected:
    locked: list[Path] = []
    walked = os.walk(folder, onerror=lambda error: locked.append(Path(error.filename)))
    by_kind: dict[Kind, list[Path]] = {"image": [], "mesh": [], "cloud": []}
    for path in sorted(Path(root, name) for root, _, names in walked for name in names):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        known = any(path.suffix.lower() in suffixes for suffixes in SUFFIXES.values())
        if known and not hidden:  # links that lead nowhere are named when they are read
            by_kind[kind_of(path)].append(path)
    wanted = next((paths for paths in by_kind.values() if paths), [])
    return Collected(wanted, [path for paths in by_kind.values() if paths is not wanted for path in paths], locked)


class TooLarge(ValueError):
    """A file, or what would come out of it, beyond the caps."""


def _check_bytes(n_bytes: int) -> None:
    if n_bytes > MAX_BYTES:
        raise TooLarge(
            f"the file must have at most {MAX_BYTES / 1e6:g} MB; got {n_bytes / 1e6:.1f} MB. Scale it down or split it."
        )
    if n_bytes == 0:
        raise ValueError("the file must hold data; got 0 bytes. Copy it again.")


def read_image(path: Path | str, ink: str = "auto") -> Array:
    """Read a picture as ink on blank paper.

    Parameters
    ----------
    path : PNG, JPEG, TIFF, BMP, GIF, WebP or PGM file
        Colours become grey, transparent parts white; of several frames the first is taken.
    ink : "auto", "dark" or "light"
        Which side of the paper level, the median grey, is ink. "auto" takes the side that deviates more.

    Returns
    -------
    array of shape (height, width), float64, non-negative, 0 where there is paper; in the picture's own grey levels
    """
    if ink not in INKS:
        raise ValueError(f"ink must be one of {', '.join(INKS)}; got {ink!r}.")
    grey, _ = read_picture(Path(path))
    deviation = np.median(grey) - grey
    dark = np.maximum(deviation, 0)
    if ink == "auto":
        ink = "dark" if 2 * np.vdot(dark, dark) >= np.vdot(deviation, deviation) else "light"
    return np.asarray(dark if ink == "dark" else dark - deviation)


def read_picture(source: Path | str | bytes) -> tuple[Array, float | None]:
    """Read the grey levels of a picture, and how large its pixels are.

    Parameters
    ----------
    source : PNG, JPEG, TIFF, BMP, GIF, WebP or PGM file, or what such a file holds
        The camera's orientation is applied. Colours become grey, transparent parts white; of several frames the first
        is taken.

    Returns
    -------
    grey : array of shape (height, width), float64, in the picture's own grey levels
    millimetres : side of a pixel, where the file states a resolution; None where it does not, or only the 72 or 96
        dots per inch that programs write when they know nothing

    See Also
    --------
    nrcdt.ink.find_ink : the ink of such a picture.
    """
    from PIL import Image, ImageOps

    _check_bytes(len(source) if isinstance(source, bytes) else Path(source).stat().st_size)
    try:
        with warnings.catch_warnings():
            # Pillow warns from 89 megapixels on; the cap here is checked before a pixel is decoded.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            file = BytesIO(source) if isinstance(source, bytes) else source
            with Image.open(file, formats=PICTURE_FORMATS) as picture:
                _check_pixels(picture.width, picture.height)
                grey = _grey_levels(ImageOps.exif_transpose(picture))
                millimetres = _pixel_side(picture)
    except TooLarge:
        raise
    except OSError as error:
        if error.errno is not None:  # the file, not what is in it
            raise
        raise _not_a_picture(error) from error
    except Image.DecompressionBombError as error:
        found = str(error).partition(" exceeds")[0]
        raise TooLarge(
            f"the picture must have at most {MAX_PIXELS / 1e6:g} megapixels; got {found}. Scale it down first."
        ) from None
    except Exception as error:  # decoders of damaged files raise whatever comes to their mind
        raise _not_a_picture(error) from error
    if not np.isfinite(grey).all():
        raise ValueError("the picture must have finite grey levels; got NaN or infinity. Replace these values.")
    return grey, millimetres


def _not_a_picture(error: Exception) -> ValueError:
    return ValueError(
        f"the picture must be a whole PNG, JPEG, TIFF, BMP, GIF, WebP or PGM file; got {_first_line(error)}. "
        "Copy or export it again."
    )


def _pixel_side(picture: Any) -> float | None:
    """Millimetres of a pixel from the dots per inch that a file states, unless nobody meant them."""
    try:
        across, down = (float(dots) for dots in picture.info.get("dpi", (0, 0)))
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    # Metric files round: 72 dots per inch come back as 71.98. Pixels that are not square have no side.
    meant = np.isfinite(across) and across > 1.5 and all(abs(across - dots) > 0.5 for dots in MEANINGLESS_DPI)
    return 25.4 / across if meant and abs(across - down) <= 0.01 * across else None


def _check_pixels(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise TooLarge(
            f"the picture must have at most {MAX_PIXELS / 1e6:g} megapixels; got {width} x {height} pixels. "
            "Scale it down first."
        )


def _grey_levels(picture: Any) -> Array:
    """Grey levels of a picture in any mode; where it is transparent, on white paper, or on black to show white ink."""
    from PIL import Image

    if picture.mode in DEEP_MODES:
        return np.asarray(picture, dtype=np.float64)
    if picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        ink = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", ink.size, "white"), ink)
        if picture.convert("L").getextrema() == (255, 255):
            picture = Image.alpha_composite(Image.new("RGBA", ink.size, "black"), ink)
    if picture.mode not in ("1", "L", "P", "RGB"):
        picture = picture.convert("RGB")
    return np.asarray(picture.convert("L"), dtype=np.float64)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def read_cloud(path: Path | str) -> tuple[Array, Array | None]:
    """Read points, and weights if the file has some.

    Parameters
    ----------
    path : file of points, one per row
        ``.npy``: an array (n_points, d). ``.npz``: `points` and perhaps `weights`, or a single array. ``.csv``,
        ``.txt``, ``.xyz``: numbers between commas, semicolons or blanks, perhaps under a header; a column named
        `weight` holds weights, and one named `id` or `index`, or without a name beside named ones, is left out.

    Returns
    -------
    points : array of shape (n_points, d), or (n_rotations, 3, 3) for rotation matrices
    weights : array of shape (n_points,), or None
    """
    path = Path(path)
    _check_bytes(path.stat().st_size)
    points, weights = _read_arrays(path) if path.suffix.lower() in (".npy", ".npz") else _read_text(path)
    if points.dtype.kind not in "fiu":
        raise ValueError(
            f"the points must be real numbers; got {points.dtype}. Save them as an array of floats, without objects."
        )
    if points.ndim != 2 and points.shape[1:] != (3, 3):
        raise ValueError(
            f"the points must have shape (n_points, d); got {points.shape}. One row per point, one file per cloud."
        )
    return points, weights


def _read_arrays(path: Path) -> tuple[Array, Array | None]:
    try:
        arrays = {"points": _read_npy(path)} if path.suffix.lower() == ".npy" else _read_npz(path)
    except TooLarge:
        raise
    except Exception as error:  # damaged archives fail in the words of zlib, zipfile and numpy
        found = "objects, or no array file" if "pickle" in str(error) else _first_line(error)
        raise ValueError(f"the file must hold whole arrays of numbers; got {found}. Save it again.") from error
    if "points" in arrays:
        return arrays["points"], arrays.get("weights")
    if len(arrays) == 1:
        return next(iter(arrays.values())), None
    raise ValueError(
        f"the archive must hold `points`, or a single array; got {', '.join(arrays) or 'nothing'}. "
        "Save it with numpy.savez(file, points=..., weights=...)."
    )


def _read_npy(path: Path) -> Array:
    # A memory map compares the header with the size of the file before it promises memory.
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False))


def _read_npz(path: Path) -> dict[str, Array]:
    with ZipFile(path) as archive:
        _check_bytes(sum(member.file_size for member in archive.infolist()))
    with np.load(path, allow_pickle=False) as arrays:
        return {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}


def _read_text(path: Path) -> tuple[Array, Array | None]:
    """Read a table under any number of header lines."""
    headers: list[str] = []
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        lines = (line for line in file if line.strip())
        first = next(lines, "")
        while first and _has_words(first):
            headers.append(first)
            first = next(lines, "")
        if not first and headers:
            raise ValueError(
                f"the table must hold at least one row of numbers; got words in each, such as "
                f"{headers[-1].strip()[:60]!r}. Leave out columns of words, or drop the file."
            )
        separator = next((mark for mark in ";,\t" if mark in first), None)
        rows: Iterable[str] = chain([first], lines)
        if separator == ";":
            rows = (line.replace(",", ".") for line in rows)
        table = _numbers(rows, separator)
    return _columns(table, _column_names(headers, separator, table.shape[1]))


def _column_names(headers: list[str], separator: str | None, n_columns: int) -> list[str]:
    """Return the names in the last header line that has one per column, or in the one that names weights.

    Units may stand below the names. A line of as many fields, half of them numbers, is no header but a broken row.
    """
    names: list[str] = []
    for header in headers:
        fields = [field.strip(" \"'\r\n") for field in header.lstrip("#% ").split(separator)]
        if len(fields) != n_columns:
            continue
        wrong = [field for field in fields if _has_words(field)]
        if 2 * len(wrong) <= sum(map(bool, fields)) and not header.startswith(("#", "%")):
            raise ValueError(f"the table must have numbers in every row; got {wrong[0]!r} in one. Mend that row.")
        if not set(names) & WEIGHT_NAMES:
            names = [field.lower() for field in fields]
    return names


def _columns(table: Array, names: list[str]) -> tuple[Array, Array | None]:
    """Split coordinates and weights, and leave out what only counts the rows."""
    if not any(names):
        return table, None
    weights = [i for i, name in enumerate(names) if name in WEIGHT_NAMES]
    coordinates = [i for i, name in enumerate(names) if name not in WEIGHT_NAMES | INDEX_NAMES]
    if not coordinates:
        raise ValueError("the table must have columns of coordinates; got weights only. Add them, or drop the file.")
    return table[:, coordinates], table[:, weights[0]] if weights else None


def _has_words(text: str) -> bool:
    return re.search(r"[A-Za-z#%]", re.sub(r"(?i)\b(nan|inf|infinity)\b|(?<=[\d.])e(?=[-+\d])", "", text)) is not None


def _numbers(rows: Iterable[str], separator: str | None) -> Array:
    with warnings.catch_warnings():
        # An empty table is reported below, by its shape.
        warnings.simplefilter("ignore", UserWarning)
        try:
            table = np.loadtxt(rows, delimiter=separator, comments=["#", "%"], ndmin=2)
        except ValueError as error:
            raise ValueError(
                "the table must hold as many numbers in every row; got "
                f"{_first_line(error).partition(';')[0]}. Mend that row."
            ) from error
    if table.size == 0:
        raise ValueError("the table must hold at least one row of numbers; got none. Drop the file.")
    return np.asarray(table)


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
    _check_bytes(path.stat().st_size)
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
        n_vertices = len(mesh.vertices)
    except OSError:
        raise
    except Exception as error:  # as for pictures: damaged files raise all kinds of errors
        # What is no whole binary file is read as text, for which a guess of its encoding would be needed.
        text = "neither text nor a whole binary file"
        found = text if isinstance(error, ImportError) else f"one that trimesh cannot read ({_first_line(error)})"
        raise _not_whole(found) from error
    _check_vertices(path, n_vertices)
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


def _check_vertices(path: Path, n_vertices: int) -> None:
    """Refuse a PLY file that has fewer vertices than it declares; the reader takes what is there."""
    if path.suffix.lower() != ".ply":
        return
    with path.open("rb") as file:
        header = file.read(PLY_HEADER).partition(b"end_header")[0]
    declared = re.search(rb"^element\s+vertex\s+(\d+)", header, re.MULTILINE)
    if declared and n_vertices < int(declared[1]):
        raise _not_whole(f"{n_vertices} of {int(declared[1])} vertices")
