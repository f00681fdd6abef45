"""Evenly spaced rows of any kind of data."""

from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array
from deepnmf.engines.choice import is_on_cluster
from deepnmf.engines.memory import BLOCK_BYTES
from deepnmf.engines.streaming import RowSource, is_streamed


def spaced(X: Any, step: int) -> Any:
    """Return every `step`-th row of any kind of X in memory; rows on a cluster stay there."""
    if is_streamed(X):
        return _read_spaced(X, step)
    chosen = X[::step]
    return chosen if sparse.issparse(X) or is_on_cluster(X) else np.ascontiguousarray(chosen)


def _read_spaced(source: RowSource, step: int) -> Array:
    """Read evenly spaced rows; if they are close together, read rows in between, too, because chunks are read whole."""
    n_samples, n_features = source.shape
    together = max(1, BLOCK_BYTES // (step * n_features * source.dtype.itemsize))
    starts = range(0, n_samples, together * step)
    slices = (slice(start, min(start + (together - 1) * step + 1, n_samples)) for start in starts)
    dtype = source.dtype if source.dtype == np.float32 else np.float64
    return np.concatenate([source.read(rows, None)[::step].astype(dtype) for rows in slices])
