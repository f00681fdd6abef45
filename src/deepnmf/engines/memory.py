from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.protocol import Engine, Step, Sums, sizes
from deepnmf.engines.threads import Workers

# Measured on 2 cores: blocks of 2 to 8 MB are within 5 % of each other; smaller ones pay for the
# calls, larger ones leave a core idle at the end of a pass.
BLOCK_BYTES = 4 * 2**20
SMALLEST_SPLIT = 2**21


class BlockedRows(Engine):
    """Rows in blocks, each a task of the pool."""

    def __init__(self, shape: tuple[int, int], blocks: list[slice], workers: Workers, sizes: Step = sizes) -> None:
        self.n_samples, self.n_features = shape
        self.workers = workers
        self._blocks = blocks
        self._measure(sizes)

    @abstractmethod
    def _items(self) -> Iterator[tuple[slice, Matrix]]:
        """The blocks in order: which rows, and these."""

    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Take one pass over X, on the pool."""
        store = _RowStore(self.n_samples, self._empty, out)
        totals: list[Array] | None = None

        def one_block(item: tuple[slice, Matrix]) -> Sums:
            block, X_b = item
            new_rows, sums = step(X_b, tuple(array[block] for array in rows))
            store.put(block, new_rows)
            self._done_with(X_b)
            return sums

        in_turn = map if len(self._blocks) == 1 else self.workers.map
        for sums in in_turn(one_block, self._items()):
            if totals is None:
                totals = [np.array(part, dtype=np.float64) for part in sums]
            else:
                for total, part in zip(totals, sums, strict=True):
                    total += part
        return store.arrays, tuple(totals or ())

    def _done_with(self, X_b: Matrix) -> None:
        """Take note that nobody looks at a block any more."""

    def _empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Room for an array of all rows."""
        return np.empty(shape, dtype)

    def upon(self, codes: Array) -> Engine:
        """The same for codes of these rows, which are in memory."""
        return RowsInMemory(codes, self.workers)


class RowsInMemory(BlockedRows):
    """Dense (C-ordered) or CSR rows that fit into memory; X itself is never copied.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, p), float32 or float64
    workers : Workers
        The open pool the passes run on.
    """

    def __init__(self, X: Matrix, workers: Workers, sizes: Step = sizes) -> None:
        self._X = X
        self.dtype = X.dtype
        size = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
        super().__init__(X.shape, row_blocks(X.shape[0], size), workers, sizes)

    def _items(self) -> Iterator[tuple[slice, Matrix]]:
        return ((block, self._rows(block)) for block in self._blocks)

    def _rows(self, block: slice) -> Matrix:
        return rows_at(self._X, block)


class _RowStore:
    """Arrays of all rows that the blocks write into; made when the first block shows their shape."""

    def __init__(self, n_samples: int, empty: Callable[..., Array], out: Sequence[Array] | None) -> None:
        self._n_samples, self._empty = n_samples, empty
        self._lock = Lock()
        self.arrays: tuple[Array, ...] = () if out is None else tuple(out)

    def put(self, block: slice, new_rows: tuple[Array, ...]) -> None:
        with self._lock:
            if not self.arrays:
                self.arrays = tuple(self._empty((self._n_samples, *new.shape[1:]), new.dtype) for new in new_rows)
        for array, new in zip(self.arrays, new_rows, strict=True):
            array[block] = new


def rows_at(X: Matrix, block: slice) -> Matrix:
    """Rows that share the values of X: slicing a sparse one would copy them, in every sweep."""
    if not sparse.issparse(X):
        return X[block]
    begin, end = X.indptr[block.start], X.indptr[block.stop]
    pointers = X.indptr[block.start : block.stop + 1] - begin
    shape = (block.stop - block.start, X.shape[1])
    return type(X)((X.data[begin:end], X.indices[begin:end], pointers), shape=shape, copy=False)


def row_blocks(n_samples: int, size: int) -> list[slice]:
    """Slices of about equal length for rows of so many bytes in all."""
    count = 1 if size <= SMALLEST_SPLIT else max(2, -(-size // BLOCK_BYTES))
    edges = np.linspace(0, n_samples, min(count, n_samples) + 1).astype(int)
    return [slice(a, b) for a, b in pairwise(edges)]
