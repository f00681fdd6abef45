"""Deep matrix factorisation: parts, parts of parts, and the codes of every sample at every level."""

from deepnmf import datasets, metrics
from deepnmf.models import (
    NMF,
    NSNMF,
    DeepNSNMF,
    DeepSemiNMF,
    MultilayerNMF,
    SemiNMF,
    SparseDeepNMF,
    load,
)
from deepnmf.version import __version__

__all__ = [
    "NMF",
    "NSNMF",
    "DeepNSNMF",
    "DeepSemiNMF",
    "MultilayerNMF",
    "SemiNMF",
    "SparseDeepNMF",
    "__version__",
    "datasets",
    "load",
    "metrics",
]
