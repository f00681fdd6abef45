"""Hidden entries of sparse matrices: ratings, of which only the stored ones count, and data whose zeros count too."""

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import PatternWeights
from deepnmf.selection.hidden_entries import Columns, HiddenEntries, Places
from deepnmf.selection.splits import HIDDEN_SHARE, Seen

ZEROS_FOR_EACH = 2  # zeros that are hidden for each stored entry that is, where there are so many


class HiddenInStored(HiddenEntries):
    """A CSR matrix of which only the stored entries count, as in ratings."""

    def __init__(self, X: Matrix, seeds: list[int]) -> None:
        self.rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        super().__init__(X, seeds)

    def observed_by_line(self) -> tuple[Array, Array]:
        """The numbers of stored entries in each row and in each column."""
        return self._counts(self.rows, self.X.indices)

    def mask(self, split: int) -> Array:
        """Whether each stored entry is hidden; every row and column with stored entries keeps one."""
        mask = self.rng(split).random(self.X.nnz, dtype=np.float32) < HIDDEN_SHARE
        left_in_rows, left_in_columns = self._counts(self.rows[~mask], self.X.indices[~mask])
        return np.asarray(mask & (left_in_rows[self.rows] > 0) & (left_in_columns[self.X.indices] > 0))

    def hidden(self, split: int) -> Places:
        """The stored entries that a split hides."""
        mask = self.mask(split)
        return Places(self.rows[mask], self.X.indices[mask], np.ones(np.count_nonzero(mask)))

    def seen(self, split: int) -> Seen:
        """The matrix without the entries that a split hides."""
        kept = ~self.mask(split)
        ends = np.concatenate([[0], np.cumsum(self._counts(self.rows[kept], self.X.indices[kept])[0])])
        X = sparse.csr_array((self.X.data[kept], self.X.indices[kept], ends), shape=self.shape)
        return Seen(X, "stored")

    def some_rows(self, rows: Array) -> Seen:
        """Some rows, with nothing hidden."""
        return Seen(self.X[rows], "stored")

    def seen_columns(self, split: int) -> Columns:
        """What can be seen of each column."""
        kept, n = ~self.mask(split), self.shape[1]
        columns, values = self.X.indices[kept], self.X.data[kept]
        low, high = self._extremes(columns, values, np.inf)
        return Columns(low, high, np.bincount(columns, values, n) / np.bincount(columns, minlength=n))

    def _extremes(self, columns: Array, values: Array, beyond: float) -> tuple[Array, Array]:
        """The smallest and the largest value of each column, within bounds."""
        low, high = np.full(self.shape[1], beyond), np.full(self.shape[1], -beyond)
        np.minimum.at(low, columns, values)
        np.maximum.at(high, columns, values)
        return low, high

    def _counts(self, rows: Array, columns: Array) -> tuple[Array, Array]:
        by_row, by_column = np.bincount(rows, minlength=self.shape[0]), np.bincount(columns, minlength=self.shape[1])
        return by_row, by_column


class HiddenInSparse(HiddenInStored):
    """A CSR matrix whose absent entries are zeros.

    A tenth of the stored entries is hidden, and about twice as many zeros: a tenth of the zeros would be many
    times as many entries as the matrix stores. Each kind of entry is weighed by one over the share of it that is seen
    or hidden, so that the loss of the fit and the error of the predictions are, on average, those of all entries.
    """

    def __init__(self, X: Matrix, seeds: list[int]) -> None:
        n_zeros = X.shape[0] * X.shape[1] - X.nnz
        self.zero_share = min(HIDDEN_SHARE, ZEROS_FOR_EACH * HIDDEN_SHARE * X.nnz / max(n_zeros, 1))
        super().__init__(X, seeds)

    def observed_by_line(self) -> tuple[Array, Array]:
        """All entries are observed."""
        return np.full(self.shape[0], self.shape[1]), np.full(self.shape[1], self.shape[0])

    def hidden_zeros(self, split: int) -> tuple[Array, Array]:
        """Rows and columns of the zeros that a split hides, in the order of the rows."""
        rng, n_columns = np.random.default_rng((self.seeds[split], 1)), self.shape[1]
        n_entries = self.shape[0] * n_columns
        drawn = np.unique(rng.integers(n_entries, size=rng.binomial(n_entries, self.zero_share)))
        stored = self.rows * n_columns + self.X.indices
        return np.divmod(drawn[~np.isin(drawn, stored, assume_unique=True)], n_columns)

    def hidden(self, split: int) -> Places:
        """The stored entries and the zeros that a split hides."""
        stored, zeros = super().hidden(split), self.hidden_zeros(split)
        weights = np.full(len(zeros[0]), HIDDEN_SHARE / self.zero_share)
        rows, columns, weights = (np.concatenate(parts) for parts in zip(stored, (*zeros, weights), strict=True))
        order = np.argsort(rows, kind="stable")
        return Places(rows[order], columns[order], weights[order])

    def seen(self, split: int) -> Seen:
        """The matrix with all hidden entries stored, and the weights that tell them from the others."""
        zeros, mask = self.hidden_zeros(split), self.mask(split)
        rows, columns = np.concatenate([self.rows, zeros[0]]), np.concatenate([self.X.indices, zeros[1]])
        none = np.zeros(len(zeros[0]), self.X.dtype)
        order, ends = np.lexsort((columns, rows)), np.cumsum([0, *np.bincount(rows, minlength=self.shape[0])])
        X, weights = (
            sparse.csr_array((np.concatenate([values, none])[order], columns[order], ends), shape=self.shape)
            for values in (self.X.data, (~mask).astype(self.X.dtype))
        )
        return Seen(X, PatternWeights(weights, (1 - HIDDEN_SHARE) / (1 - self.zero_share)))

    def some_rows(self, rows: Array) -> Seen:
        """Some rows, with nothing hidden."""
        return Seen(self.X[rows])

    def seen_columns(self, split: int) -> Columns:
        """What can be seen of each column, in which there is always a zero."""
        kept = ~self.mask(split)
        columns, values = self.X.indices[kept], self.X.data[kept]
        mean = np.bincount(columns, values, self.shape[1]) / ((1 - HIDDEN_SHARE) * self.shape[0])
        return Columns(*self._extremes(columns, values, 0.0), mean)
