"""Rows of any X that a model takes, a few at a time."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.masks import with_holes

BLOCK_ENTRIES = 2**21


class Rows:
    """X as dense rows of float64 wherever it is kept; NaN is unobserved.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, path of an .npy file, array of h5py, zarr or dask
    """

    def __init__(self, X: Matrix) -> None:
        self._X = _sliceable(X)
        self.n_samples, self.n_features = self._X.shape

    def __getitem__(self, rows: Array | slice) -> Array:
        """The rows asked for, by increasing numbers or a slice."""
        X = self._X
        if sparse.issparse(X):
            return np.asarray(X[rows].toarray(), dtype=np.float64)
        if isinstance(rows, slice) or isinstance(X, np.ndarray):
            return np.asarray(X[rows], dtype=np.float64)
        return np.array([np.asarray(X[int(row)]) for row in rows], dtype=np.float64)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """All rows, block by block."""
        height = max(1, BLOCK_ENTRIES // self.n_features)
        for start in range(0, self.n_samples, height):
            block = slice(start, min(start + height, self.n_samples))
            yield block, self[block]


def _sliceable(X: Any) -> Any:
    """X as something with a shape and rows by number."""
    X = with_holes(X)
    if isinstance(X, str | os.PathLike):
        return np.load(X, mmap_mode="r")
    if sparse.issparse(X):
        return X.tocsr()
    is_array = type(X).__module__.partition(".")[0] in ("numpy", "h5py", "zarr", "dask")
    return X if is_array else np.asarray(X, dtype=np.float64)


def squared_errors(model: Any, rows: Rows, codes: list[Array]) -> tuple[Array, float]:
    """‖X - X̂‖² of every layer and ‖X‖², over the observed entries, in one pass over X."""
    errors, sqnorm = np.zeros(len(codes)), 0.0
    for block, X in rows.blocks():
        sqnorm += float(np.nansum(np.square(X)))
        for layer, H in enumerate(codes):
            errors[layer] += np.nansum(np.square(X - model.decode(H[block], layer)))
    return errors, sqnorm
