"""The front door: pictures of all kinds go in, and a picture is answered in a word, a sentence and hits."""

import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest
from PIL import Image

import catalogues
from nrcdt.catalogue import Catalogue
from nrcdt.catalogue.calibration import in_collection, verdict
from nrcdt.catalogue.intake import Settings
from nrcdt.catalogue.model import Filter
from nrcdt.catalogue.ranking import Search, query_of
from nrcdt.datasets import distorted
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
