"""Hidden counts: each event is either seen or hidden, so that the hidden counts are independent of the seen counts.

A random division of the events of a Poisson variable gives two independent Poisson variables (binomial thinning).
Zeros need not be hidden, and a sparse matrix stays sparse.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.objective.divergences import Divergence
from deepnmf.selection.splits import HIDDEN_SHARE, LEAST_PREDICTION, Seen, Splits, decoder, parts, products_at


class ThinnedCounts(Splits):
    """A CSR matrix of counts, of which a split hides about a tenth."""

    def observed_by_line(self) -> tuple[Array, Array]:
        """The number of events in each row; a column may have none."""
        return np.asarray(self.X.sum(axis=1)).ravel(), np.ones(self.shape[1])

    def hidden(self, split: int) -> Array:
        """Return the number of hidden events of each stored count."""
        rng, hidden = self.rng(split), np.empty(self.X.nnz, np.int32)
        for part in parts(self.X.nnz):
            hidden[part] = rng.binomial(self.X.data[part].astype(np.int64), HIDDEN_SHARE)
        return hidden

    def seen(self, split: int) -> Seen:
        """The counts without the hidden ones."""
        X = self._without(self.hidden(split))
        X.indices, X.indptr = X.indices.copy(), X.indptr.copy()
        X.eliminate_zeros()
        return Seen(X)

    def some_rows(self, rows: Array) -> Seen:
        """Some rows, with nothing hidden."""
        return Seen(self.X[rows].astype(self.dtype, copy=False))

    def errors(self, split: int, model: Any) -> tuple[Array, Array]:
        """Return the Kullback-Leibler divergence of the hidden counts from their predictions, and their number, by row.

        The prediction is a ninth of the reconstruction of the seen counts, as a tenth of the counts is hidden. It is
        mixed with a hundredth of the baseline, row total times column share, so that no prediction is zero.
        """
        hidden, (H, D) = self.hidden(split), decoder(model)
        scale = HIDDEN_SHARE / (1 - HIDDEN_SHARE)
        seen = self._without(hidden)
        row_sums, column_sums = (np.asarray(seen.sum(axis=axis, dtype=np.float64)).ravel() for axis in (1, 0))
        errors = (1 - LEAST_PREDICTION) * H @ D.sum(axis=1, dtype=np.float64) + LEAST_PREDICTION * row_sums
        errors *= scale
        numbers, places = np.zeros(self.shape[0]), np.flatnonzero(hidden)
        for part in parts(len(places)):
            events, columns = hidden[places[part]], self.X.indices[places[part]]
            rows = np.searchsorted(self.X.indptr, places[part], side="right") - 1
            baseline = row_sums[rows] * column_sums[columns] / max(column_sums.sum(), 1)
            model_sums = products_at(rows, columns, H, D)
            predicted = scale * ((1 - LEAST_PREDICTION) * model_sums + LEAST_PREDICTION * baseline)
            each = model._learned.divergence.each(events, predicted) - predicted
            errors += np.bincount(rows, each, self.shape[0])
            numbers += np.bincount(rows, events, self.shape[0])
        return errors, numbers

    def spread(self, split: int, divergence: Divergence) -> float:
        """Return the divergence of the hidden counts from their mean over all entries, per count."""
        hidden = self.hidden(split)
        events = hidden[hidden > 0]
        mean = events.sum() / math.prod(self.shape)
        return float(events @ np.log(events / mean) / max(events.sum(), 1))

    def _without(self, hidden: Array) -> Matrix:
        """Return the counts without the hidden ones, with explicit zeros."""
        left = np.subtract(self.X.data, hidden, dtype=self.dtype, casting="unsafe")
        return sparse.csr_array((left, self.X.indices, self.X.indptr), shape=self.shape)
