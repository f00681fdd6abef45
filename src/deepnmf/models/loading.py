import os
import reprlib
from typing import Any

from deepnmf import models
from deepnmf.models.saving import restored
from deepnmf.persistence import read, refusing
from deepnmf.untrusted import of_type


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that was written by its `save` method.

    Files from unknown sources are safe to load: no code in a file is executed, all content is checked, and loading
    takes at most a few times the size of the file in memory.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        The fitted model, of the class that was saved, identical to the last bit.

    Raises
    ------
    ModelFileError
        A ValueError: the file is damaged or is not a model file.
    FileNotFoundError
        The file does not exist.

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
            raise ValueError(f"its class is {reprlib.repr(name)}, which is not a model of this version")
        return restored(classes[name], description, tensors)
