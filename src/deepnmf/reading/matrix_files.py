"""NumPy's files: ``.npy``, and ``.npz`` with a dense or a sparse matrix and what is known of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.reading.classes import class_count_text, classes
from deepnmf.reading.dataset import (
    Dataset,
    Kind,
    Names,
    ReadingError,
    Request,
    closest,
    count_text,
    description_of,
    library_message,
    size_text,
)
from deepnmf.reading.numpy_files import StoredArray, is_matrix, open_arrays, unpacked_bytes
from deepnmf.sparse_parts import FORMS, from_parts

FEATURE_NAMES = ("feature_names", "vocabulary", "gene_names", "gene_ids")
SPARSE_PARTS = ("data", "indices", "indptr", "shape")
MOST_TIMES, LITTLE = 10, 2**26  # as much memory as X, and bytes that never count as much


def read_npy(request: Request) -> Dataset:
    """One dense matrix."""
    with open_arrays(request.path) as stored:
        if isinstance(stored, Mapping):
            raise ReadingError(f"{request.path} is an archive of arrays: expected a single one, or the suffix .npz.")
        if len(stored.shape) != 2:
            raise ReadingError(
                f"{request.path} holds an array of shape {stored.shape}: expected a matrix, samples in rows."
            )
        X = stored[()]
    return Dataset(X, "table", description_of(request.path, size_text(X)))


def read_npz(request: Request) -> Dataset:
    """A matrix under X, a sparse one in its parts, or the only matrix there is, and names and labels beside it."""
    with open_arrays(request.path) as stored:
        content = stored if isinstance(stored, Mapping) else {"X": stored}
        X = _sparse(content, request.path) if "indptr" in content else _dense(content, request)
        return annotated_dataset(X, content, request, default_labels="y")


def annotated_dataset(X: Matrix, content: Mapping[str, StoredArray], request: Request, default_labels: str) -> Dataset:
    """X with the labels, names and image shape that lie beside it."""
    n_samples, n_features = X.shape
    beside = SideArrays(content, request.path, most_bytes=max(LITTLE, MOST_TIMES * _bytes(X)))
    y, class_names, label_key = _labels(beside, n_samples, request, default_labels)
    image_shape = _image_shape(beside, n_features)
    what = f"{image_shape[0]} x {image_shape[1]} pixels" if image_shape else count_text(n_features, "feature")
    stored = "sparse" if sparse.issparse(X) else ""
    return Dataset(
        X,
        _kind(image_shape, content),
        description_of(
            request.path,
            f"{count_text(n_samples, 'sample')} of {what}",
            stored,
            class_count_text(y, f"in {label_key!r}"),
        ),
        y=y,
        class_names=class_names,
        feature_names=_first_names(beside, FEATURE_NAMES, n_features),
        sample_names=_first_names(beside, ("sample_names",), n_samples),
        image_shape=image_shape,
    )


@dataclass(frozen=True)
class SideArrays:
    """Arrays that say something of X, and must not take much more memory than X does."""

    content: Mapping[str, StoredArray]
    path: Path
    most_bytes: int = LITTLE

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Of an array, or None where there is no such array."""
        return self.content[name].shape if name in self.content else None

    def read(self, name: str) -> Any:
        """Read an array of bounded size."""
        size = unpacked_bytes(self.content[name])
        if size > self.most_bytes:
            raise ReadingError(
                f"{self.path}: {name!r} takes {size} bytes in memory, and at most {self.most_bytes} are expected "
                "beside this matrix."
            )
        return self.content[name][()]


def _bytes(X: Matrix) -> int:
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return sum(part.nbytes for part in parts)


# --------------------------------------------------------------------------------------- the matrix


def _sparse(content: Mapping[str, StoredArray], path: Path) -> Matrix:
    missing = [part for part in SPARSE_PARTS if part not in content]
    if missing:
        raise ReadingError(
            f"{path} has 'indptr' but not {missing[0]!r}: expected the parts of a sparse matrix, all four."
        )
    beside = SideArrays(content, path)
    form = str(beside.read("format").astype(str)) if "format" in content else "csr"
    if form not in FORMS:
        raise ReadingError(f"{path} holds a sparse matrix in the form {form!r}: expected csr or csc.")
    try:
        return from_parts(form, content["data"], content["indices"], content["indptr"], beside.read("shape"))
    except ReadingError:
        raise
    except ValueError as error:
        raise ReadingError(f"{path} does not hold a valid sparse matrix: {library_message(error)}.") from error


def _dense(content: Mapping[str, StoredArray], request: Request) -> Array:
    """The array that is asked for, X, or the only matrix."""
    if request.key is not None:
        return _under(content, request.key, request.path)
    if "X" in content:
        return _under(content, "X", request.path)
    matrices = [name for name, stored in content.items() if is_matrix(stored)]
    if len(matrices) != 1:
        raise ReadingError(
            f"{request.path} holds {len(matrices)} matrices among {', '.join(content) or 'nothing'}: "
            "expected one, or X, or --key to say which."
        )
    return content[matrices[0]][()]


def _under(content: Mapping[str, StoredArray], name: str, path: Path) -> Array:
    if name not in content:
        raise ReadingError(f"{path} has no array {name!r}: closest are {closest(name, content)}.")
    if len(content[name].shape) != 2:
        raise ReadingError(f"{path}: {name!r} has shape {content[name].shape}, and a matrix is expected.")
    return content[name][()]


# ----------------------------------------------------------------------------- what is known besides


def _labels(
    beside: SideArrays, n_samples: int, request: Request, default: str
) -> tuple[Array | None, Names | None, str]:
    name, known = request.labels or default, beside.content
    if name not in known:
        if request.labels is None:
            return None, None, name
        raise ReadingError(f"{request.path} has no array {name!r} of labels: closest are {closest(name, known)}.")
    y, names = classes(beside.read(name), n_samples, f"{request.path}, {name!r}")
    return y, names or _class_names(beside, y), name


def _class_names(beside: SideArrays, y: Array) -> Names | None:
    """``class_names[y]``, where there are enough of them."""
    enough = math.prod(beside.shape("class_names") or (0,)) > y.max()
    return tuple(map(str, np.ravel(beside.read("class_names")).tolist())) if enough else None


def _image_shape(beside: SideArrays, n_features: int) -> tuple[int, int] | None:
    """Of the rows; a scene whose pixels are the rows is no picture of a feature."""
    if math.prod(beside.shape("image_shape") or (0,)) != 2:
        return None
    height, width = lengths = np.ravel(beside.read("image_shape")).tolist()
    if not all(isinstance(length, int | float) and length >= 1 and float(length).is_integer() for length in lengths):
        raise ReadingError(f"{beside.path}: 'image_shape' is {lengths}, and a height and a width are expected.")
    return (int(height), int(width)) if height * width == n_features else None


def _first_names(beside: SideArrays, keys: tuple[str, ...], count: int) -> Names | None:
    for key in keys:
        if beside.shape(key) == (count,):
            return tuple(map(str, beside.read(key).tolist()))
    return None


def _kind(image_shape: tuple[int, int] | None, content: Mapping[str, StoredArray]) -> Kind:
    if image_shape is not None:
        return "images"
    return "texts" if "vocabulary" in content else "table"
