"""Every page of the documentation runs, cell after cell."""

import re
from pathlib import Path
from unittest.mock import patch

import matplotlib.pyplot as plt
import pytest

from nrcdt import AGGREGATIONS, SPACES

DOCS = Path(__file__).parents[1] / "docs"
CELLS = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = sorted(page for page in DOCS.glob("*.md") if CELLS.search(page.read_text(encoding="utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore")
def test_the_page_runs(page, monkeypatch):
    pytest.importorskip("IPython")
    monkeypatch.chdir(DOCS)
    names: dict[str, object] = {"__name__": "__page__"}
    with patch.dict(AGGREGATIONS), patch.dict(SPACES), plt.rc_context():
        for cell in CELLS.findall(page.read_text(encoding="utf-8")):
            code = re.sub(r"^:.*\n", "", cell, flags=re.MULTILINE)
            exec(compile(code, page.name, "exec"), names)
    plt.close("all")


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_no_formula_breaks_before_a_plus(page):
    """A line that begins with a plus sign begins a list, also within a formula."""
    assert re.findall(r"^\+ .*", page.read_text(encoding="utf-8"), re.MULTILINE) == []
