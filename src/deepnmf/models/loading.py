import os
import reprlib
from typing import Any

from deepnmf import models
from deepnmf.models.saving import restored
from deepnmf.persistence import read, refusing
from deepnmf.untrusted import of_type


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
        classes = {model.__name__: model for model in models.MODELS}
        if name not in classes:
            raise ValueError(f"its class is {reprlib.repr(name)}, and a model that this version knows is expected")
        return restored(classes[name], description, tensors)
