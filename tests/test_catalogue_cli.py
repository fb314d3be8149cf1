"""`nrcdt catalogue` and what it says, as a user would meet it."""

import contextlib
import json
import re
import shlex
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import catalogues
import kill_add
from nrcdt import cli
from nrcdt.catalogue import calibration, evaluation, ingest, workers
from nrcdt.catalogue.intake import prepare
from nrcdt.catalogue.ranking import Search, query_of, query_of_mark, write_ink
from nrcdt.catalogue.store import Store
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


@pytest.mark.slow
def test_adding_again_changes_nothing(path, folder):
    result = run("add", path, folder / "scans", "--drawing", "--jobs", 1)
    assert "0 added, 0 replaced, 24 unchanged, 1 failed" in result.output


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_stranger_is_called_one(path, tmp_path):
    rng = np.random.default_rng(3)
    scribble = np.zeros((96, 96))
    rows, columns = (np.clip(48 + np.cumsum(rng.normal(0, 2.5, 400)), 5, 90).astype(int) for _ in range(2))
    scribble[rows, columns] = scribble[rows + 1, columns] = 1
    Image.fromarray(catalogues.paper(scribble)).save(tmp_path / "scribble.png")
    result = run("query", path, tmp_path / "scribble.png", "--drawing")
    assert "Probably not in this collection" in result.output


@pytest.mark.slow
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
        (("compare", "{path}", "crown-0", "crown-1", "-o", "a.gif"), "must end in .png"),
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


@pytest.mark.slow
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
    assert "2 taken over, 22 were there, 0 of them completed, 0 judgements taken" in run("merge", copy, path).output
    assert "24 marks: features computed again" in run("add", copy, "--renew").output


def test_verify_names_damage_and_missing_files(path, tmp_path):
    run("backup", path, tmp_path / "copy.db")
    with Store(tmp_path / "copy.db") as catalogue, catalogue.transaction():
        catalogue.set_vector(1, np.zeros(3))
    result = run("verify", tmp_path / "copy.db")
    assert result.exit_code == 1
    assert "1 faults" in result.output
    assert "the features must be 288 finite numbers; got 3" in result.output


@pytest.mark.slow
def test_following_verify_mends_the_catalogue(path, tmp_path):
    copy = tmp_path / "a copy.db"
    run("backup", path, copy)
    with sqlite3.connect(copy) as db:
        db.execute("UPDATE pictures SET mark = x'00' WHERE id = 1")
        db.execute("UPDATE features SET vector = x'00' WHERE id = 2")
        db.execute("UPDATE marks SET note = 'torn' WHERE id < 3")
    said = run("verify", copy).output
    commands = re.findall(r"Read its picture again: nrcdt catalogue (.*--again.*)", said)
    assert len(commands) == 2
    for command in commands:
        assert "0 added, 1 replaced, 0 unchanged" in run(*shlex.split(command), "--jobs", 1).output
    assert "24 marks checked, 0 faults" in run("verify", copy).output
    with Store(copy) as catalogue, Store(path) as before:
        for number in (1, 2):
            (mark,), (old,) = catalogue.numbered([number]), before.numbered([number])
            assert mark == old._replace(note="torn", added=mark.added)
            np.testing.assert_allclose(catalogue.vector(mark.uid), before.vector(mark.uid), atol=1e-6)


@pytest.mark.slow
def test_features_computed_again_are_calibrated_again(path, tmp_path):
    copy = tmp_path / "copy.db"
    run("backup", path, copy)
    with Store(copy) as catalogue:
        strangers = catalogue.about("strangers")
        catalogue.set_about("strangers", strangers | {"scores": [0.0]})
    assert run("add", copy, "--renew").exit_code == 0
    with Store(copy) as catalogue:
        assert catalogue.about("strangers") == strangers


@pytest.fixture
def unread(monkeypatch):
    """No picture is read: whoever adds gets a count at once."""
    monkeypatch.setattr(workers, "Workers", lambda n: contextlib.nullcontext())
    monkeypatch.setattr(ingest, "add", lambda *args, **options: ingest.Count(added=1, corrected=2))


def test_adding_tells_odd_cells_dates_and_doubles(path, tmp_path, unread):
    run("backup", path, tmp_path / "copy.db")
    with Store(tmp_path / "copy.db") as catalogue, catalogue.transaction():
        record = next(catalogue.records())
        catalogue.put(record._replace(mark=record.mark._replace(uid="other", source="/elsewhere.png")))
    (tmp_path / "a.png").touch()
    (tmp_path / "b.png").touch()
    (tmp_path / "t.csv").write_text("path,date,dpi\na.png,soon,abc\nb.png,1450,300\n")
    result = run("add", tmp_path / "copy.db", tmp_path / "t.csv")
    assert result.exit_code == 0, result.output
    assert "t.csv, line 2: dpi must be a number from 10 to 100000; got 'abc'." in result.output
    assert "Dates that tell no year: 1, such as 'soon'; filters by year leave these marks out" in result.output
    assert "Pictures that are in the catalogue more than once: 1, such as /elsewhere.png and " in result.output
    assert "1 added, 0 replaced, 2 corrected, 0 unchanged, 0 failed; 25 marks in" in result.output


def test_an_interrupted_add_says_what_is_in(path, folder, monkeypatch, unread):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ingest, "add", interrupted)
    result = run("add", path, folder / "scans")
    assert result.exit_code == 130
    assert re.search(r"Interrupted: 24 marks are in .*marks.db. The same command goes on from here.", result.output)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nosuch", "which is absent"),
        ("empty.csv", "the file must have 1 to"),
        ("empty", "FOLDER must hold pictures that can be taken; got none in"),
        ("linked", "jug: the folder must not be a link; got one"),
    ],
)
def test_a_wrong_source_leaves_no_catalogue(tmp_path, source, message):
    (tmp_path / "empty.csv").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "jug").symlink_to(tmp_path / "empty")
    result = run("add", tmp_path / "new.db", tmp_path / source)
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "new.db").exists()


@pytest.mark.slow
def test_a_picture_by_itself_and_a_part_of_it(folder, tmp_path):
    picture = folder / "scans" / "crown" / "crown-0.png"
    result = run("add", tmp_path / "one.db", picture, "--drawing", "--jobs", 1, "--crop", 0, 0, 96, 60)
    assert "1 added, 0 replaced" in result.output, result.output
    with Store(tmp_path / "one.db") as catalogue:
        (mark,) = catalogue.marks()
    assert mark.settings["crop"] == [0, 0, 96, 60]
    assert mark.mark_height < 62


def test_edits_by_command(path, tmp_path):
    copy = tmp_path / "copy.db"
    run("backup", path, copy)
    result = run("edit", copy, "crown-0", "--dpi", 300, "--date", "soon")
    assert re.search(r"dpi +300.0\n", result.output)
    assert "Dates that tell no year: 1, such as 'soon'" in result.output
    assert "dpi must be a number from 10 to 100000; got '3'" in run("edit", copy, "crown-0", "--dpi", 3).output
    assert "dpi" not in run("edit", copy, "crown-0", "--dpi", "").output
    assert "2 removed; 22 marks are left" in run("remove", copy, "crown-0", "crown-1", "crown-0").output
    assert "What it shows, such as crown." in run("edit", "--help").output
    assert "Only marks with this in name, motif, date, place, method," in run("export", "--help").output


@pytest.mark.parametrize(
    "arguments", [("query", "a.png", "--from", "9" * 26), ("export", "a.csv", "--to", -1), ("add", "a", "--jobs", -3)]
)
def test_numbers_out_of_range_are_refused(path, arguments):
    command, *rest = arguments
    result = run(command, path, *rest)
    assert result.exit_code == 2
    assert f"Invalid value for '{rest[1]}'" in result.output


def test_exports_do_not_overwrite(path, tmp_path):
    (tmp_path / "all.csv").write_text("precious")
    assert run("export", path, tmp_path / "all.csv").exit_code == 2
    assert (tmp_path / "all.csv").read_text() == "precious"
    assert run("export", path, tmp_path / "all.csv", "--force").exit_code == 0


def test_merging_tells_what_is_contradictory(path, tmp_path):
    for name, place in (("a", "Basel"), ("b", "Bern")):
        run("backup", path, tmp_path / f"{name}.db")
        run("edit", tmp_path / f"{name}.db", "crown-0", "--place", place)
    result = run("merge", tmp_path / "a.db", tmp_path / "b.db")
    assert re.search(r"kept as it is: \w+ \(crown-0\): place is 'Basel' here and 'Bern' there", result.output)


@pytest.mark.slow
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
    with Store(path, readonly=True) as catalogue:
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


@pytest.mark.slow
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
    with Store(path) as catalogue:
        scores = calibration.calibrate(Search(catalogue, n_jobs=1))
        assert len(scores) == 24
        assert scores.min() > 0.5  # copies of a mark score far less, and are not among them
        assert calibration.chance(catalogue, 0.0) == pytest.approx(1 / 25)


def test_averages():
    rows = evaluation.table([(None, [False] * 7 + [True]), (None, [True, True])])
    assert rows == [evaluation.Row("all", 2, (0.5, 0.5, 1.0), (1 / 8 + 1) / 2)]


@pytest.mark.slow
def test_killed_at_any_moment_nothing_is_lost(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        half_way = pool.map(lambda seed: kill_add.run(5, tmp_path / str(seed), seed), (0, 1))
        assert sum(half_way) >= 5
