"""`nrcdt catalogue` and what it says, as a user would meet it."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import catalogues
import kill_add
from nrcdt import cli
from nrcdt.catalogue import calibration, evaluation
from nrcdt.catalogue.prepare import prepare
from nrcdt.catalogue.ranking import Search, query_of, query_of_mark, write_ink
from nrcdt.catalogue.store import Catalogue
from nrcdt.datasets import distorted

PAIRS = catalogues.marks(12, 1, size=96)


def run(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli.app, ["catalogue", *map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("catalogue")
    scans = catalogues.write_folder(folder / "scans", PAIRS)
    (scans / "crown" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    result = run("add", folder / "marks.db", scans, "--drawing", "--jobs", 1)
    assert result.exit_code == 1, result.output
    assert "24 added, 0 replaced, 0 unchanged, 1 failed; 24 marks in" in result.output
    assert re.search(r"broken.png: the picture must be a whole", result.output)
    return folder


@pytest.fixture
def path(folder):
    return folder / "marks.db"


def test_adding_again_changes_nothing(path, folder):
    result = run("add", path, folder / "scans", "--drawing", "--jobs", 1)
    assert "0 added, 0 replaced, 24 unchanged, 1 failed" in result.output


def test_a_query_finds_the_mark_and_says_so(path, tmp_path):
    name, image = PAIRS[0]
    copy = distorted(image[np.newaxis], 1, random_state=5, shift=(-3, 3))[0][0]
    Image.fromarray(catalogues.paper(copy)).save(tmp_path / "new.png")
    result = run("query", path, tmp_path / "new.png", "--drawing", "-n", 3, "-o", tmp_path / "hits.json")
    assert result.exit_code == 0, result.output
    motif = name.rsplit("-", 1)[0]
    assert f"{motif}-" in result.output.split("overlap")[1].splitlines()[2]
    assert re.search(rf"{motif}-\d is probably the same mark", result.output)
    hits = json.loads((tmp_path / "hits.json").read_text())
    assert [hit["rank"] for hit in hits] == [1, 2, 3]
    assert hits[0]["motif"] == motif
    assert hits[0]["overlap"] > 0.85 > hits[2]["overlap"]


def test_a_stranger_is_called_one(path, tmp_path):
    rng = np.random.default_rng(3)
    scribble = np.zeros((96, 96))
    rows, columns = (np.clip(48 + np.cumsum(rng.normal(0, 2.5, 400)), 5, 90).astype(int) for _ in range(2))
    scribble[rows, columns] = scribble[rows + 1, columns] = 1
    Image.fromarray(catalogues.paper(scribble)).save(tmp_path / "scribble.png")
    result = run("query", path, tmp_path / "scribble.png", "--drawing")
    assert "Probably not in this collection" in result.output


def test_filters_of_a_query(path, tmp_path):
    Image.fromarray(catalogues.paper(PAIRS[0][1])).save(tmp_path / "new.png")
    result = run("query", path, tmp_path / "new.png", "--drawing", "--motif", "crown")
    assert set(re.findall(r"(\w+)-\d", result.output)) == {"crown"}
    result = run("query", path, tmp_path / "new.png", "--drawing", "--from", 1900)
    assert "No mark matches the filters." in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("query", "{path}", "none.png"), "none.png"),
        (("query", "none.db", "{path}"), "the catalogue must exist; got none.db"),
        (("query", "{path}", "{path}"), "the picture must be a whole"),
        (("add", "{path}"), "FOLDER must be given; got none."),
        (("add", "{path}", "nowhere"), "nowhere"),
        (("edit", "{path}", "nobody"), "MARK must be the id"),
        (("export", "{path}", "table.xlsx"), "the table must end in .csv or .json"),
        (("compare", "{path}", "crown-0", "crown-1", "-o", "a.gif"), "the picture must end in .png"),
        (("cluster", "{path}", "--groups", "99"), "n_groups must be between 1"),
        (("merge", "{path}", "none.db"), "the catalogue must exist"),
    ],
)
def test_errors_are_one_line(path, arguments, message):
    result = run(*(argument.format(path=path) for argument in arguments))
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert "Traceback" not in result.output


def test_comparing_tells_the_map(path, tmp_path):
    result = run("compare", path, "crown-0", "crown-1", "-o", tmp_path / "both.png")
    assert float(re.search(r"overlap (\d\.\d+)", result.output)[1]) > 0.85
    assert re.search(r"mirrored (yes|no), turned .*clockwise\nstretched \d\.\d+ across", result.output)
    with Image.open(tmp_path / "both.png") as picture:
        assert picture.mode == "RGB"
        assert np.asarray(picture).min() < 60


def test_the_other_commands(path, tmp_path):
    assert re.search(r"marks +24\n", run("stats", path).output)
    assert "24 marks checked, 0 faults" in run("verify", path).output
    assert "12" not in run("cluster", path, "--groups", 12, "-o", tmp_path / "groups.csv").output.splitlines()[-1]
    assert (tmp_path / "groups.csv").read_text().count("\n") == 25
    assert "24 marks written" in run("export", path, tmp_path / "all.csv").output
    assert "copied" in run("backup", path, tmp_path / "copy.db").output
    copy = tmp_path / "copy.db"
    assert "note         torn" in run("edit", copy, "crown-0", "--note", "torn").output
    assert "note         torn" in run("edit", copy, "crown-0").output
    assert "2 removed; 22 marks are left" in run("remove", copy, "crown-0", "crown-1").output
    assert "2 taken over, 22 were there; 24 marks" in run("merge", copy, path).output
    assert "24 marks: features computed again" in run("add", copy, "--renew").output


def test_verify_names_damage_and_missing_files(path, tmp_path):
    run("backup", path, tmp_path / "copy.db")
    with Catalogue(tmp_path / "copy.db") as catalogue, catalogue.transaction():
        catalogue.set_vector(1, np.zeros(3))
    result = run("verify", tmp_path / "copy.db")
    assert result.exit_code == 1
    assert "1 faults" in result.output
    assert "the features must be 288 finite numbers; got 3" in result.output


def test_eval_measures_what_it_says(path, tmp_path):
    result = run("eval", path, "--copies", 2, "-o", tmp_path / "eval.json")
    assert result.exit_code == 0, result.output
    values = json.loads((tmp_path / "eval.json").read_text())
    kinds = {row["kind"]: row for row in values["rows"] if row["group"] == "all"}
    assert kinds["features alone"]["n"] == kinds["registered"]["n"] == 24
    assert kinds["registered"]["recall"][0] == 1
    assert values["copies"]["n"] == 2
    assert "The mark itself, from 2 simulated photographs: recall @1" in result.output


def test_eval_of_marks_without_relatives(tmp_path):
    catalogues.make(tmp_path / "a.db", PAIRS[::2]).close()
    result = run("eval", tmp_path / "a.db", "--copies", 0)
    assert result.exit_code == 2
    assert "Nothing can be measured" in result.output


# The numbers behind it.


def test_registration_brings_the_identical_mark_to_the_front(path):
    with Catalogue(path, readonly=True) as catalogue:
        search = Search(catalogue, n_jobs=1)
        for mark in catalogue.marks()[::6]:
            hits = search.query(query_of_mark(catalogue, mark), n=24)
            assert hits[0].mark == mark
            assert hits[0].score < 1e-3
            assert hits[1].mark.motif == mark.motif
            assert [hit.score for hit in hits] == sorted(hit.score for hit in hits)
            few = search.query(query_of_mark(catalogue, mark), n=24, n_registered=5, without=mark.uid)
            assert len(few) == 23
            assert mark.uid not in {hit.mark.uid for hit in few}
            assert all(hit.registration is None for hit in few[5:])


@pytest.mark.parametrize(("factor", "same"), [(1.0, True), (1.5, False)])
def test_the_size_on_paper_tells_identical_from_similar(tmp_path, factor, same):
    pairs = catalogues.marks(12, 1, size=96)
    with catalogues.make(tmp_path / "a.db", pairs, mm_per_pixel=0.5) as catalogue:
        search = Search(catalogue, n_jobs=1)
        calibration.calibrate(search)
        # The strangers of so few marks are too few to say anything; twenty of them are not.
        catalogue.set_about("strangers", {"marks": 24, "scores": [1.0 + n / 100 for n in range(25)]})
        query = query_of(prepare(write_ink(catalogues.paper(pairs[0][1])), catalogues.DRAWING))
        hits = search.query(query._replace(mm_per_pixel=0.5 * factor))
        assert hits[0].size_ratio == pytest.approx(1 / factor, rel=0.02)
        assert hits[0].same_size is same
        assert calibration.in_collection(catalogue, hits) is same
        assert ("times as large on paper" in calibration.verdict(catalogue, hits)) is not same
        assert hits[0].mark.size_mm == (hits[0].mark.mark_width / 2, hits[0].mark.mark_height / 2)


def test_without_calibration_nothing_is_claimed(tmp_path):
    with catalogues.make(tmp_path / "a.db", PAIRS[:4:2]) as catalogue:
        mark, search = catalogue.marks()[0], Search(catalogue, n_jobs=1)
        hits = search.query(query_of_mark(catalogue, mark))
        assert calibration.in_collection(catalogue, hits)  # the ink itself tells
        assert "probably the same mark: 100% of the ink overlaps" in calibration.verdict(catalogue, hits)
        hits = search.query(query_of_mark(catalogue, mark), without=mark.uid)
        assert calibration.in_collection(catalogue, hits) is None
        assert "too small, or not calibrated" in calibration.verdict(catalogue, hits)


def test_strangers_leave_out_relatives(path):
    with Catalogue(path) as catalogue:
        scores = calibration.calibrate(Search(catalogue, n_jobs=1))
        assert len(scores) == 24
        assert scores.min() > 0.5  # copies of a mark score far less, and are not among them
        assert calibration.chance(catalogue, 0.0) == pytest.approx(1 / 25)


def test_averages():
    rows = evaluation.table([(None, [False] * 7 + [True]), (None, [True, True])])
    assert rows == [evaluation.Row("all", 2, (0.5, 0.5, 1.0), (1 / 8 + 1) / 2)]


def test_killed_at_any_moment_nothing_is_lost(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        half_way = pool.map(lambda seed: kill_add.run(5, tmp_path / str(seed), seed), (0, 1))
        assert sum(half_way) >= 5
