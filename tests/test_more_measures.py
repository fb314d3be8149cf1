"""Signals, signed measures, volumes and surfaces: what each ignores, what each refuses."""

import warnings

import numpy as np
import pytest
from scipy.ndimage import affine_transform
from scipy.spatial.transform import Rotation
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from conftest import affine_map, cloud_of
from nrcdt import NRCDT, RCDT, cdt, conversions, invariance, nrcdt, rcdt
from nrcdt.conversions import surface_points, volume_points
from nrcdt.frames import mean_and_covariance
from nrcdt.measures import check_signals
from nrcdt.normalize import FlatSlice
from nrcdt.signed import Signed

FEW = {"n_directions": 16, "n_quantiles": 12}
EMPTY = {"check_estimators_dtypes": "casts a row to integers that are all zero, which is refused"}


def relative(features):
    """Distance of every row from the first, relative to the size of the first."""
    return np.linalg.norm(features[1:] - features[0], axis=1) / np.linalg.norm(features[0])


@pytest.mark.parametrize(
    "estimator",
    [
        NRCDT("signal", **FEW),
        RCDT("signal", **FEW),
        Signed(NRCDT(image_shape=(1, -1), **FEW)),
        Signed(NRCDT("signal", **FEW)),
    ],
)
def test_estimator_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=EMPTY, on_fail=None, on_skip=None)
    status = [result["status"] for result in results]
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
    assert status.count("passed") >= 45
    assert status.count("xfail") == 1


def test_signed_rows_have_the_shape_of_the_transformer(rng):
    images = rng.normal(size=(3, 4, 6))
    rows = Signed(NRCDT(image_shape=(4, 6), **FEW)).fit_transform(images.reshape(3, 24))
    np.testing.assert_array_equal(rows, Signed(NRCDT(**FEW)).fit_transform(images))
    with pytest.raises(ValueError, match="image_shape must be given where rows have a length that is no square"):
        Signed(NRCDT(**FEW)).fit(images.reshape(3, 24))


@pytest.fixture
def signal(rng):
    return rng.exponential(size=37) ** 2


def test_slices_of_a_signal_are_its_cdt_and_the_mirror_of_it(signal):
    [[there, back]] = rcdt([signal], "signal", n_quantiles=20)
    np.testing.assert_allclose(there, cdt(signal, edges=(-1, 1), n_quantiles=20), atol=1e-12)
    np.testing.assert_allclose(back, -there[::-1], atol=1e-12)


@pytest.mark.parametrize("frame", ["fixed", "whitened"])
@pytest.mark.parametrize("aggregate", ["max", "abs_range", ["max", "mean_abs"]])
def test_signals_ignore_affine_maps_of_the_line_and_sampling(signal, frame, aggregate):
    shifted_and_shrunk = np.pad(signal, (11, 4))
    samples = [signal, np.repeat(signal, 3), 7 * shifted_and_shrunk, shifted_and_shrunk[::-1], signal**2]
    changes = relative(nrcdt(samples, "signal", frame=frame, aggregate=aggregate))
    assert changes[:3].max() < 1e-10
    assert changes[3] > 0.1


def test_the_whitened_frame_knows_the_moments_of_the_density(signal):
    coarse, fine = check_signals([signal, np.repeat(signal, 500)])
    np.testing.assert_allclose(mean_and_covariance(coarse)[0], mean_and_covariance(fine)[0], rtol=1e-12)
    np.testing.assert_allclose(mean_and_covariance(coarse)[1], mean_and_covariance(fine)[1], rtol=1e-12)
    [[box]] = rcdt([[0, 1, 0]], "signal", frame="whitened", n_quantiles=3, directions=[[1.0]])
    np.testing.assert_allclose(box, np.sqrt(3) * np.array([-0.5, 0, 0.5]), atol=1e-12)


def test_signals_have_two_directions_or_those_given(signal):
    model = NRCDT("signal", n_directions=99).fit([signal])
    np.testing.assert_array_equal(model.directions_, [[1], [-1]])
    one_way = nrcdt([signal, signal[::-1]], "signal", directions=[[1.0]])
    assert relative(one_way)[0] > 0.1
    np.testing.assert_allclose(nrcdt([signal[::-1]], "signal", directions=[[-1.0]])[0], one_way[0], atol=1e-12)
    np.testing.assert_allclose(*nrcdt([signal, signal[::-1]], "signal", reference="expon"), atol=1e-12)


def test_rows_of_a_table_are_signals_and_lists_may_be_ragged(rng):
    table = rng.random((4, 25))
    model = NRCDT("signal", **FEW).fit(table)
    assert model.n_features_in_ == 25
    np.testing.assert_array_equal(model.transform(table), model.transform(list(table)))
    ragged = [table[0], table[1, :7], table[2, :3].tolist()]
    rows = NRCDT("signal", **FEW).fit(ragged).transform(ragged)
    np.testing.assert_array_equal(rows[:1], model.transform(table[:1]))
    assert nrcdt(table.astype(np.float32), "signal").dtype == np.float32
    assert relative(np.vstack([nrcdt(table[:1], "signal", **FEW), nrcdt(table[:1], **FEW)]))[0] > 0.01


def test_the_group_of_signals_and_what_the_line_does_not_have(signal):
    assert invariance("signal") == "affine maps of the line"
    with pytest.raises(ValueError, match="in order around a whole circle"):
        nrcdt([signal], "signal", aggregate="tv")
    model = RCDT("signal", **FEW).fit([signal])
    with pytest.raises(ValueError, match="inverse_transform must have space='image'"):
        model.inverse_transform(model.transform([signal]))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, 2], [1, -2]], r"X\[1\] must not have negative mass; got a minimum of -2"),
        ([[1.0, 2], [1, np.nan]], r"X\[1\] must be finite; got NaN"),
        ([[1.0, 2], [0, 0, 0]], r"X\[1\] must have positive mass; got a signal of zeros"),
        ([[1.0, 2], [3]], r"X\[1\] must have at least two samples; got n_features = 1"),
        ([[1.0, 2], []], r"X\[1\] must have at least two samples; got n_features = 0"),
        ([np.ones((2, 2))], r"X\[0\] must be a signal, of shape \(length,\); got shape \(2, 2\)"),
        (np.ones((2, 2, 2)), r"X must be a batch of signals.*got shape \(2, 2, 2\)"),
        (3, "X must be a batch of signals.*got 3"),
        ([], "X must hold at least one sample"),
    ],
)
def test_signals_that_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        nrcdt(X, "signal")


def test_tiny_and_huge_signals_keep_their_features(signal):
    rows = nrcdt([signal, signal * 1e-290, signal * 1e290], "signal")
    assert relative(rows).max() < 1e-10


def signed_samples(rng, kind):
    if kind == "image":
        return list(rng.normal(size=(4, 9, 11)))
    if kind == "signal":
        return [rng.normal(size=n) for n in (20, 31, 20, 12)]
    return [(cloud_of(rng, n), rng.normal(size=n)) for n in (30, 50, 41, 35)]


def of_sign(sample, sign):
    if isinstance(sample, tuple):
        return sample[0], np.maximum(sign * sample[1], 0)
    return np.maximum(sign * sample, 0)


@pytest.mark.parametrize("kind", ["image", "signal", "euclidean"])
def test_signed_features_are_those_of_the_parts(rng, kind):
    samples = signed_samples(rng, kind)
    samples[1] = of_sign(samples[1], 1)
    model = Signed(NRCDT(kind, **FEW)).fit(samples)
    features = model.transform(samples)
    plain = NRCDT(kind, **FEW)
    both = plain.fit_transform([of_sign(samples[0], 1), of_sign(samples[0], -1)])
    np.testing.assert_array_equal(features[0, :24], both.ravel())
    mass = samples[0][1] if kind == "euclidean" else samples[0]
    share = mass[mass > 0].sum() / np.abs(mass).sum()
    np.testing.assert_allclose(features[0, 24:], [share, 1 - share])
    np.testing.assert_array_equal(features[1, 12:], [*np.zeros(12), 1, 0])
    assert features[1, :12].any()


@pytest.mark.parametrize("kind", ["image", "signal", "euclidean"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signed_samples_have_the_same_features_in_any_company(rng, kind, dtype):
    samples = signed_samples(rng, kind)
    if kind == "euclidean":
        samples = [tuple(part.astype(dtype) for part in sample) for sample in samples]
    else:
        samples = [sample.astype(dtype) for sample in samples]
    samples[2] = of_sign(samples[2], 1)
    model = Signed(NRCDT(kind, aggregate=["max", "mean_abs"], **FEW)).fit(samples)
    features = model.transform(samples)
    assert features.dtype == dtype
    np.testing.assert_array_equal(model.transform(samples[::-1])[::-1], features)
    np.testing.assert_array_equal(np.vstack([model.transform([one]) for one in samples]), features)


def test_signed_features_of_the_opposite_change_places(rng):
    image = rng.normal(size=(9, 9))
    a, b = Signed(NRCDT(**FEW)).fit_transform(np.stack([image, -3 * image]))
    np.testing.assert_allclose(np.r_[a[12:24], a[:12], a[25], a[24]], b, atol=1e-12)


def test_signed_features_ignore_the_maps_of_the_transformer(rng):
    points, weights = cloud_of(rng, 300), rng.normal(size=300) + 0.5
    matrix, shift = affine_map(rng)
    samples = [(points, weights), (points @ matrix.T + shift, weights), (points, np.roll(weights, 7))]
    changes = relative(Signed(NRCDT("euclidean", n_directions=4000, n_quantiles=20)).fit_transform(samples))
    assert changes[0] < 2e-3
    assert changes[1] > 5 * changes[0]


def test_parts_are_normalised_apart_unless_nothing_is():
    apart = [np.repeat([2.0, 0, -1, 0], 3), np.repeat([2.0, 0, 0, -1], 3)]
    np.testing.assert_allclose(*Signed(NRCDT("signal")).fit_transform(apart), atol=1e-12)
    assert relative(Signed(RCDT("signal")).fit_transform(apart))[0] > 0.1


def test_signed_in_scikit_learn(rng):
    table = rng.normal(size=(10, 25))
    model = clone(Signed(NRCDT(**FEW))).fit(table)
    names = model.get_feature_names_out()
    assert [names[0], names[12], *names[-2:]] == [
        "positive_max_0",
        "negative_max_0",
        "positive_share",
        "negative_share",
    ]
    assert len(names) == model.transform(table).shape[1] == 26
    np.testing.assert_array_equal(model.transform(table), model.transform(table.reshape(-1, 5, 5)))
    pipeline = make_pipeline(Signed(NRCDT(**FEW)), KNeighborsClassifier(1))
    assert pipeline.set_params(signed__transformer__n_quantiles=6).fit(table, range(10)).score(table, range(10)) == 1
    bare = cloud_of(rng)
    features = Signed(NRCDT("euclidean", **FEW)).fit_transform([bare, (bare, None), (bare, np.ones(len(bare)))])
    assert relative(features).max() < 1e-12
    np.testing.assert_array_equal(Signed(NRCDT("euclidean", **FEW)).fit_transform(bare[np.newaxis]), features[:1])


@pytest.mark.parametrize("factor", [2.5, -0.3])
def test_a_negative_factor_exchanges_the_parts(rng, factor):
    image = rng.normal(size=(6, 6))
    for transformer in (NRCDT(**FEW), RCDT(**FEW)):
        features = Signed(transformer).fit_transform([image, factor * image])
        *parts, shares = np.split(features, [features.shape[1] // 2 - 1, features.shape[1] - 2], axis=1)
        for block in (np.stack(parts), shares.T):
            np.testing.assert_allclose(block[:, 1], block[:: 1 if factor > 0 else -1, 0], atol=1e-12)
        assert relative(features).max() < 1e-12 or factor < 0
        assert np.abs(features[0] - features[1]).max() > 0.01 or factor > 0


def test_signed_measures_that_are_refused(rng):
    image, points = rng.normal(size=(4, 4)), cloud_of(rng, 20)
    single = np.where(np.arange(20) < 1, -1, 1)
    model = Signed(NRCDT(**FEW))
    with pytest.raises(ValueError, match=r"X\[1\] must hold positive or negative mass; got zeros only"):
        model.fit([image, 0 * image])
    with pytest.raises(ValueError, match=r"X\[1\] must be finite; got NaN"):
        model.fit([image, image * np.nan])
    with pytest.raises(ValueError, match="X must hold at least one sample; got none"):
        model.fit([])
    with pytest.raises(TypeError, match="transformer must have a space, as NRCDT and RCDT do; got Pipeline"):
        Signed(make_pipeline(NRCDT())).fit([image])
    cloud_model = Signed(NRCDT("euclidean", **FEW))
    with pytest.raises(FlatSlice, match=r"the negative part of X\[1\] must have spread in every slice"):
        cloud_model.fit_transform([(points, rng.normal(size=20)), (points, single)])
    with pytest.raises(ValueError, match=r"the negative part of X\[1\] must span all 2 dimensions; got points on a si"):
        Signed(NRCDT("euclidean", frame="whitened", **FEW)).fit_transform([points, (points, single)])
    with pytest.raises(ValueError, match=r"the weights of X\[0\] must hold positive or negative mass"):
        cloud_model.fit([(points, np.zeros(20))])
    flat = Signed(NRCDT("hyperbolic_geodesic", **FEW))
    with pytest.raises(FlatSlice, match=r"X\[1\] must have spread in every slice"):
        flat.fit_transform([(points / 9, rng.normal(size=20)), (np.full((2, 2), 0.1), [1.0, 1.0])])


def bumps(shape=(36, 36, 36)):
    """A smooth volume without symmetry, on the whole grid, and the centre of the grid."""
    grid = np.indices(shape).transpose(1, 2, 3, 0) - (np.array(shape) - 1) / 2
    spots = [((0, 0, 0), 3.0, 1.0), ((4, -3, 2), 2.2, 1.4), ((-3, 2, 5), 2.0, 0.8), ((-4, -4, -3), 2.4, 1.1)]
    return sum(mass * np.exp(-((grid - centre) ** 2).sum(-1) / (2 * width**2)) for centre, width, mass in spots)


def test_volume_points_are_the_centres_of_voxels():
    volume = np.zeros((3, 4, 5), np.uint8)
    volume[2, 0, 4], volume[1, 3, 0] = 200, 7
    points, weights = volume_points(volume, spacing=(2, 3, 10))
    np.testing.assert_array_equal(points, [[0, 9, 10], [8, 0, 20]])
    np.testing.assert_array_equal(weights, [7, 200])
    assert volume_points(volume, threshold=7)[0].shape == (1, 3)
    assert volume_points(volume > 0)[1].tolist() == [1, 1]
    assert {part.dtype for part in volume_points(volume.astype(np.float32))} == {np.dtype(np.float32)}


def test_volumes_ignore_affine_maps_to_the_accuracy_of_resampling():
    volume = bumps()
    turn = Rotation.from_euler("xyz", [0.4, 0.9, 0.2]).as_matrix()
    matrix = turn @ np.array([[1.25, 0.3, 0], [0, 0.9, 0.1], [0, 0, 1.1]])
    middle = (np.array(volume.shape) - 1) / 2
    mapped = affine_transform(volume, matrix, middle - matrix @ (middle + np.array([1, -1, 0.5])), order=3)
    other = np.roll(volume, 9, axis=0) + volume
    samples = [volume_points(one, threshold=1e-3) for one in (volume, np.maximum(mapped, 0), other)]
    settings = {"n_directions": 300, "n_quantiles": 64, "frame": "whitened"}
    changes = relative(nrcdt(samples, "euclidean", aggregate="mean_abs", **settings))
    assert changes[0] < 1e-3
    assert changes[1] > 5 * changes[0]
    changes = relative(nrcdt(samples, "euclidean", **settings))
    assert changes[0] < 0.03
    assert changes[1] > 2 * changes[0]


def test_spacing_undoes_flat_voxels():
    volume = bumps()
    samples = [volume_points(volume, 1e-3), volume_points(volume[::2], 1e-3, spacing=(1, 1, 2))]
    settings = {"normalize": "global", "n_directions": 200, "n_quantiles": 64}
    assert relative(nrcdt(samples, "euclidean", **settings))[0] < 0.02
    wrong = [samples[0], volume_points(volume[::2], 1e-3)]
    assert relative(nrcdt(wrong, "euclidean", **settings))[0] > 0.05


@pytest.mark.parametrize(
    ("volume", "settings", "message"),
    [
        (np.ones((2, 2)), {}, r"volume must have shape \(depth, height, width\).*got shape \(2, 2\)"),
        (np.ones((0, 2, 2)), {}, r"at least one voxel; got shape \(0, 2, 2\)"),
        (np.full((2, 2, 2), np.nan), {}, "volume must be finite; got NaN"),
        (-np.ones((2, 2, 2)), {}, "volume must not have negative mass; got a minimum of -1"),
        (np.zeros((2, 2, 2), bool), {}, "volume must have voxels above the threshold 0; got a maximum of 0"),
        (np.ones((2, 2, 2)), {"threshold": -1}, "threshold must be at least 0 and finite; got -1"),
        (np.ones((2, 2, 2)), {"threshold": 2}, "voxels above the threshold 2; got a maximum of 1"),
        (np.ones((2, 2, 2)), {"spacing": (1, 0, 1)}, r"spacing must be three positive numbers.*got \(1, 0, 1\)"),
        (np.ones((2, 2, 2)), {"spacing": 2}, r"spacing must be three positive numbers.*got 2"),
    ],
)
def test_volumes_that_are_refused(volume, settings, message):
    with pytest.raises(ValueError, match=message):
        volume_points(volume, **settings)


def blocks():
    """Surface of a body without symmetry: two boxes and a spike, as few triangles as possible."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    box = np.array([[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)])
    spike = np.array([[0.2, 0.2, 1.5], [0.8, 0.3, 1.5], [0.4, 0.8, 1.5], [0.3, 0.2, 3.0]])
    vertices = np.vstack([corners * [3, 1.2, 0.5], corners * [1, 0.7, 1] + [0, 0, 0.5], spike])
    return vertices, np.vstack([box, box + 8, [[16, 17, 3 + 16], [17, 18, 19], [18, 16, 19]]])


def remeshed(vertices, faces, rounds=5):
    """The same surface with more triangles, most of them at one end."""
    for step in range(rounds):
        corners = vertices[faces]
        split = corners.mean(axis=1)[:, 0] < [9, 9, 1.5, 1, 0.5][step]
        first = len(vertices)
        middles = (corners[split] + np.roll(corners[split], -1, axis=1)) / 2
        vertices = np.vstack([vertices, middles.reshape(-1, 3)])
        (a, b, c), (ab, bc, ca) = faces[split].T, first + np.arange(3 * split.sum()).reshape(-1, 3).T
        new = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
        faces = np.vstack([faces[~split], new])
    return vertices, faces


def test_pieces_are_small_and_cover_the_surface():
    vertices, faces = blocks()
    area = surface_points(vertices, faces, n_points=1)[1].sum()
    points, weights = surface_points(vertices, faces, n_points=1000)
    assert 1000 <= len(points) <= 2000 + len(faces)
    assert weights.max() <= area / 1000 * (1 + 1e-6)
    np.testing.assert_allclose(weights.sum(), area)
    few_points, few_weights = surface_points(vertices, faces, n_points=1)
    np.testing.assert_allclose(weights @ points, few_weights @ few_points)
    assert len(surface_points(vertices, faces)[0]) >= 5000
    [point], [weight] = surface_points([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 0, 1]], n_points=1)
    np.testing.assert_allclose([*point, weight], [1 / 3, 1 / 3, 0, 1 / 2])


def test_max_edge_bounds_long_thin_pieces():
    needle = [[0, 0, 0], [10, 0, 0], [0, 0.01, 0]]
    assert len(surface_points(needle, [[0, 1, 2]], n_points=1)[0]) == 1
    points, weights = surface_points(needle, [[0, 1, 2]], max_edge=0.5)
    assert len(points) >= 20
    assert np.diff(np.sort(points[:, 0])).max() < 0.5
    np.testing.assert_allclose(weights.sum(), 0.05)


def test_surfaces_do_not_depend_on_the_density_of_vertices():
    coarse, fine = blocks(), remeshed(*blocks())
    assert len(fine[0]) > 20 * len(coarse[0])
    settings = {"n_directions": 500, "n_quantiles": 64}
    by_area = relative(nrcdt([surface_points(*coarse), surface_points(*fine)], "euclidean", **settings))[0]
    by_vertex = relative(nrcdt([coarse[0], np.unique(fine[0], axis=0)], "euclidean", **settings))[0]
    assert by_area < 0.005
    assert by_vertex > 20 * by_area


def test_surfaces_ignore_similarities_and_carry_weights_through_affine_maps():
    """The area of a sheared surface is not the sheared area: only weights that travel along are ignored."""
    vertices, faces = blocks()
    points, weights = surface_points(vertices, faces, n_points=1000)
    turn = Rotation.from_euler("xyz", [0.4, 0.9, 0.2]).as_matrix()
    shear = turn @ np.array([[1, 0.8, 0], [0, 2.5, 0], [0, 0, 0.6]])
    moved, moved_weights = surface_points(vertices @ (2 * turn).T + 1, faces, n_points=1000)
    np.testing.assert_allclose(moved, points @ (2 * turn).T + 1, atol=1e-9)
    np.testing.assert_allclose(moved_weights, 4 * weights)
    sheared = surface_points(vertices @ shear.T, faces, n_points=1000)
    samples = [(points, weights), (moved, moved_weights), (points @ shear.T, weights), sheared]
    settings = {"n_directions": 500, "n_quantiles": 64, "frame": "whitened", "aggregate": "mean_abs"}
    similar, carried, anew = relative(nrcdt(samples, "euclidean", **settings))
    assert max(similar, carried) < 1e-3
    assert anew > 10 * max(similar, carried)


@pytest.mark.parametrize(
    ("vertices", "faces", "settings", "message"),
    [
        (np.eye(3)[:, :2], [[0, 1, 2]], {}, r"vertices must have shape \(n_vertices, 3\); got \(3, 2\)"),
        (np.eye(3) * np.nan, [[0, 1, 2]], {}, "vertices must be finite; got NaN"),
        (np.eye(3), [[0, 1, 2, 0]], {}, r"faces must be integers of shape \(n_faces, 3\); got int64 of shape \(1, 4\)"),
        (np.eye(3), [[0.0, 1, 2]], {}, "faces must be integers.*got float64"),
        (np.eye(3), [[1, 2, 3]], {}, "faces must be numbers of vertices, 0 to 2; got 1 to 3"),
        (np.eye(3), [[1, 1, 2]], {}, "faces must have an area; got none"),
        (np.eye(3), [[0, 1, 2]], {"n_points": 0}, "n_points must be a positive integer; got 0"),
        (np.eye(3), [[0, 1, 2]], {"max_edge": 0}, "max_edge must be positive; got 0"),
    ],
)
def test_meshes_that_are_refused(vertices, faces, settings, message):
    with pytest.raises(ValueError, match=message):
        surface_points(vertices, faces, **settings)


def test_too_many_pieces_are_refused_in_time(monkeypatch):
    monkeypatch.setattr(conversions, "MAX_PIECES", 100)
    with pytest.raises(ValueError, match="must ask for at most 100 pieces; got more"):
        surface_points(np.eye(3), [[0, 1, 2]], max_edge=1e-9)
