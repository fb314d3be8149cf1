"""Make the page of the paper's tables from a run.

    nrcdt paper all --data FOLDER --out nrcdt-paper
    python docs/make_paper.py nrcdt-paper

Pictures of data that is not ours to show stay out.
"""

import re
import sys
from pathlib import Path

from PIL import Image

from nrcdt.paper.summaries import FILES

DOCS = Path(__file__).parent
FOREIGN = ("dataset-abc", "dataset-watermarks", "dataset-animals", "dataset-faust", "clusters-faust", "curves-animals")
HEAD = """# The paper, reproduced

One command runs the numerical section of the paper and lays the printed numbers beside ours:

```sh
pip install '.[paper]'  # in a clone of the repository
nrcdt paper all
```

It writes `nrcdt-paper/report.html`, which needs nothing to be read, the pictures as PNG and SVG, and the numbers of
each table as JSON. `nrcdt paper list` names the tables, `nrcdt paper nt-academic kmeans-linmnist` runs some of them,
`--quick` takes a minute, `--seed` draws other samples. What cannot be shipped is looked for in the folder that `--data`
names, or else `NRCDT_DATA`; without it the other tables are run, and the report says what to download. Features are
kept in a cache (`--cache`), which may be deleted at any time. The exit code is 0 when enough numbers hold.

Beside the paper's columns stand some that it does not have, so marked: the whitened frame, richer aggregations, and
classifiers that learn. In the JSON their `printed` is `null` and their `verdict` is `added`.

The rest of this page is such a report, of a run with a data folder, made by `docs/make_paper.py`.

"""
LEFT_OUT = "Pictures of data that is not ours to show are left out of this page; the command draws them."


def page(text):
    """Turn the report of a run into a page of the documentation."""
    text = re.sub(r"^## ", "### ", text, flags=re.MULTILINE)
    text = re.sub(r"^# ", "## ", text, flags=re.MULTILINE)
    text = re.sub(r'<a id="([\w-]+)"></a>', r"(\1)=", text)
    text = text.replace(FILES, LEFT_OUT)
    for name in FOREIGN:
        text = re.sub(rf"!\[[^\n]*\]\({name}\.png\)\n\n[^\n]*\n+", "", text)
    return HEAD + re.sub(r"\]\(([\w-]+\.png)\)", r"](paper/\1)", text)


def main(folder):
    text = page((folder / "report.md").read_text(encoding="utf-8"))
    (DOCS / "paper.md").write_text(text, encoding="utf-8")
    (DOCS / "paper").mkdir(exist_ok=True)
    for old in (DOCS / "paper").glob("*.png"):
        old.unlink()
    for name in re.findall(r"\]\(paper/([\w-]+\.png)\)", text):
        Image.open(folder / name).convert("RGB").quantize(256).save(DOCS / "paper" / name, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
