"""X and the weights of its entries as a block, of the kind that suits them."""

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.blocks import Block, Dense, Sparse
from deepnmf.engines.holes import Holed, HoledDense
from deepnmf.engines.sparse_holes import HoledSparse, PatternWeights, is_sparse


def observed_block(X: Matrix, weight: Matrix | PatternWeights | None = None) -> Block:
    """X as a block: `Holed` if it has NaN or weights, and as a sparse matrix if it is sparsely observed."""
    if isinstance(weight, PatternWeights):
        return HoledSparse(X, weight.stored, weight.rest)
    if weight is not None:
        return holed(X, weight)
    if sparse.issparse(X):
        return Sparse(X)
    return holed(_sparse_if_sparsely_observed(X)) if has_holes(X) else Dense(X)


def holed(X: Matrix, weight: Matrix | None = None) -> Holed:
    """Return X as a block with holes: NaN marks them in an array, entries that are not stored in a CSR matrix."""
    return HoledSparse(X, weight) if sparse.issparse(X) else HoledDense(X, weight)


def has_holes(X: Matrix) -> bool:
    """Whether any entry is NaN. The sum is checked first: it needs no array of booleans."""
    if sparse.issparse(X):
        return False
    with np.errstate(over="ignore", invalid="ignore"):  # infinities of both signs add to NaN too
        return bool(np.isnan(X.sum()) and np.isnan(X).any())


def _sparse_if_sparsely_observed(X: Array) -> Matrix:
    seen = ~np.isnan(X)
    if not is_sparse(int(np.count_nonzero(seen)), X.shape):
        return X
    rows, columns = np.nonzero(seen)
    return sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)
