"""What `invariance` states is what features do: unchanged under the group, changed by a map outside it."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from arc_space import ARC
from conftest import cloud_of
from nrcdt import AGGREGATIONS, NORMALIZATIONS, SPACES, invariance, nrcdt
from nrcdt.aggregate import Aggregation
from nrcdt.plan import Plan

ORIGIN = "rotations and reflections about the origin"
RIGID = "rotations, reflections and shifts"


def orthogonal(rng, d=2):
    q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return q


MAPS = {
    ORIGIN: lambda rng, x: x @ orthogonal(rng).T,
    RIGID: lambda rng, x: x @ orthogonal(rng).T + rng.normal(size=2),
    "similarities": lambda rng, x: rng.uniform(2, 3) * x @ orthogonal(rng).T + rng.normal(size=2),
    "affine maps": lambda rng, x: x @ orthogonal(rng).T * rng.uniform([1, 0.2], [2, 0.4]) @ orthogonal(rng).T + 1,
}
LADDER = list(MAPS)


def change(sets, space, normalize, aggregate, n=1024, **more):
    """Largest root mean square change of features between the first set and the others, relative to their size."""
    n = 8 * n if aggregate == "tv" else n
    settings = {"space": space, "n_directions": n, "n_quantiles": 20, "normalize": normalize, **more}
    features = nrcdt(sets, aggregate=aggregate, **settings)
    scale = aggregate if aggregate in ("tv", "spectrum", "bispectrum") else "abs_max"  # abs_min may vanish everywhere
    size = np.sqrt(np.mean(nrcdt(sets[:1], aggregate=scale, **settings) ** 2))
    return np.sqrt(np.mean((features[1:] - features[0]) ** 2, axis=1)).max() / size


PLANE = [
    (space, normalize, aggregate)
    for space, normalize, aggregate in itertools.product(["euclidean", "circular"], NORMALIZATIONS, AGGREGATIONS)
    if SPACES[space].unit_directions or "even" not in AGGREGATIONS[aggregate].needs
]


@pytest.mark.parametrize(("space", "normalize", "aggregate"), PLANE)
def test_stated_groups_in_the_plane(rng, space, normalize, aggregate):
    cloud = cloud_of(rng, 60)
    group = invariance(space, normalize=normalize, aggregate=aggregate)
    inside = [MAPS[group](rng, cloud) for _ in range(3)]
    unchanged = change([cloud, *inside], space, normalize, aggregate)
    assert unchanged < 0.02
    if group != LADDER[-1]:
        beyond = LADDER[LADDER.index(group) + 1]
        outside = [MAPS[beyond](rng, cloud) for _ in range(3)]
        assert change([cloud, *outside], space, normalize, aggregate) > max(0.02, 5 * unchanged)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("aggregate", AGGREGATIONS)
def test_the_whitened_frame_makes_everything_affine_invariant(rng, normalize, aggregate):
    assert invariance("euclidean", frame="whitened", normalize=normalize, aggregate=aggregate) == "affine maps"
    cloud = cloud_of(rng, 60)
    sets = [cloud, *(MAPS["affine maps"](rng, cloud) for _ in range(3))]
    unchanged = change(sets, "euclidean", normalize, aggregate, frame="whitened")
    assert unchanged < 0.02
    bent = np.sinh(cloud / cloud.std(axis=0))
    assert change([cloud, bent], "euclidean", normalize, aggregate, frame="whitened") > max(0.02, 5 * unchanged)


# Maps that take pixels to pixels, or to blocks of them: no drawing again, and so no loss. From small groups to large.
PIXEL_MAPS = {
    "image": {
        ORIGIN: [np.rot90, np.fliplr, np.transpose],
        RIGID: [lambda x: np.roll(np.rot90(x), (4, -3), (0, 1)), lambda x: np.roll(x, 5, 1)],
        "similarities": [lambda x: np.pad(x, ((1, 9), (3, 7))), lambda x: np.pad(x.T, 6)],
        "affine maps": [lambda x: np.repeat(x, 9, axis=0), lambda x: np.repeat(np.rot90(x), 5, axis=1)],
    },
    "signal": {
        "the reflection about the origin": [np.flip],
        "shifts and reflections": [lambda x: np.roll(x, 5), lambda x: np.roll(x, -7)[::-1]],
        "affine maps of the line": [lambda x: np.pad(x, (3, 30)), lambda x: np.pad(x[::-1], 12)],
    },
}
PIXELS = [
    (space, normalize, aggregate)
    for space, normalize, aggregate in itertools.product(PIXEL_MAPS, NORMALIZATIONS, AGGREGATIONS)
    if space == "image" or AGGREGATIONS[aggregate].needs == "any"
]


@pytest.mark.parametrize(("space", "normalize", "aggregate"), PIXELS)
def test_stated_groups_of_images_and_signals(rng, space, normalize, aggregate):
    maps, sample = PIXEL_MAPS[space], np.zeros((24, 24) if space == "image" else 40)
    sample[(slice(7, 17),) * sample.ndim] = rng.exponential(size=(10,) * sample.ndim) ** 4
    groups = list(maps)
    place = groups.index(invariance(space, normalize=normalize, aggregate=aggregate))
    how = {"normalize": normalize, "aggregate": aggregate, "n": 256, "n_radii": 2000}
    inside = [one(sample) for group in groups[: place + 1] for one in maps[group]]
    unchanged = change([sample, *inside], space, **how)
    assert unchanged < 0.02
    if place + 1 < len(groups):
        outside = [one(sample) for one in maps[groups[place + 1]]]
        assert change([sample, *outside], space, **how) > max(0.02, 5 * unchanged)


@pytest.mark.slow
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("aggregate", [name for name in AGGREGATIONS if AGGREGATIONS[name].needs == "any"])
def test_stated_group_of_rotations(rng, normalize, aggregate):
    assert invariance("rotation", normalize=normalize, aggregate=aggregate) == SPACES["rotation"].group
    points = Rotation.from_rotvec(rng.normal(size=(60, 3)) * [0.3, 0.8, 0.2])
    by = Rotation.random(rng=rng)
    moved = [by * points, points * by, points.inv()]
    sets = [one.as_matrix() for one in [points, *moved]]
    unchanged = change(sets, "rotation", normalize, aggregate, n=32768)
    assert unchanged < 0.05
    if aggregate == "abs_min" and normalize == "global":
        return  # some direction has the overall mean at every level: nothing is left to compare
    other = Rotation.from_rotvec(points.as_rotvec() * [4.0, 0.1, 0.1] + [0, 0, 1]).as_matrix()
    assert change([sets[0], other], "rotation", normalize, aggregate, n=32768) > 2 * unchanged


def test_a_square_and_a_parallelogram(rng):
    """Standardised they are one class; the global normalisation keeps them apart."""
    square = rng.uniform(-1, 1, size=(4000, 2))
    parallelogram = square @ np.array([[1.0, 0.0], [0.8, 1.0]])
    assert change([square, parallelogram], "euclidean", "standardize", "max") < 0.02
    assert change([square, parallelogram], "euclidean", "global", "max") > 0.1


def test_the_template_space(rng):
    angles = rng.uniform(0, 2, 80)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    moved = [points @ orthogonal(rng).T for _ in range(3)]
    assert "rotations" in invariance(ARC)
    for aggregate in ("max", "tv", "mean"):
        assert change([points, *moved], ARC, "standardize", aggregate) < 0.02


def test_a_function_called_mean_is_not_the_mean(rng):
    def mean(quantiles):
        return np.abs(quantiles).mean(axis=1)

    assert invariance(normalize=None, aggregate=mean) == ORIGIN
    assert invariance(normalize=None, aggregate="mean") == RIGID
    cloud = cloud_of(rng, 60)
    assert change([cloud, cloud + 5], "euclidean", None, mean) > 0.1


def test_stored_spaces_promise_the_same():
    for name, normalize in (("circular", None), ("signal", "global")):
        again = pickle.loads(pickle.dumps(SPACES[name]))
        assert invariance(again, normalize=normalize) == invariance(name, normalize=normalize)


def test_pairs_promise_only_what_is_known():
    assert invariance(aggregate=(np.abs, np.max)) == "affine maps"
    assert invariance(aggregate=(np.abs, np.mean)) == "similarities"
    assert invariance(aggregate=(np.abs, np.median)) == "similarities"  # how many directions have a value counts
    assert invariance(aggregate=lambda quantiles: quantiles[:, 0]) == "similarities"
    promised = Aggregation("highest", lambda q, w, d: q.max(axis=1), exchange=True)
    assert invariance(aggregate=promised) == "affine maps"


@pytest.mark.parametrize("aggregate", AGGREGATIONS)
@pytest.mark.parametrize("space", [*SPACES, "euclidean in space", "circular in space"])
def test_what_the_transform_refuses_has_no_group(space, aggregate):
    name, _, in_space = space.partition(" ")
    own = {"image": 2, "signal": 1, "sphere_parallel": 3, "sphere_vertical": 2}
    dimension = 3 if in_space else own.get(name, 4 if name.startswith("rotation") else 2)

    def refused(function, **more):
        try:
            function(name, aggregate=aggregate, dimension=dimension, **more)
        except ValueError as error:
            return str(error).partition(";")[0]
        return None

    assert refused(invariance) == refused(Plan.resolve)
    if aggregate == "tv":
        assert (refused(invariance) is None) == (dimension == 2)


def test_a_list_promises_what_all_of_it_keeps():
    for aggregate in (["max", "mean"], ["mean", "max"]):
        assert invariance(aggregate=aggregate) == "similarities"


def test_mistakes():
    with pytest.raises(
        ValueError, match=r"'tv' must have directions in order around a whole circle; got .* the rotation space"
    ):
        invariance("rotation", aggregate="tv")
    with pytest.raises(ValueError, match=r"'spectrum' must have directions spread evenly .* the circular space"):
        invariance("circular", aggregate="spectrum")
    with pytest.raises(ValueError, match="frame must be one of fixed, whitened; got 'bent'"):
        invariance(frame="bent")
    with pytest.raises(
        ValueError,
        match="frame must be 'fixed' in the circular space, which is not flat or not",
    ):
        invariance("circular", frame="whitened")
    with pytest.raises(ValueError, match=r"normalize must be one of 'standardize', .*, None; got 'l2'"):
        invariance(normalize="l2")
    with pytest.raises(ValueError, match="space must be one of image, euclidean, circular, "):
        invariance("plane")
