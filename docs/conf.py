"""The documentation site: ``pip install ".[docs]" && sphinx-build -W docs docs/_build``."""

import re

from sphinx_gallery.scrapers import figure_rst

from deepnmf import __version__

project = "deepnmf"
author = "The deepnmf developers"
copyright = author
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
suppress_warnings = ["config.cache"]  # the gallery's settings hold a function
html_title = f"deepnmf {version}"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says the types
numpydoc_show_class_members = False


def drawn_hierarchy(block, block_vars, gallery_conf):
    """Show what an example has named `hierarchy`: figures of deepnmf are not pyplot's, which are found without this."""
    figure = block_vars["example_globals"].pop("hierarchy", None)
    if figure is None:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=150)
    return figure_rst([path], gallery_conf["src_dir"])


sphinx_gallery_conf = {
    "image_scrapers": ("matplotlib", drawn_hierarchy),
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_.*\.py",
    "within_subsection_order": "FileNameSortKey",  # their numbers, not their lengths
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
