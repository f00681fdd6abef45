"""MATLAB files, such as the data of Deng Cai with ``fea`` and ``gnd``."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.reading.dataset import Dataset, ReadingError, Request, closest, import_optional, library_message
from deepnmf.reading.hdf5 import Group
from deepnmf.reading.matrix_files import annotated_dataset
from deepnmf.reading.numpy_files import StoredArray, is_matrix
from deepnmf.sparse_parts import from_parts, valid

NUMBERS = {"double": "f8", "single": "f4", "sparse": "f8", "logical": "u1"}
NUMBERS |= {f"{sign}int{8 * size}": f"{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)}


def read_mat(request: Request) -> Dataset:
    """Read the matrix ``fea``, the one of `key`, or the only one; labels are in ``gnd``."""
    with _variables(request.path) as content:
        X = content[_key(content, request)][()]
        return annotated_dataset(X, content, request, default_labels="gnd")


@contextmanager
def _variables(path: Path) -> Iterator[Mapping[str, StoredArray]]:
    """Yield the variables by their names; each is read when it is needed."""
    from scipy.io import whosmat

    try:
        listed = whosmat(path)
    except NotImplementedError:  # files of MATLAB 7.3 are HDF5
        with _of_hdf5(path) as found:
            yield found
    except Exception as error:  # a damaged file can raise any error in its parser
        raise _invalid_file(path, error) from error
    else:
        yield {name: Variable(path, name, shape, kind) for name, shape, kind in listed}


def _invalid_file(path: Path, error: Exception) -> ReadingError:
    return ReadingError(f"{path} is not a valid MATLAB file: {library_message(error)}.")


def _key(content: Mapping[str, StoredArray], request: Request) -> str:
    if request.key is not None:
        if request.key not in content:
            raise ReadingError(
                f"{request.path} has no variable {request.key!r}: closest are {closest(request.key, content)}."
            )
        return request.key
    matrices = [name for name, stored in content.items() if is_matrix(stored)]
    if "fea" in matrices or len(matrices) == 1:
        return "fea" if "fea" in matrices else matrices[0]
    raise ReadingError(
        f"{request.path} contains {len(matrices)} matrices among {', '.join(content) or 'no variables'}: "
        "expected one matrix, a variable fea, or --key."
    )


# -------------------------------------------------------------------------------- up to version 7


@dataclass(frozen=True)
class Variable:
    """A variable of a file up to version 7; `kind` is its MATLAB type."""

    path: Path
    name: str
    shape: tuple[int, ...]
    kind: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of numbers; other variables have the dtype object."""
        return np.dtype(NUMBERS.get(self.kind, "O"))

    def __getitem__(self, everything: tuple[()]) -> Matrix:
        from scipy.io import loadmat

        try:
            return _plain(loadmat(self.path, variable_names=[self.name])[self.name])
        except Exception as error:  # a damaged file can raise any error in its parser
            raise _invalid_file(self.path, error) from error


def _plain(value: Any) -> Matrix:
    """Return a sparse matrix as CSR; remove the blanks with which MATLAB pads texts."""
    if sparse.issparse(value):
        return valid(sparse.csc_array(value))
    return np.char.rstrip(value) if value.dtype.kind == "U" else value


# ----------------------------------------------------------------------------------- version 7.3


@contextmanager
def _of_hdf5(path: Path) -> Iterator[Mapping[str, StoredArray]]:
    h5py = import_optional("h5py", "h5py", "MATLAB 7.3 files")
    try:
        with h5py.File(path, "r") as file:
            group = Group(file, path)
            yield {name: found for name in group if (found := _by_columns(group[name])) is not None}
    except (OSError, KeyError) as error:
        raise _invalid_file(path, error) from error


def _by_columns(stored: Any) -> StoredArray | None:
    if "MATLAB_sparse" in stored.attrs:
        return SparseByColumns(stored)
    return DenseByColumns(stored) if hasattr(stored, "dtype") and stored.dtype.kind in "biuf" else None


class DenseByColumns:
    """An array, which MATLAB stores by columns."""

    def __init__(self, stored: Any) -> None:
        self.shape, self.dtype = stored.shape[::-1], stored.dtype
        self._stored = stored

    def __getitem__(self, everything: tuple[()]) -> Array:
        return self._stored[()].T


class SparseByColumns:
    """A sparse matrix; one without entries has neither data nor row indices."""

    def __init__(self, group: Group) -> None:
        self.shape = (int(group.attrs["MATLAB_sparse"]), group["jc"].shape[0] - 1)
        self.dtype = group["data"].dtype if "data" in group else np.dtype(float)
        self._group = group

    def __getitem__(self, everything: tuple[()]) -> Matrix:
        if "data" not in self._group:
            return sparse.csr_array(self.shape)
        return from_parts("csc", self._group["data"], self._group["ir"], self._group["jc"], self.shape)
