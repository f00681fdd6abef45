"""MATLAB's files, such as the face data of Deng Cai with ``fea`` and ``gnd``."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Matrix
from deepnmf.reading.arrays import described
from deepnmf.reading.dataset import Dataset, Request
from deepnmf.reading.errors import ReadingError, closest, needed, said


def read_mat(request: Request) -> Dataset:
    """The matrix under ``fea``, that of `key`, or the only one; labels under ``gnd``."""
    content = _variables(request.path)
    X = content[_key(content, request)]
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    return described(X, content, request, default_labels="gnd")


def _variables(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content = loadmat(path)
    except NotImplementedError:  # the form of MATLAB 7.3 is HDF5
        return _of_hdf5(path)
    except (MatReadError, ValueError, TypeError, KeyError, IndexError, EOFError, MemoryError) as error:
        raise ReadingError(f"{path} is not a whole MATLAB file: {said(error)}.") from error
    return {name: _plain(value) for name, value in content.items() if not name.startswith("__")}


def _of_hdf5(path: Path) -> dict[str, Any]:
    h5py = needed("h5py", "h5py", "MATLAB 7.3 files")
    try:
        with h5py.File(path, "r") as file:
            found = {name: _stored(value) for name, value in file.items()}
    except (OSError, KeyError, ValueError) as error:
        raise ReadingError(f"{path} is not a whole MATLAB file: {said(error)}.") from error
    return {name: value for name, value in found.items() if value is not None}


def _stored(value: Any) -> Any:
    """A matrix of numbers, which MATLAB lays down by columns; None for all else."""
    if "MATLAB_sparse" in value.attrs:
        shape = (int(value.attrs["MATLAB_sparse"]), len(value["jc"]) - 1)
        parts = (value["data"][()], value["ir"][()], value["jc"][()]) if "data" in value else shape
        return sparse.csc_array(parts, shape=shape)
    return value[()].T if hasattr(value, "dtype") and value.dtype.kind in "biuf" else None


def _plain(value: Any) -> Any:
    """A row of characters is names; MATLAB pads them with blanks."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return np.char.rstrip(value)
    return value


def _key(content: dict[str, Any], request: Request) -> str:
    if request.key is not None:
        if request.key not in content:
            raise ReadingError(
                f"{request.path} has no variable {request.key!r}: closest are {closest(request.key, content)}."
            )
        return request.key
    matrices = [name for name, value in content.items() if _is_matrix(value)]
    if "fea" in matrices or len(matrices) == 1:
        return "fea" if "fea" in matrices else matrices[0]
    raise ReadingError(
        f"{request.path} holds {len(matrices)} matrices among {', '.join(content) or 'nothing'}: "
        "expected one, or fea, or --key to say which."
    )


def _is_matrix(value: Matrix) -> bool:
    return sparse.issparse(value) or (
        isinstance(value, np.ndarray) and value.ndim == 2 and 1 not in value.shape and value.dtype.kind in "biuf"
    )
