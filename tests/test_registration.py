"""Known affine maps come back, from pictures and from clouds."""

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

import reference
from conftest import affine_map, cloud_of
from nrcdt.datasets import random_affine, watermarks
from nrcdt.datasets.synthetic import draw_segment
from nrcdt.directions import sphere
from nrcdt.frames import Whitening, whitening
from nrcdt.kernels import cpu
from nrcdt.measures import Cloud
from nrcdt.random_maps import moved_about_centre
from nrcdt.rasters import inverse
from nrcdt.registration import (
    Registration,
    about_centre,
    overlap,
    prepare_image,
    register,
    register_all,
    rotation_angle,
)
from nrcdt.registration import warp as move
from nrcdt.registration.affine import apply_affine as moved
from nrcdt.registration.affine import between_whitenings
from nrcdt.registration.clouds import FAR, affine_icp, overlap_of_points
from nrcdt.registration.pixels import dilated
from nrcdt.registration.plane import without_outliers
from nrcdt.registration.spatial import bound_rotations, gauss_newton, grid_search, polar_alignment, slice_means

DRAWINGS, NAMES = watermarks(16, size=192)


def warp(image, matrix, shift):
    """Move an image about its centre."""
    return move(image, about_centre(matrix, shift, image.shape))


def a_map(seed, **ranges):
    matrix, shift = random_affine(np.random.default_rng(seed), shift=(-8, 8), **ranges)
    return matrix, shift, about_centre(matrix, shift, (192, 192))


def miss(found, true, drawing):
    """Largest distance, in pixels, between where the two maps take the ink."""
    ink = np.argwhere(drawing > 0.5)[:, ::-1]
    return np.linalg.norm(moved(ink, found) - moved(ink, true), axis=1).max()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("refine", [False, True])
def test_known_maps_of_pictures(seed, refine):
    name = ("bull's head", "anchor", "jug", "key", "letter P", "hand", "moon", "tower")[seed]
    drawing = DRAWINGS[NAMES.index(name)]
    matrix, shift, true = a_map(seed)
    found = register(drawing, warp(drawing, matrix, shift), refine=refine)
    assert found.overlap > 0.93
    assert found.residual < 0.02
    if name != "bull's head":  # which is its own mirror image
        assert found.reflected == (np.linalg.det(matrix) < 0)
        assert miss(found.matrix, true, drawing) < 1.2


@pytest.mark.parametrize("refine", [False, True])
def test_one_against_many_is_the_same_as_one_by_one(refine):
    copy = warp(DRAWINGS[2], *a_map(3)[:2])
    together = register_all(copy, DRAWINGS[:5], refine=refine, n_jobs=2)
    for found, drawing in zip(together, DRAWINGS, strict=False):
        alone = register(copy, drawing, refine=refine)
        np.testing.assert_array_equal(found.matrix, alone.matrix)
        assert found[1:] == alone[1:]
    assert np.argmax([found.overlap for found in together]) == 2


def test_one_against_many_names_the_bad_one():
    with pytest.raises(ValueError, match=r"images\[1\] must have positive mass"):
        register_all(DRAWINGS[0], [DRAWINGS[1], np.zeros((8, 8))])


def test_exact_enlargements_of_a_picture():
    image = np.zeros((20, 30))
    image[3:12, 4:9] = 1
    image[9:12, 4:22] = 0.5
    wide = np.pad(np.kron(image, np.ones((2, 3))), ((5, 0), (7, 2)))
    found = register(image, wide)
    # The centre of pixel 0 becomes that of three pixels 0, 1, 2, after seven empty ones.
    np.testing.assert_allclose(found.matrix, [[3, 0, 8], [0, 2, 5.5]], atol=0.05)


def test_sizes_may_differ():
    drawing = DRAWINGS[15]
    small = warp(drawing, np.eye(2) * 0.8, np.zeros(2))[20:170, 10:182]
    for a, b in ((drawing, small), (small, drawing)):
        found = register(a, b)
        assert found.overlap > 0.85
        assert abs(np.linalg.det(found.matrix[:, :2])) == pytest.approx(0.64 if a is drawing else 1 / 0.64, rel=0.02)


@pytest.mark.parametrize("refine", [False, True])
def test_exchanging_the_pictures_inverts_the_map(refine):
    drawing = DRAWINGS[9]
    matrix, shift, _ = a_map(3)
    copy = warp(drawing, matrix, shift)
    there, back = register(drawing, copy, refine=refine), register(copy, drawing, refine=refine)
    assert miss(inverse(back.matrix), there.matrix, drawing) < (1e-6 if not refine else 0.5)
    assert back.residual == pytest.approx(there.residual, abs=1e-9)
    assert back.reflected == there.reflected


def test_without_reflections_none_come_back():
    drawing = DRAWINGS[5]
    mirrored = drawing[:, ::-1]
    assert register(drawing, mirrored).reflected
    for refine in (False, True):
        found = register(drawing, mirrored, reflection=False, refine=refine)
        assert not found.reflected
        assert np.linalg.det(found.matrix[:, :2]) > 0
        assert found.overlap < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("space", ["image", "euclidean"])
@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("seed", [1, 3])
def test_rotations_are_bounded(space, refine, seed, rng):
    matrix, shift, _ = a_map(seed, rotation=(60, 300), shear=(-10, 10))
    if space == "image":
        a = DRAWINGS[11]
        b = warp(a, matrix, shift)
    else:
        a = cloud_of(rng, 200, 3)
        b = a @ np.block([[matrix, np.zeros((2, 1))], [np.zeros((1, 2)), np.ones((1, 1))]]).T
    free = register(a, b, space, refine=refine)
    bound = register(a, b, space, max_rotation=40, refine=refine)
    assert free.overlap > 0.9
    assert rotation_angle(free.matrix) > 40
    assert rotation_angle(bound.matrix) <= 40 + 1e-6
    assert bound.residual > free.residual
    wide = register(a, b, space, max_rotation=float(rotation_angle(free.matrix)) + 1, refine=refine)
    np.testing.assert_allclose(wide.matrix, free.matrix, atol=0.1 if refine else 1e-6)


def test_a_bound_of_zero_leaves_stretches():
    drawing = DRAWINGS[15]
    stretch = np.array([[0.9, 0.1], [0.1, 0.7]])
    found = register(drawing, warp(drawing, stretch, np.zeros(2)), max_rotation=0, reflection=False)
    np.testing.assert_allclose(found.matrix[:, :2], stretch, atol=0.01)


def test_refinement_sees_through_foreign_ink_and_gaps(rng):
    y, x = np.indices(DRAWINGS[0].shape)
    before, after = [], []
    for seed in range(6):
        drawing = DRAWINGS[(2, 3, 5, 9, 11, 15)[seed]]
        matrix, shift, _ = a_map(seed)
        copy = warp(drawing, matrix, shift)
        soiled = copy.copy()
        for row, column in rng.permutation(np.argwhere(copy > 0.5))[:3]:
            soiled[np.hypot(y - row, x - column) < 4] = 0
        draw_segment(soiled, np.array([12.0, 15.0]), np.array([12.0, 40.0]), 1.0)
        for results, refine in ((before, False), (after, True)):
            results.append(overlap(drawing, copy, register(drawing, soiled, refine=refine).matrix))
    assert np.mean(before) < 0.8
    assert min(after) > 0.93


def blot(image, x, y, radius):
    """Add a disc of ink."""
    rows, columns = np.indices(image.shape)
    return np.maximum(image, np.hypot(columns - x, rows - y) <= radius)


def test_outlying_ink_is_dropped_in_two_rounds():
    drawing = blot(np.zeros((160, 380)), 60, 60, 40)
    np.testing.assert_array_equal(without_outliers(drawing), drawing)  # none of a disc lies out
    nearer = blot(drawing, 135, 60, 5)
    both = blot(nearer, 250, 60, 9)  # so far out that the nearer blot seems to belong to the disc
    np.testing.assert_array_equal(without_outliers(nearer), drawing)
    np.testing.assert_array_equal(without_outliers(both), drawing)
    assert both[60, 250] == 1
    three = blot(blot(blot(drawing, 120, 60, 4), 170, 60, 7), 350, 60, 12)
    np.testing.assert_array_equal(without_outliers(three), blot(drawing, 120, 60, 4))  # a round for each but the last
    longer = np.kron(both, np.ones((1, 3)))  # the same ink is told under an affine map
    np.testing.assert_array_equal(without_outliers(longer), np.kron(drawing, np.ones((1, 3))))


@pytest.mark.parametrize("d", [2, 3])
def test_points_without_a_partner_do_not_pull(d, rng):
    cloud, (matrix, shift) = cloud_of(rng, 300, d), affine_map(rng, d)
    true = np.column_stack([matrix, shift])
    foreign = moved(cloud, true).max(axis=0) + rng.normal(size=(30, d))
    start = true + 0.01 * rng.normal(size=true.shape)
    both = np.concatenate([moved(cloud, true), foreign])
    for a, b in ((cloud, both), (np.concatenate([cloud, moved(foreign, inverse(true))]), moved(cloud, true))):
        found, cost = affine_icp(start, a, b)
        np.testing.assert_allclose(found, true, atol=1e-9)
        spacing = np.median(cKDTree(b).query(b, 2)[0][:, 1])
        assert 0 < cost <= FAR * spacing * len(foreign) / (len(a) + len(b)) * (1 + 1e-9)


def test_refinement_does_not_creep_over_the_bound():
    angle = np.radians(40.5)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    copy = warp(DRAWINGS[15], turn @ np.diag([0.8, 0.7]), np.zeros(2))
    found = register(DRAWINGS[15], copy, max_rotation=40, refine=True)
    assert rotation_angle(found) <= 40 + 1e-6
    assert found.overlap > 0.9  # the map that was refined is kept as it was, not given up for another


@pytest.mark.parametrize("reflected", [False, True])
def test_a_bound_of_zero_leaves_stretches_and_left_right_mirrors(reflected, rng):
    stretch = np.array([[0.9, 0.15, 0.1], [0.15, 0.7, -0.2], [0.1, -0.2, 1.2]])
    drawing = DRAWINGS[15]
    for d in (2, 3):
        matrix = np.diag([-1.0 if reflected else 1.0, 1.0, 1.0][:d]) @ stretch[:d, :d]
        assert rotation_angle(np.column_stack([matrix, np.zeros(d)])) == pytest.approx(0, abs=1e-5)
        if d == 2:
            found = register(drawing, warp(drawing, matrix, np.zeros(2)), max_rotation=0)
        else:
            cloud = cloud_of(rng, 300, 3)
            found = register(cloud, cloud @ matrix.T, "euclidean", max_rotation=0)
        assert found.reflected == reflected
        np.testing.assert_allclose(found.matrix[:, :d], matrix, atol=0.01)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_upright_start_turns_nothing(sign, rng):
    a, b = (whitening(Cloud(cloud_of(rng, 200, 3), None)) for _ in "ab")
    start = polar_alignment(a, b, sign)
    np.testing.assert_allclose(start @ start.T, np.eye(3), atol=1e-9)
    linear = between_whitenings(a, b, start)[:, :3]
    stretch = np.diag([sign, 1, 1]) @ linear
    np.testing.assert_allclose(stretch, stretch.T, atol=1e-9)
    assert np.linalg.eigvalsh(stretch).min() > 0
    assert rotation_angle(between_whitenings(a, b, start)) == pytest.approx(0, abs=1e-5)


def test_other_motifs_do_not_overlap():
    found = [register(DRAWINGS[i], DRAWINGS[(i + 5) % 16]) for i in range(0, 16, 2)]
    assert np.mean([one.overlap for one in found]) < 0.4
    assert min(one.residual for one in found) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_known_maps_of_clouds(d, seed, rng):
    rng = np.random.default_rng(seed)
    cloud = cloud_of(rng, 300, d)
    matrix, shift = affine_map(rng, d)
    copy = rng.permutation(cloud @ matrix.T + shift)
    found = register(cloud, copy, "euclidean", refine=True)
    np.testing.assert_allclose(found.matrix, np.column_stack([matrix, shift]), atol=1e-8)
    assert found.overlap == 1
    assert found.reflected == (np.linalg.det(matrix) < 0)
    plain = register(cloud, copy, "euclidean")
    np.testing.assert_allclose(plain.matrix[:, :d], matrix, atol=1e-6 if d == 3 else 0.1)


@pytest.mark.parametrize("d", [2, 3])
def test_the_overlap_of_clouds_is_the_share_of_points_with_company(d):
    grid = np.stack(np.meshgrid(*[3.0 * np.arange(6)] * d), axis=-1).reshape(-1, d)
    still = np.eye(d, d + 1)
    half = grid[grid[:, 0] < 9]  # the other half begins 3 further, has company there, and 6 further; but not at 9
    assert overlap_of_points(half, grid, still) == pytest.approx((1 + 5 / 6) / 2)
    assert overlap_of_points(grid, half, still) == pytest.approx((1 + 5 / 6) / 2)
    for off, near in ((5.9, True), (6.1, False)):
        away = still.copy()
        away[0, -1] = 15 + off  # the first points stand behind the last ones
        assert overlap_of_points(grid, grid, away) == pytest.approx(1 / 6 if near else 0)


@pytest.mark.parametrize("bound", [20.0, 60.0, 170.0])
def test_turns_are_followed_just_as_far_as_the_bound(bound, rng):
    a, b = (whitening(Cloud(cloud_of(rng, 200, 3), None)) for _ in "ab")
    starts = np.stack([polar_alignment(a, b, sign) for sign in (1.0, -1.0)])
    for ends in (Rotation.random(2, random_state=4).as_matrix() @ starts, starts):
        angles = rotation_angle(between_whitenings(a, b, bound_rotations(starts, ends, (a, b), bound)))
        free = rotation_angle(between_whitenings(a, b, ends))
        within = free <= bound
        np.testing.assert_allclose(angles[within], free[within], atol=1e-5)
        np.testing.assert_allclose(angles[~within], bound, atol=1e-5)
    np.testing.assert_array_equal(bound_rotations(starts, -starts, (a, b), None), -starts)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_grid_and_the_steps_find_a_turn(sign, rng):
    cloud = cloud_of(rng, 400, 3)
    white = whitening(Cloud(cloud, None))
    points, turn = (cloud - white.mean) @ white.matrix, sign * Rotation.random(random_state=1).as_matrix()
    dense = slice_means(Cloud(points, None), sphere(512, 3), 32)
    goal = slice_means(Cloud(points @ turn.T, None), sphere(64, 3), 32)

    def degrees_off(matrix):
        return np.degrees(np.arccos(np.clip((np.trace(matrix @ turn.T) - 1) / 2, -1, 1)))

    same = Whitening(np.zeros(3), np.eye(3))
    starts = grid_search(dense, goal, True, (same, same), None)
    assert degrees_off(starts[0]) < 13  # the nearest of the grid
    found, squares = gauss_newton(starts[:1], dense, goal, 6)
    assert degrees_off(found[0]) < 0.5
    assert squares[0] < 0.01


def test_clouds_in_space_exchanged_and_weighted(rng):
    cloud, (matrix, shift) = cloud_of(rng, 250, 3), affine_map(rng, 3)
    weights = rng.integers(1, 4, 250)
    repeated = np.repeat(cloud, weights, axis=0) @ matrix.T + shift
    there = register((cloud, weights), repeated, "euclidean")
    back = register(repeated, (cloud, weights), "euclidean")
    np.testing.assert_allclose(there.matrix, np.column_stack([matrix, shift]), atol=1e-6)
    np.testing.assert_allclose(inverse(back.matrix), there.matrix, atol=1e-6)


def test_without_reflections_in_space(rng):
    cloud = cloud_of(rng, 200, 3)
    found = register(cloud, cloud * [-1, 1, 1], "euclidean", reflection=False)
    assert np.linalg.det(found.matrix[:, :3]) > 0
    assert found.residual > 0.01


@pytest.mark.slow
def test_two_samples_of_one_surface(rng):
    def surface(n):
        points = rng.normal(size=(n, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        x, y, z = points.T
        return np.stack([x + 0.6 * y**2, y * (1 + 0.5 * z), z + 0.8 * (x > 0) * x + 0.6 * x * y], axis=1)

    cloud, (matrix, shift) = surface(1500), affine_map(rng, 3)
    other = surface(1200) @ matrix.T + shift
    errors = []
    for refine in (False, True):
        found = register(cloud, other, "euclidean", refine=refine)
        true = np.column_stack([matrix, shift])
        errors.append(np.sqrt(np.mean((moved(cloud, found.matrix) - moved(cloud, true)) ** 2)))
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 0.03


@pytest.mark.slow
def test_the_same_every_time(rng):
    cloud = cloud_of(rng, 100, 3)
    for arguments in ((DRAWINGS[0], DRAWINGS[3]), (cloud, cloud @ rng.normal(size=(3, 3)), "euclidean")):
        one, two = register(*arguments, refine=True), register(*arguments, refine=True)
        assert isinstance(one, Registration)
        np.testing.assert_array_equal(one.matrix, two.matrix)
        assert one[1:] == two[1:]


def test_the_pictures_are_left_alone():
    a, b = DRAWINGS[1].copy(), DRAWINGS[2].copy()
    register(a, b, refine=True)
    np.testing.assert_array_equal(a, DRAWINGS[1])
    np.testing.assert_array_equal(b, DRAWINGS[2])


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 3)])
def test_tiny_pictures(shape, refine, rng):
    a, b = rng.random(shape), rng.random((6, 4))
    assert np.isfinite(register(a, b, refine=refine).matrix).all()
    assert np.isfinite(register(b, a.astype(np.float32), refine=refine).matrix).all()


def test_what_cannot_be_registered(rng):
    image, cloud = rng.random((5, 5)), cloud_of(rng, 20, 3)
    with pytest.raises(ValueError, match="b must have positive mass; got zeros only"):
        register(image, np.zeros((4, 4)))
    with pytest.raises(ValueError, match="a must be finite; got NaN"):
        register(np.full((4, 4), np.nan), image)
    with pytest.raises(ValueError, match="a must span all 3 dimensions; got points on a plane"):
        register(cloud * [1, 1, 0], cloud, "euclidean")
    with pytest.raises(ValueError, match="b must be finite; got NaN"):
        register(cloud, cloud * np.nan, "euclidean")
    with pytest.raises(ValueError, match="a and b must both have 2 or 3 coordinates to be registered; got 3 and 2"):
        register(cloud, cloud[:, :2], "euclidean")
    with pytest.raises(ValueError, match="space must be 'image' or 'euclidean' to be registered; got 'circular'"):
        register(cloud, cloud, "circular")
    with pytest.raises(ValueError, match="max_rotation must be an angle between 0 and 180 degrees, or None; got 200"):
        register(image, image, max_rotation=200)
    with pytest.raises(ValueError, match="n_directions must be a positive integer; got 0"):
        register(image, image, n_directions=0)


def test_moving_pictures_as_the_datasets_do(rng):
    image = rng.random((9, 9))
    matrix, shift = np.array([[0.9, 0.2], [-0.1, 0.8]]), np.array([0.5, -1.0])
    theirs = moved_about_centre(image, matrix, shift)
    np.testing.assert_allclose(move(image, about_centre(matrix, shift, (9, 9)), (9, 9)), theirs, atol=1e-9)


def test_widening_is_by_a_disc():
    mask = np.zeros((7, 7), bool)
    mask[3, 3] = True
    y, x = np.indices(mask.shape) - 3
    np.testing.assert_array_equal(dilated(mask), np.hypot(x, y) <= 2)


def test_ink_off_the_canvas_counts():
    image = np.zeros((9, 9))
    image[4, 1:8] = 1
    half_out = np.array([[1.0, 0, 30], [0, 1, 0]])
    assert overlap(image, image, half_out) == 0


@pytest.mark.parametrize("back", [False, True])
def test_pulling_is_what_the_obvious_loops_do(rng, back):
    matrix = np.array([[0.9, 0.2, 0.3], [-0.3, 1.1, -1.0]])
    arguments = (rng.uniform(-2, 15, (40, 2)), matrix, 5 * rng.random((9, 12)), np.array([1.0, 2.0]), np.full(2, 4.0))
    fast, slow = np.zeros((2, 6, 7))
    costs = [module.pull(*arguments, 3.0, back, out) for module, out in ((cpu, fast), (reference, slow))]
    assert costs[0] == pytest.approx(costs[1], rel=1e-12)
    np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_settling_is_what_the_obvious_loops_do(rng):
    matrix = np.array([[0.9, 0.2, 0.3], [-0.3, 1.1, -1.0]])
    sides = [part for _ in "ab" for part in (rng.uniform(0, 10, (30, 2)), 5 * rng.random((9, 12)), np.ones(2))]
    (fast, first), (slow, second) = (
        module.settle(matrix, *sides, np.full(2, 4.0), 3.0, 2) for module in (cpu, reference)
    )
    assert first == pytest.approx(second, rel=1e-9)
    np.testing.assert_allclose(fast, slow, rtol=1e-9)


def test_resampling_is_what_the_obvious_loops_do(rng):
    image = rng.random((7, 9))
    for matrix in (np.array([[0.9, 0.2, -1.3], [-0.3, 1.1, -0.5]]), np.eye(2, 3)):
        fast, slow = (module.resample(image, matrix, np.empty((12, 11))) for module in (cpu, reference))
        np.testing.assert_allclose(fast, slow, atol=1e-13)


def test_slopes_of_quantiles_are_means_of_shares(rng):
    cloud, direction = Cloud(cloud_of(rng, 4000, 3), None), np.array([0.6, 0.0, 0.8])
    turned = direction + 1e-3 * np.array([0.3, 0.9, -0.1])
    here, there = (slice_means(cloud, one[np.newaxis], 10).means[0] for one in (direction, turned))
    np.testing.assert_allclose(there @ turned - here @ direction, here @ (turned - direction), atol=2e-5)


def test_the_angle_of_a_map():
    def turned(degrees):
        angle = np.radians(degrees)
        return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    stretch, mirror = np.array([[2.0, 0.3], [0.3, 0.7]]), np.diag([-1.0, 1.0])
    for degrees in (0, 33, -120):
        for flip in (np.eye(2), mirror):
            matrix = np.column_stack([turned(degrees) @ flip @ stretch, [1, 2]])
            assert rotation_angle(matrix) == pytest.approx(abs(degrees), abs=1e-5)
    solid = np.block([[turned(50), np.zeros((2, 2))], [np.zeros((1, 2)), np.ones((1, 2))]])
    assert rotation_angle(solid) == pytest.approx(50)


def test_an_image_is_prepared_once_for_many_registrations():
    a, b = watermarks(2, size=96)[0]
    for refine in (False, True):
        prepared = [prepare_image(image, refine=refine) for image in (a, b)]
        for one, other in zip(register(*prepared, refine=refine), register(a, b, refine=refine), strict=True):
            np.testing.assert_array_equal(one, other)
        assert prepared[0].nbytes > a.nbytes / 4
    with pytest.raises(
        ValueError, match=r"b must be prepared with n_directions, .* = \(64, 64, False\); got \(64, 64, True\)"
    ):
        register(a, prepared[1])
