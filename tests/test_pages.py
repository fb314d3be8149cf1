"""The room of pages: what is put in is escaped, what is forgotten is noticed, and files stand alone."""

import io
import re

import jinja2
import pytest
from rich.console import Console

from nrcdt import pages
from nrcdt.cli import console as on_terminal
from nrcdt.pages import STATIC, Table, claim_folder, environment, render
from nrcdt.pages.pictures import png_address


def test_a_page_that_is_a_file_holds_its_style_and_escapes_what_it_is_given():
    page = render("file.html", title="<b>&")
    assert "<title>&lt;b&gt;&amp;</title>" in page
    assert (STATIC / "style.css").read_text(encoding="utf-8") in page
    assert not re.search(r"<script|<link|url\(|@import|https?:", page)


def test_what_is_forgotten_is_noticed():
    with pytest.raises(jinja2.UndefinedError, match="title"):
        render("file.html")


def test_a_table_marks_its_rows():
    table = Table("T", ["a", "b"], [["1", "<2>"], ["3", "4"]], ["", "mixed up"])
    shown = environment().from_string('{% from "tables.html" import table %}{{ table(data) }}').render(data=table)
    assert '<tr><td>1</td><td>&lt;2&gt;</td></tr>\n<tr class="mixed-up"><td>3</td><td>4</td></tr>' in shown


def test_a_folder_is_claimed_for_pages_of_ones_own(tmp_path):
    claim = lambda: claim_folder(tmp_path / "a" / "b", "mine: ", "be mine", "page.html", "page.json")  # noqa: E731
    page = claim()
    assert page == tmp_path / "a" / "b" / "page.html"
    page.with_suffix(".json").write_text("{}")
    with pytest.raises(ValueError, match=r"out must be mine; got .*page\.json\. Choose another folder\."):
        claim()
    page.write_text("<title>mine: before</title>")
    assert claim() == page
    page.write_text("<title>yours</title>")
    with pytest.raises(ValueError, match=r"out must be mine; got .*page\.html"):
        claim()


def test_pictures_become_addresses():
    assert png_address(b"\x89PNG") == "data:image/png;base64,iVBORw=="


def test_a_bar_says_what_is_done(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")  # on a dumb terminal, as pages of the documentation ask for, no bar moves
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(on_terminal, "ERRORS", console)
    with on_terminal.progress_bar("first", 4) as bar:
        bar()
        bar.show(2, 5, "second")
        bar()
        bar.describe("third")
        bar._progress.refresh()
    assert "third" in console.file.getvalue()
    assert "3/5" in console.file.getvalue()


def test_every_page_extends_the_one_base():
    templates = [path for path in (pages.STATIC / ".." / "templates").iterdir() if path.name != "base.html"]
    assert len(templates) >= 4
    for path in templates:
        assert "<html" not in path.read_text(encoding="utf-8"), path.name
