import os
import reprlib
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
from deepnmf.models.saving import restored
from deepnmf.models.semi_nmf import SemiNMF
from deepnmf.models.sparse_deep_nmf import SparseDeepNMF
from deepnmf.models.ssnmf import SSNMF
from deepnmf.models.wsf import WSF
from deepnmf.models.wsfma import WSFMA
from deepnmf.persistence import read, refusing
from deepnmf.untrusted import of_type

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

    Nothing in a file can run, whoever it comes from, and nothing in it is believed unchecked: loading takes no more
    memory than a few times the file's size.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        Fitted, of the class it was saved from, with the same bits.

    Raises
    ------
    ModelFileError
        A ValueError: the file is damaged, or is none of a model.
    FileNotFoundError
        There is no such file.

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
    with refusing(path):
        description, tensors = read(path)
        name = of_type(description.get("class"), str, "class")
        if name not in CLASSES:
            raise ValueError(f"its class is {reprlib.repr(name)}, and a model that this version knows is expected")
        return restored(CLASSES[name], description, tensors)
