"""Matrices in NumPy files, dense or sparse, with labels, names and the image shape beside them."""

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
MOST_TIMES, ALWAYS_ALLOWED = 10, 2**26  # bounds of arrays beside X: times the bytes of X, or these bytes


def read_npy(request: Request) -> Dataset:
    """Read a dense matrix."""
    with open_arrays(request.path) as stored:
        if isinstance(stored, Mapping):
            raise ReadingError(f"{request.path} is an archive of arrays: expected a single array, or the suffix .npz.")
        if len(stored.shape) != 2:
            raise ReadingError(
                f"{request.path} contains an array of shape {stored.shape}: expected a matrix with samples in rows."
            )
        X = stored[()]
    return Dataset(X, "table", description_of(request.path, size_text(X)))


def read_npz(request: Request) -> Dataset:
    """Read the matrix ``X``, the parts of a sparse matrix, or the only matrix, with the names and labels beside it."""
    with open_arrays(request.path) as stored:
        content = stored if isinstance(stored, Mapping) else {"X": stored}
        X = _sparse(content, request.path) if "indptr" in content else _dense(content, request)
        return annotated_dataset(X, content, request, default_labels="y")


def annotated_dataset(X: Matrix, content: Mapping[str, StoredArray], request: Request, default_labels: str) -> Dataset:
    """Return X with the labels, names and image shape beside it."""
    n_samples, n_features = X.shape
    side = SideArrays(content, request.path, most_bytes=max(ALWAYS_ALLOWED, MOST_TIMES * _bytes(X)))
    y, class_names, label_key = _labels(side, n_samples, request, default_labels)
    image_shape = _image_shape(side, n_features)
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
        feature_names=_first_names(side, FEATURE_NAMES, n_features),
        sample_names=_first_names(side, ("sample_names",), n_samples),
        image_shape=image_shape,
    )


@dataclass(frozen=True)
class SideArrays:
    """Arrays beside X, which must not take much more memory than X."""

    content: Mapping[str, StoredArray]
    path: Path
    most_bytes: int = ALWAYS_ALLOWED

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of an array, or None if there is no such array."""
        return self.content[name].shape if name in self.content else None

    def read(self, name: str) -> Any:
        """Read an array, if it is not too large."""
        size = unpacked_bytes(self.content[name])
        if size > self.most_bytes:
            raise ReadingError(
                f"{self.path}: {name!r} takes {size} bytes in memory: expected at most {self.most_bytes} "
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
        raise ReadingError(f"{path} has 'indptr' but not {missing[0]!r}: expected all four parts of a sparse matrix.")
    side = SideArrays(content, path)
    form = str(side.read("format").astype(str)) if "format" in content else "csr"
    if form not in FORMS:
        raise ReadingError(f"{path} contains a sparse matrix in the format {form!r}: expected csr or csc.")
    try:
        return from_parts(form, content["data"], content["indices"], content["indptr"], side.read("shape"))
    except ReadingError:
        raise
    except ValueError as error:
        raise ReadingError(f"{path} does not contain a valid sparse matrix: {library_message(error)}.") from error


def _dense(content: Mapping[str, StoredArray], request: Request) -> Array:
    """Return the array `key`, X, or the only matrix."""
    if request.key is not None:
        return _matrix(content, request.key, request.path)
    if "X" in content:
        return _matrix(content, "X", request.path)
    matrices = [name for name, stored in content.items() if is_matrix(stored)]
    if len(matrices) != 1:
        raise ReadingError(
            f"{request.path} contains {len(matrices)} matrices among {', '.join(content) or 'no arrays'}: "
            "expected one matrix, an array X, or --key."
        )
    return content[matrices[0]][()]


def _matrix(content: Mapping[str, StoredArray], name: str, path: Path) -> Array:
    if name not in content:
        raise ReadingError(f"{path} has no array {name!r}: closest are {closest(name, content)}.")
    if len(content[name].shape) != 2:
        raise ReadingError(f"{path}: {name!r} has shape {content[name].shape}: expected a matrix.")
    return content[name][()]


# ----------------------------------------------------------------------------- labels, names and image shape


def _labels(side: SideArrays, n_samples: int, request: Request, default: str) -> tuple[Array | None, Names | None, str]:
    name, known = request.labels or default, side.content
    if name not in known:
        if request.labels is None:
            return None, None, name
        raise ReadingError(f"{request.path} has no array {name!r} of labels: closest are {closest(name, known)}.")
    y, names = classes(side.read(name), n_samples, f"{request.path}, {name!r}")
    return y, names or _class_names(side, y), name


def _class_names(side: SideArrays, y: Array) -> Names | None:
    """Return the names of the classes, if there are enough for all labels."""
    enough = math.prod(side.shape("class_names") or (0,)) > y.max()
    return tuple(map(str, np.ravel(side.read("class_names")).tolist())) if enough else None


def _image_shape(side: SideArrays, n_features: int) -> tuple[int, int] | None:
    """Return the shape of a row as an image; None if it is that of a scene whose pixels are the rows."""
    if math.prod(side.shape("image_shape") or (0,)) != 2:
        return None
    height, width = lengths = np.ravel(side.read("image_shape")).tolist()
    if not all(isinstance(length, int | float) and length >= 1 and float(length).is_integer() for length in lengths):
        raise ReadingError(f"{side.path}: 'image_shape' is {lengths}: expected a height and a width.")
    return (int(height), int(width)) if height * width == n_features else None


def _first_names(side: SideArrays, keys: tuple[str, ...], count: int) -> Names | None:
    for key in keys:
        if side.shape(key) == (count,):
            return tuple(map(str, side.read(key).tolist()))
    return None


def _kind(image_shape: tuple[int, int] | None, content: Mapping[str, StoredArray]) -> Kind:
    if image_shape is not None:
        return "images"
    return "texts" if "vocabulary" in content else "table"
