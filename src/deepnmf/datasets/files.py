"""From a file in the folder to arrays. No file is ever unpickled."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import loadmat
from sklearn.utils import Bunch

from deepnmf.datasets.catalogue import DataSet
from deepnmf.sparse_parts import from_parts, valid

__all__ = ["read"]


def read(data_set: DataSet, data_home: str | os.PathLike[str] | None) -> Bunch:
    """The data set from the first of its files that is there."""
    path = _found(data_set, data_home)
    content = _from_npz(path) if path.suffix == ".npz" else _from_mat(path, data_set)
    return _bunch(content, path)


def _found(data_set: DataSet, data_home: str | os.PathLike[str] | None) -> Path:
    folder = data_home or os.environ.get("DEEPNMF_DATA")
    names = " or ".join(data_set.files)
    looked_for = f"Its content: {data_set.content}. It is published by {data_set.origin}; nothing is downloaded."
    if not folder:
        raise FileNotFoundError(
            f"Data set {data_set.name!r}: set DEEPNMF_DATA, or data_home, to the folder of {names}. {looked_for}"
        )
    for name in data_set.files:
        path = Path(folder) / name
        if path.is_file():
            return path
    raise FileNotFoundError(f"Data set {data_set.name!r}: there is no file {names} in {folder}. {looked_for}")


def _from_npz(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except Exception as error:  # what a damaged file makes of its parser is no news of ours
        raise ValueError(f"{path} is no .npz file of plain arrays: {error}") from error


def _from_mat(path: Path, data_set: DataSet) -> dict[str, Any]:
    """Deng Cai's form: labels from 1, pictures column by column."""
    try:
        file = loadmat(path)
    except Exception as error:
        raise ValueError(f"{path} is no MATLAB file up to version 7: {error}") from error
    if "fea" not in file:
        found = ", ".join(key for key in file if not key.startswith("__")) or "nothing"
        raise ValueError(f"{path} holds {found}; expected fea (samples as rows) and gnd (labels).")
    content: dict[str, Any] = {"X": _upright(file["fea"], data_set.image_shape)}
    if "gnd" in file:
        content["y"] = np.unique(np.ravel(file["gnd"]), return_inverse=True)[1]
    if data_set.image_shape:
        content["image_shape"] = np.array(data_set.image_shape)
    return content


def _upright(X: Any, image_shape: tuple[int, int] | None) -> Any:
    """Pictures row by row."""
    if image_shape is None:
        return X
    height, width = image_shape
    return np.ascontiguousarray(X.reshape(-1, width, height).swapaxes(1, 2)).reshape(len(X), -1)


def _bunch(content: dict[str, Any], path: Path) -> Bunch:
    is_sparse = "indptr" in content or sparse.issparse(content.get("X"))
    content["data"] = _sparse(content, path) if is_sparse else _samples(content, path)
    if "y" in content:
        content["target"] = content.pop("y")
    return Bunch(**content)


def _sparse(content: dict[str, Any], path: Path) -> Any:
    try:
        if "indptr" in content:
            return from_parts("csr", *(content.pop(part) for part in ("data", "indices", "indptr", "shape")))
        return valid(sparse.csc_array(content.pop("X")))
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path} does not hold a valid sparse matrix: {error}.") from error


def _samples(content: dict[str, Any], path: Path) -> Any:
    for key in ("X", "samples"):
        if key in content:
            return content.pop(key)
    raise ValueError(
        f"{path} holds {', '.join(content) or 'nothing'}; expected X, samples, or the parts of a CSR matrix."
    )
