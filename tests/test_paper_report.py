import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from nrcdt.paper import report, summaries
from nrcdt.paper.cells import (
    ADDED,
    AGREES,
    DIFFERS,
    HELD,
    NOT_HELD,
    NOT_RUN,
    OTHER_STARTS,
    REPORTED,
    RULE,
    Cell,
    Figure,
    Result,
)
from nrcdt.paper.extra_columns import MEANING

PNG = b"\x89PNG\r\n\x1a\n and so on"


class Page(HTMLParser):
    """What a reader finds: tables as rows of (tag, attributes, text), texts by element, and whether tags are paired."""

    SINGLE = ("meta", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.tables, self.images, self.links, self.ids, self.texts = [], [], [], [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag == "img":
            self.images.append(attrs)
        if tag == "a":
            self.links.append(attrs["href"])
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append([tag, attrs, ""])
        if tag not in self.SINGLE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open:
            return
        self.texts.setdefault(self.open[-1], []).append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1][2] += data

    def rows(self, table):
        return [[text for _, _, text in row] for row in self.tables[table]]


CELLS = [
    Cell("any", "Euclid & <co>", 0.333, 0.367, None, 30, AGREES),
    Cell("any", "LOT", 0.333, 0.5, None, 30, DIFFERS, None, "another <reference>"),
    Cell("angles 8", "max", 0.933, 0.9, None, 30, HELD, 8),
    Cell("angles 8", "tv", None, 0.8, None, 30, REPORTED, 8),
    Cell("angles 64", "max", 1.0, 0.7, 0.0125, 30, NOT_HELD, 64, "misprint"),
    Cell("angles 64", "tv", 1.0, None, None, None, NOT_RUN, 64),
]
RESULT = Result(
    "nt-small", "Nearest <template> & more", CELLS, [Figure("ink", "Ink <dark> & white")], ["Drawn | by us."], 3.21
)
TIMES = Result("run-times", "Run times", [Cell("angles 2", "R-CDT", 322.4234, 1.61, None, 10, REPORTED)], [], [], 0.0)
SCORES = Result("k-means", "k-means", [Cell("RI train", "max", 0.8385, 0.83861234, 0.01, 20, HELD, 256)], [], [], 600.0)
RESULTS = [RESULT, TIMES, SCORES]
ABOUT = {"command": "nrcdt paper all", "machine": "A & B <2 cores>"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ink.png").write_bytes(PNG)
    return tmp_path


@pytest.fixture
def parsed(folder):
    return Page(report.write_report(folder, RESULTS, ABOUT).read_text(encoding="utf-8"))


@pytest.fixture
def text(folder):
    report.write_report(folder, RESULTS, ABOUT)
    return (folder / "report.md").read_text(encoding="utf-8")


def cell_at(table, row, column):
    """The entry of a grid under its headings."""
    *_, head = (entries for entries in table if entries[0][2] == "")
    column_at = [entry[2] for entry in head].index(column)
    return next(entries for entries in table if entries[0][2] == row)[column_at]


@pytest.mark.parametrize(
    ("cell", "numbers"),
    [
        (CELLS[0], "0.367, printed 0.333"),
        (CELLS[1], "0.500, printed 0.333"),
        (CELLS[2], "0.900, printed 0.933"),
        (CELLS[3], "0.800"),
        (CELLS[4], "0.700 ±0.013, printed 1.000"),
        (CELLS[5], f"{summaries.DASH}, printed 1.000"),
    ],
)
def test_every_cell_stands_in_the_page_with_its_verdict(parsed, cell, numbers):
    table = parsed.tables[2] if cell.row == "any" else parsed.tables[3]
    tag, attributes, shown = cell_at(table, cell.row, cell.column)
    assert tag == "td"
    assert summaries.MEANINGS[cell.verdict] + ":" in shown
    assert summaries.MARKS[cell.verdict] in shown
    assert shown.split(": ")[1].rstrip("ab") == numbers
    assert attributes["class"] == cell.verdict.replace(" ", "-")
    assert attributes["title"].startswith(summaries.MEANINGS[cell.verdict])


def test_headline_outcome_and_counts(parsed, text):
    assert parsed.texts["h1"] == ["2 of 3 judged cells hold"]
    assert "does not count as successful" in parsed.texts["p"][0]
    assert "of the 2 cells that decide" in parsed.texts["p"][0]
    assert "1 hold, or 50.0%; 95% are wanted" in parsed.texts["p"][0]
    counts = dict(zip(parsed.texts["dt"], parsed.texts["dd"], strict=True))
    expected = {
        "cells compared": "6",
        "held": "2",
        "not held": "1",
        "baselines agree": "1",
        "baselines differ": "1",
        "reported only": "2",
        "not run here": "1",
        "not in the paper": "0",
        "other starts": "0",
    }
    assert counts == expected | ABOUT
    assert text.startswith("# 2 of 3 judged cells hold\n")
    assert all(f"- {name}: {number}\n" in text for name, number in expected.items())


def test_other_starts_do_not_compare_a_number_again():
    again = SCORES.cells[0]._replace(row="RI train, greedy, ten starts", verdict=OTHER_STARTS, directions=None)
    counts = summaries.verdict_counts([*SCORES.cells, again])
    assert (counts["cells compared"], counts["reported only"], counts["other starts"]) == (1, 0, 1)
    assert summaries.table_outcome(SCORES._replace(cells=[*SCORES.cells, again])) == "1 of 1 hold, 1 other starts"


def test_the_page_of_the_docs_says_what_it_leaves_out(tmp_path):
    script = Path(__file__).parents[1] / "docs" / "make_paper.py"
    spec = spec_from_file_location("make_paper", script)
    make_paper = module_from_spec(spec)
    spec.loader.exec_module(make_paper)
    own, foreign = Figure("curves-academic", "Curves."), Figure("dataset-abc", "The 80 templates.")
    report.write_report(
        tmp_path, [RESULT._replace(figures=[own, foreign])], {"command": "nrcdt paper all --data FOLDER"}
    )
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    shown = make_paper.page(text)
    assert "![Curves.](paper/curves-academic.png)" in shown
    assert "dataset-abc" not in shown
    assert "The 80 templates." not in shown
    assert summaries.FILES in text
    assert summaries.FILES not in shown
    assert shown.endswith(make_paper.LEFT_OUT + "\n")
    assert "are left out of this page" in make_paper.LEFT_OUT
    assert "nrcdt paper all --data FOLDER" in shown
    assert "(nt-small)=" in shown


def test_success_and_nothing_to_decide():
    assert "counts as successful: of the 1 cells" in summaries.run_outcome(SCORES.cells)
    assert "nothing is decided" in summaries.run_outcome(TIMES.cells)
    assert summaries.headline(TIMES.cells) == "No cell was judged"


def test_lists_of_what_does_not_hold_and_differs(parsed, text):
    head = ["table", "row", "column", "printed", "measured", "n", "note"]
    not_held = ["Nearest <template> & more", "angles 64", "max", "1.000", "0.700 ±0.013", "30", "misprint"]
    differs = ["Nearest <template> & more", "any", "LOT", "0.333", "0.500", "30", "another <reference>"]
    assert parsed.rows(0) == [head, not_held]
    assert parsed.rows(1) == [head, differs]
    assert "| Nearest &lt;template> &amp; more | angles 64 | max | 1.000 | 0.700 ±0.013 | 30 | misprint |" in text
    assert "| Nearest &lt;template> &amp; more | any | LOT | 0.333 | 0.500 | 30 | another &lt;reference> |" in text


def test_no_exceptions_say_so(tmp_path):
    parsed = Page(report.write_report(tmp_path, [SCORES], {}).read_text(encoding="utf-8"))
    assert parsed.texts["p"].count("None.") == 2
    assert (tmp_path / "report.md").read_text(encoding="utf-8").count("None.") == 2


def test_all_exceptions_are_listed(tmp_path):
    cells = [Cell(f"angles {i}", "max", 1.0, 0.5, None, 30, NOT_HELD, 16) for i in range(40)]
    parsed = Page(report.write_report(tmp_path, [Result("t", "T", cells, [], [], 1.0)], {}).read_text(encoding="utf-8"))
    assert [row[1] for row in parsed.rows(0)[1:]] == [cell.row for cell in cells]
    assert parsed.rows(0)[0][-1] == "n"


def test_contents_lead_to_sections(parsed, text):
    assert {link[1:] for link in parsed.links} == {"nt-small", "run-times", "k-means"} == set(parsed.ids)
    assert "1 of 2 hold, 1 of 2 baselines agree, 1 reported, 1 not run" in "".join(parsed.texts["span"])
    assert all(f'<a id="{result.name}"></a>' in text and f"](#{result.name})" in text for result in RESULTS)


def test_names_are_escaped(folder):
    raw = report.write_report(folder, RESULTS, ABOUT).read_text(encoding="utf-8")
    for tag in ("<template>", "<co>", "<reference>", "<dark>", "<2 cores>"):
        assert tag not in raw
    assert "Euclid &amp; &lt;co&gt;" in raw
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    assert "Euclid &amp; &lt;co>" in markdown
    assert "Drawn \\| by us." in markdown


def test_the_rule_is_stated(parsed, text):
    rule = " ".join(RULE.split())
    assert rule in parsed.texts["p"]
    assert rule in text
    assert " ".join(MEANING.split()) in parsed.texts["p"]
    assert " ".join(MEANING.split()) in text


def test_notes_become_footnotes(parsed, text):
    assert parsed.texts["sup"] == ["a", "b", "a", "b"]
    assert " misprint" in parsed.texts["li"]
    assert "[b] misprint" in text
    assert "0.700±0.013 (1.000) ✗ [b]" in text
    cells = [Cell("r", str(i), 1.0, 1.0, None, 3, HELD, 16, f"note {i % 40}") for i in range(80)]
    letters = summaries.footnotes(cells)
    assert len(set(letters.values())) == len(letters) == 40


def test_run_times_show_significant_digits_and_the_ratio(parsed, text):
    shown = parsed.rows(4)[-1]
    assert shown[0] == "angles 2"
    assert shown[1].endswith(f"1.61, printed 322 {summaries.TIMES}200")
    assert f"| angles 2 | 1.61 (322) {summaries.TIMES}200 · |" in text
    assert sum(summaries.FASTER in line for line in parsed.texts["span"]) == 1
    assert summaries.cell_texts(TIMES, TIMES.cells[0]._replace(measured=0.0)).ratio == ""


def test_decimals_follow_the_printed_values(parsed, text):
    assert "0.8386±0.0100 (0.8385) ✓" in text
    assert parsed.rows(5)[-1][1].endswith("0.8386 ±0.0100, printed 0.8385")


def test_times_are_told_in_seconds_or_minutes():
    assert summaries.duration(RESULT) == "Computed in 3.2 s."
    assert summaries.duration(SCORES) == "Computed in 10 min."
    assert summaries.duration(TIMES) == ""


def test_pictures_are_inside_the_page_and_beside_the_text(folder, parsed, text):
    assert [image["alt"] for image in parsed.images] == ["Ink <dark> & white"]
    assert parsed.images[0]["src"].startswith("data:image/png;base64,iVBORw0KGgog")
    assert "![Ink &lt;dark> &amp; white](ink.png)" in text
    (folder / "ink.png").unlink()
    again = Page(report.write_report(folder, RESULTS, ABOUT).read_text(encoding="utf-8"))
    assert again.images == []
    assert "ink.png is missing: Ink <dark> & white" in "".join(again.texts["p"])


def test_the_page_loads_nothing(folder):
    raw = report.write_report(folder, RESULTS, ABOUT).read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|url\(|@import|src=\"(?!data:)|href=\"(?!#)", raw)
    assert "prefers-color-scheme: dark" in raw
    assert "width=device-width" in raw


def test_rows_that_share_no_column_get_a_grid_of_their_own():
    grids = summaries.grids(CELLS)
    assert [(grid.rows, grid.columns) for grid in grids] == [
        (["any"], ["Euclid & <co>", "LOT"]),
        (["angles 8", "angles 64"], ["max", "tv"]),
    ]
    assert sum(len(cells) for grid in grids for cells in grid.cells.values()) == len(CELLS)


def test_two_cells_in_one_place_are_both_shown(tmp_path):
    cells = [Cell("r", "c", 0.1, value, None, 3, HELD, 16) for value in (0.125, 0.25)]
    raw = report.write_report(tmp_path, [Result("t", "T", cells, [], [], 1.0)], {}).read_text(encoding="utf-8")
    shown = Page(raw).rows(-1)[-1][1]
    assert "0.125" in shown
    assert "0.250" in shown
    assert "0.125 (0.100) ✓; 0.250 (0.100) ✓" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_rows_and_columns_are_grouped_by_what_they_share(tmp_path):
    cells = [
        Cell(f"train {train}, angles {angles}", f"{method}, {norm}", 1.0, 1.0, None, 3, HELD, 16)
        for train in (1, 5)
        for angles in (2, 4)
        for norm in ("Chebyshev norm", "Euclidean norm")
        for method in ("max", "tv")
    ]
    table = Page(
        report.write_report(tmp_path, [Result("t", "T", cells, [], [], 1.0)], {}).read_text(encoding="utf-8")
    ).tables[-1]
    assert [row[0][2] for row in table] == [
        "",
        "",
        "train 1",
        "angles 2",
        "angles 4",
        "train 5",
        "angles 2",
        "angles 4",
    ]
    assert [text for _, _, text in table[0]] == ["", "Chebyshev norm", "Euclidean norm"]
    assert [attributes.get("colspan") for _, attributes, _ in table[0]] == [None, "2", "2"]
    assert [text for _, _, text in table[1]] == ["", "max", "tv", "max", "tv"]
    assert report._grouped(["a, x", "b"], first=True) == [("", [("a, x", "a, x"), ("b", "b")])]
    assert report._grouped(["a, x", "b, x"], first=True)[0][0] == ""


MORE = [
    *(Cell(f"angles {k}", "max", 0.9, ours, None, 100, HELD, k) for k, ours in ((8, 0.80), (16, 0.90))),
    Cell("angles 32", "max", 1.0, 1.0, None, 100, HELD, 32),
    *(Cell(f"angles {k}", "tv", 0.9, 0.7, None, 100, HELD, k) for k in (8, 16, 32)),
    *(Cell(f"angles {k}", "whitened max", None, ours, 0.01, 100, ADDED, k) for k, ours in ((8, 0.95), (16, 0.91))),
    Cell("angles 32", "whitened max", None, 0.97, 0.01, 100, ADDED, 32),
    Cell("angles 32", "max, NCA", None, 1.0, 0.0, 100, ADDED, 32),
]


def test_columns_that_the_paper_does_not_have_stand_apart(tmp_path):
    raw = report.write_report(tmp_path, [Result("t", "T", MORE, [], [], 1.0)], {}).read_text(encoding="utf-8")
    parsed, text = Page(raw), (tmp_path / "report.md").read_text(encoding="utf-8")
    table = parsed.tables[-1]
    assert [(entry[2], entry[1].get("colspan")) for entry in table[0]] == [
        ("", None),
        ("", "2"),
        ("not in the paper", "2"),
    ]
    assert [entry[2] for entry in table[1]] == ["", "max", "tv", "whitened max", "max, NCA"]
    tag, attributes, shown = cell_at(table, "angles 8", "whitened max")
    assert (tag, attributes["class"]) == ("td", "added")
    assert shown == "+added, not judged: 0.950 ±0.010"
    assert "|  | max | tv | whitened max (not in the paper) | max, NCA (not in the paper) |" in text
    assert "| angles 8 | 0.800 (0.900) ✓ | 0.700 (0.900) ✓ | 0.950±0.010 + |  |" in text
    counts = dict(zip(parsed.texts["dt"], parsed.texts["dd"], strict=True))
    assert (counts["cells compared"], counts["not in the paper"]) == ("6", "4")
    assert summaries.table_outcome(Result("t", "T", MORE, [], [], 1.0)) == "6 of 6 hold, 4 added"


def test_additions_are_compared_with_the_best_of_the_papers_columns(tmp_path):
    result = Result("t", "T", MORE, [], [], 1.0)
    sentence = summaries.compare_extra_columns(result)
    assert sentence.endswith(
        ": whitened max is better in 1, as good in 1, worse in 1 of 3 rows (-0.030 to +0.150) and above the best "
        "printed number in 2; max, NCA is as good in 1 of 1 rows (+0.000) and above the best printed number in 0."
    )
    page = Page(report.write_report(tmp_path, [result], {}).read_text(encoding="utf-8"))
    assert sentence in page.texts["p"]
    assert sentence in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert summaries.compare_extra_columns(RESULT) == ""


def test_cells_are_written_and_read_back(tmp_path):
    path = report.write_cells(tmp_path, RESULT)
    assert path.name == "nt-small.json"
    assert report.read_cells(path) == CELLS
    entries = json.loads(path.read_text(encoding="utf-8"))
    keys = list(Cell._fields)
    assert keys[:7] == ["row", "column", "printed", "measured", "std", "n", "verdict"]
    assert [list(entry) for entry in entries] == [keys] * len(CELLS)


def test_cells_of_two_runs_are_the_same_file(tmp_path):
    noisy = [cell._replace(measured=cell.measured and cell.measured + 1e-9) for cell in CELLS]
    first = report.write_cells(tmp_path, RESULT).read_bytes()
    second = report.write_cells(tmp_path, RESULT._replace(cells=noisy, seconds=99.0)).read_bytes()
    assert first == second
    other = [cell._replace(measured=cell.measured and cell.measured + 1e-5) for cell in CELLS]
    assert report.write_cells(tmp_path, RESULT._replace(cells=other)).read_bytes() != first


def test_numbers_of_numpy_and_negative_zeros_are_written_plainly(tmp_path):
    cell = Cell("r", "c", 0.0, np.float64(-1e-17), None, np.int64(30), HELD, np.int64(64))
    path = report.write_cells(tmp_path, RESULT._replace(cells=[cell]))
    assert '"measured": 0.0, "std": null, "n": 30, "verdict": "held", "directions": 64' in path.read_text()
    assert summaries.cell_texts(RESULT, cell).measured == "0.000"


def test_no_cells_make_a_readable_file(tmp_path):
    assert report.read_cells(report.write_cells(tmp_path, RESULT._replace(cells=[]))) == []


@pytest.mark.parametrize("content", ["not json", '[{"row": "a"}]', "[1]"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"path must be a file of write_cells; got .*other\.json"):
        report.read_cells(path)


def test_files_are_written_whole_or_not_at_all(folder, monkeypatch):
    report.write_report(folder, RESULTS, ABOUT)
    report.write_cells(folder, RESULT)
    assert sorted(path.name for path in folder.iterdir()) == ["ink.png", "nt-small.json", "report.html", "report.md"]
    before = (folder / "nt-small.json").read_bytes()

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        report.write_cells(folder, RESULT._replace(cells=[]))
    assert (folder / "nt-small.json").read_bytes() == before
    assert len(list(folder.iterdir())) == 4


def test_the_report_needs_no_matplotlib():
    check = "import sys, nrcdt.paper.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_the_printed_deviation_is_shown(tmp_path):
    cell = Cell("train 1", "max", 0.331, 0.344, 0.034, 30, "held", 64, printed_std=0.016)
    path = report.write_report(tmp_path, [Result("small", "A small table", [cell], [], [], 0.5)], {})
    assert "(0.331±0.016)" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "0.331±0.016" in path.read_text(encoding="utf-8")
