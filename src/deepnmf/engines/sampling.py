"""Rows that are evenly spaced over the data, wherever these are."""

from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array
from deepnmf.engines.choice import is_on_cluster
from deepnmf.engines.streaming import RowSource, is_streamed


class SpacedRows(RowSource):
    """Every so many rows of a source, beginning with the first."""

    def __init__(self, source: RowSource, step: int) -> None:
        self.shape = -(-source.shape[0] // step), source.shape[1]
        self.dtype, self.folder = source.dtype, source.folder
        self._source, self._step = source, step

    def read(self, rows: slice, buffer: Array | None) -> Array:
        """Read some of these rows into memory, one by one."""
        places = range(rows.start * self._step, rows.stop * self._step, self._step)
        return np.concatenate([self._source.read(slice(place, place + 1), None) for place in places])


def spaced(X: Any, step: int) -> Any:
    """Every so many rows of X, for any kind of X; those that are read or on a cluster stay there."""
    if is_streamed(X):
        return SpacedRows(X, step)
    chosen = X[::step]
    return chosen if sparse.issparse(X) or is_on_cluster(X) else np.ascontiguousarray(chosen)
