"""From photograph to ink: what the paper added goes, what the pen drew stays."""

import importlib.util
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import nrcdt.ink
from nrcdt import NRCDT
from nrcdt.datasets import data_folder, distorted, photograph, sticks, watermarks
from nrcdt.datasets.synthetic import draw_segment
from nrcdt.files import read_image, read_picture
from nrcdt.ink import Ink, InkFinder, find_ink
from nrcdt.ink.laid import find_ripple
from nrcdt.ink.lines import Line, find_lines, line_strengths
from nrcdt.ink.paper import estimate_levels, find_polarity, flat_paper
from nrcdt.kernels import lines as kernel
from nrcdt.rasters import reduced


@pytest.fixture(scope="module")
def drawings():
    """Sixteen motifs under random affine maps, 256 x 256."""
    return distorted(watermarks(16)[0], 1, random_state=11)[0]


@pytest.fixture(scope="module")
def templates():
    drawn = watermarks(16)[0]
    features = NRCDT(frame="whitened", aggregate=["tv", "spectrum"], n_directions=64, n_quantiles=64)
    return features, features.fit_transform(drawn)


def agreement(found, drawn):
    """Share of ink that both have, of all ink."""
    return np.minimum(found, drawn).sum() / np.maximum(found, drawn).sum()


def segments(image, *places, half_width=1.2):
    out = image.copy()
    for x0, y0, x1, y1 in places:
        draw_segment(out, np.array([x0, y0], float), np.array([x1, y1], float), half_width)
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("disturbance", "tilt", "right", "alike"),
    [
        ("veil", (-4, 4), 16, 0.95),
        ("uneven_light", (-4, 4), 16, 0.93),
        ("noise", (-4, 4), 16, 0.8),
        ("strong_noise", (-4, 4), 16, 0.65),
        ("inverted", (-4, 4), 16, 0.93),
        ("specks", (-4, 4), 16, 0.92),
        ("gaps", (-4, 4), 14, 0.75),
        ("laid_lines", (-90, 90), 16, 0.85),
        ("chain_lines", (-4, 4), 15, 0.8),
        ("chain_lines", (-90, 90), 15, 0.8),
        ("all", (-4, 4), 14, 0.6),
        ("all", (-90, 90), 14, 0.6),
    ],
)
def test_motifs_are_recognised_after_a_disturbance(drawings, templates, disturbance, tilt, right, alike):
    pictures = photograph(drawings, disturbance, tilt=tilt, random_state=21)
    found = InkFinder().transform(pictures)
    features, known = templates
    nearest = cdist(features.transform(found), known).argmin(axis=1)
    assert np.count_nonzero(nearest == np.arange(16)) >= right
    assert np.mean([agreement(*pair) for pair in zip(found, drawings, strict=True)]) > alike


def test_raw_pictures_are_a_guess(drawings, templates):
    features, known = templates
    nearest = cdist(features.transform(photograph(drawings, "uneven_light", random_state=21)), known).argmin(axis=1)
    assert np.count_nonzero(nearest == np.arange(16)) <= 4


def test_a_clean_drawing_stays_as_it_is(drawings):
    for drawing in drawings:
        ink = find_ink(drawing)
        assert ink.image.dtype == np.float32
        assert agreement(ink.image, drawing) > 0.95
        assert ink.confidence > 0.95
        assert (ink.scale, ink.bar) == (1, None)
        np.testing.assert_allclose(find_ink(255 - np.round(255 * drawing)).image, ink.image, atol=1e-6)


@pytest.mark.parametrize("margin", [0, 2, 5])
def test_drawings_cut_to_their_size_lose_nothing(margin):
    for drawing in watermarks(16)[0]:
        rows, columns = np.nonzero(drawing)
        cut = np.pad(drawing[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1], margin)
        assert agreement(find_ink(cut).image, cut) > 0.9


def test_hatching_is_no_paper():
    hatched = np.zeros((200, 200))
    for y in range(30, 170, 9):
        hatched = segments(hatched, (8, y, 192, y))
    hatched = segments(hatched, (8, 8, 192, 8), (192, 8, 192, 192), (192, 192, 8, 192), (8, 192, 8, 8))
    assert agreement(find_ink(hatched).image, hatched) > 0.9


def test_soft_grey_is_kept():
    drawing = watermarks(1)[0][0]
    image = find_ink(gaussian_filter(drawing, 1.0)).image
    assert np.mean((image[image > 0] > 0.05) & (image[image > 0] < 0.95)) > 0.3
    assert image.min() == 0
    assert image.max() == 1


def test_steps_tell_what_was_done(drawings):
    lines = photograph(drawings[:1], "chain_lines", tilt=(20, 20), random_state=0)[0]
    assert any("chain lines at 20 degrees removed" in step or "at 19" in step for step in find_ink(lines).steps)
    light = find_ink(photograph(drawings[:1], "uneven_light", random_state=0)[0])
    assert light.steps == ("light ink on dark paper", "uneven background removed")
    assert find_ink(1 - drawings[0]).steps == ("dark ink on light paper",)
    assert "specks dropped" in find_ink(photograph(drawings[:1], "specks", random_state=0)[0]).steps[1]
    laid = find_ink(photograph(drawings[:1], "laid_lines", random_state=0)[0])
    assert any(step.startswith("laid lines every") for step in laid.steps)


@pytest.mark.slow
@pytest.mark.parametrize("side", [128, 300, 512])
def test_other_resolutions(side, templates):
    drawn = distorted(watermarks(4, size=side)[0], 1, random_state=0, shift=(-20 * side / 256, 20 * side / 256))[0]
    features, known = templates
    for name in ("uneven_light", "chain_lines"):
        inks = InkFinder().find(photograph(drawn, name, random_state=1))
        assert {max(ink.image.shape) for ink in inks} == {min(side, 256)}
        assert {ink.scale for ink in inks} == {min(1, 256 / side)}
        nearest = cdist(features.transform([ink.image for ink in inks]), known).argmin(axis=1)
        np.testing.assert_array_equal(nearest, np.arange(4))


def test_the_working_size_can_be_set(drawings):
    ink = find_ink(np.kron(drawings[0], np.ones((3, 2))), size=128)
    assert ink.image.shape == (128, 85)
    assert ink.steps[0] == "reduced to 85 x 128 pixels"
    assert ink.scale == pytest.approx(1 / 6)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.int32, np.float32])
def test_any_dtype_and_range(drawings, dtype):
    grey = (drawings[0] > 0.5).astype(float) * (1 if dtype is bool else 200)
    np.testing.assert_array_equal(find_ink(grey.astype(dtype)).image, find_ink(grey).image)
    np.testing.assert_allclose(find_ink(1e30 * grey - 1e30).image, find_ink(grey).image, atol=1e-5)


def test_polarity_is_found_or_set(drawings):
    picture = photograph(drawings[:1], "inverted", random_state=0)[0]
    assert find_ink(picture).polarity == "dark"
    assert find_ink(1 - picture).polarity == "light"
    assert find_ink(picture, polarity="dark").polarity == "dark"
    assert find_polarity(np.array([[0.0, 0, 3], [-1, 0, 0]])) == ("light", pytest.approx(26 / 28))
    with pytest.raises(
        ValueError, match=r"picture must show ink; got a sheet on which nothing stands out\. Set polarity"
    ):
        find_ink(picture, polarity="light")


@pytest.mark.parametrize(("width", "grey"), [(6, 0.0), (12, 0.02), (24, 1.0)])
def test_a_border_around_the_sheet_is_cut(drawings, width, grey):
    for drawing in drawings[:6]:
        picture = np.full(drawing.shape, grey)
        inside = slice(width, -width)
        picture[inside, inside] = (0.7 - 0.4 * drawing)[inside, inside]
        ink = find_ink(picture)
        assert "border around the sheet cut" in ink.steps
        assert agreement(ink.image[32:-32, 32:-32], drawing[32:-32, 32:-32]) > 0.9
        assert not ink.image[:width].any()


def test_chain_lines_end_at_the_border(drawings):
    picture = photograph(drawings[3:4], "all", random_state=3)[0]
    framed = np.zeros(picture.shape)
    framed[12:-12, 12:-12] = picture[12:-12, 12:-12]
    ink = find_ink(framed)
    assert any("chain lines" in step for step in ink.steps)
    assert agreement(ink.image, drawings[3]) > 0.5


@pytest.mark.parametrize("inset", [3, 10, 18])
def test_a_ruled_frame_is_removed(drawings, inset):
    far = 255 - inset
    sides = [(inset, inset, far, inset), (far, inset, far, far), (far, far, inset, far), (inset, far, inset, inset)]
    ink = find_ink(segments(drawings[0], *sides))
    assert "ruled frame removed" in ink.steps or inset == 3  # these lines might as well cross the sheet
    assert agreement(ink.image, drawings[0]) > 0.9


@pytest.mark.parametrize("ticks", [0, 6])
def test_a_scale_bar_is_cut_and_measured(drawings, ticks):
    bar = [(20, 240, 90, 240), *((x, 235, x, 245) for x in np.linspace(20, 90, ticks))]
    ink = find_ink(segments(drawings[0], *bar))
    assert agreement(ink.image, drawings[0]) > 0.95
    assert ink.bar == pytest.approx(72, abs=3)
    assert any(step.startswith("scale bar of 7") for step in ink.steps)
    twice = find_ink(np.kron(segments(drawings[0], *bar), np.ones((2, 2))))
    assert twice.bar == pytest.approx(144, abs=6)


@pytest.mark.slow
def test_drawings_have_no_scale_bar(drawings):
    assert {find_ink(picture).bar for picture in photograph(drawings, "all", random_state=8)} == {None}


@pytest.mark.slow
def test_confidence_falls_for_noise_and_clutter(drawings):
    sure = [find_ink(picture).confidence for picture in photograph(drawings[::3], "all", random_state=5)]
    noisy = [find_ink(picture).confidence for picture in photograph(drawings[::3], "strong_noise", random_state=5)]
    cluttered = [find_ink(picture).confidence for picture in sticks(np.zeros((4, 256, 256)), 60, 20, random_state=0)]
    assert np.min(sure) > 0.7
    assert np.median(noisy) < np.median(sure)
    assert np.max(cluttered) < np.min(sure)
    rng = np.random.default_rng(0)
    for scale in (2, 4, 8):
        assert _confidence(gaussian_filter(rng.normal(size=(256, 256)), scale)) < 0.2


def _confidence(picture):
    try:
        return find_ink(picture).confidence
    except ValueError:
        return 0.0


@pytest.mark.parametrize("blank", [np.zeros((64, 64)), np.random.default_rng(0).normal(size=(256, 256))])
def test_blank_pictures_are_refused(blank):
    with pytest.raises(ValueError, match=r"picture must show ink; got a sheet on which nothing stands out"):
        find_ink(blank)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_comes_there_is_an_answer(seed):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(8, 200, size=2)
    noise = rng.normal(size=(height, width))
    stripes, framed = np.zeros((height, width)), np.zeros((height, width))
    stripes[:, :: rng.integers(2, 9)] = 1
    framed[3:-3, 3:-3] = 0.5 + 0.1 * noise[3:-3, 3:-3]
    for picture in (noise, gaussian_filter(noise, 3), noise > 1, stripes, stripes + 0.1 * noise, framed, 1 - framed):
        try:
            ink = find_ink(picture)
        except ValueError as error:
            assert "picture must show ink" in str(error)  # noqa: PT017
        else:
            assert 0 <= ink.confidence <= 1
            assert 0 <= ink.image.min() < ink.image.max() <= 1


def test_bad_pictures_are_named():
    with pytest.raises(
        ValueError, match=r"picture must be a grey image of at least 8 x 8 pixels; got shape \(9, 9, 3\)"
    ):
        find_ink(np.ones((9, 9, 3)))
    with pytest.raises(ValueError, match=r"at least 8 x 8 pixels; got shape \(4, 30\)"):
        find_ink(np.ones((4, 30)))
    with pytest.raises(ValueError, match="picture must be finite; got NaN"):
        find_ink(np.full((9, 9), np.nan))
    with pytest.raises(ValueError, match="polarity must be one of auto, dark, light; got 'red'"):
        find_ink(np.ones((9, 9)), polarity="red")
    with pytest.raises(ValueError, match=r"size must be a positive integer; got 2\.5"):
        find_ink(np.ones((9, 9)), size=2.5)
    with pytest.raises(ValueError, match="size must be at least 32 pixels; got 8"):
        find_ink(np.ones((9, 9)), size=8)


def test_the_transformer_is_a_function_of_every_picture(drawings):
    pictures = photograph(drawings[:3], "noise", random_state=0)
    finder = InkFinder(n_jobs=2)
    np.testing.assert_array_equal(finder.fit_transform(pictures), [find_ink(picture).image for picture in pictures])
    ragged = finder.transform([pictures[0], pictures[1][:, 20:]])
    assert [image.shape for image in ragged] == [(256, 256), (256, 236)]
    assert all(isinstance(ink, Ink) for ink in finder.find(list(pictures)))
    copy = clone(InkFinder("dark", size=128))
    assert (copy.polarity, copy.size, copy.n_jobs) == ("dark", 128, None)
    pipeline = make_pipeline(InkFinder(), NRCDT(n_directions=16, n_quantiles=8))
    assert pipeline.fit(pictures).transform(pictures).shape == (3, 8)


def test_the_transformer_names_the_bad_picture(drawings):
    with pytest.raises(ValueError, match=r"X\[1\]: picture must show ink"):
        InkFinder().transform([drawings[0], np.zeros((64, 64))])
    with pytest.raises(ValueError, match=r"X must be a list of grey images.*got shape \(256, 256\)"):
        InkFinder().transform(drawings[0])
    with pytest.raises(ValueError, match="X must hold at least one picture"):
        InkFinder().transform([])
    with pytest.raises(ValueError, match="n_jobs must be a number of threads, or -1 for all cores; got 0"):
        InkFinder(n_jobs=0).transform(drawings[:1])


def slow_strength(image, slope, start, shortest):
    """Second weakest tenth of one line, from the definition."""
    height, width = image.shape
    places = [(y, int(np.floor(start + slope * (y - (height - 1) / 2) + 0.5))) for y in range(height)]
    values = [image[y, x] for y, x in places if 0 <= x < width]
    while values and np.isnan(values[0]):
        values.pop(0)
    while values and np.isnan(values[-1]):
        values.pop()
    if len(values) < max(shortest, 10):
        return 0.0
    cuts = [len(values) * part // 10 for part in range(11)]
    means = sorted(np.nansum(values[a:b]) / (b - a) for a, b in pairwise(cuts))
    return means[1] if means[1] >= kernel.EVEN * np.mean(means) else 0.0


@pytest.mark.parametrize("shape", [(40, 30), (21, 50)])
@pytest.mark.parametrize("holes", [False, True])
def test_line_scores_are_those_of_the_definition(rng, shape, holes):
    image = rng.random(shape)
    if holes:
        image[:6] = np.nan
    slopes = np.array([-0.9, -0.1234, 0.0, 0.51])
    out = line_strengths(image, slopes, 0.3)
    margin = (out.shape[1] - shape[1]) // 2
    for row, slope in zip(out, slopes, strict=True):
        wanted = [slow_strength(image, slope, b - margin, 0.3 * min(shape)) for b in range(out.shape[1])]
        # A line that leaves the picture within half a pixel of a row may or may not count that row.
        assert np.mean(np.isclose(row, wanted)) > 0.9
    middle = out[2, margin : margin + shape[1]]
    np.testing.assert_allclose(middle, [slow_strength(image, 0, b, 0.3 * min(shape)) for b in range(shape[1])])


def test_weak_lines_are_given_up_early(rng):
    image = rng.random((60, 60))
    whole = line_strengths(image, np.zeros(1), 0.5)
    floor = float(np.median(whole))
    np.testing.assert_array_equal(line_strengths(image, np.zeros(1), 0.5, floor), np.where(whole >= floor, whole, 0))


def test_track_follows_a_winding_line(rng):
    columns = np.rint(6 + 4 * np.sin(np.arange(200) / 20)).astype(int)
    strip = 0.3 * rng.random((200, 13))
    strip[np.arange(200), columns] += 1
    np.testing.assert_array_equal(kernel.track(strip, 0.05), columns)


def test_bridges_join_what_faces_each_other():
    left, right = np.zeros(30), np.zeros(30)
    left[10], right[16] = 1.0, 0.6
    out = kernel.bridged(left, right, 5, 4, np.zeros((30, 5)))
    assert out.argmax(axis=0).tolist() == [11, 12, 13, 14, 15]
    assert out.max() == 0.6
    assert not kernel.bridged(left, np.zeros(30), 5, 4, np.zeros((30, 5))).any()


@pytest.mark.parametrize("angle", [-60.0, 0.0, 33.0, 90.0])
def test_lines_are_found_where_they_are(angle):
    y, x = np.indices((200, 200)) - 99.5
    across = x * np.cos(np.radians(angle)) + y * np.sin(np.radians(angle))
    sheet = sum(np.exp(-0.5 * (across - place) ** 2) for place in (-50, 3, 40))
    lines = find_lines(estimate_levels(sheet.astype(np.float32)), None)
    assert len(lines) == 3
    for line in lines:
        assert abs((line.angle - angle + 90) % 180 - 90) < 1
    assert find_lines(estimate_levels(np.zeros((200, 200), np.float32)), None) == []
    assert Line(False, 0.0, 3.0, 1.0).angle == 0
    assert Line(True, 0.0, 3.0, 1.0).angle == 90


def test_ripple_is_found_only_where_it_is_everywhere(drawings, rng):
    noise = 0.1 * rng.normal(size=(256, 256))
    waves = 0.2 * np.sin(2 * np.pi * (np.arange(256)[:, np.newaxis] + 0.1 * np.arange(256)) / 5)
    found = find_ripple(estimate_levels(drawings[0] + noise + waves))
    assert found.period == pytest.approx(5, rel=0.02)
    assert found.amplitude == pytest.approx(0.2, rel=0.2)
    assert np.abs(found.image - waves)[20:-20, 20:-20].mean() < 0.05
    assert find_ripple(estimate_levels(drawings[0] + noise)) is None
    assert find_ripple(estimate_levels(drawings[0])) is None
    patch = np.zeros((256, 256))
    patch[40:110, 60:150] = waves[40:110, 60:150]
    assert find_ripple(estimate_levels(patch + 0.2 * noise)) is None


def test_reducing_keeps_the_mean(rng):
    picture = rng.random((90, 133))
    small, scale = reduced(picture, 50)
    assert small.shape == (34, 50)
    assert scale == pytest.approx(50 / 133)
    assert small.mean() == pytest.approx(picture.mean(), abs=1e-6)
    np.testing.assert_allclose(reduced(picture, 133)[0], picture.astype(np.float32))


def test_flat_paper(rng):
    drawing = watermarks(1, size=64)[0][0]
    assert flat_paper(drawing) == 0
    assert flat_paper(255 - drawing) == 255
    assert flat_paper(drawing + 0.1 * rng.normal(size=drawing.shape)) is None
    dense = np.zeros((10, 10))
    dense[:, :5] = np.linspace(0.5, 1, 5)
    assert flat_paper(dense) == 0


def test_tracings_lose_nothing():
    folder = data_folder()
    paths = sorted((folder / "watermarks").rglob("*.png")) if folder else []
    if not paths:
        pytest.skip("needs the tracings: set NRCDT_DATA to a folder with watermarks/<class>/*.png")
    for path in paths[::4]:
        drawn, image = read_image(path) / 255, find_ink(read_picture(path)[0]).image
        assert np.mean(image[drawn > 0.5] > 0.3) > 0.95
        assert not image[drawn == 0].any()


def test_a_picture_and_its_pixels(tmp_path):
    grey = np.full((20, 30), 240, dtype=np.uint8)
    grey[5:8, 4:25] = 40
    for name, dots, side in [
        ("a.png", 300, 25.4 / 300),
        ("a.tif", 600, 25.4 / 600),
        ("a.jpg", 200, 25.4 / 200),
        ("b.png", 72, None),
        ("b.jpg", 96, None),
        ("c.tif", 1, None),
    ]:
        Image.fromarray(grey).save(tmp_path / name, dpi=(dots, dots))
        read, millimetres = read_picture(tmp_path / name)
        assert read.shape == grey.shape
        assert millimetres == (None if side is None else pytest.approx(side, rel=1e-3))
    Image.fromarray(grey).save(tmp_path / "plain.png")
    Image.fromarray(grey).save(tmp_path / "oblong.png", dpi=(300, 150))
    for name in ("plain.png", "oblong.png"):
        assert read_picture(tmp_path / name)[1] is None
    np.testing.assert_array_equal(read_picture((tmp_path / "plain.png").read_bytes())[0], grey)


def test_pictures_in_memory_are_read_like_files(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    deep = np.zeros((20, 30), np.uint16)
    deep[5:8, 4:25] = 65535
    Image.fromarray(deep).save(tmp_path / "deep.tif")
    pixels = np.zeros((10, 12, 4), dtype=np.uint8)
    pixels[2:4, 2:8, 3] = 255
    Image.fromarray(pixels).save(tmp_path / "alpha.png", exif=exif)
    np.testing.assert_array_equal(read_picture((tmp_path / "deep.tif").read_bytes())[0], deep)
    read, _ = read_picture((tmp_path / "alpha.png").read_bytes())
    np.testing.assert_array_equal(read, np.rot90(255.0 - pixels[..., 3], -1))
    with pytest.raises(ValueError, match="the file must hold data; got 0 bytes"):
        read_picture(b"")
    with pytest.raises(ValueError, match="the picture must be a whole PNG"):
        read_picture(b"no picture")


def test_the_benchmark_measures_a_row():
    path = Path(__file__).parents[1] / "benchmarks" / "ink.py"
    spec = importlib.util.spec_from_file_location("ink_benchmark", path)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    images, names = benchmark.motifs()
    assert images.shape == (30, 256, 256)
    assert len(set(names)) == 30
    result = benchmark.measure("veil", benchmark.Templates(images[:4]), (1,), 4)
    assert (result["pictures"], result["after"], result["wanted"]) == (4, 1.0, 0.98)
    assert benchmark.table([result]).count("\n") == 3


def test_reading_one_picture_does_not_wait_for_scikit_learn():
    check = "import sys, nrcdt.ink; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0
    with pytest.raises(AttributeError, match="has no attribute 'finder'"):
        nrcdt.ink.finder  # noqa: B018
