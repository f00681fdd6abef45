"""Deep matrix factorization: parts, parts of parts, and the codes of every sample at every level."""

from importlib import import_module
from typing import TYPE_CHECKING

from deepnmf.version import __version__

if TYPE_CHECKING:
    from deepnmf import datasets, metrics, report
    from deepnmf.annotated import fit_anndata
    from deepnmf.models import (
        CNMF,
        GDNMF,
        GNMF,
        NMF,
        NSNMF,
        SSNMF,
        WSF,
        WSFMA,
        DeepNMFNetwork,
        DeepNSNMF,
        DeepSemiNMF,
        DeepWSF,
        DiscriminantNMF,
        MultilayerNMF,
        SemiNMF,
        SparseDeepNMF,
        load,
    )
    from deepnmf.persistence import ModelFileError
    from deepnmf.plotting import plot_codes, plot_hierarchy, plot_loss
    from deepnmf.preprocessing import ImageGradientOrientations

# Loaded when asked for: the command line answers --help without waiting for scikit-learn.
_HOMES = {
    "CNMF": "models",
    "GDNMF": "models",
    "GNMF": "models",
    "NMF": "models",
    "NSNMF": "models",
    "SSNMF": "models",
    "WSF": "models",
    "WSFMA": "models",
    "DeepNMFNetwork": "models",
    "DeepNSNMF": "models",
    "DeepSemiNMF": "models",
    "DeepWSF": "models",
    "DiscriminantNMF": "models",
    "ImageGradientOrientations": "preprocessing",
    "ModelFileError": "persistence",
    "MultilayerNMF": "models",
    "SemiNMF": "models",
    "SparseDeepNMF": "models",
    "fit_anndata": "annotated",
    "load": "models",
    "plot_codes": "plotting",
    "plot_hierarchy": "plotting",
    "plot_loss": "plotting",
}
_MODULES = ("datasets", "metrics", "models", "plotting", "reading", "report")

__all__ = [
    "CNMF",
    "GDNMF",
    "GNMF",
    "NMF",
    "NSNMF",
    "SSNMF",
    "WSF",
    "WSFMA",
    "DeepNMFNetwork",
    "DeepNSNMF",
    "DeepSemiNMF",
    "DeepWSF",
    "DiscriminantNMF",
    "ImageGradientOrientations",
    "ModelFileError",
    "MultilayerNMF",
    "SemiNMF",
    "SparseDeepNMF",
    "__version__",
    "datasets",
    "fit_anndata",
    "load",
    "metrics",
    "plot_codes",
    "plot_hierarchy",
    "plot_loss",
    "report",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"deepnmf.{name}")
    if name in _HOMES:
        return getattr(import_module(f"deepnmf.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'deepnmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "models", "plotting"]
