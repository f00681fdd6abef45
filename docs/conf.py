"""The documentation site: ``pip install ".[docs]" && sphinx-build -W docs docs/_build``."""

import re

from deepnmf import __version__

project = "deepnmf"
author = "The deepnmf developers"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples", "decisions/README.md"]
html_theme = "furo"
html_title = f"deepnmf {version}"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says the types
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_.*\.py",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,  # times of this machine are nobody's
    "abort_on_example_error": True,
}


def quote_attributes(app, what, name, obj, options, lines):
    """Names that end in an underscore are links to reStructuredText; in a docstring they are attributes."""
    lines[:] = [re.sub(r"(?<=[ (])n_iter_(?=[,) ]|$)", "``n_iter_``", line) for line in lines]


def setup(app):
    """Called by sphinx; after numpydoc."""
    app.connect("autodoc-process-docstring", quote_attributes, priority=900)
