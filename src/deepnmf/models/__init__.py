"""The named estimators, one file a paper."""

from deepnmf.models.cnmf import CNMF
from deepnmf.models.deep_nmf_network import DeepNMFNetwork
from deepnmf.models.deep_nsnmf import DeepNSNMF
from deepnmf.models.deep_semi_nmf import DeepSemiNMF
from deepnmf.models.gdnmf import GDNMF
from deepnmf.models.loading import MODELS, load
from deepnmf.models.multilayer_nmf import MultilayerNMF
from deepnmf.models.nmf import NMF
from deepnmf.models.nsnmf import NSNMF
from deepnmf.models.semi_nmf import SemiNMF
from deepnmf.models.sparse_deep_nmf import SparseDeepNMF
from deepnmf.models.ssnmf import SSNMF

__all__ = [
    "CNMF",
    "GDNMF",
    "MODELS",
    "NMF",
    "NSNMF",
    "SSNMF",
    "DeepNMFNetwork",
    "DeepNSNMF",
    "DeepSemiNMF",
    "MultilayerNMF",
    "SemiNMF",
    "SparseDeepNMF",
    "load",
]
