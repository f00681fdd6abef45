"""Hidden entries of sparse matrices: of ratings, where only stored entries count, and of data with zeros."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import PatternWeights
from deepnmf.selection.hidden_entries import Columns, HiddenEntries, Places
from deepnmf.selection.splits import HIDDEN_SHARE, Seen, parts

ZEROS_FOR_EACH = 2  # number of hidden zeros for each hidden stored entry, if there are enough zeros


class HiddenInStored(HiddenEntries):
    """A CSR matrix of which only the stored entries count, as in ratings."""

    def observed_by_line(self) -> tuple[Array, Array]:
        """The numbers of stored entries in each row and in each column."""
        return self._stored_by_line

    def hidden_stored(self, split: int) -> Array:
        """The places of the stored entries that a split hides; every row and column with stored entries keeps one."""
        drawn = np.flatnonzero(self.rng(split).random(self.X.nnz, dtype=np.float32) < HIDDEN_SHARE)
        rows, columns = self._rows(drawn), self.X.indices[drawn]
        in_rows, in_columns = self._stored_by_line
        left_in_rows = in_rows - np.bincount(rows, minlength=self.shape[0])
        left_in_columns = in_columns - np.bincount(columns, minlength=self.shape[1])
        return drawn[(left_in_rows[rows] > 0) & (left_in_columns[columns] > 0)]

    def hidden(self, split: int) -> Places:
        """The stored entries that a split hides."""
        places = self.hidden_stored(split)
        return Places(self._rows(places), self.X.indices[places], np.ones(len(places)))

    def seen(self, split: int) -> Seen:
        """The matrix without the entries that a split hides."""
        hidden = self.hidden_stored(split)
        kept = self._all_but(hidden)
        ends = (self.X.indptr - np.searchsorted(hidden, self.X.indptr)).astype(self.X.indptr.dtype)
        values = self.X.data[kept].astype(self.dtype, copy=False)
        return Seen(sparse.csr_array((values, self.X.indices[kept], ends), shape=self.shape), "stored")

    def some_rows(self, rows: Array) -> Seen:
        """Some rows, with nothing hidden."""
        return Seen(self.X[rows].astype(self.dtype, copy=False), "stored")

    def seen_columns(self, split: int) -> Columns:
        """Return statistics of the seen entries of each column."""
        return self._kept_columns(split, np.inf)

    def _kept_columns(self, split: int, beyond: float) -> Columns:
        """Return the smallest, the largest and the mean seen stored entry of each column, within bounds."""
        kept, n = self._all_but(self.hidden_stored(split)), self.shape[1]
        low, high, sums, counts = np.full(n, beyond), np.full(n, -beyond), np.zeros(n), np.zeros(n)
        for part in parts(self.X.nnz):
            columns, values = self.X.indices[part][kept[part]], self.X.data[part][kept[part]]
            np.minimum.at(low, columns, values)
            np.maximum.at(high, columns, values)
            sums += np.bincount(columns, values, n)
            counts += np.bincount(columns, minlength=n)
        return Columns(low, high, sums / np.maximum(counts, 1))

    @cached_property
    def _stored_by_line(self) -> tuple[Array, Array]:
        by_column = np.zeros(self.shape[1], np.int64)
        for part in parts(self.X.nnz):
            by_column += np.bincount(self.X.indices[part], minlength=self.shape[1])
        return np.diff(self.X.indptr), by_column

    def _rows(self, places: Array) -> Array:
        """The rows of stored entries."""
        rows = np.searchsorted(self.X.indptr, places, side="right") - 1
        return rows.astype(self.X.indices.dtype)

    def _all_but(self, places: Array) -> Array:
        """A mask of the stored entries."""
        mask = np.ones(self.X.nnz, bool)
        mask[places] = False
        return mask


class HiddenInSparse(HiddenInStored):
    """A CSR matrix whose absent entries are zeros.

    A tenth of the stored entries is hidden, and about twice as many zeros. A tenth of all zeros would be many times the
    number of stored entries. Stored entries and zeros are weighted by the inverse of the share that is seen or hidden,
    so that the loss of the fit and the error of the predictions have the expected values of those of all entries.
    """

    def __init__(self, X: Matrix, seeds: list[int], dtype: Any = None) -> None:
        n_zeros = X.shape[0] * X.shape[1] - X.nnz
        self.zero_share = min(HIDDEN_SHARE, ZEROS_FOR_EACH * HIDDEN_SHARE * X.nnz / max(n_zeros, 1))
        super().__init__(X, seeds, dtype)

    def observed_by_line(self) -> tuple[Array, Array]:
        """All entries are observed."""
        return np.full(self.shape[0], self.shape[1]), np.full(self.shape[1], self.shape[0])

    def hidden_zeros(self, split: int) -> tuple[Array, Array, Array]:
        """Return the rows and columns of the hidden zeros, sorted by row, and the next stored entry of each."""
        rng, n_columns = np.random.default_rng((self.seeds[split], 1)), self.shape[1]
        n_entries = self.shape[0] * n_columns
        drawn = np.unique(rng.integers(n_entries, size=rng.binomial(n_entries, self.zero_share)))
        stored = np.repeat(np.arange(self.shape[0]) * n_columns, np.diff(self.X.indptr))
        stored += self.X.indices
        after = np.searchsorted(stored, drawn)
        is_zero = stored[np.minimum(after, len(stored) - 1)] != drawn
        rows, columns = (places.astype(self.X.indices.dtype) for places in np.divmod(drawn[is_zero], n_columns))
        return rows, columns, after[is_zero]

    def hidden(self, split: int) -> Places:
        """The stored entries and the zeros that a split hides."""
        stored, zeros = super().hidden(split), self.hidden_zeros(split)[:2]
        weights = np.full(len(zeros[0]), HIDDEN_SHARE / self.zero_share)
        rows, columns, weights = (np.concatenate(both) for both in zip(stored, (*zeros, weights), strict=True))
        order = np.argsort(rows, kind="stable")
        return Places(rows[order], columns[order], weights[order])

    def seen(self, split: int) -> Seen:
        """Return the matrix with all hidden entries stored, and the weights that mark them."""
        rows, columns, after = self.hidden_zeros(split)
        ends = self.X.indptr + np.searchsorted(rows, np.arange(self.shape[0] + 1)).astype(self.X.indptr.dtype)
        indices = np.insert(self.X.indices, after, columns)
        X, weights = (
            sparse.csr_array((np.insert(values, after, 0), indices, ends), shape=self.shape)
            for values in (self.X.data.astype(self.dtype, copy=False), self._all_but(self.hidden_stored(split)))
        )
        return Seen(X, PatternWeights(weights, (1 - HIDDEN_SHARE) / (1 - self.zero_share)))

    def some_rows(self, rows: Array) -> Seen:
        """Some rows, with nothing hidden."""
        return Seen(super().some_rows(rows).X)

    def seen_columns(self, split: int) -> Columns:
        """Return statistics of the seen entries of each column, which always include a zero."""
        low, high, mean = self._kept_columns(split, 0.0)
        return Columns(low, high, mean * self._stored_by_line[1] / self.shape[0])
