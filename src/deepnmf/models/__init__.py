"""The named estimators, one file for each paper. This registry is the only list of them: the names that the package
exports, the classes that `load` accepts and the models of the command line all come from it. The module of a model is
imported when the model is first used.
"""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepnmf.models.cnmf import CNMF as CNMF
    from deepnmf.models.deep_nmf import DeepNMF as DeepNMF
    from deepnmf.models.deep_nmf_network import DeepNMFNetwork as DeepNMFNetwork
    from deepnmf.models.deep_nsnmf import DeepNSNMF as DeepNSNMF
    from deepnmf.models.deep_semi_nmf import DeepSemiNMF as DeepSemiNMF
    from deepnmf.models.deep_wsf import DeepWSF as DeepWSF
    from deepnmf.models.discriminant_nmf import DiscriminantNMF as DiscriminantNMF
    from deepnmf.models.gdnmf import GDNMF as GDNMF
    from deepnmf.models.gnmf import GNMF as GNMF
    from deepnmf.models.loading import load as load
    from deepnmf.models.multilayer_nmf import MultilayerNMF as MultilayerNMF
    from deepnmf.models.nmf import NMF as NMF
    from deepnmf.models.nsnmf import NSNMF as NSNMF
    from deepnmf.models.semi_nmf import SemiNMF as SemiNMF
    from deepnmf.models.sparse_deep_nmf import SparseDeepNMF as SparseDeepNMF
    from deepnmf.models.ssnmf import SSNMF as SSNMF
    from deepnmf.models.wsf import WSF as WSF
    from deepnmf.models.wsfma import WSFMA as WSFMA

__all__ = [  # noqa: RUF022 - in the order in which users see them
    "NMF",
    "NSNMF",
    "SemiNMF",
    "CNMF",
    "DeepNMF",
    "MultilayerNMF",
    "DeepNSNMF",
    "SparseDeepNMF",
    "DeepSemiNMF",
    "SSNMF",
    "DeepNMFNetwork",
    "GDNMF",
    "GNMF",
    "WSF",
    "WSFMA",
    "DeepWSF",
    "DiscriminantNMF",
    "load",
]


def __getattr__(name: str) -> Any:
    if name == "MODELS":
        return tuple(__getattr__(model) for model in __all__ if model != "load")
    if name in __all__:
        return getattr(import_module(f"deepnmf.models.{_file_of(name)}"), name)
    raise AttributeError(f"module 'deepnmf.models' has no attribute {name!r}")


def _file_of(name: str) -> str:
    """`DeepNMFNetwork` is in deep_nmf_network.py."""
    words = re.sub("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return "loading" if name == "load" else words.lower()
