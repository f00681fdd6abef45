"""The named estimators, one file a paper. This is the one list of them: what the package offers, what a file is loaded
as and what the command line knows derive from it.
"""

from deepnmf.models.cnmf import CNMF
from deepnmf.models.deep_nmf import DeepNMF
from deepnmf.models.deep_nmf_network import DeepNMFNetwork
from deepnmf.models.deep_nsnmf import DeepNSNMF
from deepnmf.models.deep_semi_nmf import DeepSemiNMF
from deepnmf.models.deep_wsf import DeepWSF
from deepnmf.models.discriminant_nmf import DiscriminantNMF
from deepnmf.models.gdnmf import GDNMF
from deepnmf.models.gnmf import GNMF
from deepnmf.models.loading import load
from deepnmf.models.multilayer_nmf import MultilayerNMF
from deepnmf.models.nmf import NMF
from deepnmf.models.nsnmf import NSNMF
from deepnmf.models.semi_nmf import SemiNMF
from deepnmf.models.sparse_deep_nmf import SparseDeepNMF
from deepnmf.models.ssnmf import SSNMF
from deepnmf.models.wsf import WSF
from deepnmf.models.wsfma import WSFMA

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

MODELS = tuple(globals()[name] for name in __all__ if name != "load")
