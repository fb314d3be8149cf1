"""Build the documentation: sphinx-build -W -b html docs build/html. Every page runs while it is built."""

import subprocess
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

import nrcdt

project = "nrcdt"
author = "The nrcdt developers"
copyright = "The nrcdt developers"
version = release = nrcdt.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["performance/*.md", "beyond/*.md", "_build"]
default_role = "literal"
html_theme = "furo"
html_title = "nrcdt"
html_static_path = ["_static"]
html_css_files = ["wrap.css"]

myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 180
nb_merge_streams = True
nb_render_markdown_format = "myst"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False

# Formulas become MathML, which browsers show by themselves: no script, nothing loaded from elsewhere.
html_math_renderer = "mathml"


def _inline(self, node):
    self.body.append(tex2mathml(node.astext()))
    raise SkipNode


def _block(self, node):
    self.body.append(tex2mathml(node.astext(), as_block=True))
    raise SkipNode


def _make_tables(app):
    subprocess.run([sys.executable, Path(__file__).with_name("make_tables.py")], check=True)


def setup(app):
    app.connect("builder-inited", _make_tables)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
