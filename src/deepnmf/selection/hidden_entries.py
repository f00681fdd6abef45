"""Data of which some entries are hidden from a fit, and how well the fitted model predicts them.

About a tenth of the observed entries is hidden at random, the same ones from every candidate. The places are drawn
again from a seed whenever they are needed, and so are the same in every process.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import FLOATS
from deepnmf.engines import is_on_cluster, row_source
from deepnmf.masks import with_holes

HIDDEN_SHARE = 0.1
FEWEST_OBSERVED = 200  # entries: of fewer than twenty hidden ones the errors say next to nothing
ENTRIES_OF_BLOCK = 2**20  # of predictions that are in memory at a time


class Seen(NamedTuple):
    """What a fit gets to see: data, and the weights of its entries as `fit` takes them."""

    X: Matrix
    entry_weight: Any


class Places(NamedTuple):
    """Rows, columns and weights of entries, in the order of the rows."""

    rows: Array
    columns: Array
    weights: Array


class HiddenEntries(ABC):
    """A matrix and its splits into seen and hidden entries.

    Parameters
    ----------
    X : array or CSR matrix
    seeds : list of int
        One for each split.
    """

    def __init__(self, X: Matrix, seeds: list[int]) -> None:
        self.X, self.seeds, self.shape = X, seeds, X.shape
        self.check()

    @abstractmethod
    def observed_by_line(self) -> tuple[Array, Array]:
        """The numbers of observed entries in each row and in each column."""

    @abstractmethod
    def hidden(self, split: int) -> Places:
        """The entries that a split hides."""

    @abstractmethod
    def seen(self, split: int) -> Seen:
        """The data without the entries that a split hides."""

    @abstractmethod
    def limits(self, split: int) -> tuple[Array, Array]:
        """The smallest and the largest entry that can be seen of each column."""

    def check(self) -> None:
        """Refuse data from which nothing can be hidden."""
        by_row, by_column = self.observed_by_line()
        if not by_column.all():
            column = int(np.flatnonzero(by_column == 0)[0])
            raise ValueError(f"Column {column} of X has no observed entry: remove such columns before choosing layers.")
        if by_row.sum() < FEWEST_OBSERVED:
            raise ValueError(
                f"X has {int(by_row.sum())} observed entries: at least {FEWEST_OBSERVED} are needed to hide a tenth."
            )

    def draw(self, split: int, size: Any) -> Array:
        """Which of so many entries a split may hide."""
        return np.random.default_rng(self.seeds[split]).random(size, dtype=np.float32) < HIDDEN_SHARE

    def errors(self, split: int, model: Any) -> tuple[Array, Array]:
        """The divergence at the hidden entries, summed by row, and the sum of their weights.

        Hidden entries may leave a code or a feature undetermined, and its prediction can then be any number. So
        a prediction may leave the range of the seen entries of its column by at most the width of that range.
        """
        rows, columns, weights = self.hidden(split)
        low, high = self.limits(split)
        margin = (high - low)[columns]
        predicted = np.clip(predictions(model, rows, columns), low[columns] - margin, high[columns] + margin)
        actual = np.asarray(self.X[rows, columns], dtype=np.float64).ravel()
        values = weights * model._learned.divergence.each(actual, predicted)
        n = self.shape[0]
        return np.bincount(rows, values, minlength=n), np.bincount(rows, weights, minlength=n)


def predictions(model: Any, rows: Array, columns: Array) -> Array:
    """Entries of the reconstruction, made one block of rows at a time; `rows` ascend."""
    codes, predicted = model.codes_[-1], np.empty(len(rows))
    step = max(1, ENTRIES_OF_BLOCK // model.n_features_in_)
    for begin in range(0, len(codes), step):
        within = slice(*np.searchsorted(rows, [begin, begin + step]))
        predicted[within] = model.decode(codes[begin : begin + step])[rows[within] - begin, columns[within]]
    return predicted


class HiddenInArray(HiddenEntries):
    """An array in which NaN marks what was not observed, and what is hidden too."""

    def __init__(self, X: Array, seeds: list[int], weight: Array | None = None) -> None:
        self.weight = weight
        super().__init__(X, seeds)

    def observed(self) -> Array:
        """Whether each entry is a number that counts."""
        known = ~np.isnan(self.X)
        return known if self.weight is None else known & (self.weight > 0)

    def observed_by_line(self) -> tuple[Array, Array]:
        """The numbers of observed entries in each row and in each column."""
        observed = self.observed()
        return observed.sum(axis=1), observed.sum(axis=0)

    def mask(self, split: int) -> Array:
        """Whether each entry is hidden; every row and column that was observed keeps an entry."""
        observed = self.observed()
        mask = observed & self.draw(split, self.shape)
        left = observed & ~mask
        mask &= left.any(axis=1, keepdims=True)
        return np.asarray(mask & left.any(axis=0, keepdims=True))

    def hidden(self, split: int) -> Places:
        """The entries that a split hides."""
        rows, columns = np.nonzero(self.mask(split))
        weights = np.ones(len(rows)) if self.weight is None else self.weight[rows, columns].astype(np.float64)
        return Places(rows, columns, weights)

    def seen(self, split: int) -> Seen:
        """The data with NaN at the entries that a split hides."""
        return Seen(np.where(self.mask(split), self.X.dtype.type(np.nan), self.X), self.weight)

    def limits(self, split: int) -> tuple[Array, Array]:
        """The smallest and the largest entry that can be seen of each column."""
        seen = self.observed() & ~self.mask(split)
        low = np.min(self.X, axis=0, where=seen, initial=np.inf)
        return low, np.max(self.X, axis=0, where=seen, initial=-np.inf)


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
        mask = self.draw(split, self.X.nnz)
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

    def limits(self, split: int) -> tuple[Array, Array]:
        """The smallest and the largest entry that can be seen of each column."""
        kept = ~self.mask(split)
        columns, values = self.X.indices[kept], self.X.data[kept]
        low, high = np.full(self.shape[1], np.inf), np.full(self.shape[1], -np.inf)
        np.minimum.at(low, columns, values)
        np.maximum.at(high, columns, values)
        return low, high

    def _counts(self, rows: Array, columns: Array) -> tuple[Array, Array]:
        by_row, by_column = np.bincount(rows, minlength=self.shape[0]), np.bincount(columns, minlength=self.shape[1])
        return by_row, by_column


def hidden_entries(X: Any, seeds: list[int], entry_weight: Any = None) -> HiddenEntries:
    """Check data and weights, and say how their entries are hidden."""
    if is_on_cluster(X) or row_source(X) is not None:
        raise ValueError("select_layers needs X in memory, got rows that are read block by block: pass some of them.")
    X = check_array(with_holes(X), accept_sparse="csr", dtype=FLOATS, ensure_all_finite="allow-nan", input_name="X")
    if sparse.issparse(X):
        return _hidden_in_sparse(X, seeds, entry_weight)
    if entry_weight is None:
        return HiddenInArray(X, seeds)
    if isinstance(entry_weight, str) or sparse.issparse(entry_weight) or np.shape(entry_weight) != X.shape:
        raise ValueError("entry_weight must be None or an array of the shape of X to choose layers for a dense X.")
    return HiddenInArray(X, seeds, np.asarray(entry_weight, dtype=X.dtype))


def _hidden_in_sparse(X: Matrix, seeds: list[int], entry_weight: Any) -> HiddenEntries:
    if not isinstance(entry_weight, str) or entry_weight != "stored":
        raise ValueError(
            'select_layers takes a sparse X only with entry_weight="stored"; where absent entries are zeros, pass a '
            "dense sample of the columns, such as X[:, columns].toarray()."
        )
    if not X.has_canonical_format:
        X = X.copy()  # the user's matrix is not ours to tidy up
        X.sum_duplicates()
    return HiddenInStored(X, seeds)
