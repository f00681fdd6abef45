import os
from typing import Any

from deepnmf.models.cnmf import CNMF
from deepnmf.models.deep_nmf_network import DeepNMFNetwork
from deepnmf.models.deep_nsnmf import DeepNSNMF
from deepnmf.models.deep_semi_nmf import DeepSemiNMF
from deepnmf.models.deep_wsf import DeepWSF
from deepnmf.models.discriminant_nmf import DiscriminantNMF
from deepnmf.models.gdnmf import GDNMF
from deepnmf.models.gnmf import GNMF
from deepnmf.models.multilayer_nmf import MultilayerNMF
from deepnmf.models.nmf import NMF
from deepnmf.models.nsnmf import NSNMF
from deepnmf.models.saving import FORMAT, restored
from deepnmf.models.semi_nmf import SemiNMF
from deepnmf.models.sparse_deep_nmf import SparseDeepNMF
from deepnmf.models.ssnmf import SSNMF
from deepnmf.models.wsf import WSF
from deepnmf.models.wsfma import WSFMA
from deepnmf.persistence import read

MODELS = (
    NMF,
    NSNMF,
    SemiNMF,
    CNMF,
    MultilayerNMF,
    DeepNSNMF,
    SparseDeepNMF,
    DeepSemiNMF,
    SSNMF,
    DeepNMFNetwork,
    GDNMF,
    GNMF,
    WSF,
    WSFMA,
    DeepWSF,
    DiscriminantNMF,
)
CLASSES = {model.__name__: model for model in MODELS}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that its `save` has written.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        Fitted, of the class it was saved from.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> import deepnmf
    >>> X = np.random.default_rng(0).random((30, 8))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.safetensors"
    ...     deepnmf.NMF(3, random_state=0, tol=1e-2).fit(X).save(path)
    ...     model = deepnmf.load(path)
    >>> model.transform(X).shape
    (30, 3)
    """
    description, tensors = read(path)
    if description.get("format") != FORMAT or description.get("class") not in CLASSES:
        raise ValueError(
            f"{path} is not a model this version reads: expected format {FORMAT!r} and a known class, "
            f"found {description.get('format')!r} and {description.get('class')!r}."
        )
    return restored(CLASSES[description["class"]], description, tensors)
