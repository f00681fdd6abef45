"""The papers' benchmark data, read from a folder of `.npz` files. Nothing is ever downloaded."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

__all__ = ["load"]

NAMES = (
    "bbc_news",
    "cbcl_faces_19x19",
    "coil20_32x32",
    "esc50_birds",
    "leukemia_golub",
    "orl_112x92",
    "orl_32x32",
    "pbmc68k_reduced",
    "pie_pose27",
    "samson_95x95",
    "tdt2_30",
    "yale_32x32",
)


def load(name: str, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load a benchmark data set.

    Parameters
    ----------
    name : str
        Name of the file without ``.npz``, such as ``"pie_pose27"``.
    data_home : path, optional
        The folder; by default the environment variable ``DEEPNMF_DATA``.

    Returns
    -------
    Bunch
        ``data`` (samples are rows, unscaled; CSR where the file is sparse), ``target`` where there are labels,
        and whatever else the file holds, by its own name.

    Examples
    --------
    >>> load("mnist")
    Traceback (most recent call last):
        ...
    ValueError: There is no data set 'mnist'; there are bbc_news, ...
    """
    if name not in NAMES:
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(NAMES)}.")
    folder = data_home or os.environ.get("DEEPNMF_DATA")
    if not folder:
        raise FileNotFoundError(f"Data set {name!r}: set DEEPNMF_DATA, or data_home, to the folder of {name}.npz.")
    path = Path(folder) / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"Data set {name!r}: there is no file {name}.npz in {folder}.")
    with np.load(path, allow_pickle=False) as file:
        content = {key: file[key] for key in file.files}
    return _bunch(content)


def _bunch(content: dict[str, Any]) -> Bunch:
    if "indptr" in content:
        parts = (content.pop("data"), content.pop("indices"), content.pop("indptr"))
        content["data"] = sparse.csr_array(parts, shape=tuple(content.pop("shape")))
    elif "samples" in content:
        content["data"] = content.pop("samples")
    else:
        content["data"] = content.pop("X")
    if "y" in content:
        content["target"] = content.pop("y")
    return Bunch(**content)
