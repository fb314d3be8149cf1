"""The paper's rotation dataset: three measures on the group of rotations, turned at random."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from ..measures import positive_integer
from ..random_maps import haar, sample_rng
from .dataset import Dataset

KAPPA = 10
ANGLE_STEPS = 10_000


def fisher(n_rotations: int, rng: np.random.Generator) -> Rotation:
    """Rotations from the matrix Fisher distribution around the identity, density proportional to exp(kappa trace R).

    The axis is uniform; the angle w has density proportional to exp(2 kappa cos w) (1 - cos w), whose cumulative
    distribution function is inverted numerically.
    """
    angles = np.linspace(0, np.pi, ANGLE_STEPS)
    density = np.exp(2 * KAPPA * (np.cos(angles) - 1)) * (1 - np.cos(angles))
    cumulated = np.concatenate([[0], np.cumsum(density[1:] + density[:-1])])
    axes = rng.normal(size=(n_rotations, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    drawn = np.interp(rng.random(n_rotations) * cumulated[-1], cumulated, angles)
    return Rotation.from_rotvec(drawn[:, np.newaxis] * axes)


def equator(n_rotations: int, rng: np.random.Generator) -> Rotation:
    """Rotations about axes in the x-y plane, axis and angle uniform."""
    direction, angle = rng.uniform(0, 2 * np.pi, size=(2, n_rotations))
    return Rotation.from_rotvec(np.stack([angle * np.cos(direction), angle * np.sin(direction), 0 * angle], axis=1))


def uniform(n_rotations: int, rng: np.random.Generator) -> Rotation:
    """Rotations from the Haar measure."""
    return Rotation.from_matrix(haar(n_rotations, rng))


TEMPLATES: dict[str, Callable[[int, np.random.Generator], Rotation]] = {
    "matrix Fisher": fisher,
    "equator": equator,
    "Haar": uniform,
}


def rotation(n_samples: int = 10, n_rotations: int = 1000, random_state: int = 0) -> Dataset:
    """Make the rotation dataset: sets of rotations, each multiplied from the left by one random rotation.

    The three templates are drawn from the matrix Fisher distribution around the identity with concentration 10, from
    the rotations about axes in the x-y plane, and from the uniform (Haar) measure. Sample i of a class is the same
    whatever `n_samples` is.

    Parameters
    ----------
    n_samples : samples of each class
    n_rotations : rotations in each sample
    random_state : seed

    Returns
    -------
    Dataset of unit quaternions (w, x, y, z), class by class, with templates

    Examples
    --------
    >>> dataset = rotation(2, n_rotations=50)
    >>> dataset.samples.shape, dataset.templates.shape, dataset.names
    ((6, 50, 4), (3, 50, 4), ['matrix Fisher', 'equator', 'Haar'])
    """
    for name, count in (("n_samples", n_samples), ("n_rotations", n_rotations)):
        positive_integer(count, name, "The paper takes 10 sets of 1000.")
    # Index 0 of each class draws its template, the later ones its samples.
    templates = [draw(n_rotations, sample_rng(random_state, label, 0)) for label, draw in enumerate(TEMPLATES.values())]
    samples = [
        Rotation.from_matrix(haar(1, sample_rng(random_state, label, 1 + index))[0]) * template
        for label, template in enumerate(templates)
        for index in range(n_samples)
    ]
    labels = np.repeat(np.arange(len(templates)), n_samples)
    turned, whole = (np.stack([one.as_quat(scalar_first=True) for one in sets]) for sets in (samples, templates))
    return Dataset(turned, labels, list(TEMPLATES), whole)
