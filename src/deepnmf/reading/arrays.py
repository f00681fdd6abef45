"""NumPy's files: ``.npy``, and ``.npz`` with a dense or a sparse matrix and what is known of it."""

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.reading.dataset import Dataset, Kind, Names, Request, counted, rows_and_columns, sentence
from deepnmf.reading.errors import ReadingError, closest, said
from deepnmf.reading.labels import classes, classes_in_words
from deepnmf.reading.stored import Stored
from deepnmf.sparse_parts import FORMS, from_parts

FEATURE_NAMES = ("feature_names", "vocabulary", "gene_names", "gene_ids")
SPARSE_PARTS = ("data", "indices", "indptr", "shape")


def read_npy(request: Request) -> Dataset:
    """One dense matrix."""
    X = _loaded(request.path)
    if not isinstance(X, np.ndarray):
        raise ReadingError(f"{request.path} is an archive of arrays: expected a single one, or the suffix .npz.")
    if X.ndim != 2:
        raise ReadingError(f"{request.path} holds an array of shape {X.shape}: expected a matrix, samples in rows.")
    return Dataset(X, "table", sentence(request.path, rows_and_columns(X)))


def read_npz(request: Request) -> Dataset:
    """A matrix under X, a sparse one in its parts, or the only matrix there is, and names and labels beside it."""
    content = _loaded(request.path)
    content = {"X": content} if isinstance(content, np.ndarray) else content
    X = _sparse(content, request.path) if "indptr" in content else _dense(content, request)
    return described(X, content, request, default_labels="y")


def described(X: Matrix, content: Mapping[str, Stored], request: Request, default_labels: str) -> Dataset:
    """X with the labels, names and image shape that lie beside it."""
    n_samples, n_features = X.shape
    y, class_names, label_key = _labels(content, n_samples, request, default_labels)
    image_shape = _image_shape(content, n_features)
    feature_names = _first_names(content, FEATURE_NAMES, n_features)
    what = f"{image_shape[0]} x {image_shape[1]} pixels" if image_shape else counted(n_features, "feature")
    stored = "sparse" if sparse.issparse(X) else ""
    return Dataset(
        X,
        _kind(image_shape, content),
        sentence(
            request.path, f"{counted(n_samples, 'sample')} of {what}", stored, classes_in_words(y, f"in {label_key!r}")
        ),
        y=y,
        class_names=class_names,
        feature_names=feature_names,
        sample_names=_first_names(content, ("sample_names",), n_samples),
        image_shape=image_shape,
    )


# ------------------------------------------------------------------------------------ what is opened


def _loaded(path: Path) -> Array | dict[str, Array]:
    """NumPy's own formats only: anything else would be a pickle, and is refused without being looked into."""
    try:
        with path.open("rb") as file:
            found = np.load(file, allow_pickle=False)
            return found if isinstance(found, np.ndarray) else {name: found[name] for name in found.files}
    except ValueError as error:
        raise (_pickle(path) if "pickle" in str(error) else _broken(path, error)) from error
    except (EOFError, zipfile.BadZipFile) as error:
        raise _broken(path, error) from error


def _broken(path: Path, error: Exception) -> ReadingError:
    return ReadingError(f"{path} is not a whole NumPy file: {said(error)}.")


def _pickle(path: Path) -> ReadingError:
    return ReadingError(
        f"{path} holds a pickle or Python objects, which could run code when read: "
        "expected arrays of numbers, saved by numpy.savez."
    )


# --------------------------------------------------------------------------------------- the matrix


def _sparse(content: Mapping[str, Array], path: Path) -> Matrix:
    missing = [part for part in SPARSE_PARTS if part not in content]
    if missing:
        raise ReadingError(
            f"{path} has 'indptr' but not {missing[0]!r}: expected the parts of a sparse matrix, all four."
        )
    stored = str(np.asarray(content.get("format", b"csr")).astype(str))
    if stored not in FORMS:
        raise ReadingError(f"{path} holds a sparse matrix in the form {stored!r}: expected csr or csc.")
    try:
        return from_parts(stored, *(content[part] for part in SPARSE_PARTS))
    except ValueError as error:
        raise ReadingError(f"{path} does not hold a valid sparse matrix: {said(error)}.") from error


def _dense(content: Mapping[str, Array], request: Request) -> Array:
    """The array that is asked for, X, or the only matrix."""
    if request.key is not None:
        return _under(content, request.key, request.path)
    if "X" in content:
        return _under(content, "X", request.path)
    matrices = [name for name, array in content.items() if array.ndim == 2 and 1 not in array.shape]
    if len(matrices) != 1:
        raise ReadingError(
            f"{request.path} holds {len(matrices)} matrices among {', '.join(content) or 'nothing'}: "
            "expected one, or X, or --key to say which."
        )
    return content[matrices[0]]


def _under(content: Mapping[str, Array], name: str, path: Path) -> Array:
    if name not in content:
        raise ReadingError(f"{path} has no array {name!r}: closest are {closest(name, content)}.")
    if content[name].ndim != 2:
        raise ReadingError(f"{path}: {name!r} has shape {content[name].shape}, and a matrix is expected.")
    return content[name]


# ----------------------------------------------------------------------------- what is known besides


def _labels(
    content: Mapping[str, Stored], n_samples: int, request: Request, default: str
) -> tuple[Array | None, Names | None, str]:
    name = request.labels or default
    if name not in content:
        if request.labels is None:
            return None, None, name
        raise ReadingError(f"{request.path} has no array {name!r} of labels: closest are {closest(name, content)}.")
    y, names = classes(content[name][()], n_samples, f"{request.path}, {name!r}")
    return y, names or _class_names(content, y), name


def _class_names(content: Mapping[str, Stored], y: Array) -> Names | None:
    """``class_names[y]``, where there are enough of them."""
    names = content.get("class_names")
    return None if names is None or len(names[()]) <= y.max() else tuple(map(str, np.ravel(names[()]).tolist()))


def _image_shape(content: Mapping[str, Stored], n_features: int) -> tuple[int, int] | None:
    """Of the rows; a scene whose pixels are the rows is no picture of a feature."""
    shape = np.ravel(content["image_shape"][()]).tolist() if "image_shape" in content else []
    return (int(shape[0]), int(shape[1])) if len(shape) == 2 and math.prod(shape) == n_features else None


def _first_names(content: Mapping[str, Stored], keys: tuple[str, ...], count: int) -> Names | None:
    for key in keys:
        if key in content and content[key].shape == (count,):
            return tuple(map(str, content[key][()].tolist()))
    return None


def _kind(image_shape: tuple[int, int] | None, content: Mapping[str, Stored]) -> Kind:
    if image_shape is not None:
        return "images"
    return "texts" if "vocabulary" in content else "table"
