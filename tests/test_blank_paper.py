"""Paper that is not zero is named, clean drawings are left in peace, and the remedy of the warning is one."""

import io
import string
import warnings

import numpy as np
import pytest
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import gaussian_filter
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from nrcdt import NRCDT, RCDT, nrcdt, rcdt, sliced_wasserstein
from nrcdt.audit import audit
from nrcdt.baselines import LOT, affine_moments
from nrcdt.cli import app
from nrcdt.datasets import academic, bars, distorted, elastic, photograph, polygon, salt, sticks, watermarks
from nrcdt.distances import aligned
from nrcdt.files import read_image
from nrcdt.ink import InkFinder, NoInkError, PaperRemover, find_ink, remove_paper
from nrcdt.measures import PaperWarning, check_images
from nrcdt.measures.paper import mass_on_paper, warn_of_paper

SMALL = {"n_directions": 32, "n_quantiles": 32}
DRAWINGS = watermarks(16, size=128)[0]
COPIES, LABELS = distorted(DRAWINGS, 2, random_state=0, shift=(-6, 6))
SLOPE = np.linspace(0, 1, 128)


def noise(deviation, shape=COPIES.shape):
    return deviation * np.random.default_rng(0).normal(size=shape)


def as_jpeg(image, quality=75):
    held = io.BytesIO()
    Image.fromarray(np.rint(255 * image).astype(np.uint8)).save(held, "JPEG", quality=quality)
    return np.asarray(Image.open(held))


VEILED = {
    "veil of 0.5 %": 0.995 * COPIES + 0.005,
    "veil of 2 %": 0.98 * COPIES + 0.02,
    "veil of 30 %": 0.7 * COPIES + 0.3,
    "noisy veil": np.clip(0.98 * COPIES + 0.02 + noise(0.01), 0, 1),
    "noise, clipped": np.clip(COPIES + noise(0.02), 0, 1),
    "noise, clipped, in eight bits": np.rint(255 * np.clip(COPIES + noise(0.006), 0, 1)).astype(np.uint8),
    "bright corners": COPIES + 0.1 * np.clip(np.hypot(SLOPE[:, np.newaxis] - 0.5, SLOPE - 0.5) - 0.45, 0, None),
    "sloping veil": 0.95 * COPIES + 0.05 * SLOPE,
    "inverted": 1 - COPIES,
    "scan": np.rint(220 - 150 * COPIES).astype(np.uint8),
    "deep scan": np.rint(60000 - 50000 * COPIES).astype(np.uint16),
    "sloping scan": np.rint(250 - 150 * COPIES - 40 * SLOPE).astype(np.uint8),
    "JPEG": np.stack([as_jpeg(1 - image) for image in COPIES]),
    "inverted, two levels": COPIES < 0.5,
    "float32": (0.97 * COPIES + 0.03 + noise(0.005)).astype(np.float32),
}


def cut(image):
    return image[np.ix_(np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0)))]


def bold_letters():
    font = ImageFont.truetype(font_manager.findfont("DejaVu Sans:bold"), 60)
    for letter in string.ascii_letters + string.digits:
        if letter not in "ilI":  # solid bars: pages full of ink, or of paper
            sheet = Image.new("L", (100, 100))
            ImageDraw.Draw(sheet).text((20, 10), letter, font=font, fill=255)
            yield cut(np.asarray(sheet))


def clean():
    """Yield the name of a kind, and images of which nobody should hear a word."""
    for size in (16, 28, 64, 256):
        drawn = watermarks(16, size)[0]
        yield f"drawings {size}", drawn
        yield f"drawings of two levels {size}", drawn > 0.5
        yield f"drawings in eight bits {size}", np.rint(255 * drawn).astype(np.uint8)
        yield f"cut to their ink {size}", [cut(image) for image in drawn]
        for width in (1, 4):
            yield f"blurred by {width} {size}", [gaussian_filter(image, width * size / 128) for image in drawn]
    yield "copies", COPIES
    yield "copies pushed over the rim", np.roll(COPIES, 40, axis=2)
    for change in (salt, sticks, bars, elastic):
        yield change.__name__, change(COPIES, 3, random_state=0)
    yield "academic", academic(3).samples
    yield "polygon", polygon(1).samples
    yield "digits", load_digits().images
    larger = [
        Image.fromarray(np.uint8(15 * one)).resize((28, 28), Image.BILINEAR) for one in load_digits().images[1000:1300]
    ]
    yield "digits, made larger", np.stack(larger)
    y, x = np.mgrid[-1:1:64j, -1:1:64j]
    yield "discs", [(np.hypot(x, y) < radius) * 1.0 for radius in (0.2, 0.6, 1.0)]
    yield "bells", [np.exp(-(x**2 + y**2) / 2 / width**2) for width in (0.1, 0.2, 0.3)]
    yield "bold letters, cut to their ink", list(bold_letters())
    frame = np.zeros((64, 64))
    frame[[0, -1]] = frame[:, [0, -1]] = 1
    yield "a frame on the rim", [frame, np.maximum(frame, np.hypot(x, y) < 0.3)]
    yield "nothing but ink", np.ones((2, 40, 40))
    yield "too small to have a margin", [np.arange(1.0, 50).reshape(7, 7), np.ones((1, 90)) + np.arange(90)]


@pytest.mark.parametrize(("kind", "images"), list(clean()), ids=lambda value: value if isinstance(value, str) else "")
def test_clean_drawings_are_left_in_peace(kind, images):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PaperWarning)
        warn_of_paper(images)
        warn_of_paper(list(images))
    assert [mass_on_paper(image) for image in images if min(image.shape) >= 8] == [""] * sum(
        min(image.shape) >= 8 for image in images
    )


@pytest.mark.parametrize("kind", VEILED)
def test_paper_that_carries_mass_is_named(kind):
    rest = r"X\[0\], X\[1\], X\[2\] and 29 more of 32 images should have paper of exactly 0; got a mean grey of .* in X"
    for batch in (VEILED[kind], list(VEILED[kind])):
        with pytest.warns(PaperWarning, match=rest.replace(" in X", r" in the corners of X\[0\]\. .*PaperRemover")):
            warn_of_paper(batch)


def test_the_sample_is_named_and_how_many():
    images = list(watermarks(4, size=64)[0])
    images[2] = images[2] + 0.02
    with pytest.warns(PaperWarning, match=r"^X\[2\] of 4 images should .* got a mean grey of 0\.02, 1\.0.? at most"):
        warn_of_paper(images)
    with pytest.warns(PaperWarning, match=r"^X\[2\] of 4 images"):
        warn_of_paper(np.stack(images))
    with pytest.warns(PaperWarning, match=r"^X\[0\] of 1 image should"):
        warn_of_paper(images[2:3])


def test_a_veil_with_blank_margins_is_named():
    image = np.pad(watermarks(1, size=64)[0][0] + 0.02, 10)
    with pytest.warns(PaperWarning, match=r"got a median grey of 0\.02, 1\.02 at most, in X\[0\]"):
        warn_of_paper([image])


def test_photographs_are_named():
    with pytest.warns(PaperWarning, match="and 13 more of 16 images"):
        warn_of_paper(photograph(DRAWINGS, "uneven_light", random_state=0))


def test_whatever_takes_images_warns_once_where_it_is_called_once():
    veiled = 0.98 * watermarks(4, size=32)[0] + 0.02
    model = NRCDT(**SMALL)
    calls = {
        "fit": lambda: model.fit(veiled),
        "transform": lambda: model.transform(veiled),
        "rows": lambda: model.transform(veiled.reshape(4, -1)),
        "list": lambda: model.fit_transform(list(veiled)),
        "RCDT": lambda: RCDT(**SMALL).fit_transform(veiled),
        "nrcdt": lambda: nrcdt(veiled, **SMALL),
        "rcdt": lambda: rcdt(veiled, **SMALL),
        "sliced_wasserstein": lambda: sliced_wasserstein(veiled),
        "check_images": lambda: check_images(veiled),
        "moments": lambda: affine_moments(veiled),
        "audit": lambda: audit(veiled, n_samples=1, **SMALL),
    }
    for name, call in calls.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [one.category for one in caught].count(PaperWarning) == 1, name
    for call in (lambda: aligned(veiled), lambda: LOT().fit(veiled)):
        with pytest.warns(PaperWarning, match="of 4 images should have paper of exactly 0"):
            call()


def test_what_cannot_be_judged_is_passed_over():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for images in (
            [np.full((9, 9), np.nan), np.full((9, 9), np.inf), np.full((9, 9), -1.0)],
            [np.diag([np.inf, -np.inf] * 8), "words", None, np.ones((9, 9, 3)), np.full((9, 9), 1e300)],
            np.zeros((0, 9, 9)),
            np.zeros((2, 0, 9)),
            np.ones((2, 9, 9), complex),
            [],
        ):
            warn_of_paper(images)


def nearest(model, images, known):
    return float(np.mean(pairwise_distances_argmin(model.transform(images), known) == LABELS))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nrcdt.measures.PaperWarning")
@pytest.mark.parametrize("kind", VEILED)
def test_the_remedy_restores_recognition(kind):
    model = NRCDT(n_directions=128, n_quantiles=64)
    known = model.fit_transform(DRAWINGS)
    inks = PaperRemover().transform(VEILED[kind])
    assert nearest(model, VEILED[kind], known) <= 0.3
    assert nearest(model, inks, known) >= 0.95 * nearest(model, COPIES, known) >= 0.9
    assert inks.dtype == (np.float32 if kind == "float32" else np.float64)
    assert np.median(inks) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", PaperWarning)
        warn_of_paper(inks)


@pytest.mark.slow
def test_clean_drawings_pass_as_they_are():
    """Faint pixels that stand alone may go, and, of blurred drawings with little paper, the faintest rims."""
    for kind, images in clean():
        if "small" in kind or "nothing" in kind:
            continue
        for image in [image for image in images if min(image.shape) >= 8]:
            found, high = remove_paper(image, "light"), float(image.max())
            lost = np.abs(found - image).max() / high
            assert lost <= (0.1 if "blurred" in kind else 0.03), kind
            if "cut" not in kind:  # where ink fills the corners, nobody can tell
                np.testing.assert_array_equal(remove_paper(image), found, err_msg=kind)
    np.testing.assert_array_equal(PaperRemover().transform(COPIES), COPIES)
    np.testing.assert_array_equal(PaperRemover("none").transform(VEILED["scan"]), VEILED["scan"])


def test_mostly_ink_keeps_its_paper():
    """A disc that fills its sheet is ink although the median lies in it, dark or bright."""
    y, x = np.mgrid[-1:1:64j, -1:1:64j]
    disc = (np.hypot(x, y) < 1) * 1.0
    for picture, ways in ((disc, ("auto", "light")), (1 - disc, ("auto", "dark")), (0.3 + disc / 2, ("auto", "light"))):
        for ink in ways:
            np.testing.assert_array_equal(remove_paper(picture, ink) > 0.2, disc > 0)


def test_sides_can_be_set():
    grey = np.full((20, 20), 100.0)
    grey[3:6, 3:15], grey[10:12, 3:15] = 180, 60
    np.testing.assert_array_equal(remove_paper(grey, "light"), np.where(grey == 180, 80, 0))
    np.testing.assert_array_equal(remove_paper(grey, "dark"), np.where(grey == 60, 40, 0))
    np.testing.assert_array_equal(remove_paper(grey), remove_paper(grey, "light"))


def test_pictures_in_every_form():
    scan = np.rint(220 - 150 * DRAWINGS[:2]).astype(np.uint8)
    wanted = PaperRemover().transform(scan)
    colour = np.repeat(scan[..., np.newaxis], 3, axis=3)
    opaque = np.concatenate([colour, np.full_like(colour[..., :1], 255)], axis=3)
    for X in (list(scan), colour, opaque, list(colour), [scan[0], opaque[1]], scan.astype(np.float64)):
        np.testing.assert_array_equal(PaperRemover().transform(X), wanted)
    np.testing.assert_allclose(PaperRemover().transform(colour / 255.0), wanted / 255, atol=1e-12)
    np.testing.assert_array_equal(PaperRemover(n_jobs=2).transform(scan), wanted)
    ragged = PaperRemover().transform([scan[0], colour[1, :100]])
    assert [image.shape for image in ragged] == [(128, 128), (100, 128)]
    ink = np.zeros((40, 40, 4), np.uint8)
    ink[10:20, 10:30, 3] = 255  # black on nothing; then white on nothing
    np.testing.assert_array_equal(remove_paper(ink), ink[..., 3])
    ink[..., :3] = 255
    np.testing.assert_array_equal(remove_paper(ink), ink[..., 3])
    np.testing.assert_array_equal(remove_paper(ink / 255.0), ink[..., 3] / 255)


def test_photographs_go_to_find_ink():
    pictures = photograph(DRAWINGS[:2], "uneven_light", random_state=0)
    np.testing.assert_array_equal(PaperRemover("photograph").transform(pictures), InkFinder().transform(pictures))


def test_it_is_a_transformer():
    veiled = VEILED["scan"]
    copy = clone(PaperRemover("dark", n_jobs=2))
    assert copy.get_params() == {"ink": "dark", "n_jobs": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("error", PaperWarning)
        model = make_pipeline(copy, NRCDT(**SMALL), KNeighborsClassifier(1)).fit(1 - DRAWINGS, range(16))
        assert model.score(veiled, LABELS) >= 0.95


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.eye(40), r"X must be a batch of pictures; got shape \(40, 40\)\. Pass one picture as \[picture\]\."),
        (3, r"X must be a batch of pictures; got int\. Pass one"),
        ([], r"X must hold at least one picture; got none\. Pass a list of arrays\."),
        ([np.eye(9), np.ones((9, 9))], r"X\[1\]: picture must show ink; got none with ink='auto'\. Choose another ink"),
        ([np.eye(9), np.full((9, 9), np.nan)], r"X\[1\]: picture must be finite; got NaN"),
        (
            [np.eye(9), np.ones((9, 9, 2))],
            r"X\[1\]: picture must be a grey .* got shape \(9, 9, 2\)\. Pass one",
        ),
        ([np.eye(9)[..., np.newaxis]], r"got shape \(9, 9, 1\)\. Drop its axis of length one\."),
        (np.ones((30, 40, 3)), r"X must be a batch of pictures; got shape \(30, 40, 3\)\. Pass one picture as \["),
        (np.ones((30, 40, 4)), r"got shape \(30, 40, 4\)\. Pass one picture as \[picture\]"),
        ([np.ones((0, 9))], r"X\[0\]: picture must be a grey picture .* got shape \(0, 9\)"),
        ([np.eye(9), [["a"]]], r"X\[1\]: picture must hold real numbers"),
    ],
)
def test_errors_name_the_picture(X, message):
    with pytest.raises(ValueError, match=message):
        PaperRemover().transform(X)


def test_errors_name_what_can_be_done_with_a_word():
    with pytest.raises(
        NoInkError, match=r"nothing stands out\. Cut the picture to the motif, or choose another ink\.$"
    ):
        remove_paper(np.ones((20, 20)), "photograph")
    with pytest.raises(ValueError, match="picture must be finite; got NaN"):
        remove_paper(np.full((20, 20), np.nan), "none")


def test_unknown_words_list_the_choices():
    for call in (PaperRemover("red").transform, lambda X: remove_paper(X[0], "red")):
        with pytest.raises(ValueError, match="ink must be one of auto, dark, light, photograph, none; got 'red'"):
            call(DRAWINGS)


@pytest.mark.filterwarnings("ignore::nrcdt.measures.PaperWarning")
@pytest.mark.parametrize("ink", ["auto", "dark", "photograph", "none"])
@pytest.mark.parametrize("kind", ["sloping scan", "JPEG"])
def test_one_word_does_the_same_everywhere(ink, kind, tmp_path):
    scan = VEILED[kind][3]
    Image.fromarray(scan).save(tmp_path / "a.png")
    [image] = PaperRemover(ink).transform([scan])
    np.testing.assert_array_equal(read_image(tmp_path / "a.png", ink), image)
    asked = [
        "features",
        tmp_path / "a.png",
        "-o",
        tmp_path / "a.npz",
        "--ink",
        ink,
        "--directions",
        32,
        "--quantiles",
        8,
    ]
    done = CliRunner().invoke(app, [str(one) for one in asked])
    assert done.exit_code == 0, done.output
    wanted = NRCDT(n_directions=32, n_quantiles=8).fit_transform([image])
    np.testing.assert_array_equal(np.load(tmp_path / "a.npz")["features"], wanted)


def test_colours_become_grey_as_in_files(tmp_path):
    colour = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    Image.fromarray(colour).save(tmp_path / "a.png")
    np.testing.assert_array_equal(remove_paper(colour, "none"), read_image(tmp_path / "a.png", "none"))


def test_photographs_by_name_are_found_ink(tmp_path):
    picture = np.rint(255 * photograph(DRAWINGS[:1], "all", random_state=0)[0]).astype(np.uint8)
    Image.fromarray(picture).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_image(tmp_path / "a.png", "photograph"), find_ink(picture).image)
