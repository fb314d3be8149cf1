"""``python -m nrcdt`` is ``nrcdt``."""

from .cli import app

app(prog_name="nrcdt")
