"""The store: marks go in, come out, change, move between files; nothing is lost."""

import csv
import json
import os
import re
import shutil
import sqlite3
import threading

import numpy as np
import pytest

import catalogues
from nrcdt.catalogue import database, ingest, maintenance
from nrcdt.catalogue.clusters import clusters
from nrcdt.catalogue.dates import years
from nrcdt.catalogue.importers import Entry, listed
from nrcdt.catalogue.index import Index
from nrcdt.catalogue.intake import PLAN, SETTINGS, Settings
from nrcdt.catalogue.model import Filter
from nrcdt.catalogue.ranking import Search, query_of_mark
from nrcdt.catalogue.store import Store
from nrcdt.catalogue.workers import Workers

PAIRS = catalogues.marks(4, 1)


@pytest.fixture
def catalogue(tmp_path):
    with catalogues.make(tmp_path / "marks.db", PAIRS, date="1450-62", place="Basel", method="tracing") as made:
        yield made


@pytest.fixture(scope="module")
def workers():
    with Workers(1) as made:
        yield made


def test_marks_come_out_as_they_went_in(catalogue):
    assert len(catalogue) == 8
    mark = catalogue.find("anchor-0")
    assert (mark.motif, mark.date, mark.place, mark.polarity) == ("anchor", "1450-62", "Basel", "dark")
    assert catalogue.mark(mark.uid) == mark
    assert catalogue.find(mark.uid[:6]) == mark
    assert catalogue.vector(mark.uid).shape == (PLAN.n_features,)
    assert catalogue.picture(mark.uid, "preview").startswith(b"\xff\xd8")
    assert catalogue.picture(mark.uid, "original") is None
    assert mark.size_mm is None
    with pytest.raises(KeyError):
        catalogue.mark("nobody")
    with pytest.raises(KeyError):
        catalogue.picture("nobody", "mark")
    with pytest.raises(KeyError):
        catalogue.vector("nobody")
    with pytest.raises(ValueError, match="kind must be mark, preview or original; got 'photo'"):
        catalogue.picture(mark.uid, "photo")
    with pytest.raises(ValueError, match=r"MARK must be the id, .* got 'nobody', which fits none"):
        catalogue.find("nobody")


def test_a_name_that_fits_several_marks_is_refused(catalogue):
    for mark in catalogue.marks()[:2]:
        catalogue.edit(mark.uid, {"name": "twin"})
    with pytest.raises(ValueError, match=r"'twin', which fits several, such as .* and"):
        catalogue.find("twin")


@pytest.mark.parametrize(
    ("wanted", "n"),
    [
        (Filter(), 8),
        (Filter(motif=("anchor",)), 2),
        (Filter(motif=("anchor", "crown")), 4),
        (Filter(text="ANCH"), 2),
        (Filter(text="%"), 0),
        (Filter(year_from=1462), 8),
        (Filter(year_from=1463), 0),
        (Filter(year_to=1450), 8),
        (Filter(year_to=1449), 0),
        (Filter(place=("Basel",), method=("tracing",)), 8),
        (Filter(place=("'; DROP TABLE marks; --",)), 0),
    ],
)
def test_filters(catalogue, wanted, n):
    motifs = {mark.motif for mark in catalogue.marks()}
    assert {"anchor", "crown"} <= motifs
    assert catalogue.count(wanted) == len(catalogue.marks(wanted)) == len(list(catalogue.each(wanted))) == n
    assert len(catalogue.ids(wanted)) == n


def test_pages_of_marks_are_sorted_and_complete(catalogue):
    together = catalogue.marks()
    assert [mark.name for mark in together] == sorted(mark.name for mark in together)
    assert together == [mark for start in range(0, 8, 3) for mark in catalogue.marks(offset=start, limit=3)]
    assert catalogue.values_of("place") == [("Basel", 8)]
    with pytest.raises(ValueError, match="column must be motif, method or place; got 'uid'"):
        catalogue.values_of("uid")


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("", (None, None)),
        ("1399/1401", (1399, 1401)),
        ("12345", (None, None)),
        ("1471-03-12", (1471, 1471)),
        ("1498-02", (1498, 1498)),
        ("1498-99, 1501", (1498, 1501)),
        ("14th century", (1301, 1400)),
        ("15th Century", (1401, 1500)),
        ("late 15th c", (1401, 1500)),
        ("15 jh.", (1401, 1500)),
        ("14.-15. Jh.", (1301, 1500)),
        ("Ende 14./Anfang 15. Jh.", (1301, 1500)),
        ("14th to 15th century", (1301, 1500)),
        ("XVe siecle", (1401, 1500)),
        ("XV sec.", (1401, 1500)),
        ("saec. XIV/XV", (1301, 1500)),
        ("XIX", (None, None)),
        ("99. Jh.", (None, None)),
        ("vor 1450", (0, 1450)),
        ("after ca. 1500", (1500, 9999)),
        ("nicht vor 1450", (1450, 9999)),
        ("1450 bis 1460", (1450, 1460)),
    ],
)
def test_years_of_dates(date, expected):
    assert years(date) == expected


def test_edits_and_removals(catalogue):
    uid = catalogue.find("anchor-0").uid
    assert catalogue.edit(uid, {"date": "1511", "note": "torn"}).note == "torn"
    assert catalogue.mark(uid).date == "1511"
    assert catalogue.count(Filter(year_from=1500)) == 1
    with pytest.raises(ValueError, match=r"changes must be among name, .*dpi; got sha256"):
        catalogue.edit(uid, {"sha256": "0"})
    catalogue.judge(uid, catalogue.find("anchor-1").uid, "identical")
    catalogue.remove([uid])
    assert len(catalogue) == 7
    assert catalogue.judgements() == []
    assert list(maintenance.verify(catalogue)) == []


def test_resolutions_are_edited_as_dpi(catalogue):
    uid = catalogue.find("anchor-0").uid
    assert catalogue.mark(uid).dpi is None
    mark = catalogue.edit(uid, {"dpi": "300"})
    assert mark == catalogue.mark(uid)
    assert (mark.dpi, mark.mm_per_pixel) == (300, pytest.approx(25.4 / 300))
    with catalogue.transaction():  # as a PNG has it, in pixels per metre
        catalogue.correct(mark, {"mm_per_pixel": 1000 / 11811})
    shown = catalogue.mark(uid).dpi
    assert catalogue.edit(uid, {"dpi": str(shown)}).mm_per_pixel == 1000 / 11811
    for typed in ("0", "many", "1e300", "nan"):
        with pytest.raises(ValueError, match=f"dpi must be a number from 10 to 100000; got '{typed}'. Leave it empty"):
            catalogue.edit(uid, {"dpi": typed})
    assert catalogue.edit(uid, {"dpi": ""}).dpi is None


def test_a_copy_of_the_file_has_the_latest_edits(catalogue, tmp_path):
    a, b, c = (mark.uid for mark in catalogue.marks()[:3])
    catalogue.judge(a, b, "similar")
    catalogue.edit(c, {"note": "torn"})
    shutil.copy(tmp_path / "marks.db", tmp_path / "copy.db")
    with Store(tmp_path / "copy.db") as copy:
        assert len(copy.judgements()) == 1
        assert copy.mark(c).note == "torn"


def test_judgements(catalogue):
    a, b, c = (mark.uid for mark in catalogue.marks()[:3])
    catalogue.judge(b, a, "similar", "same crown")
    catalogue.judge(a, b, "twin mould", "after a second look")
    catalogue.judge(a, c, "different")
    (one,) = catalogue.judgements(b)
    assert (one.verdict, one.note) == ("twin mould", "after a second look")
    assert len(catalogue.judgements()) == 2
    catalogue.forget(b, a)
    assert catalogue.judgements(b) == []
    with pytest.raises(ValueError, match=r"verdict must be one of identical, .*; got 'cousins'"):
        catalogue.judge(a, b, "cousins")
    with pytest.raises(ValueError, match="a and b must be two marks; got one and the same"):
        catalogue.judge(a, a, "identical")
    with pytest.raises(KeyError):
        catalogue.judge(a, "nobody", "identical")


def test_neighbours_are_the_exact_ones(catalogue):
    index = Index(catalogue)
    held = index.held()
    for n, block in enumerate(np.split(held.vectors, np.cumsum(PLAN.block_sizes)[:-1], axis=1)):
        assert np.mean(np.sum(block**2, axis=1)) == pytest.approx(1, rel=1e-5), n
    features = catalogue.vector(catalogue.marks()[3].uid)
    found = index.nearest(features, 5)
    distances = np.linalg.norm(held.vectors - features / held.scales, axis=1)
    np.testing.assert_array_equal(found.ids, held.ids[np.argsort(distances, kind="stable")[:5]])
    assert found.distances[0] == 0
    crowns = index.nearest(features, 5, Filter(motif=("crown",)))
    assert set(crowns.ids) == set(catalogue.ids(Filter(motif=("crown",))))
    assert len(index.nearest(features, 5, Filter(motif=("none",))).ids) == 0


def test_the_index_follows_the_catalogue_but_not_judgements(catalogue, tmp_path):
    index = Index(catalogue)
    held = index.held()
    a, b = (mark.uid for mark in catalogue.marks()[:2])
    catalogue.judge(a, b, "similar")
    assert index.held() is held
    with Store(tmp_path / "marks.db") as other:  # as another program would
        other.remove([a])
    assert len(index.held().ids) == 7


def test_an_empty_catalogue_has_no_neighbours(tmp_path):
    with Store(tmp_path / "empty.db", create=True) as catalogue:
        assert len(Index(catalogue).nearest(np.zeros(PLAN.n_features, np.float32), 3).ids) == 0


def test_copies_of_a_mark_form_groups(catalogue):
    ids, groups = clusters(Index(catalogue), n_groups=4)
    motifs = catalogue.motifs()
    for group in range(4):
        assert len({motifs[number] for number in ids[groups == group]}) == 1
    assert clusters(Index(catalogue), reach=10)[1].max() == 0
    with pytest.raises(ValueError, match="n_groups must be between 1 and the number of marks, 8; got 9"):
        clusters(Index(catalogue), n_groups=9)
    with pytest.raises(ValueError, match="reach must be positive; got -1"):
        clusters(Index(catalogue), reach=-1)


def test_a_single_mark_cannot_be_grouped(tmp_path):
    with (
        catalogues.make(tmp_path / "one.db", PAIRS[:1]) as catalogue,
        pytest.raises(ValueError, match="must have 2 to 20000 marks to be grouped; got 1"),
    ):
        clusters(Index(catalogue))


# Adding.


@pytest.mark.slow
def test_adding_skips_what_is_unchanged_and_keeps_what_people_wrote(tmp_path, workers):
    scans = catalogues.write_folder(tmp_path / "scans", PAIRS)
    problems = []

    def add(**options):
        return ingest.add(catalogue, listed(scans), Settings(ink=False), workers, report=problems.append, **options)

    with Store(tmp_path / "marks.db", create=True) as catalogue:
        assert add() == (8, 0, 0, 0, 0, 0)
        assert add() == (0, 0, 8, 0, 0, 0)
        mark = catalogue.find("anchor-0")
        catalogue.edit(mark.uid, {"note": "torn", "name": "Anchor"})
        catalogue.judge(mark.uid, catalogue.find("crown-0").uid, "different")
        shutil.copy(scans / "crown" / "crown-0.png", mark.source)
        (scans / "LICENSE.txt").write_text("free")
        (scans / "crown" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
        assert add() == (0, 1, 7, 1, 1, 0)
        assert {problem.file for problem in problems if problem.left_out} == {"LICENSE.txt"}
        assert next(problem.file for problem in problems if not problem.left_out).endswith("broken.png")
        changed = catalogue.mark(mark.uid)
        assert (changed.note, changed.name, changed.source) == ("torn", "Anchor", mark.source)
        assert changed.sha256 == catalogue.find("crown-0").sha256 != mark.sha256
        assert len(catalogue.judgements(mark.uid)) == 1
        assert add(keep=True) == (0, 8, 0, 1, 1, 0)
        assert catalogue.picture(mark.uid, "original") == (scans / "crown" / "crown-0.png").read_bytes()
        assert list(maintenance.verify(catalogue)) == []


def test_corrections_of_a_table_reach_the_catalogue_but_not_what_people_edited(tmp_path, workers):
    scans = catalogues.write_folder(tmp_path / "scans", [("crown-0", PAIRS[2][1])])
    table = scans / "table.csv"

    def add(text):
        table.write_text(text and f"path,name,date,place,dpi,shelf\ncrown/crown-0.png,{text}\n")
        source = listed(table if text else scans)
        return ingest.add(catalogue, source, Settings(ink=False), workers, report=lambda problem: None)._asdict()

    with Store(tmp_path / "marks.db", create=True) as catalogue:
        assert add(",1450,Basel,,")["added"] == 1
        (mark,) = catalogue.marks()
        assert (mark.name, mark.motif, mark.dpi, mark.extra) == ("crown-0", "", None, {})
        catalogue.edit(mark.uid, {"place": "Bern", "note": "torn"})
        assert add("the crown,1460,Berlin,300,B 2")["corrected"] == 1
        found = catalogue.mark(mark.uid)
        assert (found.name, found.date, found.place, found.dpi) == ("the crown", "1460", "Bern", 300)
        assert (found.note, found.extra, found.added) == ("torn", {"shelf": "B 2"}, mark.added)
        assert catalogue.count(Filter(year_from=1460)) == 1
        assert add("the crown,1460,Berlin,300,B 2")["unchanged"] == 1
        assert add("")["corrected"] == 1  # the folder tells the motif, and nothing else
        assert catalogue.mark(mark.uid) == found._replace(motif="crown")
        catalogue.edit(mark.uid, {"date": "", "dpi": "600"})
        os.utime(mark.source, ns=(1, 1))
        assert add("a crown,1470,Berlin,200,")["replaced"] == 1
        found = catalogue.mark(mark.uid)
        assert (found.name, found.motif, found.date, found.dpi) == ("a crown", "crown", "", 600)
        assert found.extra == {"shelf": "B 2"}


def test_catalogues_of_before_learn_what_is_new(tmp_path, workers):
    scans = catalogues.write_folder(tmp_path / "scans", PAIRS[:2])
    with Store(tmp_path / "marks.db", create=True) as catalogue:
        ingest.add(catalogue, listed(scans / "anchor"), Settings(ink=False), workers, report=print)
        with catalogue.transaction():
            for mark in catalogue.marks():  # stamps had one line only
                catalogue.correct(mark, {}, catalogue.stamps()[mark.source].partition("\n")[0])
        catalogue.edit(catalogue.find("anchor-0").uid, {"motif": "fluke"})
        count = ingest.add(catalogue, listed(scans), Settings(ink=False), workers, report=print)
        assert (count.replaced, count.corrected, count.unchanged) == (0, 1, 1)
        assert [mark.motif for mark in catalogue.marks()] == ["anchor", "fluke"]


def test_the_same_file_under_two_paths_is_found(tmp_path):
    with catalogues.make(tmp_path / "marks.db", PAIRS[:3]) as catalogue:
        assert catalogue.doubles() == []
        record = next(catalogue.records())
        with catalogue.transaction():
            catalogue.put(record._replace(mark=record.mark._replace(uid="other", source="/elsewhere.png")))
        assert catalogue.doubles() == [("/elsewhere.png", record.mark.source)]


def test_two_programs_may_add_the_same_folder(tmp_path, workers):
    scans = catalogues.write_folder(tmp_path / "scans", PAIRS[:3])
    with Store(tmp_path / "marks.db", create=True) as ours, Store(tmp_path / "marks.db") as theirs:
        late = ingest._Adding(theirs, Settings(ink=False), False, print, lambda: None)  # has looked at the empty file
        assert ingest.add(ours, listed(scans), Settings(ink=False), workers, report=print).added == 3
        for key, data, settings in late.jobs(listed(scans)):
            late.take(key, workers.prepare(data(), settings))
        late.flush()
        assert len(ours) == 3
        assert list(maintenance.verify(ours)) == []


def test_a_file_that_vanishes_is_reported(tmp_path, workers):
    problems = []
    with Store(tmp_path / "marks.db", create=True) as catalogue:
        items = [Entry(tmp_path / "gone.png", "gone")]
        count = ingest.add(catalogue, items, Settings(), workers, report=problems.append)
    assert count.failed == 1
    assert "gone.png" in problems[0].file


def test_features_of_other_settings_are_refused_until_renewed(catalogue, workers):
    before = catalogue.vector(catalogue.marks()[0].uid)
    catalogue.set_about("settings", SETTINGS | {"n_quantiles": 8})
    with catalogue.transaction():
        for number in catalogue.ids():
            catalogue.set_vector(number, np.zeros(8))
    for use in (
        lambda: ingest.add(catalogue, [], Settings(), workers, report=print),
        lambda: Index(catalogue).held(),
        lambda: maintenance.merge(catalogue, catalogue),
    ):
        with pytest.raises(ValueError, match=r"settings of this nrcdt, .* got .*'n_quantiles': 8.* add .* --renew"):
            use()
    catalogue.set_about("strangers", {"marks": 8, "scores": [1.0]})
    assert ingest.renew(catalogue) == 8
    assert catalogue.about("strangers") is None
    np.testing.assert_array_equal(catalogue.vector(catalogue.marks()[0].uid), before)
    Index(catalogue).held()


# Looking after it.


def test_tables_for_other_programs(catalogue, tmp_path):
    catalogue.edit(catalogue.find("anchor-0").uid, {"name": "=cmd()"})
    a, b = (mark.uid for mark in catalogue.marks(Filter(motif=("anchor",))))
    catalogue.judge(a, b, "identical", "sure")
    assert maintenance.export(catalogue, tmp_path / "all.csv") == 8
    text = (tmp_path / "all.csv").read_text()
    assert text.count("\n") == 9
    assert "'=cmd()" in text
    assert maintenance.export(catalogue, tmp_path / "some.json", Filter(motif=("anchor",))) == 2
    values = json.loads((tmp_path / "some.json").read_text())
    assert [mark["judgements"][0]["note"] for mark in values] == ["sure", "sure"]
    with pytest.raises(ValueError, match=r"the table must end in .csv or .json; got 'all.xlsx'"):
        maintenance.export(catalogue, tmp_path / "all.xlsx")
    assert sorted(path.name for path in tmp_path.iterdir() if "marks.db" not in path.name) == ["all.csv", "some.json"]


def test_tables_keep_the_columns_that_came_in(catalogue, tmp_path):
    first, second, *_ = catalogue.marks()
    with catalogue.transaction():
        catalogue.correct(first, {"extra": {"IDmotif": "4,2", "note": "from the table"}, "mm_per_pixel": 0.1})
        catalogue.correct(second, {"extra": {"IDwmarks": "17"}})
    maintenance.export(catalogue, tmp_path / "all.CSV")
    rows = {row["uid"]: row for row in csv.DictReader((tmp_path / "all.CSV").read_text("utf-8-sig").splitlines())}
    columns = ("IDmotif", "IDwmarks", "note", "note (table)", "dpi")
    assert [rows[first.uid][name] for name in columns] == ["4,2", "", "", "from the table", "254.0"]
    assert [rows[second.uid][name] for name in columns] == ["", "17", "", "", ""]
    with pytest.raises(ValueError, match=r"the table must be a new file; got .*all.CSV, which exists. Choose another"):
        maintenance.export(catalogue, tmp_path / "all.CSV")
    assert maintenance.export(catalogue, tmp_path / "all.CSV", Filter(motif=("anchor",)), force=True) == 2
    assert (tmp_path / "all.CSV").read_text().count("\n") == 3


def test_a_backup_is_the_whole_catalogue(catalogue, tmp_path):
    maintenance.backup(catalogue, tmp_path / "copy.db")
    with Store(tmp_path / "copy.db", readonly=True) as copy:
        assert copy.marks() == catalogue.marks()
        assert list(maintenance.verify(copy)) == []
    with pytest.raises(ValueError, match=r"the backup must be a new file; got .*copy.db, which exists"):
        maintenance.backup(catalogue, tmp_path / "copy.db")


def test_merging(tmp_path):
    with (
        catalogues.make(tmp_path / "a.db", PAIRS[:4]) as ours,
        catalogues.make(tmp_path / "b.db", PAIRS[2:]) as theirs,
    ):
        a, b = theirs.marks()[0].uid, theirs.marks()[1].uid
        theirs.judge(a, b, "similar")
        common = {mark.uid for mark in ours.marks()} & {mark.uid for mark in theirs.marks()}
        assert maintenance.merge(ours, theirs) == (len(theirs) - len(common), len(common), 0, 1, [])
        assert {mark.uid for mark in theirs.marks()} <= {mark.uid for mark in ours.marks()}
        assert len(ours.judgements()) == 1
        assert maintenance.merge(ours, theirs) == (0, len(theirs), 0, 0, [])
        assert list(maintenance.verify(ours)) == []


def test_merging_takes_over_what_a_colleague_wrote(catalogue, tmp_path):
    maintenance.backup(catalogue, tmp_path / "copy.db")
    with Store(tmp_path / "copy.db") as theirs:
        a, b, c = (mark.uid for mark in catalogue.marks()[:3])
        theirs.edit(a, {"note": "torn", "place": "Bern", "dpi": "300"})
        for one, other, verdict in ((a, b, "identical"), (a, c, "similar")):
            theirs.judge(one, other, verdict)
        catalogue.judge(a, b, "different", "sure")
        name = catalogue.mark(a).name
        found = maintenance.merge(catalogue, theirs)
        assert found[:4] == (0, 8, 1, 1)
        assert found.conflicts == [
            f"{a} ({name}): place is 'Basel' here and 'Bern' there",
            f"{' and '.join(sorted((a, b)))}: judged 'different sure' here and 'identical' there",
        ]
        mark = catalogue.mark(a)
        assert (mark.note, mark.place, mark.dpi) == ("torn", "Basel", 300)
        assert catalogue.count(Filter(text="torn")) == 1
        assert sorted(one.verdict for one in catalogue.judgements(a)) == ["different", "similar"]
        assert maintenance.merge(catalogue, theirs)[:4] == (0, 8, 0, 0)


def test_a_file_of_the_same_name_from_elsewhere_does_not_replace_ours(tmp_path):
    with (
        catalogues.make(tmp_path / "a.db", [("crown-0", PAIRS[0][1])]) as ours,
        catalogues.make(tmp_path / "b.db", [("crown-0", PAIRS[2][1])]) as theirs,
    ):
        assert maintenance.merge(ours, theirs) == (1, 0, 0, 0, [])
        sources = sorted(mark.source for mark in ours.marks())
        assert sources[0] == ""
        assert any("merged from" in mark.extra for mark in ours.marks())


def test_numbers(catalogue):
    found = maintenance.stats(catalogue)
    assert (found["marks"], found["motifs"], found["dated"], found["with a scale"]) == (8, 4, 8, 0)
    assert found["methods"] == {"tracing": 8}
    assert len(maintenance.missing_files(catalogue)) == 8


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("UPDATE pictures SET mark = x'00' WHERE id = 1", "the ink cannot be read"),
        ("UPDATE features SET vector = x'00000000' WHERE id = 1", "the features must be 288 finite numbers; got 1"),
        ("UPDATE marks SET mark_width = 1 WHERE id = 1", "the ink must have .* some of them inked; got"),
        ("DELETE FROM features WHERE id = 1", "the pictures or the features are missing"),
    ],
)
def test_damage_is_found_and_named(catalogue, tmp_path, damage, fault):
    assert list(maintenance.verify(catalogue)) == []
    with sqlite3.connect(tmp_path / "marks.db") as db:
        db.execute(damage)
    (found,) = maintenance.verify(catalogue)
    assert found.startswith(catalogue.numbered([1])[0].uid)
    assert re.search(fault, found), found


def test_whoever_meets_damage_names_the_mark_and_the_way_out(catalogue, tmp_path):
    mark = catalogue.numbered([1])[0]
    damaged = rf"{mark.uid} \({mark.name}\) must be .*: nrcdt catalogue"
    with sqlite3.connect(tmp_path / "marks.db") as db:
        db.execute("UPDATE features SET vector = x'0000000000' WHERE id = 1")
    for use in (catalogue.vectors, lambda: catalogue.vector(mark.uid), lambda: list(catalogue.records())):
        with pytest.raises(ValueError, match=f"the features of {damaged} verify"):
            use()
    (found,) = maintenance.verify(catalogue)
    assert "the features must be 288 finite numbers; got 1.25. Its picture is gone" in found
    ingest.renew(catalogue)
    assert list(maintenance.verify(catalogue)) == []
    with sqlite3.connect(tmp_path / "marks.db") as db:
        db.execute("UPDATE pictures SET mark = x'00' WHERE id = 1")
    with pytest.raises(ValueError, match=f"the ink of {mark.uid} .* got damaged bytes. Read it again .* remove"):
        ingest.renew(catalogue)
    with pytest.raises(ValueError, match=f"the ink of {mark.uid} .* got damaged bytes"):
        query_of_mark(catalogue, mark)


def test_a_damaged_mark_does_not_hide_the_others(catalogue, tmp_path):
    whole, damaged = catalogue.numbered([2, 1])
    query = query_of_mark(catalogue, whole)
    with sqlite3.connect(tmp_path / "marks.db") as db:
        db.execute("UPDATE pictures SET mark = x'00' WHERE id = 1")
    hits = Search(catalogue, n_jobs=1).query(query)
    assert len(hits) == len(catalogue)
    assert hits[0].mark.uid == whole.uid
    assert [hit.mark.uid for hit in hits if hit.score is None] == [damaged.uid]


# Files in bad shape.


def test_no_catalogue_and_other_files(tmp_path):
    with pytest.raises(ValueError, match=r"the catalogue must exist; got .*none.db. Make it with: nrcdt catalogue add"):
        Store(tmp_path / "none.db")
    with pytest.raises(ValueError, match="a file in a folder that exists"):
        Store(tmp_path / "nowhere" / "a.db", create=True)
    (tmp_path / "text.db").write_text("no database, but a long enough text to be taken for one" * 20)
    with pytest.raises(ValueError, match=r"must be a whole catalogue of nrcdt; got .*text.db"):
        Store(tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE other (a)")
    with pytest.raises(ValueError, match=r"must be one of nrcdt; got .*other.db, which is another kind of database"):
        Store(tmp_path / "other.db")
    assert (tmp_path / "text.db").read_text().startswith("no database")


def test_a_newer_format_is_refused_and_left_alone(catalogue, tmp_path):
    catalogue.close()
    with sqlite3.connect(tmp_path / "marks.db") as db:
        db.execute(f"PRAGMA user_version = {database.FORMAT + 1}")
    with pytest.raises(ValueError, match=f"of format {database.FORMAT} or older; .* format 2. It was made by a newer"):
        Store(tmp_path / "marks.db")


def test_a_readonly_catalogue_can_be_read_but_not_changed(catalogue, tmp_path):
    uid = catalogue.marks()[0].uid
    with Store(tmp_path / "marks.db", readonly=True) as other:
        assert len(other) == 8
        with pytest.raises(ValueError, match=r"the catalogue must be writable; got .*marks.db, which is read-only"):
            other.remove([uid])
    assert len(catalogue) == 8


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_catalogue_in_a_readonly_folder_can_be_read(catalogue, tmp_path):
    catalogue.close()
    tmp_path.chmod(0o555)
    try:
        with Store(tmp_path / "marks.db", readonly=True) as other:
            assert len(other) == 8
    finally:
        tmp_path.chmod(0o755)


def test_two_writers_wait_for_each_other(catalogue, tmp_path):
    uid, entered, release = catalogue.marks()[0].uid, threading.Event(), threading.Event()

    def hold():
        with catalogue.transaction():
            entered.set()
            release.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(10)
    with Store(tmp_path / "marks.db") as other:
        threading.Timer(0.3, release.set).start()
        other.edit(uid, {"note": "second"})
    holder.join()
    assert catalogue.mark(uid).note == "second"


def test_a_writer_that_never_gets_its_turn_says_so(catalogue, tmp_path, monkeypatch):
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    with (
        Store(tmp_path / "marks.db") as other,
        catalogue.transaction(),
        pytest.raises(ValueError, match=r"the catalogue must be free; got .* which another program is writing"),
    ):
        other.remove([])


def put_all(catalogue, records):
    with catalogue.transaction():
        for record in records:
            catalogue.put(record)


@pytest.mark.slow
def test_a_full_disk_loses_nothing(catalogue, tmp_path):
    (pages,) = catalogue.rows("PRAGMA page_count")[0]
    catalogue.rows(f"PRAGMA max_page_count = {pages + 2}")
    records = list(catalogue.records())
    more = [one._replace(mark=one.mark._replace(uid=f"{n}", source=f"{n}")) for n, one in enumerate(records)]
    with pytest.raises(ValueError, match=r"the disk of .* must have space left; it is full. Make room"):
        put_all(catalogue, more)
    catalogue.rows("PRAGMA max_page_count = 100000")
    assert len(catalogue) == 8
    assert list(maintenance.verify(catalogue)) == []
    put_all(catalogue, more)
    assert len(catalogue) == 16


def test_a_catalogue_that_does_not_name_its_plan_has_the_first_one(catalogue):
    catalogue.set_about("settings", {name: value for name, value in SETTINGS.items() if name != "plan"})
    catalogue.check_settings()
    catalogue.set_about("settings", SETTINGS | {"plan": "0" * 32})
    with pytest.raises(ValueError, match="the catalogue must be made with the settings of this nrcdt"):
        catalogue.check_settings()
