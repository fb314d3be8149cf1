"""The front door: pictures of all kinds go in, and a picture is answered in a word, a sentence and hits."""

import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing, nullcontext

import numpy as np
import pytest
from PIL import Image

import catalogues
from nrcdt.catalogue import Catalogue, maintenance
from nrcdt.catalogue.calibration import in_collection, verdict
from nrcdt.catalogue.intake import Settings
from nrcdt.catalogue.model import Filter
from nrcdt.catalogue.ranking import Search, query_of
from nrcdt.datasets import distorted
from nrcdt.errors import InputError
from nrcdt.ink import NoInkError

PAIRS = catalogues.marks(6, 1, size=96)
NAMED = {f"{name.rsplit('-', 1)[0]}/{name}": catalogues.paper(image) for name, image in PAIRS}


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    with Catalogue(tmp_path_factory.mktemp("catalogue") / "marks.db") as made:
        assert made.add(NAMED, drawing=True, n_jobs=1)[:4] == (12, 0, 0, 0)
        yield made


@pytest.fixture(scope="module")
def copy():
    return catalogues.paper(distorted(PAIRS[0][1][np.newaxis], 1, random_state=5, shift=(-3, 3))[0][0])


def test_a_query_is_answered(catalogue, copy):
    answer = catalogue.query(copy, 3, drawing=True)
    assert answer.verdict == "same"
    best = answer.hits[0]
    assert answer.sentence.startswith(f"{best.name} is probably the same mark")
    assert [hit.rank for hit in answer.hits] == [1, 2, 3]
    assert (best.motif, best.name) == (best.mark.motif, best.mark.name)
    assert best.motif == PAIRS[0][0].rsplit("-", 1)[0]
    assert best.overlap == best.registration.overlap > 0.75
    np.testing.assert_array_equal(best.map, best.registration.matrix)
    assert best.score <= answer.hits[1].score
    assert answer.ink.dtype == np.uint8


def test_the_words_are_those_of_the_calibration(catalogue, copy):
    seen = catalogue.prepare(copy, Settings(ink=False))
    for n, wanted in ((10, Filter()), (3, Filter(motif=("crown",))), (1, Filter(motif=("nothing",)))):
        hits = Search(catalogue.store).query(query_of(seen), wanted, n=n)
        answer = catalogue.answer(seen, n, wanted)
        assert [hit[:3] for hit in answer.hits] == [hit[:3] for hit in hits]
        words = {True: "same", None: "doubtful", False: "absent"}
        assert answer.verdict == words[in_collection(catalogue.store, hits, seen.confidence)]
        assert answer.sentence == verdict(catalogue.store, hits, seen.confidence, wanted)


def test_a_stranger_is_absent(catalogue, copy):
    before = catalogue.store.about("strangers")
    catalogue.store.set_about("strangers", {"marks": 12, "scores": [0.01 + n / 1000 for n in range(25)]})
    assert catalogue.query(copy, drawing=True, wanted=Filter(motif=("crown",))).verdict == "absent"
    catalogue.store.set_about("strangers", before)


def test_a_picture_may_be_a_path_bytes_or_an_array(catalogue, copy, tmp_path):
    Image.fromarray(copy).save(tmp_path / "copy.png")
    pictures = [tmp_path / "copy.png", str(tmp_path / "copy.png"), (tmp_path / "copy.png").read_bytes(), copy]
    pictures += [copy.astype(np.uint16) * 257, np.stack([copy] * 3, axis=-1), copy / 255, copy.astype(np.float32)]
    first, *others = [catalogue.query(picture, drawing=True) for picture in pictures]
    for other in others:
        assert [hit.name for hit in other.hits] == [hit.name for hit in first.hits]
        np.testing.assert_allclose(other.hits[0].map, first.hits[0].map, atol=1e-3)


@pytest.mark.parametrize("picture", [np.zeros((0, 5)), np.zeros(5), np.full((9, 9), np.nan), np.zeros((9, 9, 3))])
def test_other_arrays_are_refused(catalogue, picture):
    with pytest.raises(ValueError, match=r"the picture must be a file, bytes, or an array of .* Convert it to grey"):
        catalogue.query(picture)


def test_settings_of_a_query(catalogue, copy):
    assert catalogue.query(copy, drawing=True, dpi=254).hits[0].stretch is None
    assert catalogue.prepare(copy, Settings(ink=False), 254).mm_per_pixel == pytest.approx(0.1)
    assert catalogue.query(255 - copy, drawing=True, polarity="light").hits[0].score < 1
    small = catalogue.query(copy, drawing=True, crop=(0, 0, 48, 96)).ink
    assert small.shape[1] < catalogue.query(copy, drawing=True).ink.shape[1]
    with pytest.raises(ValueError, match="n must be a positive integer; got 0"):
        catalogue.query(copy, 0, drawing=True)
    with pytest.raises(ValueError, match="dpi must be a number from 10 to 100000; got '3'"):
        catalogue.query(copy, drawing=True, dpi=3)
    with pytest.raises(NoInkError, match="the picture must hold ink; got one grey level"):
        catalogue.query(np.full((50, 50), 9, np.uint8), drawing=True)


def test_relatives_and_ink_of_a_mark(catalogue):
    name = PAIRS[0][0]
    answer = catalogue.relatives(name, 2)
    assert name not in {hit.name for hit in answer.hits}
    assert answer.hits[0].motif == name.rsplit("-", 1)[0]
    np.testing.assert_array_equal(catalogue.ink(name), answer.ink)
    np.testing.assert_array_equal(catalogue.ink(catalogue.store.find(name)), answer.ink)


@pytest.mark.slow
def test_pictures_without_a_file_are_added_once_and_keep_what_people_wrote(catalogue):
    name = PAIRS[0][0]
    mark = catalogue.store.find(name)
    assert (mark.motif, mark.source) == (name.rsplit("-", 1)[0], "")
    catalogue.store.edit(mark.uid, {"note": "torn"})
    assert catalogue.add(NAMED, drawing=True, n_jobs=1)[:4] == (0, 12, 0, 0)
    assert len(catalogue) == 12
    assert catalogue.store.mark(mark.uid).note == "torn"


@pytest.mark.slow
def test_folders_and_lists_of_paths(tmp_path):
    scans = catalogues.write_folder(tmp_path / "scans", PAIRS[:4])
    steps = []

    def progress(what, total):
        steps.append((what, total))
        return nullcontext(lambda: None)

    with Catalogue(tmp_path / "marks.db") as catalogue:
        assert catalogue.add(scans, drawing=True, n_jobs=1, progress=progress).added == 4
        assert steps == [("add", 4), ("calibration", 4)]
        assert catalogue.store.about("strangers")["marks"] == 4
        (scans / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
        with pytest.warns(UserWarning, match="broken.png: the picture must be a whole"):
            count = catalogue.add([scans / "broken.png", scans / "anchor"], drawing=True, n_jobs=1)
        assert (count.unchanged, count.failed) == (2, 1)
        assert catalogue.renew() == 4


def test_nothing_is_made_by_mistake(tmp_path):
    scans = tmp_path / "scans"
    scans.mkdir()
    with Catalogue(tmp_path / "typo.db") as catalogue:
        with pytest.raises(ValueError, match=r"the catalogue must exist; got .*typo.db"):
            len(catalogue)
        with pytest.raises(ValueError, match=r"pictures must hold pictures that can be taken; got none in .*scans"):
            catalogue.add(scans)
        with pytest.raises(ValueError, match=r"pictures must be paths, or a dict of .*; got ndarray without a name"):
            catalogue.add(np.ones((9, 9)))
    assert not (tmp_path / "typo.db").exists()


@pytest.mark.slow
def test_the_package_is_light():
    code = "import sys, nrcdt.catalogue; print({'numpy', 'sqlite3', 'scipy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


def test_a_picture_that_is_not_there_is_named(catalogue):
    with pytest.raises(ValueError, match=r"the picture must exist; got nothing\.png\. Check the spelling"):
        catalogue.query("nothing.png")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"crop": (0.5, 0, 48, 96)}, r"crop must be \(left, top, right, bottom\) in whole pixels from the corner"),
        ({"crop": (0.1, 0.1, 0.9, 0.9)}, "crop must be .* in whole pixels"),
        ({"crop": (-5, 0, 48, 96)}, "crop must be .* in whole pixels"),
        ({"crop": (0, 0, 48)}, "crop must be .* in whole pixels"),
        ({"crop": (0, 0, 10**400, 5)}, "crop must be .* in whole pixels"),
        ({"crop": "abcd"}, "crop must be .* in whole pixels"),
        ({"crop": (48, 96, 0, 0)}, r"crop must be .* inside the picture of 96 x 96 pixels; got \(48, 96, 0, 0\)"),
        ({"drawing": "no"}, "drawing must be True or False; got 'no'"),
        ({"drawing": np.ones(2)}, "drawing must be True or False; got array"),
        ({"bar_mm": True}, r"bar_mm must be 1 finite number; got \[True\]"),
        ({"bar_mm": 10**400}, "bar_mm must be 1 finite number"),
        ({"dpi": np.nan}, "dpi must be a number from 10 to 100000; got 'nan'"),
        ({"dpi": -300}, "dpi must be a number from 10 to 100000; got '-300'"),
        ({"dpi": "fine"}, "dpi must be a number from 10 to 100000; got 'fine'"),
        ({"n": 2.0}, "n must be a positive integer; got 2.0"),
        ({"n": -1}, "n must be a positive integer; got -1"),
        ({"wanted": "crown"}, r"wanted must be a Filter; got 'crown'. Write Filter\(motif"),
        ({"wanted": Filter(motif="crown")}, r"motif must be several texts; got 'crown'. Write motif=\(\"...\",\)"),
        ({"wanted": Filter(place=(5,))}, r"place must be several texts; got \(5,\)"),
        ({"wanted": Filter(text=None, year_to=1500)}, "text must be a text; got None"),
        ({"wanted": Filter(year_from=1450.5)}, "year_from must be a year; got 1450.5. Leave it out"),
        ({"wanted": Filter(year_to=10**30)}, "year_to must be a year; got 10"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(catalogue, copy, settings, sentence):
    with pytest.raises(InputError, match=sentence):
        catalogue.query(copy, **{"drawing": True} | settings)


@pytest.mark.parametrize(
    ("picture", "sentence"),
    [
        (
            np.ma.masked_array(np.eye(9), np.eye(9) > 0),
            "the picture must not be masked; .* Fill them with the level of",
        ),
        (np.ones((9, 9), complex), "an array of finite grey levels, .* got shape .9, 9. of complex128"),
        (np.array([["a", "b"]]), "an array of finite grey levels"),
        (np.array([[None, 1]]), "an array of finite grey levels"),
        (np.full((9, 9), np.inf), "an array of finite grey levels"),
        (np.zeros((9, 9, 4), np.uint8), r"an array of finite grey levels, or of colours .* got shape \(9, 9, 4\)"),
        (np.zeros((9, 9, 3), np.uint16), "an array of finite grey levels"),
        (None, "the picture must be a file, bytes, or an array"),
        (b"", "the file must have 1 to 256000000 bytes; got 0"),
        ("", "the picture must exist; got an empty path"),
    ],
)
def test_pictures_that_are_none_are_refused(catalogue, picture, sentence):
    with pytest.raises(InputError, match=sentence):
        catalogue.query(picture, drawing=True)


@pytest.mark.slow
def test_pictures_in_other_units_are_the_same_pictures(catalogue, copy, tmp_path):
    Image.fromarray(copy).save(tmp_path / "copy.png")
    data = (tmp_path / "copy.png").read_bytes()
    levels = copy / 255
    same = [
        bytearray(data),
        memoryview(data),
        np.ma.masked_array(copy, False),
        levels * 1e-320,
        levels * 1e308,
        copy.tolist(),
    ]
    first = catalogue.query(copy, drawing=True).ink
    for picture in [*same, -1.0 + levels, copy.astype(">u2") * 257, copy[::-1][::-1], copy.astype(np.int64)]:
        np.testing.assert_allclose(catalogue.query(picture, drawing=True).ink, first, atol=1)
    ink = catalogue.query(copy < 128, drawing=True).ink
    np.testing.assert_array_equal(catalogue.query(np.where(copy < 128, 0, 255).astype(np.uint8), drawing=True).ink, ink)
    for crop in ([0, 0, 48, 96], np.array([0, 0, 48, 96]), (0, 0, np.int64(48), 10**6)):
        small = catalogue.query(copy, drawing=True, crop=crop).ink
        np.testing.assert_array_equal(small, catalogue.query(copy[:, :48], drawing=True).ink)


def test_marks_that_are_none_are_refused(catalogue):
    for mark in (None, 5, b"crown"):
        with pytest.raises(InputError, match=r"mark must be a mark, or a text by which one is asked for; got"):
            catalogue.relatives(mark)
        with pytest.raises(InputError, match=r"mark must be a mark, or a text"):
            catalogue.ink(mark)
    for text in ("", "\ud800", "nobody"):
        with pytest.raises(InputError, match=r"MARK must be the id, .*, which fits none"):
            catalogue.relatives(text)


def test_what_cannot_be_added_is_refused(catalogue, copy):
    before = len(catalogue)
    for pictures in (None, 5, "", b"crown", [None], [""]):
        with pytest.raises(InputError, match=r"pictures must be paths, or a dict of pictures by their names; got"):
            catalogue.add(pictures)
    for name in (5, None, "\ud800"):
        with pytest.raises(InputError, match=r"the names of pictures must be texts; got .* Write \"crown/crown 1\""):
            catalogue.add({name: copy})
    for n_jobs in (0, 1.5, "2", True):
        with pytest.raises(InputError, match="n_jobs must be a positive integer; got"):
            catalogue.add({"new": copy}, n_jobs=n_jobs)
    assert len(catalogue) == before


def test_paths_that_are_no_catalogue(tmp_path, copy):
    (tmp_path / "link.db").symlink_to(tmp_path / "gone.db")
    (tmp_path / "loop.db").symlink_to(tmp_path / "loop.db")
    (tmp_path / "zero.db").touch()
    os.mkfifo(tmp_path / "pipe.db")
    rules = {
        tmp_path: "be a file; got .*, which is a folder. Name a file",
        tmp_path / "pipe.db": "be a file; got .*, which is a pipe or a device",
        tmp_path / "none.db": "exist; got .*none.db. Make it with",
        tmp_path / "link.db": "exist; got .*link.db. Make it with",
        tmp_path / "zero.db" / "marks.db": "exist; got .*marks.db. Make it with",
        tmp_path / "loop.db": "be a file that can be found; got .*loop.db",
        tmp_path / ("x" * 300): "be a file that can be found; got .*xxx",
        "\0": "be a file that can be found",
        tmp_path
        / "zero.db": "hold something; got .*zero.db, which is empty. If it held marks, go back to a backup, .* If not",
    }
    before = sorted(tmp_path.iterdir())
    for path, rule in rules.items():
        for readonly in (False, True):
            catalogue = Catalogue(path, readonly=readonly)
            for look in (
                lambda one: len(one),
                lambda one: one.store,
                lambda one: one.relatives("crown"),
                Catalogue.renew,
            ):
                with pytest.raises(InputError, match=f"the catalogue must {rule}"):
                    look(catalogue)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "zero.db").stat().st_size == 0


@pytest.mark.slow
def test_an_empty_file_becomes_a_catalogue_by_adding_to_it(tmp_path, copy):
    (tmp_path / "zero.db").touch()
    with Catalogue(tmp_path / "zero.db") as catalogue:
        assert catalogue.add({"crown/1": copy}, drawing=True, n_jobs=1).added == 1
    with pytest.raises(
        InputError, match=r"the catalogue must be writable; got .*, which is read-only. Copy it elsewhere"
    ):
        Catalogue(tmp_path / "zero.db", readonly=True).add({"crown/2": copy})
    with pytest.raises(InputError, match="the catalogue must exist"):
        Catalogue(tmp_path / "other.db", readonly=True).add({"crown/2": copy})


def test_tables_without_a_mark_are_no_catalogue(tmp_path):
    """What the copy of a new catalogue without its log is, and what an `add` leaves that was killed at once."""
    with closing(sqlite3.connect(tmp_path / "new.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
    assert (tmp_path / "new.db").stat().st_size
    for readonly in (False, True):
        with pytest.raises(
            InputError, match=r"the catalogue must hold something; .* copy what stands beside it as new.db-"
        ):
            len(Catalogue(tmp_path / "new.db", readonly=readonly))


LOOKS = {
    "len": len,
    "relatives": lambda catalogue: catalogue.relatives("anchor-0"),
    "ink": lambda catalogue: catalogue.ink("anchor-0"),
    "marks": lambda catalogue: catalogue.store.marks(),
    "records": lambda catalogue: list(catalogue.store.records()),
    "verify": lambda catalogue: list(maintenance.verify(catalogue.store)),
    "stats": lambda catalogue: maintenance.stats(catalogue.store),
    "judgements": lambda catalogue: catalogue.store.judgements(),
    "doubles": lambda catalogue: catalogue.store.doubles(),
}


@pytest.mark.slow
def test_damaged_files_are_refused_in_words(tmp_path):
    path, rng = tmp_path / "marks.db", random.Random(0)
    catalogues.make(path, PAIRS[:4]).close()
    whole, refused = path.read_bytes(), 0
    for n in range(60):
        damaged = bytearray(whole[: rng.randrange(1, len(whole))] if n % 3 == 0 else whole)
        for _ in range(rng.choice([1, 10, 100])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        for left in tmp_path.glob("marks.db-*"):
            left.unlink()
        path.write_bytes(damaged)
        for look in LOOKS.values():
            try:
                with Catalogue(path, readonly=n % 2 == 0) as catalogue:
                    look(catalogue)
            except InputError:
                refused += 1
    assert refused > 60


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            "DELETE FROM about WHERE key = 'generation'",
            r"be a whole catalogue of nrcdt; got .* \(its settings are missing\)",
        ),
        (
            "UPDATE about SET value = 'x' WHERE key = 'generation'",
            r"be a whole catalogue of nrcdt; .* \(Expecting value",
        ),
        ("UPDATE marks SET to_mark = '[1, 2'", r"be a whole catalogue of nrcdt; .* \(Expecting ',' delimiter"),
        (
            "UPDATE marks SET name = CAST(x'ff' AS TEXT)",
            r"be a whole catalogue of nrcdt; .* \(Could not decode to UTF-8",
        ),
    ],
)
def test_damaged_values_are_refused_in_words(tmp_path, spoil, sentence):
    catalogues.make(tmp_path / "marks.db", PAIRS[:4]).close()
    with closing(sqlite3.connect(tmp_path / "marks.db", isolation_level=None)) as db:
        db.execute(spoil)
    for readonly in (False, True):
        with (
            Catalogue(tmp_path / "marks.db", readonly=readonly) as catalogue,
            pytest.raises(InputError, match=f"the catalogue must {sentence}"),
        ):
            catalogue.store.marks(), catalogue.store.generation()


def test_features_without_their_mark_are_named(tmp_path):
    sentence = r"the catalogue must hold mark 9, whose features it holds; got none\. Somebody has just removed it"
    with catalogues.make(tmp_path / "marks.db", PAIRS[:4]) as store, pytest.raises(InputError, match=sentence):
        store.numbered([9])
