"""HDF5 files from untrusted sources, and AnnData files (``.h5ad``). Nothing outside the file is opened."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.reading.classes import class_count_text, classes
from deepnmf.reading.dataset import (
    Dataset,
    Names,
    ReadingError,
    Request,
    closest,
    count_text,
    description_of,
    import_optional,
    library_message,
    size_text,
)
from deepnmf.sparse_parts import from_parts


class Group:
    """A group that gives access only to members within the file.

    Parameters
    ----------
    group : h5py.Group
    path : Path
        The file, for messages.
    """

    def __init__(self, group: Any, path: Path) -> None:
        self.attrs = group.attrs
        self._group, self._path = group, path

    def __iter__(self) -> Iterator[str]:
        return iter(self._group)

    def __contains__(self, name: str) -> bool:
        try:
            self[name]
        except KeyError:
            return False
        return True

    def __getitem__(self, name: str) -> Any:
        """Return a dataset of h5py or a `Group`; a soft link is followed if its path has no other soft links."""
        return self._descend(name, Group._followed)

    def _descend(self, name: str, step: Any) -> Any:
        """Follow a path link by link, because HDF5 would also follow it to other files."""
        found: Any = Group(self._group.file, self._path) if name.startswith("/") else self
        for part in name.split("/"):
            found = step(found, part.encode()) if part not in ("", ".") else found
        return found

    def _followed(self, name: bytes) -> Any:
        if self._link(name) == _h5py().h5l.TYPE_SOFT:
            return self._descend(self._group.id.links.get_val(name).decode(), Group._member)
        return self._member(name)

    def _member(self, name: bytes) -> Any:
        h5py = _h5py()
        if self._link(name) != h5py.h5l.TYPE_HARD:
            raise self._outside(name.decode(), "a link to another file, or to another link")
        found = self._group[name]
        if isinstance(found, h5py.Group):
            return Group(found, self._path)
        if isinstance(found, h5py.Dataset) and (found.is_virtual or found.external):
            raise self._outside(name.decode(), "a dataset whose numbers are in other files")
        return found

    def _link(self, name: bytes) -> Any:
        """Return the type of a link without following it."""
        links = self._group.id.links
        if not links.exists(name):
            raise KeyError(f"there is no {name.decode()!r}")
        return links.get_info(name).type

    def _outside(self, name: str, what: str) -> ReadingError:
        return ReadingError(f"{self._path}: {name!r} is {what}: expected all data within the file.")


def _h5py() -> Any:
    return import_optional("h5py", "h5py", "HDF5 files")


# --------------------------------------------------------------------------------------------- .h5ad


SPARSE = {"csr_matrix": "csr", "csc_matrix": "csc"}


def read_h5ad(request: Request) -> Dataset:
    """Read X or a layer, the names of genes and cells, and a column of ``obs`` as labels."""
    return _opened(request, ".h5ad", _read)


def read_h5mu(request: Request) -> Dataset:
    """Read one modality, which has the layout of an AnnData file; the key is the modality, or modality and layer."""
    return _opened(request, ".h5mu", _read_modality)


def _read_modality(file: Group, request: Request) -> Dataset:
    asked = request.key or request.recipe_setting("key") or ""
    name, _, layer = asked.partition("/")
    if name not in list(file["mod"]):  # an empty name would be the group itself
        found = ", ".join(map(repr, file["mod"]))
        raise ReadingError(f"{request.path} has the modalities {found}: expected one of them as --key, got {asked!r}.")
    data = _read(file["mod"][name], replace(request, key=layer or "X"))
    return replace(data, settings={**data.settings, "key": asked})


def _opened(request: Request, suffix: str, reader: Callable[[Group, Request], Dataset]) -> Dataset:
    h5py = import_optional("h5py", "h5py", f"{suffix} files")
    try:
        file = h5py.File(request.path, "r")
    except OSError as error:
        raise ReadingError(f"{request.path} is not an HDF5 file: {library_message(error)}.") from error
    with file:
        try:
            return reader(Group(file, request.path), request)
        except (KeyError, AttributeError, TypeError) as error:
            raise ReadingError(
                f"{request.path} does not have the layout of an {suffix} file: {library_message(error)}."
            ) from error


def _read(file: Group, request: Request) -> Dataset:
    key = request.key or request.recipe_setting("key") or "X"
    X = _matrix(_stored_matrix(file, key, request), request)
    y, class_names = _labels(file["obs"], X.shape[0], request)
    return Dataset(
        X,
        "cells",
        description_of(
            request.path,
            size_text(X, "cell", "gene"),
            "sparse" if sparse.issparse(X) else "",
            "" if key == "X" else f"layer {key!r}",
            class_count_text(y, f"in obs column {request.labels!r}"),
        ),
        y=y,
        class_names=class_names,
        feature_names=_index(file, "var", X.shape[1], request),
        sample_names=_index(file, "obs", X.shape[0], request),
        settings=({} if request.labels is None else {"labels": request.labels}) | ({} if key == "X" else {"key": key}),
    )


def _stored_matrix(file: Group, key: str, request: Request) -> Any:
    """Return X, or a matrix of ``layers``."""
    if key == "X":
        return file["X"]
    if f"layers/{key}" in file:
        return file[f"layers/{key}"]
    known = ["X", *(name for frame in ("layers",) if frame in file for name in file[frame])]
    raise ReadingError(f"{request.path} has no layer {key!r} for --key: closest are {closest(key, known)}.")


def _matrix(stored: Any, request: Request) -> Matrix:
    form = SPARSE.get(_text(stored.attrs.get("encoding-type", "")))
    if form is None:
        return np.asarray(stored[()])
    try:
        return from_parts(form, stored["data"], stored["indices"], stored["indptr"], stored.attrs["shape"])
    except ValueError as error:
        raise ReadingError(
            f"{request.path} does not contain a valid sparse matrix: {library_message(error)}."
        ) from error


def _labels(obs: Any, n_samples: int, request: Request) -> tuple[Array | None, Names | None]:
    name = request.labels or request.recipe_setting("labels")
    if name is None or (request.labels is None and name not in obs):
        return None, None
    if name not in obs:
        known = [column for column in obs if column != _text(obs.attrs["_index"])]
        raise ReadingError(f"{request.path} has no obs column {name!r}: closest are {closest(name, known)}.")
    return classes(_column(obs[name]), n_samples, f"{request.path}, obs column {name!r}")


def _column(stored: Any) -> Any:
    """Return the values of a plain column, of a categorical one, or of one with a mask of missing values."""
    if hasattr(stored, "shape"):
        return _values(stored)
    if "categories" in stored:
        codes, names = stored["codes"][()], _values(stored["categories"]).astype(object)
        return [None if code < 0 else names[code] for code in codes]
    missing = stored["mask"][()] if "mask" in stored else np.zeros(len(stored["values"]), dtype=bool)
    return [None if gone else value for value, gone in zip(_values(stored["values"]), missing, strict=True)]


def _values(stored: Any) -> Array:
    return np.asarray(stored.asstr()[()] if stored.dtype.kind in "OS" else stored[()])


def _index(file: Group, frame: str, length: int, request: Request) -> Names:
    names = _column(file[frame][_text(file[frame].attrs["_index"])])
    if len(names) != length:
        raise ReadingError(f"{request.path}: {frame} has {count_text(len(names), 'name')}, but X needs {length}.")
    return tuple(map(str, names))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
