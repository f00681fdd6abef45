"""What an entry of X counts: NaN nothing, others as much as they weigh, absent ones of a sparse X as they are read."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from deepnmf.arrays import Array, Matrix
from deepnmf.masks import check_unmasked

STORED = "stored"
EntryWeight = Any
"""None, ``"stored"``, or a dense or sparse matrix of the shape of X."""


class Observed(NamedTuple):
    """Data and the weights of its entries; where these are sparse, X has their pattern."""

    X: Matrix
    weight: Matrix | None = None


def observed(X: Matrix, entry_weight: EntryWeight) -> Observed:
    """Check weights and bring X into their pattern."""
    if entry_weight is None:
        return Observed(X)
    if isinstance(entry_weight, str):
        return _stored(X, entry_weight)
    weight = _checked(X, entry_weight)
    if sparse.issparse(weight):
        return _at(weight, X)
    return Observed(X, None if weight.min() == 1 else weight)


def _stored(X: Matrix, said: str) -> Observed:
    if said != STORED:
        raise ValueError(f'entry_weight must be None, "{STORED}" or a matrix of the shape of X, got {said!r}.')
    if not sparse.issparse(X):
        raise ValueError(f'entry_weight="{STORED}" is for a sparse X, whose absent entries it leaves out; X is dense.')
    return Observed(X, _with_data(X, np.ones_like(X.data)))


def _checked(X: Matrix, entry_weight: Any) -> Matrix:
    check_unmasked(entry_weight, "entry_weight")
    weight = check_array(entry_weight, accept_sparse="csr", dtype=X.dtype, order="C", input_name="entry_weight")
    if weight.shape != X.shape:
        raise ValueError(
            f"entry_weight has shape {weight.shape}, but X has {X.shape}: one weight an entry is expected."
        )
    if sparse.issparse(X) and not sparse.issparse(weight):
        raise TypeError("entry_weight is dense, but X is sparse: pass sparse weights, absent ones count nothing.")
    if weight.size and not 0 <= weight.min() <= weight.max() <= 1:
        raise ValueError(f"entry_weight must be from 0 to 1, got {weight.min():g} to {weight.max():g}.")
    return weight


def _at(weight: Matrix, X: Matrix) -> Observed:
    """The entries of X that have a weight, zeros among them stored; what is NaN counts nothing."""
    rows = np.repeat(np.arange(weight.shape[0]), np.diff(weight.indptr))
    values = np.asarray(X[rows, weight.indices], dtype=X.dtype).ravel()
    unseen = np.isnan(values)
    values[unseen] = 0
    return Observed(_with_data(weight, values), _with_data(weight, np.where(unseen, 0, weight.data)))


def _with_data(pattern: Matrix, data: Array) -> Matrix:
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
