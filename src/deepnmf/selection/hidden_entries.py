"""Hidden entries: about a tenth of the observed entries, the same for every candidate."""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.divergences import Divergence
from deepnmf.selection.splits import HIDDEN_SHARE, LEAST_PREDICTION, Seen, Splits, decoder, parts, products_at


class Places(NamedTuple):
    """Rows, columns and weights of entries, in the order of the rows."""

    rows: Array
    columns: Array
    weights: Array


class Columns(NamedTuple):
    """The smallest, the largest and the mean seen entry of each column."""

    low: Array
    high: Array
    mean: Array


class HiddenEntries(Splits):
    """A matrix, and its splits into seen and hidden entries."""

    @abstractmethod
    def hidden(self, split: int) -> Places:
        """Return the entries that a split hides."""

    @abstractmethod
    def seen_columns(self, split: int) -> Columns:
        """Return statistics of the seen entries of each column."""

    def errors(self, split: int, model: Any) -> tuple[Array, Array]:
        """Return the divergence at the hidden entries, summed by row, and the sum of their weights.

        If entries are hidden, a code or a feature may be undetermined, and its predictions arbitrary. Therefore
        predictions are clipped to the range of the seen entries of the column, extended by the width of this range on
        both sides. For losses with logarithms or ratios they are at least a hundredth of the mean of the column,
        because a prediction of 0 would have an arbitrarily large error.
        """
        seen, divergence = self.seen_columns(split), model._learned.divergence
        margin = seen.high - seen.low
        least = seen.low - margin if divergence.beta >= 2 else LEAST_PREDICTION * seen.mean
        hidden, factors = self.hidden(split), decoder(model)
        errors, totals = np.zeros((2, self.shape[0]))
        for part in parts(len(hidden.rows)):
            rows, columns, weights = (array[part] for array in hidden)
            predicted = np.clip(products_at(rows, columns, *factors), least[columns], (seen.high + margin)[columns])
            actual = np.asarray(self.X[rows, columns], dtype=np.float64).ravel()
            errors += np.bincount(rows, weights * divergence.each(actual, predicted), self.shape[0])
            totals += np.bincount(rows, weights, self.shape[0])
        return errors, totals

    def spread(self, split: int, divergence: Divergence) -> float:
        """The mean divergence of the hidden entries from their mean."""
        rows, columns, weights = self.hidden(split)
        actual = np.asarray(self.X[rows, columns], dtype=np.float64).ravel()
        mean = np.average(actual, weights=weights)
        return float(np.average(divergence.each(actual, np.full_like(actual, mean)), weights=weights)) if mean else 0.0


class HiddenInArray(HiddenEntries):
    """An array in which NaN marks unobserved and hidden entries."""

    def __init__(self, X: Array, seeds: list[int], dtype: Any = None, weight: Array | None = None) -> None:
        self.weight = weight
        super().__init__(X, seeds, dtype)
        if weight is not None:
            self.weight = weight.astype(self.dtype, copy=False)

    def observed(self) -> Array:
        """Whether each entry is a number with a positive weight."""
        known = np.isnan(self.X)
        np.logical_not(known, out=known)
        if self.weight is not None:
            known &= self.weight > 0
        return known

    def observed_by_line(self) -> tuple[Array, Array]:
        """The numbers of observed entries in each row and in each column."""
        observed = self.observed()
        return observed.sum(axis=1), observed.sum(axis=0)

    def mask(self, split: int) -> Array:
        """Whether each entry is hidden; every row and column with observed entries keeps at least one."""
        observed, rng = self.observed(), self.rng(split)
        mask = np.empty_like(observed)
        for i in range(self.shape[0]):  # row by row, because random numbers take more memory than the mask
            mask[i] = rng.random(self.shape[1], dtype=np.float32) < HIDDEN_SHARE
        mask &= observed
        observed &= ~mask
        mask &= observed.any(axis=1, keepdims=True)
        mask &= observed.any(axis=0, keepdims=True)
        return mask

    def hidden(self, split: int) -> Places:
        """Return the entries that a split hides."""
        rows, columns = (places.astype(np.int32) for places in np.nonzero(self.mask(split)))
        weights = np.ones(len(rows)) if self.weight is None else self.weight[rows, columns].astype(np.float64)
        return Places(rows, columns, weights)

    def seen(self, split: int) -> Seen:
        """The data with NaN at the entries that a split hides."""
        mask = self.mask(split)
        seen = self.X.astype(self.dtype, order="C")
        np.copyto(seen, np.nan, where=mask)
        return Seen(seen, self.weight)

    def some_rows(self, rows: Array) -> Seen:
        """Some rows, with nothing hidden."""
        return Seen(self.X[rows].astype(self.dtype, copy=False), None if self.weight is None else self.weight[rows])

    def seen_columns(self, split: int) -> Columns:
        """Return statistics of the seen entries of each column."""
        seen = self.observed() & ~self.mask(split)
        low = np.min(self.X, axis=0, where=seen, initial=np.inf)
        high = np.max(self.X, axis=0, where=seen, initial=-np.inf)
        return Columns(low, high, np.asarray(np.mean(self.X, axis=0, where=seen, dtype=np.float64)))
