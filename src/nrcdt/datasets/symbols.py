"""The paper's two sets of symbols under random affine maps: academic and polygon."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..measures import positive_integer
from ..random_maps import sample_rng
from .affine import distorted_once, eight_bits
from .dataset import Dataset
from .disturbances import elastic
from .synthetic import ACADEMIC, draw

SIZE = 256
N_SIDES = range(3, 12)


def academic(n_samples: int = 10, classes: Sequence[int] = (1, 2, 3), random_state: int = 0) -> Dataset:
    """Make the academic dataset: three symbols of thin strokes, affinely distorted.

    The maps shift by up to 40 pixels along both axes, turn by any angle, scale both axes by 0.75 to 1 and shear by up
    to 30 degrees, without reflections; maps that push ink off the canvas are drawn again. Sample i of a class is the
    same whatever `n_samples` and `classes` are. The drawings are our own, after those of the paper.

    Parameters
    ----------
    n_samples : samples of each class
    classes : which of the symbols 1 (circle and bar), 2 (square and cross), 3 (shield and triangle)
    random_state : seed

    Returns
    -------
    Dataset of 256 x 256 images, class by class, with templates

    Examples
    --------
    >>> dataset = academic(2, classes=(1, 3))
    >>> dataset.samples.shape, dataset.labels, dataset.names
    ((4, 256, 256), array([0, 0, 1, 1]), ['circle', 'shield'])
    """
    positive_integer(n_samples, "n_samples", "The paper takes 10 per class.")
    if not classes or not set(classes) <= {1, 2, 3}:
        raise InputError("classes", "be some of 1, 2, 3", tuple(classes), "There are no other symbols.")
    names = [list(ACADEMIC)[number - 1] for number in classes]
    templates = [eight_bits(draw(ACADEMIC[name], SIZE)) for name in names]
    samples = [
        distorted_once(template, sample_rng(random_state, number, index), shift=(-40, 40), reflect=False)
        for number, template in zip(classes, templates, strict=True)
        for index in range(n_samples)
    ]
    return _dataset(samples, names, templates)


def polygon(n_samples: int = 10, random_state: int = 0) -> Dataset:
    """Make the polygon dataset: nine symbols, slightly bent, then affinely distorted.

    The nine drawings are our own, chosen to resemble the table that the paper prints: outlines of regular n-gons, n = 3
    to 11, in an ellipse of 77 x 128 pixels, with strokes that widen by the factor 1.16 from one to the next. Each
    sample is bent by `elastic`, then shifted by up to 20 pixels, turned by any angle, scaled by 0.5 to 1.25 along both
    axes and sheared by up to 30 degrees, without reflections. Templates are not bent. Sample i of a class is the same
    whatever `n_samples` is.

    Parameters
    ----------
    n_samples : samples of each class
    random_state : seed

    Returns
    -------
    Dataset of 256 x 256 images, class by class, with templates

    Examples
    --------
    >>> dataset = polygon(1)
    >>> dataset.samples.shape, dataset.names[0], dataset.names[-1]
    ((9, 256, 256), '3-gon', '11-gon')
    """
    positive_integer(n_samples, "n_samples", "The paper takes 10 per class.")
    templates = [_outline(n_sides) for n_sides in N_SIDES]
    samples = [
        _bent_and_distorted(template, sample_rng(random_state, n_sides, index))
        for n_sides, template in zip(N_SIDES, templates, strict=True)
        for index in range(n_samples)
    ]
    return _dataset(samples, [f"{n_sides}-gon" for n_sides in N_SIDES], templates)


def _outline(n_sides: int) -> Array:
    angles = np.pi / 2 + 2 * np.pi * np.arange(n_sides + 1) / n_sides
    corners = np.stack([0.6 * np.cos(angles), -np.sin(angles)], axis=1)
    return eight_bits(draw([corners], SIZE, width=2 * 1.16 ** (n_sides - 3)))


def _bent_and_distorted(template: Array, rng: np.random.Generator) -> Array:
    bent = elastic(template[np.newaxis], random_state=rng)[0]
    return distorted_once(bent, rng, scale=(0.5, 1.25), reflect=False)


def _dataset(samples: list[Array], names: list[str], templates: list[Array]) -> Dataset:
    labels = np.repeat(np.arange(len(names)), len(samples) // len(names))
    return Dataset(np.stack(samples).astype(np.float32), labels, names, np.stack(templates).astype(np.float32))
