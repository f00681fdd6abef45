"""Counts of which some are hidden: each single event is seen or not, so that what is hidden is independent of the rest.

A Poisson variable from which events are taken at random leaves two independent Poisson variables (binomial thinning).
Zeros need not be hidden, and a sparse matrix stays as sparse as it is.
"""

from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.selection.splits import HIDDEN_SHARE, LEAST_PREDICTION, Seen, Splits, decoder, products_at


class ThinnedCounts(Splits):
    """A CSR matrix of counts, of which a split hides about a tenth."""

    def observed_by_line(self) -> tuple[Array, Array]:
        """The number of events in each row; a column may have none."""
        return np.asarray(self.X.sum(axis=1)).ravel(), np.ones(self.shape[1])

    def hidden(self, split: int) -> Array:
        """How many of each stored count are hidden."""
        return self.rng(split).binomial(self.X.data.astype(np.int64), HIDDEN_SHARE)

    def seen(self, split: int) -> Seen:
        """The counts without the hidden ones."""
        X = self._with(self.X.data - self.hidden(split)).copy()
        X.eliminate_zeros()
        return Seen(X)

    def some_rows(self, rows: Array) -> Seen:
        """Some rows, with nothing hidden."""
        return Seen(self.X[rows])

    def errors(self, split: int, model: Any) -> tuple[Array, Array]:
        """The Kullback-Leibler divergence of the hidden counts from their predictions, and their number, by row.

        What was seen predicts a ninth of it. A hundredth of the prediction is that of the baseline, row total times
        column share, so that no count is predicted to be impossible.
        """
        hidden, seen = self.hidden(split), self.X.data - self.hidden(split)
        H, D = decoder(model)
        scale = HIDDEN_SHARE / (1 - HIDDEN_SHARE)
        row_sums, column_sums = (np.asarray(self._with(seen).sum(axis=axis)).ravel() for axis in (1, 0))
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.X.indptr))
        places = rows[hidden > 0], self.X.indices[hidden > 0]
        baseline = row_sums[places[0]] * column_sums[places[1]] / max(column_sums.sum(), 1)
        predicted = scale * ((1 - LEAST_PREDICTION) * products_at(*places, H, D) + LEAST_PREDICTION * baseline)
        totals = scale * ((1 - LEAST_PREDICTION) * H @ D.sum(axis=1) + LEAST_PREDICTION * row_sums)
        each = model._learned.divergence.each(hidden[hidden > 0], predicted) - predicted
        n = self.shape[0]
        return totals + np.bincount(places[0], each, n), np.bincount(rows, hidden, n).astype(np.float64)

    def _with(self, data: Array) -> Matrix:
        return sparse.csr_array((data.astype(self.X.dtype), self.X.indices, self.X.indptr), shape=self.shape)
