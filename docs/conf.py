"""The documentation site: ``make docs`` builds it into ``build/docs``.

The source folder is the repository, so that links which work on GitHub, such as that of
a guide to a table in ``results/``, work on the site as well. Equations are MathML,
which browsers draw by themselves: no page loads anything from the network.
"""

from __future__ import annotations

import html
import os
import re
import sys
import warnings
from functools import partialmethod
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from nbclient import NotebookClient
from sphinx.application import Sphinx
from sphinx.util import logging

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
warnings.filterwarnings("ignore", message=".*torch.jit.*")  # PyG on PyTorch 2.13

import api_pages
import command_page

import sekgnn

project = "sekgnn"
author = "the sekgnn developers"
copyright = author
release = version = sekgnn.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "docs/**.rst",
    "results/*/*.md",
    "studies/*/results/*.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = [
    ".*", "build", "dist", "demo", "runs", "results/runs", "results/earlier", "tests"
]  # fmt: skip
nitpicky = True
nitpick_ignore_regex = [  # other libraries, and modules inside our rooms
    (r"py:.*", r"(?!sekgnn\.).*|sekgnn\.(registry|parameters|\w+\.[a-z_0-9]+)\..*"),
    (r"py:mod", r".*"),
]
suppress_warnings = [
    "myst.header",  # tables made from records may begin with a smaller heading
]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_update_mathjax = False

# Tutorials are executed at every build, by this Python and with its `sekgnn`.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 240
nb_merge_streams = True
nb_render_markdown_format = "myst"  # tables in outputs
NotebookClient.__init__ = partialmethod(  # pieces of a line belong together
    NotebookClient.__init__, coalesce_streams=True
)
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["PYTHONWARNINGS"] = "ignore"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("SEKGNN_DATA", None)  # what is shown needs no data at hand

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Shapes", "notes_style")]
napoleon_use_ivar = True
add_module_names = False

html_theme = "furo"
html_title = "sekgnn"
html_extra_path = ["_root"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
linkcheck_anchors = False
linkcheck_timeout = 20


def _mathml(tex: str, block: bool) -> str:
    """Return an equation as MathML, in which brackets stretch by themselves."""
    try:
        tex = re.sub(r"\\[bB]ig[lr]?(?![a-z])", "", tex).replace(r"\dots", r"\ldots")
        return tex2mathml(tex, block)
    except MathError as error:
        logging.getLogger(__name__).warning("%s in the equation %s", error, tex)
        return html.escape(tex)


def _inline(visitor: Any, node: nodes.math) -> None:
    visitor.body.append(_mathml(node.astext(), False))
    raise nodes.SkipNode


def _block(visitor: Any, node: nodes.math_block) -> None:
    visitor.body.append(f'<div class="math">{_mathml(node.astext(), True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer of equations and what makes the API pages."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("builder-inited", lambda app: api_pages.write(DOCS / "api"))
    app.connect("builder-inited", lambda app: command_page.write(DOCS / "commands.md"))
    app.connect("autodoc-process-docstring", api_pages.mend)
    app.connect("missing-reference", api_pages.resolve)
