"""The documentation site: ``pip install ".[docs]" && sphinx-build -W docs docs/_build``."""

import re

from sphinx.ext.autosummary import autosummary_toc
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
exclude_patterns = ["_build", "_templates", "examples"]
templates_path = ["_templates"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["home.css"]
default_role = "code"
suppress_warnings = ["config.cache"]  # the gallery's settings hold a function
html_title = f"deepnmf {version}"

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says the types
numpydoc_show_class_members = False


def returned_figures(block, block_vars, gallery_conf):
    """Show what an example has named `drawing`: figures of deepnmf are not pyplot's, which are found without this."""
    figure = block_vars["example_globals"].pop("drawing", None)
    if figure is None:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=150)
    return figure_rst([path], gallery_conf["src_dir"])


sphinx_gallery_conf = {
    "image_scrapers": ("matplotlib", returned_figures),
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


def unlink_scikit_learn(app, what, name, obj, options, lines):
    """Methods inherited from scikit-learn refer to pages of its site, which this one does not have."""
    lines[:] = re.sub(r":(?:ref|term):`([^<`]+?)\s*(?:<[^>]+>)?`", r"\1", "\n".join(lines)).split("\n")


def trim_code_blocks(app, docname, source):
    """Doctests of a page end in an empty line, which would be shown."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def leave_methods_out_of_the_tree(app, doctree):
    """Methods have pages, which their class links to; in the tree of pages they would make hundreds of entries."""
    if app.env.docname.startswith("generated/"):
        for tree in list(doctree.findall(autosummary_toc)):
            tree.parent.remove(tree)


branches = {}


def short_navigation(app, pagename, templatename, context, doctree):
    """Show the branch of a page alone, and for a method that of its class, whose page was made before."""
    owner = pagename.rpartition(".")[0]
    if owner not in branches:
        branches[pagename] = context["toctree"](collapse=True, titles_only=True, maxdepth=-1, includehidden=True)
    branch = branches.get(owner) or branches[pagename]

    def toctree(**options):
        return branch

    context["toctree"] = toctree


def setup(app):
    """Called by sphinx: docstrings after numpydoc, the tree before sphinx collects it, the navigation before furo."""
    app.connect("autodoc-process-docstring", quote_attributes, priority=900)
    app.connect("autodoc-process-docstring", unlink_scikit_learn, priority=900)
    app.connect("source-read", trim_code_blocks)
    app.connect("doctree-read", leave_methods_out_of_the_tree, priority=100)
    app.connect("html-page-context", short_navigation, priority=100)
