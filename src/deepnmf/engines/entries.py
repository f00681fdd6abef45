"""Blocks as entries, for losses that use stored entries only, and blocks with about equal numbers of entries."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.blocks import DENSE_ROWS, Block, Dense, Sparse
from deepnmf.engines.holes import HoledDense
from deepnmf.engines.memory import BlockedRows, RowsInMemory
from deepnmf.engines.protocol import Engine
from deepnmf.engines.sparse_holes import HoledSparse
from deepnmf.kernels.poisson import Entries

ENTRIES_TOGETHER = 2**15  # smallest number in a block, some milliseconds of work
MOST_BLOCKS = 32  # because each block costs a call
BY_COLUMNS = 4  # smallest number of entries in a block for each column of its sums


class RowsByEntries(BlockedRows):
    """Rows in memory in blocks of about equal numbers of entries, smaller than the blocks for products."""

    def __init__(self, X: Block, like: Engine, row_weights: Array | None = None) -> None:
        self._X = X
        self.dtype, self.is_complete = X.dtype, X.is_complete
        blocks = _equal_shares(_entries_before(X), X.shape[1])
        self._parts = [X] if len(blocks) == 1 else [X.rows(block) for block in blocks]
        super().__init__(X.shape, blocks, like.workers, unit=like.unit, row_weights=row_weights)

    def _items(self) -> Iterator[tuple[slice, Block]]:
        return zip(self._blocks, self._parts, strict=True)


def rows_and_columns(engine: Engine) -> tuple[Engine, Engine] | None:
    """Return engines for rows and for columns; columns are a transposed copy of stored entries, or a view of an array.

    Return None if rows are not in memory, or if their kind of data has no access to columns.
    """
    columns = _transposed(engine.scaled_block) if isinstance(engine, RowsInMemory) else None
    return None if columns is None else (rows_by_entries(engine), RowsByEntries(columns, engine))


def rows_by_entries(engine: Engine) -> Engine:
    """Return the rows in blocks by entries if they are in memory; otherwise the same engine."""
    return RowsByEntries(engine._X, engine, engine.row_weights) if isinstance(engine, RowsInMemory) else engine


def entry_parts(X_b: Block) -> Iterator[tuple[slice, Entries | Array]]:
    """Yield the rows of a block: stored entries, or an array if all entries are observed and stored."""
    whole = slice(0, X_b.shape[0])
    if isinstance(X_b, Dense):
        yield whole, np.ascontiguousarray(X_b.X)
    elif isinstance(X_b, Sparse):
        yield whole, Entries(X_b.X.indptr, X_b.X.indices, X_b.X.data)
    elif isinstance(X_b, HoledSparse):
        yield whole, Entries(X_b.X.indptr, X_b.X.indices, X_b.X.data, X_b.weights)
    elif isinstance(X_b, HoledDense):
        yield whole, stored_entries(X_b.X, X_b.weighted()[1])
    else:
        for start in range(0, X_b.shape[0], DENSE_ROWS):
            part = slice(start, min(start + DENSE_ROWS, X_b.shape[0]))
            yield part, np.ascontiguousarray(X_b.dense(part))


def stored_rows(X_b: Block) -> Matrix | None:
    """Return the rows as a CSR matrix whose other entries are zeros; None if they are stored differently."""
    return X_b.X if isinstance(X_b, Sparse) else None


def dense_parts(X_b: Block, n_rows: int) -> Iterator[tuple[slice, Array, Array | None]]:
    """Yield a few rows at a time as arrays: values, and weights if some entries are unobserved or weighted."""
    for start in range(0, X_b.shape[0], n_rows):
        part = slice(start, min(start + n_rows, X_b.shape[0]))
        if isinstance(X_b, HoledDense | HoledSparse):
            rows: Any = X_b.rows(part)
            values, weights = rows.X, rows.weighted()[1]
            if isinstance(rows, HoledSparse):
                values, weights = values.toarray(), weights.toarray()
            yield part, np.where(weights > 0, values, 1), weights.astype(X_b.dtype, copy=False)
        else:
            yield part, X_b.dense(part), None


def stored_entries(X: Array, weights: Array | None = None) -> Entries:
    """Return the nonzero entries of an array, or those with weights."""
    rows, columns = np.nonzero(X if weights is None else weights)
    indptr = np.zeros(len(X) + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=len(X)), out=indptr[1:])
    own_weights = None if weights is None else weights[rows, columns].astype(X.dtype)
    return Entries(indptr, columns, X[rows, columns], own_weights)


def _transposed(X: Block) -> Block | None:
    if isinstance(X, Dense):
        return Dense(X.X.T)
    if isinstance(X, Sparse):
        return Sparse(X.X.T.tocsr())
    if isinstance(X, HoledDense):
        return HoledDense(X.X.T, None if X.weight is None else X.weight.T)
    return X.transposed() if isinstance(X, HoledSparse) else None


def _entries_before(X: Block) -> Array:
    """The number of entries before each row, and the total number."""
    if isinstance(X, Sparse | HoledSparse):
        return np.asarray(X.X.indptr, dtype=np.int64)
    return np.arange(X.shape[0] + 1) * X.shape[1]


def _equal_shares(before: Array, n_columns: int) -> list[slice]:
    count = int(before[-1]) // max(ENTRIES_TOGETHER, BY_COLUMNS * n_columns)
    count = min(max(count, 1), MOST_BLOCKS)
    wanted = np.linspace(0, before[-1], count + 1)[1:-1]
    edges = np.unique([0, *np.searchsorted(before, wanted), len(before) - 1])
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]
