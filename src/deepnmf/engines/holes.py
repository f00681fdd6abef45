"""Dense rows in which NaN stands for what was not observed."""

from functools import cached_property

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.memory import RowsInMemory
from deepnmf.engines.protocol import Sums
from deepnmf.engines.threads import Workers


class RowsWithHoles(RowsInMemory):
    """Blocks come with their NaN; sizes are over the observed entries."""

    def _sizes(self, X_b: Matrix, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        observed = X_b[~np.isnan(X_b)].astype(np.float64)
        return (), (np.asarray(observed @ observed), np.asarray(observed.sum()), np.asarray(len(observed)))

    def filled(self) -> "FilledRows":
        """Return the same rows with each hole filled by the mean of its column."""
        return FilledRows(self._X, self.workers, self._column_means)

    @cached_property
    def _column_means(self) -> Array:
        _, (sums, counts) = self.sweep((), _observed_columns)
        return np.asarray(sums / np.maximum(counts, 1))


class FilledRows(RowsInMemory):
    """Rows whose holes are filled block by block, never in X."""

    def __init__(self, X: Array, workers: Workers, fill: Array) -> None:
        self._fill = fill.astype(X.dtype)
        super().__init__(X, workers)

    def _rows(self, block: slice) -> Matrix:
        X_b = super()._rows(block)
        return np.where(np.isnan(X_b), self._fill, X_b)


def _observed_columns(X_b: Matrix, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    seen = ~np.isnan(X_b)
    return (), (np.where(seen, X_b, 0).sum(axis=0, dtype=np.float64), seen.sum(axis=0))
