"""The plan: resolved once, hashable, picklable, a guard; and what comes after the quantiles, in any library."""

import dataclasses
import os
import pickle
import subprocess
import sys
import tracemalloc
from functools import lru_cache, partial

import array_api_strict as xp
import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import NotFittedError

from conftest import cloud_of, uneven_directions
from nrcdt import AGGREGATIONS, NORMALIZATIONS, NRCDT, SPACES, rcdt
from nrcdt.aggregate import aggregate, find_aggregations, spectrum
from nrcdt.directions import circle, fibonacci
from nrcdt.errors import InputError, SampleError, Where
from nrcdt.fingerprint import digest
from nrcdt.frames import mean_and_covariance, pull_back, whitening
from nrcdt.measures import Cloud, batch_of_images, cut, pack
from nrcdt.normalize import FlatSlice, normalize
from nrcdt.plan import NOTHING, Block, Plan
from nrcdt.scales import BlockScales
from nrcdt.spaces import manifold_space

SMALL = {"n_directions": 8, "n_quantiles": 6}


def heights(points, directions):
    return directions[:, np.newaxis] * points[:, 0]


def depths(points, directions):
    return directions[:, np.newaxis] * points[:, 1]


def highest(quantiles):
    return quantiles.max(axis=1)


def lowest(quantiles):
    return quantiles.min(axis=1)


PLAN = Plan.resolve(aggregate=["max", "tv"], **SMALL)
OTHERS = {
    "space": {"space": "euclidean"},
    "own space": {"space": (heights, [1.0, 2.0]), "aggregate": "max", "dimension": 0},
    "other phi": {"space": (depths, [1.0, 2.0]), "aggregate": "max", "dimension": 0},
    "partial phi": {"space": (partial(heights), [1.0, 2.0]), "aggregate": "max", "dimension": 0},
    "dimension": {"space": "euclidean", "dimension": 3, "aggregate": "max"},
    "n_directions": {"n_directions": 9},
    "directions": {"directions": circle(8)[::-1]},
    "weights": {"directions": (circle(8), [1, 1, 1, 1, 1, 1, 1, 2])},
    "n_radii": {"n_radii": 40},
    "n_quantiles": {"n_quantiles": 7},
    "frame": {"frame": "whitened"},
    **{f"normalize {how}": {"normalize": how} for how in NORMALIZATIONS if how != "standardize"},
    "aggregate": {"aggregate": ["tv", "max"]},
    "one aggregation": {"aggregate": "max"},
    "one in a list": {"aggregate": ["max"]},
    "no aggregation": {"aggregate": NOTHING},
    "function": {"aggregate": highest},
    "another function": {"aggregate": lowest},
    "pair": {"aggregate": (np.abs, np.median)},
    "spectrum": {"aggregate": spectrum(3)},
    "weighted spectrum": {"aggregate": spectrum(3, [1, 1, 1, 2])},
    "lowest frequency": {"aggregate": spectrum(3, lowest=1)},
    "reference": {"reference": "norm"},
    "another reference": {"reference": stats.norm(0.0, 2.0)},
    "beta": {"reference": stats.beta(2, 3)},
    "trim": {"trim": 0.1},
}


def resolved(settings):
    return Plan.resolve(**{"aggregate": ["max", "tv"], **SMALL, **settings})


def test_whatever_decides_features_changes_the_digest():
    plans = {name: resolved(settings) for name, settings in OTHERS.items()}
    digests = [PLAN.digest, *(plan.digest for name, plan in plans.items() if name != "another reference")]
    assert len(set(digests)) == len(digests)
    assert resolved({}) == PLAN
    assert hash(resolved({})) == hash(PLAN)
    assert all(plan != PLAN for plan in plans.values())


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Plan)])
def test_every_field_is_guarded(field):
    other = {
        "space": SPACES["euclidean"],
        "directions": PLAN.directions + 1e-6,
        "direction_weights": PLAN.direction_weights[::-1] * [1, 1, 1, 1, 1, 1, 1, 1.001],
        "levels": PLAN.levels._replace(values=PLAN.levels.values + 1e-6),
        "frame": "whitened",
        "normalization": "median",
        "blocks": PLAN.blocks[:1],
        "n_radii": 17,
        "scaled": False,
    }[field]
    assert dataclasses.replace(PLAN, **{field: other}).digest != PLAN.digest
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(PLAN, field, other)


class Power:
    __slots__ = ("power",)

    def __init__(self, power):
        self.power = power

    def highest(self, quantiles):
        return quantiles.max(axis=1) ** self.power

    __call__ = highest


def test_the_digest_knows_what_functions_work_with():
    def keyword(factor):
        return lambda quantiles, *, factor=factor: factor * quantiles.max(axis=1)

    def again(quantiles, deep=True):
        return again(quantiles, False) if deep else quantiles.max(axis=1)

    pairs = [
        (Power(1), Power(2)),
        (Power(1).highest, Power(2).highest),
        (keyword(1), keyword(2)),
        (partial(np.maximum.reduce, axis=1), partial(np.minimum.reduce, axis=1)),
        (lru_cache(highest), lru_cache(lowest)),
        (eval("lambda quantiles: quantiles.max(axis=1)", {}), again),
    ]
    for first, second in pairs:
        assert digest(first) != digest(second)
    assert digest(Power(1).highest) == digest(Power(1).highest)
    assert digest(object()) == digest(object())


def test_the_digest_is_the_same_in_every_process():
    code = "from nrcdt.fingerprint import digest; print(digest(lambda q: q in {'a', 'b', 'c', 'd', 'e'}))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in "123"
    }
    assert len(found) == 1


def test_plans_do_not_care_how_settings_are_written():
    first = Plan.resolve(n_radii=50, n_directions=8)
    assert first == Plan.resolve(n_radii=np.uint8(50), n_directions=np.int64(8))
    assert first == Plan.resolve(n_radii=50, directions=(circle(8).tolist(), [3] * 8))


@pytest.mark.parametrize("space", ["image", "circular", (heights, np.ones(5))])
def test_plans_keep_their_directions(space):
    directions = circle(8) if isinstance(space, str) else np.arange(1.0, 4.0)
    plan = Plan.resolve(space, dimension=2 if isinstance(space, str) else 0, directions=directions)
    before = plan.directions.copy()
    directions[:] = 7
    np.testing.assert_array_equal(plan.directions, before)


def test_other_processors_round_directions_otherwise():
    moved = dataclasses.replace(PLAN, directions=PLAN.directions * (1 + 2e-16))
    assert not np.array_equal(moved.directions, PLAN.directions)
    assert moved.digest == PLAN.digest


@pytest.mark.parametrize("name", OTHERS)
def test_plans_are_stored_and_compared(name):
    plan = resolved(OTHERS[name])
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert {plan: name}[again] == name


DIMENSIONS = {"signal": 1, "rotation": 4, "rotation_cubic": 4, "rotation_hexagonal": 4, "sphere_parallel": 3}


@pytest.mark.parametrize("space", SPACES)
def test_plans_of_every_space_can_be_stored(space):
    plan = Plan.resolve(space, dimension=DIMENSIONS.get(space, 2), aggregate="max", **SMALL)
    assert pickle.loads(pickle.dumps(plan)).digest == plan.digest


@pytest.mark.parametrize("name", OTHERS)
def test_features_are_counted_and_named_without_a_sample(name):
    plan = resolved(OTHERS[name])
    if not plan.blocks:
        return
    n = 3 if name == "dimension" else 2
    sample = np.random.default_rng(0).random((1, 9, n)) if plan.space.measure == "points" else np.eye(9)[np.newaxis]
    features = plan.features(pack(plan.space.check(sample)))
    assert features.shape == (1, plan.n_features)
    assert len(plan.feature_names) == plan.n_features


def test_both_frames_in_one_plan_share_what_they_can(rng, monkeypatch):
    """Slices are computed once per frame; blocks stand in their order."""
    images = rng.random((3, 7, 7))
    blocks = [
        Block(AGGREGATIONS[name], frame) for name, frame in (("tv", "fixed"), ("std", "whitened"), ("mean", "fixed"))
    ]
    plan = dataclasses.replace(PLAN, blocks=tuple(blocks))
    calls, slices = [], Plan._slices
    monkeypatch.setattr(Plan, "_slices", lambda self, batch, frame: calls.append(frame) or slices(self, batch, frame))
    features = plan.features(images)
    assert sorted(calls) == ["fixed", "whitened"]
    for k, block in enumerate(blocks):
        alone = dataclasses.replace(PLAN, blocks=(block,)).features(images)
        np.testing.assert_array_equal(features[:, 6 * k : 6 * k + 6], alone)


def test_features_are_pure(rng):
    images = rng.random((3, 7, 7))
    images.flags.writeable = False
    before = images.copy()
    np.testing.assert_array_equal(PLAN.features(images), PLAN.features(images.copy()))
    np.testing.assert_array_equal(images, before)
    np.testing.assert_allclose(PLAN.quantiles(images), rcdt(images, normalize="standardize", **SMALL), atol=1e-14)


@pytest.mark.parametrize("frame", ["fixed", "whitened"])
@pytest.mark.parametrize("form", ["array", "list", "sizes", "types"])
def test_a_sample_has_the_same_bits_however_it_is_packed(rng, frame, form):
    images = rng.random((6, 9, 5)) * (rng.random((6, 9, 5)) < 0.7)
    forms = {
        "array": images,
        "list": list(images),
        "sizes": [image[: 4 + i] for i, image in enumerate(images)],
        "types": [image.astype(dtype) for image, dtype in zip(100 * images, "fdfBdf", strict=True)],
    }
    batch = forms[form]
    model = NRCDT(frame=frame, aggregate=["max", "mean", "tv"], **SMALL).fit(batch)
    alone = np.concatenate([model.transform([one]) for one in batch])
    np.testing.assert_array_equal(alone, model.transform(batch))
    np.testing.assert_array_equal(model.transform(list(batch)[::-1])[::-1], alone)
    np.testing.assert_array_equal(model.fit_transform(batch), alone)


def test_runs_that_can_be_packed(rng):
    clouds = [Cloud(rng.random((n, 2)), w) for n, w in ((3, None), (4, None), (5, np.ones(5)), (3, None))]
    assert list(cut(clouds, lambda n: n)) == [(0, 2), (2, 3), (3, 4)]
    assert list(cut(clouds[:2], lambda n: 1)) == [(0, 1), (1, 2)]
    points = pack(clouds[:2])
    assert [len(cloud.points) for cloud in points] == [3, 4]
    np.testing.assert_array_equal(points[1].points, clouds[1].points)
    images = [np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 3)), np.ones((2, 3), np.uint8)]
    assert list(cut(images, lambda n: n)) == [(0, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize("form", ["clouds", "list of clouds", "weighted", "columns first", "every other pixel"])
def test_packing_copies_little_at_a_time(rng, form):
    clouds, wide = rng.random((60, 5000, 2)), rng.random((60, 100, 200))
    space, batch = {
        "clouds": ("euclidean", clouds),
        "list of clouds": ("euclidean", [np.ones((3, 2)) * np.arange(3)[:, np.newaxis] ** [1, 2], *clouds]),
        "weighted": ("circular", [(cloud, rng.random(5000)) for cloud in clouds]),
        "columns first": ("image", np.asfortranarray(wide)),
        "every other pixel": ("image", wide[:, :, ::2]),
    }[form]
    model = NRCDT(space, **SMALL).fit(batch)
    model.transform(batch[:2])
    tracemalloc.start()
    model.transform(batch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5e6


def test_a_stack_is_copied_where_images_are_scaled_and_only_there(rng):
    usual = rng.random((5, 4, 4))
    assert batch_of_images(usual) is usual
    images = usual * np.array([1e-150, 1, 1e150, 1e-200, 1e200])[:, np.newaxis, np.newaxis]
    before, batch = images.copy(), batch_of_images(images)
    assert all(0 < image.max() < 1e100 for image in batch)
    np.testing.assert_array_equal(batch[1], images[1])
    np.testing.assert_array_equal(images, before)
    tracemalloc.start()
    batch_of_images(np.full((200, 32, 32), 1e-150))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * 200 * 32 * 32 * 8
    with pytest.raises(InputError, match=r"X\[1\] must have positive mass"):
        batch_of_images(images * np.array([1, 0, 1, 0, 1])[:, np.newaxis, np.newaxis])


def test_scales_are_the_same_bits_in_any_batches(rng):
    features = rng.normal(size=(50, 7)) * 10.0 ** rng.integers(-12, 12, (50, 1))
    whole = BlockScales([3, 4]).partial_fit(features)
    order = rng.permutation(50)
    parts = BlockScales([3, 4])
    for some in np.array_split(features[order], 7):
        parts.partial_fit(some)
    np.testing.assert_array_equal(parts.scales_, whole.scales_)
    squares = [np.sqrt(np.mean(features[:, where] ** 2)) for where in (slice(3), slice(3, 7))]
    np.testing.assert_allclose(whole.scales_, squares, rtol=1e-12)
    again = pickle.loads(pickle.dumps(whole)).partial_fit(features)
    np.testing.assert_allclose(again.scales_, whole.scales_, rtol=1e-15)


def test_no_aggregation_is_refused(rng):
    with pytest.raises(InputError, match=r"aggregate must be one of max, .*; got \(\)"):
        NRCDT(aggregate=(), **SMALL).fit(rng.random((2, 5, 5)))


def test_features_whose_squares_overflow_are_refused():
    with np.errstate(over="ignore"), pytest.raises(InputError, match="features of block 1 must have finite squares"):
        BlockScales([1, 1]).partial_fit(np.array([[1.0, 1e200]]))


def test_fitting_computes_no_more_than_it_must(rng, monkeypatch):
    calls, features = [], Plan.features
    monkeypatch.setattr(Plan, "features", lambda self, batch: calls.append(len(batch)) or features(self, batch))
    images = rng.random((3, 7, 7))
    NRCDT(**SMALL).fit(images)
    assert calls == []
    NRCDT(aggregate=["max", "tv"], **SMALL).fit_transform(images)
    assert calls == [3]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", AGGREGATIONS)
def test_aggregations_of_any_library(rng, name, dtype):
    quantiles = np.sort(rng.normal(size=(3, 8, 5)), axis=2).astype(dtype)
    weights = rng.random(8)
    weights[3] = 0
    for directions in [circle(8), fibonacci(8)] if name == "spectrum" else [circle(8)]:
        rest = (find_aggregations(name), weights / weights.sum(), directions)
        [expected], [found] = aggregate(quantiles, *rest), aggregate(xp.asarray(quantiles), *rest)
        assert type(found).__module__.startswith("array_api_strict")
        assert str(found.dtype).endswith(dtype)
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-12 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("how", NORMALIZATIONS)
def test_normalisations_of_any_library(rng, how, linear):
    quantiles = np.sort(rng.normal(size=(3, 8, 9)), axis=2)
    weights = rng.random(9), rng.random(8)
    rest = (how, *(one / one.sum() for one in weights))
    found = normalize(xp.asarray(quantiles), *rest, linear=linear)
    np.testing.assert_allclose(np.asarray(found), normalize(quantiles.copy(), *rest, linear=linear), atol=1e-12)


def test_flat_slices_in_any_library():
    quantiles = np.tile(np.linspace(0, 1, 5), (3, 4, 1))
    quantiles[1, 2] = 3
    for array in (quantiles, xp.asarray(quantiles)):
        with pytest.raises(FlatSlice, match=r"X\[1\] must have spread in every slice; got none in direction 2"):
            normalize(array, "standardize", np.full(5, 0.2), np.full(4, 0.25))


def test_frames_of_any_library(rng):
    image, cloud = rng.random((5, 8)), Cloud(cloud_of(rng, 20, 3), rng.random(20))
    pairs = [(image, xp.asarray(image), circle(6)), (cloud, Cloud(*map(xp.asarray, cloud)), fibonacci(7))]
    bare = Cloud(cloud.points, None)
    pairs.append((bare, Cloud(xp.asarray(bare.points), None), fibonacci(7)))
    for measure, other, directions in pairs:
        for found, expected in zip(mean_and_covariance(other), mean_and_covariance(measure), strict=True):
            np.testing.assert_allclose(np.asarray(found), expected, atol=1e-12)
        for found, expected in zip(
            pull_back(whitening(other), directions), pull_back(whitening(measure), directions), strict=True
        ):
            np.testing.assert_allclose(np.asarray(found), expected, atol=1e-10)


def test_scales_of_any_library(rng):
    features = rng.normal(size=(4, 5))
    scales = BlockScales([2, 3]).partial_fit(features)
    np.testing.assert_allclose(np.asarray(scales.transform(xp.asarray(features))), scales.transform(features))


def test_errors_know_their_place():
    error = InputError(Where("X", 3, "the weights of {}"), "be finite", "NaN", "Drop the sample.")
    again = pickle.loads(pickle.dumps(error.about(argument="Y", sample=5)))
    assert (again.where.argument, again.sample, again.rule, again.got) == ("Y", 5, "be finite", "NaN")
    assert str(again) == "the weights of Y[5] must be finite; got NaN. Drop the sample."
    assert str(InputError("n", "be whole", ValueError("no."), "Count.")) == "n must be whole; got: no. Count."
    assert str(SampleError(Where("X", 1), "no atom").about(sample=2)) == "X[2]: no atom"


def test_functions_that_make_no_numbers_are_refused(rng):
    def broken(quantiles):
        return np.full((len(quantiles), 2), np.nan)

    with pytest.raises(ValueError, match="what aggregate broken returns for a made-up sample must be finite; got NaN"):
        NRCDT(aggregate=broken, **SMALL).fit(rng.random((2, 5, 5)))


def test_features_are_no_view_of_quantiles(rng):
    features = NRCDT(aggregate=lambda quantiles: quantiles[:, 0], **SMALL).fit_transform(rng.random((3, 5, 5)))
    assert features.flags.writeable
    assert features.base is None


def test_weighted_directions_stay_weighted(rng):
    directions, weights = uneven_directions()
    plan = Plan.resolve(directions=(directions, weights), aggregate="mean", n_quantiles=5)
    quantiles = plan.quantiles(rng.random((2, 6, 6)))
    np.testing.assert_allclose(plan.direction_weights.sum(), 1)
    expected = np.einsum("k,bkm->bm", weights / weights.sum(), quantiles)
    np.testing.assert_allclose(
        aggregate(quantiles, [AGGREGATIONS["mean"]], plan.direction_weights, directions)[0], expected
    )


def test_meshes_make_spaces_with_digests():
    x, y = (part.ravel() for part in np.meshgrid(np.arange(5.0), np.arange(4.0)))
    corner = np.flatnonzero((x < 4) & (y < 3))[:, np.newaxis]
    faces = np.vstack([corner + triangle for triangle in ([0, 1, 5], [1, 6, 5])])
    spaces = [manifold_space(np.stack([s * x, y, 0 * x], axis=1), faces, 4) for s in (1, 1, 1.3)]
    digests = [Plan.resolve(space, dimension=4, **SMALL).digest for space in spaces]
    assert digests[0] == digests[1] != digests[2]


def test_half_a_fit_is_none(rng):
    """A list that fails while its scales are learnt leaves no plan beside the scales of an earlier fit."""
    clouds = [cloud_of(rng, 20), cloud_of(rng, 20), circle(24)]
    centre = {"directions": np.array([[0.5, 0.0], [0.0, 0.0]]), "n_quantiles": 6}
    model = NRCDT("circular", aggregate=["max", "mean"], **centre).fit(clouds[:2])
    for fit in (model.fit, model.fit_transform):
        with pytest.raises(FlatSlice, match=r"X\[2\] must have spread"):
            fit(clouds)
        with pytest.raises(NotFittedError):
            model.transform(clouds[:2])


def test_functions_make_as_many_features_of_every_sample(rng):
    def ragged(quantiles):
        return quantiles[:, 0, : 2 + (quantiles[0, 0, 0] > -1.5)]

    with pytest.raises(ValueError, match="aggregate ragged must return as many features for every sample, 2; got 3"):
        NRCDT(aggregate=ragged, **SMALL).fit_transform(np.eye(9)[np.newaxis])
