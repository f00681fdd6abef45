from collections.abc import Sequence
from itertools import pairwise
from threading import Lock

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.protocol import Engine, Step, Sums
from deepnmf.engines.threads import Workers

# Measured on 2 cores: blocks of 2 to 8 MB are within 5 % of each other; smaller ones pay for the
# calls, larger ones leave a core idle at the end of a pass.
BLOCK_BYTES = 4 * 2**20
SMALLEST_SPLIT = 2**21


class RowsInMemory(Engine):
    """Dense (C- or F-ordered) or CSR rows that fit into memory; X itself is never copied.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, p), float32 or float64
    workers : Workers
        The open pool the passes run on.
    """

    def __init__(self, X: Matrix, workers: Workers) -> None:
        self._X = X
        self.workers = workers
        self.n_samples, self.n_features = X.shape
        self.dtype = X.dtype
        self._blocks = _row_blocks(X)
        _, (sqnorm, total, count) = self.sweep((), self._sizes)
        self.sqnorm, self.mean = float(sqnorm), float(total) / max(float(count), 1.0)
        if total != 0 and not np.finfo(self.dtype).tiny <= self.sqnorm <= np.finfo(self.dtype).max:
            raise ValueError(f"‖X‖² is {self.sqnorm} in {self.dtype}: X is too large or too small, scale it.")

    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Take one pass over X, on the pool."""
        store = _RowStore(self.n_samples, out)
        totals: list[Array] | None = None

        def one_block(block: slice) -> Sums:
            new_rows, sums = step(self._rows(block), tuple(array[block] for array in rows))
            store.put(block, new_rows)
            return sums

        for sums in self.workers.map(one_block, self._blocks):
            if totals is None:
                totals = [np.array(part, dtype=np.float64) for part in sums]
            else:
                for total, part in zip(totals, sums, strict=True):
                    total += part
        return store.arrays, tuple(totals or ())

    def _rows(self, block: slice) -> Matrix:
        return rows_at(self._X, block)

    def _sizes(self, X_b: Matrix, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        """‖X_b‖², the sum of its entries, and how many there are."""
        values = X_b.data[None] if sparse.issparse(X_b) else X_b
        sqnorm = np.einsum("ij,ij->", values, values, dtype=np.float64)
        count = X_b.shape[0] * X_b.shape[1]
        return (), (np.asarray(sqnorm), np.asarray(values.sum(dtype=np.float64)), np.asarray(count))


class _RowStore:
    """Arrays of all rows that the blocks write into; made when the first block shows their shape."""

    def __init__(self, n_samples: int, out: Sequence[Array] | None) -> None:
        self._n_samples = n_samples
        self._lock = Lock()
        self.arrays: tuple[Array, ...] = () if out is None else tuple(out)

    def put(self, block: slice, new_rows: tuple[Array, ...]) -> None:
        with self._lock:
            if not self.arrays:
                self.arrays = tuple(np.empty((self._n_samples, *new.shape[1:]), new.dtype) for new in new_rows)
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


def _row_blocks(X: Matrix) -> list[slice]:
    n = X.shape[0]
    size = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    count = 1 if size <= SMALLEST_SPLIT else max(2, -(-size // BLOCK_BYTES))
    edges = np.linspace(0, n, min(count, n) + 1).astype(int)
    return [slice(a, b) for a, b in pairwise(edges)]
