"""The choice between hidden entries and hidden counts for the data that users give."""

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from deepnmf.arrays import Matrix
from deepnmf.checks import FLOATS
from deepnmf.engines import is_on_cluster, row_source
from deepnmf.engines.sampling import spaced
from deepnmf.masks import with_holes
from deepnmf.objective.divergences import Divergence
from deepnmf.selection.hidden_entries import HiddenInArray
from deepnmf.selection.hidden_in_sparse import HiddenInSparse, HiddenInStored
from deepnmf.selection.splits import Splits
from deepnmf.selection.thinned_counts import ThinnedCounts

STORED = "stored"
SAFE_IN_SINGLE_PRECISION = 2.0**20  # root mean square that every model can handle
MOST_ENTRIES = 2**24  # to read into memory when the rows are not there


def in_memory(X: Any) -> Matrix:
    """Return X, or evenly spaced rows of an X in a file or on a cluster."""
    source = X if is_on_cluster(X) else row_source(X)
    if source is None:
        return X
    step = math.ceil(source.shape[0] * source.shape[1] / MOST_ENTRIES)
    rows = spaced(source, step)
    return rows.compute() if is_on_cluster(X) else rows


def splits_of(X: Matrix, seeds: list[int], entry_weight: Any, divergence: Divergence, hide: str | None) -> Splits:
    """Check data and weights, and return their splits."""
    X = check_array(with_holes(X), accept_sparse="csr", dtype=FLOATS, ensure_all_finite="allow-nan", input_name="X")
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()  # the user's matrix must not be modified
        X.sum_duplicates()
    if hide == "counts" or (hide is None and _suits_thinning(X, entry_weight, divergence)):
        return _thinned(X, seeds, entry_weight, divergence)
    if sparse.issparse(X):
        return _sparse(X, seeds, entry_weight, divergence)
    return _dense(X, seeds, entry_weight, _dtype(X, divergence))


def _dtype(X: Matrix, divergence: Divergence) -> Any:
    """Return single precision for squared error, which takes half the memory and less time, if squares do not overflow.

    Errors at hidden entries agree to six digits, and their noise is larger. With other losses, undetermined codes may
    be arbitrarily large.
    """
    values = X.data if sparse.issparse(X) else X
    largest = max(abs(float(extreme.reduce(values, axis=None, initial=0))) for extreme in (np.fmax, np.fmin))
    least_root_mean_square = largest / math.sqrt(math.prod(X.shape))
    is_safe = least_root_mean_square >= 1 / SAFE_IN_SINGLE_PRECISION and largest <= SAFE_IN_SINGLE_PRECISION
    return np.float32 if divergence.is_squared_error and is_safe else X.dtype


def _suits_thinning(X: Matrix, entry_weight: Any, divergence: Divergence) -> bool:
    return entry_weight is None and divergence.is_kl and _are_counts(X.data if sparse.issparse(X) else X)


def _are_counts(values: Any) -> bool:
    return bool(np.all(values >= 0) and np.all(values == np.floor(values)))


def _thinned(X: Matrix, seeds: list[int], entry_weight: Any, divergence: Divergence) -> Splits:
    if not divergence.is_kl:
        raise ValueError("hide='counts' needs beta_loss='kullback-leibler', the loss for counts.")
    if entry_weight is not None:
        raise ValueError("hide='counts' does not support entry_weight: use hide='entries'.")
    X = sparse.csr_array(X)
    if not _are_counts(X.data):
        raise ValueError("hide='counts' needs counts: X has entries that are negative, NaN or not whole numbers.")
    return ThinnedCounts(X, seeds)


def _sparse(X: Matrix, seeds: list[int], entry_weight: Any, divergence: Divergence) -> Splits:
    if isinstance(entry_weight, str) and entry_weight == STORED:
        return HiddenInStored(X, seeds, _dtype(X, divergence))
    if entry_weight is not None:
        raise ValueError(f'entry_weight must be None or "{STORED}" to choose layers for a sparse X.')
    if not divergence.is_squared_error:
        raise ValueError(
            f"select_layers supports a sparse X for squared error, and for counts with beta_loss='kullback-leibler', "
            f"but beta_loss is {divergence.beta:g}: pass some rows as a dense array."
        )
    return HiddenInSparse(X, seeds, _dtype(X, divergence))


def _dense(X: Matrix, seeds: list[int], entry_weight: Any, dtype: Any) -> Splits:
    if entry_weight is None:
        return HiddenInArray(X, seeds, dtype)
    if isinstance(entry_weight, str) or sparse.issparse(entry_weight) or np.shape(entry_weight) != X.shape:
        raise ValueError("entry_weight must be None or an array of the shape of X to choose layers for a dense X.")
    return HiddenInArray(X, seeds, dtype, np.asarray(entry_weight, dtype=X.dtype))
