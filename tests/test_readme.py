"""What the README says works."""

import contextlib
import io
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_says():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:  # each goes on where the one before ended
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "README.md", "exec"), names)
        assert printed.getvalue().strip() == re.search(r"print\(.*# (\S+)", block).group(1)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_ci_runs_the_test_command():
    (command,) = re.findall(r"<!-- test command -->\n```sh\n(.*?)\n```", README)
    assert command.endswith("-m pytest -n 2")
    assert "<!-- test command -->" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_numbers_on_dimensions_are_the_measured_ones():
    found = json.loads((ROOT / "docs/beyond/dimensions.json").read_text(encoding="utf-8"))["results"]
    moves = {(one["features"].split(":")[0].split(",")[0], one["dimension"]): one["movement"] for one in found}
    for features in ("defaults", "mean_abs"):
        three, five, eight = (f"{moves[features, dimension]:.2f}" for dimension in (3, 5, 8))
        assert f"{three}, {five} and {eight}" in " ".join(README.split())
