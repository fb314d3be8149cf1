"""Sphere, hyperbolic space, meshes, crystals: what slices are, which maps leave features alone, what is refused."""

import os
import pickle

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation
from sklearn.base import clone

from arc_space import ARC
from nrcdt import AGGREGATIONS, NORMALIZATIONS, NRCDT, SPACES, invariance, nrcdt, rcdt, sliced_wasserstein
from nrcdt.directions import fibonacci, sphere
from nrcdt.spaces import crystal_space, manifold_space, manifold_spaces
from nrcdt.spaces.crystal import POINT_GROUPS, SYSTEMS, multiply, symmetry_rotations
from nrcdt.spaces.hyperbolic import along_geodesic, busemann, centred
from nrcdt.spaces.manifold import eigenspaces, laplacian

ANY = [name for name in AGGREGATIONS if AGGREGATIONS[name].needs == "any"]


def orthogonal(rng, d=3):
    q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return q


def on_sphere(rng, n=80):
    """A skewed set of points, mostly on one side."""
    points = rng.exponential(size=(n, 3)) @ rng.normal(size=(3, 3)) + rng.normal(size=3) / 2
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def around_z(rng):
    angle = rng.uniform(0, 2 * np.pi)
    turn = Rotation.from_euler("z", angle).as_matrix()
    return turn * [rng.choice([-1, 1]), 1, rng.choice([-1, 1])]


def folded(points):
    """Longitudes divided by three."""
    longitudes = np.arctan2(points[:, 1], points[:, 0]) / 3
    radii = np.hypot(points[:, 0], points[:, 1])
    return np.stack([radii * np.cos(longitudes), radii * np.sin(longitudes), points[:, 2]], axis=1)


def in_ball(rng, n=80, d=3):
    points = rng.exponential(size=(n, d)) @ orthogonal(rng, d) * 0.6
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.tanh(lengths / 2) * points / lengths


def lorentz(ball):
    squares = (ball**2).sum(axis=1, keepdims=True)
    return np.hstack([1 + squares, 2 * ball]) / (1 - squares)


def isometry(rng, d=3, rapidity=1.5):
    """A random matrix that keeps the Lorentz form: a boost, then a rotation or reflection."""
    axis = rng.normal(size=d)
    axis /= np.linalg.norm(axis)
    boost = np.eye(d + 1)
    boost[0, 0] = np.cosh(rapidity)
    boost[0, 1:] = boost[1:, 0] = np.sinh(rapidity) * axis
    boost[1:, 1:] += (np.cosh(rapidity) - 1) * np.outer(axis, axis)
    turn = np.eye(d + 1)
    turn[1:, 1:] = orthogonal(rng, d)
    return turn @ boost


def grains(rng, n=80):
    return np.roll(Rotation.from_rotvec(rng.normal(size=(n, 3)) * [0.1, 0.3, 0.05]).as_quat(), 1, axis=1)


def one_quaternion(rng):
    return np.roll(Rotation.random(rng=rng).as_quat(), 1)


def rotated_grains(rng, quaternions, symmetry):
    equivalents = symmetry[rng.integers(len(symmetry), size=len(quaternions))]
    return multiply(one_quaternion(rng), multiply(quaternions, equivalents))


def vertical_case(rng):
    points = on_sphere(rng)
    return points, [points @ around_z(rng).T for _ in range(3)], points @ Rotation.from_euler("x", 1).as_matrix().T


def parallel_case(rng):
    points = on_sphere(rng)
    return points, [points @ orthogonal(rng).T for _ in range(3)], folded(points)


def hyperbolic_case(rng):
    points = in_ball(rng)
    bent = points * np.linalg.norm(points, axis=1, keepdims=True) ** 2
    return lorentz(points), [lorentz(points) @ isometry(rng).T for _ in range(3)], lorentz(bent)


def crystal_case(name, other):
    """The map outside the group: equivalents of another crystal, drawn for each grain."""

    def case(rng):
        points, symmetry = grains(rng), symmetry_rotations(name)
        outside = rotated_grains(rng, points, symmetry_rotations(other))
        return points, [rotated_grains(rng, points, symmetry) for _ in range(2)], outside

    return case


CASES = {
    "sphere_vertical": vertical_case,
    "sphere_parallel": parallel_case,
    "hyperbolic_horospherical": hyperbolic_case,
    "hyperbolic_geodesic": hyperbolic_case,
    "rotation_cubic": crystal_case("cubic", "hexagonal"),
    "rotation_hexagonal": crystal_case("hexagonal", "cubic"),
}


def change(sets, space, n, normalize, aggregations=("max",)):
    """Root mean square change of features between the first set and the others, relative to the largest block.

    One number per aggregation, the largest over the sets.
    """
    model = NRCDT(space, n_directions=n, n_quantiles=20, normalize=normalize, aggregate=list(aggregations))
    features = model.fit_transform(sets)
    blocks = np.split(features, np.cumsum(model.block_sizes_)[:-1], axis=1)
    changes = [np.sqrt(np.mean((block[1:] - block[0]) ** 2, axis=1)).max() for block in blocks]
    return np.array(changes) * model.scales_ / model.scales_.max()


@pytest.mark.slow
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("space", CASES)
def test_stated_groups(rng, space, normalize):
    assert {invariance(space, normalize=normalize, aggregate=one) for one in ANY} == {SPACES[space].group}
    points, inside, outside = CASES[space](rng)
    unchanged = change([points, *inside], space, 4096, normalize, ANY)
    changed = change([points, outside], space, 4096, normalize, ANY)
    assert unchanged.max() < 0.08
    # Where slices are not standardised, every level may be zero in some direction: abs_min then has nothing to compare.
    told = [name != "abs_min" or normalize == "standardize" for name in ANY]
    assert (changed > 2 * unchanged)[told].all()


@pytest.mark.parametrize("space", CASES)
def test_convergence(rng, space):
    points, inside, outside = CASES[space](rng)
    errors = [change([points, *inside], space, n, "standardize")[0] for n in (16, 4096)]
    assert errors[1] < min(0.04, errors[0] / 2)
    assert change([points, outside], space, 4096, "standardize")[0] > 3 * errors[1]


@pytest.mark.parametrize("space", ["sphere_vertical", "hyperbolic_horospherical", "hyperbolic_geodesic"])
def test_total_variation_around_the_circle(rng, space):
    points, inside, _ = vertical_case(rng)
    if space != "sphere_vertical":
        points = lorentz(in_ball(rng, d=2))
        inside = [points @ isometry(rng, 2).T for _ in range(3)]
    settings = {"n_directions": 8192, "n_quantiles": 20, "aggregate": "tv"}
    features = nrcdt([points, *inside], space, **settings)
    np.testing.assert_allclose(features[1:], np.tile(features[0], (3, 1)), rtol=0.03)


@pytest.mark.parametrize("space", CASES)
def test_dtype_weights_and_ragged_batches(rng, space):
    points, inside, _ = CASES[space](rng)
    settings = {"n_directions": 64, "n_quantiles": 16}
    features = nrcdt([points, inside[0][:50]], space, **settings)
    assert features.dtype == np.float64
    np.testing.assert_allclose(nrcdt([inside[0][:50]], space, **settings)[0], features[1])
    narrow = nrcdt([points.astype(np.float32)], space, **settings)
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow[0], features[0], atol=1e-3)
    weights = rng.integers(0, 3, len(points)).astype(float)
    twice = nrcdt([(points, weights), np.repeat(points, weights.astype(int), axis=0)], space, **settings)
    np.testing.assert_allclose(twice[0], twice[1], atol=1e-9)


def test_vertical_slices_do_not_see_the_side_of_the_equator(rng):
    points = on_sphere(rng)
    flipped = points * np.stack([np.ones(80), np.ones(80), rng.choice([-1, 1], 80)], axis=1)
    settings = {"n_directions": 64, "n_quantiles": 16}
    a, b = nrcdt([points, flipped], "sphere_vertical", **settings)
    np.testing.assert_array_equal(a, b)
    a, b = nrcdt([points, flipped], "sphere_parallel", **settings)
    assert np.abs(a - b).max() > 0.1


def test_sphere_slices_are_inner_products():
    points = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
    settings = {"n_quantiles": 1, "normalize": None}
    parallel = rcdt([points[:1]], "sphere_parallel", directions=fibonacci(5), **settings)
    np.testing.assert_allclose(parallel[0, :, 0], fibonacci(5) @ points[0])
    vertical = rcdt([points[:1]], "sphere_vertical", directions=[[1.0, 0.0], [0.0, 1.0]], **settings)
    np.testing.assert_allclose(vertical[0, :, 0], [0.6, 0.0])


def test_standardised_slices_forget_the_size_of_a_cap(rng):
    """The affine maps of space that standardising removes take one circle of the sphere to another."""
    angles = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    circles = [
        np.stack([r * np.cos(angles), r * np.sin(angles), 0 * angles + np.sqrt(1 - r**2)], 1) for r in (0.3, 0.9)
    ]
    assert change(circles, "sphere_parallel", 512, "standardize")[0] < 1e-3
    assert change(circles, "sphere_parallel", 512, None)[0] > 0.1


@pytest.mark.parametrize("d", [2, 3, 5])
def test_hyperbolic_slices_in_both_models(rng, d):
    ball, directions = in_ball(rng, d=d), sphere(20, d)
    time, space = np.split(lorentz(ball), [1], axis=1)
    gaps = ((directions[:, np.newaxis] - ball) ** 2).sum(axis=2)
    np.testing.assert_allclose(busemann(space, directions), np.log(gaps / (1 - (ball**2).sum(axis=1))), atol=1e-12)
    np.testing.assert_allclose(along_geodesic(space, directions), np.arctanh(directions @ (space / time).T), atol=1e-12)
    settings = {"n_directions": 32, "n_quantiles": 8}
    a, b = nrcdt([ball, lorentz(ball)], "hyperbolic_geodesic", **settings)
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_far_points_keep_their_place():
    far = np.sinh(30.0) * np.array([[1.0, 0.0]])
    np.testing.assert_allclose(busemann(far, np.array([[1.0, 0.0], [-1.0, 0.0]]))[:, 0], [-30, 30], rtol=1e-12)
    np.testing.assert_allclose(along_geodesic(far, np.array([[1.0, 0.0]]))[0, 0], 30, rtol=1e-12)


def test_the_mean_becomes_the_origin(rng):
    points = lorentz(in_ball(rng)) @ isometry(rng, rapidity=3).T
    [cloud] = SPACES["hyperbolic_geodesic"].check([(points, rng.random(80))])
    assert np.linalg.norm(cloud.points, axis=1).min() > 1
    np.testing.assert_allclose(np.average(centred(cloud).points, axis=0, weights=cloud.weights), 0, atol=1e-9)


@pytest.mark.parametrize(("name", "size"), [("cubic", 24), ("hexagonal", 12), ("trigonal", 6), ("tetragonal", 8)])
def test_point_groups_are_groups(name, size):
    group = symmetry_rotations(name)
    assert group.shape == (size, 4)
    np.testing.assert_allclose(np.linalg.norm(group, axis=1), 1)
    products = multiply(group[:, np.newaxis], group).reshape(-1, 4)
    np.testing.assert_allclose(np.abs(products @ group.T).max(axis=1), 1)
    np.testing.assert_array_equal(group, symmetry_rotations(SYSTEMS[name]))


def test_all_point_groups_have_their_order():
    orders = {"1": 1, "2": 2, "222": 4, "4": 4, "422": 8, "3": 3, "32": 6, "6": 6, "622": 12, "23": 12, "432": 24}
    assert {name: len(symmetry_rotations(name)) for name in POINT_GROUPS} == orders


def test_products_of_quaternions_are_products_of_rotations(rng):
    a, b = Rotation.random(5, rng=rng), Rotation.random(5, rng=rng)
    product = multiply(np.roll(a.as_quat(), 1, axis=1), np.roll(b.as_quat(), 1, axis=1))
    expected = np.roll((a * b).as_quat(), 1, axis=1)
    np.testing.assert_allclose(np.abs((product * expected).sum(axis=1)), 1)


def test_the_trivial_crystal_is_the_rotation_space(rng):
    points = grains(rng)
    a, b = (nrcdt([points], space, n_directions=64) for space in ("rotation", crystal_space("triclinic")))
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_the_largest_angle_between_cubes(rng):
    """Two cubes are never further apart than 62.8 degrees (Handscomb, Mackenzie)."""
    angles = rcdt([np.roll(Rotation.random(2000, rng=rng).as_quat(), 1, axis=1)], "rotation_cubic", n_directions=64)
    assert 60 < np.degrees(angles.max()) < 62.8


EBSD = os.path.join(os.environ.get("NRCDT_DATA", ""), "so3", "ebsd_duplex_steel.npz")


@pytest.mark.skipif(not os.path.isfile(EBSD), reason="NRCDT_DATA has no so3/ebsd_duplex_steel.npz")
@pytest.mark.parametrize("phase", ["sdss_austenite", "sdss_ferrite"])
def test_measured_orientations_of_steel(rng, phase):
    steel = np.load(EBSD)[phase][::4].astype(np.float64)
    cube = symmetry_rotations("cubic")
    equivalent = multiply(steel, cube[rng.integers(24, size=len(steel))])
    turned = multiply(one_quaternion(rng), equivalent)
    assert change([steel, equivalent], "rotation_cubic", 256, "standardize")[0] < 1e-6
    assert change([steel, equivalent], "rotation", 256, "standardize")[0] > 0.2
    assert change([steel, turned], "rotation_cubic", 2048, "standardize")[0] < 0.08


def grid(n=13, m=8):
    """A rectangle with a hill: no eigenvalue twice, no isometry."""
    x, y = (part.ravel() for part in np.meshgrid(np.linspace(0, 2, n), np.linspace(0, 1, m)))
    vertices = np.stack([x, y, 0.4 * np.exp(-4 * ((x - 0.6) ** 2 + (y - 0.3) ** 2))], axis=1)
    corner = np.flatnonzero((x < 2) & (y < 1))[:, np.newaxis]
    return vertices, np.vstack([corner + np.array(some) for some in ([0, 1, n], [1, n + 1, n])])


def icosphere(level=3):
    """The icosahedron, each triangle cut in four some times, pushed out to the sphere."""
    golden = (1 + 5**0.5) / 2
    vertices = np.array([(0, a, b * golden) for a in (-1, 1) for b in (-1, 1)])
    vertices = np.vstack([np.roll(vertices, turn, axis=1) for turn in range(3)]) / np.hypot(1, golden)
    near = cKDTree(vertices).query_pairs(1.1 * np.linalg.norm([0, 2]) / np.hypot(1, golden))
    faces = np.array([(a, b, c) for a, b in near for c in range(12) if {(a, c), (b, c)} <= near])
    for _ in range(level):
        middles = [vertices[faces[:, a]] + vertices[faces[:, (a + 1) % 3]] for a in range(3)]
        all_points = np.vstack([vertices, *middles])
        all_points /= np.linalg.norm(all_points, axis=1, keepdims=True)
        _, first, labels = np.unique(all_points.round(9), axis=0, return_index=True, return_inverse=True)
        a, b, c = faces.T
        ab, bc, ca = (len(vertices) + k * len(faces) + np.arange(len(faces)) for k in range(3))
        corners = np.concatenate([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]], axis=1).T
        vertices, faces = all_points[first], labels.ravel()[corners]
    return vertices, faces


def test_eigenvalues_of_the_sphere():
    found = eigenspaces(*icosphere(), 20)
    assert [space.functions.shape[1] for space in found][:2] == [3, 5]
    np.testing.assert_allclose([space.value for space in found[:2]], 4 * np.pi * np.array([2, 6]), rtol=0.02)
    assert sum(space.functions.shape[1] for space in found) <= 20


def test_eigenfunctions_are_orthonormal():
    vertices, faces = grid()
    functions = np.hstack([space.functions for space in eigenspaces(vertices, faces, 12)])
    areas = laplacian(vertices, faces)[1]
    np.testing.assert_allclose((functions.T * areas / areas.sum()) @ functions, np.eye(12), atol=1e-9)
    assert np.abs(areas @ functions).max() < 1e-9


def features_of(weights, mesh, n=1000, n_eigenfunctions=9, **settings):
    spaces = manifold_spaces(*mesh, n_eigenfunctions)
    return np.hstack([nrcdt(weights, one, n_directions=n, n_quantiles=16, **settings) for one in spaces])


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_renumbering_moving_and_scaling_a_mesh(rng, normalize):
    vertices, faces = grid()
    weights = rng.exponential(size=(3, len(vertices)))
    order = rng.permutation(len(vertices))
    moved = 3 * vertices[order] @ orthogonal(rng).T + rng.normal(size=3)
    a = features_of(weights, (vertices, faces), normalize=normalize)
    b = features_of(weights[:, order], (moved, np.argsort(order)[faces]), normalize=normalize)
    np.testing.assert_allclose(a, b, atol=1e-6)
    assert np.abs(a - features_of(weights[:, order], (vertices, faces), normalize=normalize)).max() > 0.1


@pytest.mark.parametrize("aggregate", ANY)
def test_isometries_of_a_round_mesh(rng, aggregate):
    vertices, faces = mesh = icosphere(2)
    corner = vertices[np.bincount(faces.ravel()) == 5][0]
    turn = Rotation.from_rotvec(2 * np.pi / 5 * corner).as_matrix()
    gaps, order = cKDTree(vertices @ turn.T).query(vertices)
    assert gaps.max() < 1e-9
    assert not np.array_equal(order, np.arange(len(order)))
    # Eigenfunctions of one value may come in any basis, which turns the directions: several samples average that out.
    weights = np.exp(3 * rng.normal(size=(8, 3)) @ vertices.T) + np.exp(3 * rng.normal(size=(8, 3)) @ vertices.T)
    errors = []
    for n in (10, 2000):
        a, b = np.split(
            features_of([*weights, *weights[:, order]], mesh, n, aggregate=aggregate, normalize="center"), 2
        )
        errors.append(np.sqrt(np.mean((a - b) ** 2)))
    assert errors[1] < 0.4 * errors[0]
    other = np.exp(5 * vertices @ corner)
    *a, b = features_of([*weights, other], mesh, aggregate=aggregate, normalize="center")
    assert np.sqrt(np.mean((a - b) ** 2)) > 3 * errors[1]


def test_signs_of_eigenfunctions_do_not_matter(rng):
    vertices, faces = grid()
    weights = rng.exponential(size=(2, len(vertices)))
    [low] = manifold_spaces(vertices, faces, 1)
    quantiles = rcdt(weights, low, n_quantiles=9)
    assert quantiles.shape == (2, 2, 9)
    np.testing.assert_allclose(quantiles[:, 1], -quantiles[:, 0, ::-1])


def test_one_space_for_sliced_wasserstein(rng):
    vertices, faces = grid()
    space = manifold_space(vertices, faces, 8)
    heaps = np.exp(-20 * (vertices[:, 0] - np.array([[0.2], [0.5], [1.8]])) ** 2)
    distances = sliced_wasserstein(heaps, space=space)
    assert distances.shape == (3, 3)
    assert 0 < distances[0, 1] < distances[0, 2]
    assert invariance(space) == "isometries of the mesh"
    narrow = nrcdt(heaps.astype(np.float32), space, n_quantiles=16)
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, nrcdt(heaps, space, n_quantiles=16), atol=1e-3)


def test_spaces_that_are_made_can_be_stored(rng):
    vertices, faces = grid()
    weights, points = rng.random((2, len(vertices))), [grains(rng)]
    made = ((manifold_space(vertices, faces, 4), weights), (crystal_space("tetragonal"), points))
    for space, X in (
        *made,
        (SPACES["rotation"], points),
        (SPACES["signal"], weights),
        (ARC, rng.normal(size=(2, 9, 2))),
    ):
        model = clone(NRCDT(space, n_directions=32, n_quantiles=8)).fit(X)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_points_that_are_refused():
    with pytest.raises(ValueError, match=r"X\[1\] must hold points of unit length; got length 2 in row 1. Divide each"):
        nrcdt([np.eye(3), np.diag([1.0, 2.0, 1.0])], "sphere_parallel")
    with pytest.raises(ValueError, match=r"X\[0\] must hold points on the sphere, of shape \(n_points, 3\); got shape"):
        nrcdt(np.ones((1, 5, 2)), "sphere_vertical")
    with pytest.raises(
        ValueError, match=r"X\[0\] must hold points shorter than one .* got length 1.5 in row 1. Move it"
    ):
        nrcdt([[[0.1, 0.2, 0.0], [0.0, 1.5, 0.0]]], "hyperbolic_geodesic")
    with pytest.raises(ValueError, match=r"X\[0\] must hold points shorter than one .* got length 1 in row 0"):
        nrcdt([[[-1.0, 0.0, 0.0]]], "hyperbolic_geodesic")
    with pytest.raises(ValueError, match=r"X\[0\] must hold points of the Poincare ball, .* got shape \(2, 1\)"):
        nrcdt([[[0.1], [0.2]]], "hyperbolic_horospherical")
    with pytest.raises(ValueError, match=r"X\[0\] must hold points of the Poincare ball, .* got shape \(1, 2\)"):
        nrcdt([[[1.0, 0.0]]], "hyperbolic_horospherical")
    with pytest.raises(
        ValueError, match=r"X\[1\] must lie in a space of dimension 2 like X\[0\]; got 3. Points of the"
    ):
        nrcdt([np.eye(2) / 2, np.eye(3) / 2], "hyperbolic_horospherical")
    with pytest.raises(
        ValueError, match=r"crystal must be one of triclinic, .*, 432; got 'quasi'. Mirrors and inversion"
    ):
        crystal_space("quasi")
    with pytest.raises(ValueError, match=r"X\[0\] must hold matrices .* or unit quaternions"):
        nrcdt(np.ones((1, 5, 3)), "rotation_cubic")
    with pytest.raises(ValueError, match=r"X\[0\] must have spread in every slice"):
        nrcdt([[[0.1, 0.2]]], "hyperbolic_geodesic")


def test_meshes_that_are_refused():
    vertices, faces = grid()
    apart = np.vstack([vertices, [[9.0, 9, 9]]])
    for arguments, message in [
        ((vertices[:, :2], faces), r"vertices must have shape \(n_vertices, 3\); got \(104, 2\)"),
        ((vertices * np.nan, faces), "vertices must be finite; got NaN"),
        ((vertices, faces.astype(float)), r"faces must be integers of shape \(n_faces, 3\); got float64 of shape"),
        ((vertices, faces + 1), "faces must name vertices 0 to 103; got 1 to 104. Count from 0"),
        ((vertices, np.vstack([faces, [[3, 3, 4]]])), "faces must have area; got none in face 168. Merge"),
        ((apart, faces), "faces must connect all vertices; got 2 parts. Drop vertices without faces"),
        ((vertices, faces, 102), "n_eigenfunctions must be at most 101 for 104 vertices; got 102"),
        ((vertices, faces, 0), "n_eigenfunctions must be a positive integer; got 0"),
        ((*icosphere(1), 2), "n_eigenfunctions must reach beyond the lowest eigenspace; got 2, all of one eigenvalue"),
    ]:
        with pytest.raises(ValueError, match=message):
            manifold_space(*arguments)


def test_weights_on_vertices_that_are_refused():
    vertices, faces = grid()
    space = manifold_space(vertices, faces, 4)
    good = np.ones(len(vertices))
    for X, message in [
        (good, r"X must be a batch of weights, of shape \(n_samples, 104\); got shape \(104,\). For one sample"),
        ([], r"X must be a batch of weights, of shape \(n_samples, 104\); got \[\]"),
        ([good, good[:9]], r"X\[1\] must have one weight for each of 104 vertices; got shape \(9,\)"),
        (
            [good, -good],
            r"X\[1\] must hold non-negative weights with positive sum; got a minimum of -1 and a maximum of",
        ),
        ([0 * good], r"X\[0\] must hold non-negative weights with positive sum"),
        ([good * np.inf], r"X\[0\] must be finite; got infinity"),
    ]:
        with pytest.raises(ValueError, match=message):
            nrcdt(X, space)
    np.testing.assert_allclose(*nrcdt([good, 1e150 * good], space))
