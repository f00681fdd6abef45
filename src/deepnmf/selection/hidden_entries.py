"""Entries that are hidden from a fit, about a tenth of those that were observed, the same ones from every candidate."""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.selection.splits import HIDDEN_SHARE, LEAST_PREDICTION, Seen, Splits, decoder, products_at


class Places(NamedTuple):
    """Rows, columns and weights of entries, in the order of the rows."""

    rows: Array
    columns: Array
    weights: Array


class Columns(NamedTuple):
    """The smallest and the largest entry that can be seen of each column, and their mean."""

    low: Array
    high: Array
    mean: Array


class HiddenEntries(Splits):
    """A matrix, and its splits into seen and hidden entries."""

    @abstractmethod
    def hidden(self, split: int) -> Places:
        """The entries that a split hides."""

    @abstractmethod
    def seen_columns(self, split: int) -> Columns:
        """What can be seen of each column."""

    def errors(self, split: int, model: Any) -> tuple[Array, Array]:
        """The divergence at the hidden entries, summed by row, and the sum of their weights.

        Hidden entries may leave a code or a feature undetermined, and its prediction can then be any number. So a
        prediction may leave the range of the seen entries of its column by at most the width of that range. Under
        losses with logarithms or ratios it is at least a hundredth of their mean: of an entry that is predicted to be
        impossible, the error would be that of the smallest number of the machine.
        """
        rows, columns, weights = self.hidden(split)
        seen, divergence = self.seen_columns(split), model._learned.divergence
        margin = seen.high - seen.low
        least = seen.low - margin if divergence.beta >= 2 else LEAST_PREDICTION * seen.mean
        predicted = products_at(rows, columns, *decoder(model))
        predicted = np.clip(predicted, least[columns], (seen.high + margin)[columns])
        actual = np.asarray(self.X[rows, columns], dtype=np.float64).ravel()
        n, values = self.shape[0], weights * divergence.each(actual, predicted)
        return np.bincount(rows, values, minlength=n), np.bincount(rows, weights, minlength=n)


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
        mask = observed & (self.rng(split).random(self.shape, dtype=np.float32) < HIDDEN_SHARE)
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

    def some_rows(self, rows: Array) -> Seen:
        """Some rows, with nothing hidden."""
        return Seen(self.X[rows], None if self.weight is None else self.weight[rows])

    def seen_columns(self, split: int) -> Columns:
        """What can be seen of each column."""
        seen = self.observed() & ~self.mask(split)
        low = np.min(self.X, axis=0, where=seen, initial=np.inf)
        high = np.max(self.X, axis=0, where=seen, initial=-np.inf)
        return Columns(low, high, np.asarray(np.mean(self.X, axis=0, where=seen, dtype=np.float64)))
