"""Deep matrix factorization: parts, parts of parts, and the codes of every sample at every level."""

from importlib import import_module
from typing import TYPE_CHECKING

from deepnmf.version import __version__ as __version__

if TYPE_CHECKING:
    from deepnmf import datasets as datasets
    from deepnmf import metrics as metrics
    from deepnmf import report as report
    from deepnmf.annotated import fit_anndata as fit_anndata
    from deepnmf.models import *  # noqa: F403
    from deepnmf.models.hierarchy import HierarchyWarning as HierarchyWarning
    from deepnmf.models.hierarchy import LayerSummary as LayerSummary
    from deepnmf.persistence import ModelFileError as ModelFileError
    from deepnmf.plotting import plot_codes as plot_codes
    from deepnmf.plotting import plot_components as plot_components
    from deepnmf.plotting import plot_hierarchy as plot_hierarchy
    from deepnmf.plotting import plot_loss as plot_loss
    from deepnmf.preprocessing import ColumnScaler as ColumnScaler
    from deepnmf.preprocessing import ImageGradientOrientations as ImageGradientOrientations
    from deepnmf.selection import Candidate as Candidate
    from deepnmf.selection import Consensus as Consensus
    from deepnmf.selection import Selection as Selection
    from deepnmf.selection import select_layers as select_layers

# Imported on first use, so that the command line answers --help without waiting for scikit-learn.
_HOMES = {
    "Candidate": "selection",
    "Consensus": "selection",
    "HierarchyWarning": "models.hierarchy",
    "ColumnScaler": "preprocessing",
    "ImageGradientOrientations": "preprocessing",
    "LayerSummary": "models.hierarchy",
    "ModelFileError": "persistence",
    "Selection": "selection",
    "fit_anndata": "annotated",
    "plot_codes": "plotting",
    "plot_components": "plotting",
    "plot_hierarchy": "plotting",
    "plot_loss": "plotting",
    "select_layers": "selection",
}
_MODULES = ("datasets", "metrics", "models", "plotting", "reading", "report")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"deepnmf.{name}")
    if name in _HOMES:
        return getattr(import_module(f"deepnmf.{_HOMES[name]}"), name)
    if name == "__all__":
        return _public_names()
    if not name.startswith("_") and name in _models():
        return getattr(import_module("deepnmf.models"), name)
    raise AttributeError(f"module 'deepnmf' has no attribute {name!r}")


def _models() -> list[str]:
    """Return the names of the estimators and of `load`, which are listed in `deepnmf.models` only."""
    return list(import_module("deepnmf.models").__all__)


def _public_names() -> list[str]:
    return sorted([*_HOMES, *_models(), "__version__", "datasets", "metrics", "report"])


def __dir__() -> list[str]:
    return [*_public_names(), "models", "plotting"]
