"""Data with changed last digits: no test may depend on the last digits of its data.

With DEEPNMF_JITTER=1, or another seed, every number that a model reads is multiplied by 1 + 1e-12·noise,
or in single precision moved by one unit in the last place. The noise is a hash of the number's digits, so that equal
numbers stay equal in any layout, and zeros, NaN and powers of two between numbers stay as they are.
"""

import os
from functools import partial, wraps

import numpy as np
import pytest
from scipy import sparse

from deepnmf.engines.streaming import StreamedRows
from deepnmf.models import input_data

SIZE = 1e-12
SEED = int(os.environ.get("DEEPNMF_JITTER", "0"))

without_copies = pytest.mark.skipif(SEED > 0, reason="the jittered data are a copy")


def install(seed: int) -> None:
    """Let every model read jittered data, from memory, files and clusters."""
    from deepnmf.engines import cluster

    change = partial(jittered, seed=seed)
    checked_in_memory, read, check_dask_array = (
        input_data._in_memory,
        StreamedRows._read,
        cluster.check_dask_array,
    )

    @wraps(checked_in_memory)
    def in_memory(*arguments):
        return change(checked_in_memory(*arguments))

    @wraps(read)
    def from_file(self, block):
        rows, X_b = read(self, block)
        return rows, change(X_b)

    @wraps(check_dask_array)
    def on_cluster(X):
        X = check_dask_array(X)
        if not np.issubdtype(X.dtype, np.floating):
            return X  # integers have no last digits to change, and other types are refused
        return X.astype(X.dtype if X.dtype == np.float32 else np.float64, copy=False).map_blocks(change)

    input_data._in_memory, StreamedRows._read, cluster.check_dask_array = in_memory, from_file, on_cluster


def jittered(X, seed: int):
    """A copy of X, dense or sparse, with changed last digits."""
    if sparse.issparse(X):
        changed = X.copy()
        changed.data = jittered(X.data, seed)
        return changed
    if X.dtype == np.float32:
        towards = np.where(_hash(X.astype(np.float64), seed) < 0, 0, np.copysign(np.float32(np.inf), X))
        return np.where((X == 0) | ~np.isfinite(X), X, np.nextafter(X, towards.astype(np.float32)))
    return X * (1 + SIZE * _hash(X, seed))


def _hash(X: np.ndarray, seed: int) -> np.ndarray:
    """Numbers from -1 to 1 that depend on the digits of X, but not on signs and exponents (splitmix64)."""
    bits = np.ascontiguousarray(X).view(np.uint64) & np.uint64(2**52 - 1)
    bits = bits + np.uint64((seed * 0x9E3779B97F4A7C15) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return (bits ^ (bits >> np.uint64(31))).astype(np.float64) / 2.0**63 - 1


if SEED:
    install(SEED)
