"""Counts: data for which the Kullback-Leibler divergence is a better loss than squared error."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.reading.dataset import Dataset

CHUNK = 2**20  # entries checked at a time, so that other data are recognized after the first chunk
FEWEST_ZEROS = 0.1  # share of the observed entries
LONG_TAIL = 5  # smallest ratio of the largest entry to the mean of the positive entries
WHITE_LEVELS = (255, 65535)  # of pixels of 8 and 16 bits


def has_counts(data: Dataset) -> bool:
    """Whether the entries are counts, such as those of words in texts or of molecules in cells.

    They are nonnegative integers, many are zero, and few are large. Images and sounds are never counts, and data whose
    largest entry is that of white pixels are not either.

    Examples
    --------
    >>> from deepnmf.reading import Dataset
    >>> words = np.random.default_rng(0).poisson(0.3, (50, 40)) * np.array([1, 9] + 38 * [1])
    >>> has_counts(Dataset(words, "table", "50 texts."))
    True
    >>> has_counts(Dataset(np.log1p(words), "table", "50 texts."))
    False
    """
    if data.kind not in ("table", "texts", "cells") or data.image_shape is not None:
        return False
    n_observed, n_above, total, largest = int(np.prod(data.X.shape, dtype=float)), 0, 0.0, 0.0
    for entries in _chunks(data.X):
        known = entries[~np.isnan(entries)]
        if known.size and (known.min() < 0 or not np.isfinite(known).all() or np.any(known != np.floor(known))):
            return False
        n_observed -= entries.size - known.size
        n_above += int(np.count_nonzero(known))
        total += float(known.sum(dtype=np.float64))
        largest = max(largest, float(known.max(initial=0)))
    if n_above == 0 or largest in WHITE_LEVELS:
        return False
    return 1 - n_above / n_observed >= FEWEST_ZEROS and largest * n_above >= LONG_TAIL * total


def _chunks(X: Matrix) -> Iterator[Array]:
    """Yield the entries, of sparse data those that are stored."""
    if sparse.issparse(X):
        for start in range(0, len(X.data), CHUNK):
            yield X.data[start : start + CHUNK]
        return
    height = max(1, CHUNK // X.shape[1])
    for start in range(0, X.shape[0], height):
        yield np.asarray(X[start : start + height])
