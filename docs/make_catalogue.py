"""Walk through Briquet's watermarks with `nrcdt catalogue`: ``NRCDT_DATA=... python docs/make_catalogue.py``.

Runs the commands of the tutorial in a folder of their own and keeps what they print in docs/catalogue/, which
docs/catalogue.md includes. No picture of the collection is kept.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from nrcdt.catalogue.evaluation import photograph_of
from nrcdt.catalogue.ranking import read_ink
from nrcdt.catalogue.store import Store
from nrcdt.datasets import data_folder

HERE = Path(__file__).parent
PHOTOGRAPHED = "old_eng_0_1635"
COMMANDS = {
    "add": "nrcdt catalogue add briquet.db watermarks",
    "again": "nrcdt catalogue add briquet.db watermarks",
    "stats": "nrcdt catalogue stats briquet.db",
    "query": "nrcdt catalogue query briquet.db photograph.png -n 6",
    "motif": "nrcdt catalogue query briquet.db watermarks/jug/eng_r0c1.png --motif jug -n 4",
    "compare": "nrcdt catalogue compare briquet.db eng_r0c1 eng_r0c3 -o both.png",
    "cluster": "nrcdt catalogue cluster briquet.db -o groups.csv",
    "eval": "nrcdt catalogue eval briquet.db --without other",
    "export": "nrcdt catalogue export briquet.db all.csv",
    "backup": "nrcdt catalogue backup briquet.db copy.db",
    "verify": "nrcdt catalogue verify briquet.db",
}


def run(command, folder):
    """Run a command line and return what a reader would see."""
    environment = os.environ | {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    program = [sys.executable, "-m", "nrcdt", *shlex.split(command)[1:]]
    done = subprocess.run(
        program, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines = [line.rstrip() for line in done.stdout.replace(str(folder), ".").splitlines()]
    return "\n".join([f"$ {command}", *(line for line in lines if line)]) + "\n"


def main():
    (HERE / "catalogue").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "watermarks").symlink_to((data_folder() / "watermarks").resolve())
        for key, command in COMMANDS.items():
            text = run(command, folder)
            print(text, flush=True)
            (HERE / "catalogue" / f"{key}.txt").write_text(text)
            if key == "add":
                with Store(folder / "briquet.db") as catalogue:
                    ink = read_ink(catalogue.picture(catalogue.find(PHOTOGRAPHED).uid, "mark"))
                (folder / "photograph.png").write_bytes(photograph_of(ink, 1))


if __name__ == "__main__":
    main()
