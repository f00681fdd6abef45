"""What every engine offers, whatever the data is made of."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.threads import Workers

Sums = tuple[Array, ...]
"""Statistics that add up over the blocks of rows."""

Step = Callable[[Matrix, tuple[Array, ...]], tuple[tuple[Array, ...], Sums]]
"""``step(X_b, rows_b) -> (new_rows_b, sums_b)`` for one block of rows."""


class Engine(ABC):
    """Passes over the rows of X. Blocks depend on the data alone, never on the number of threads."""

    n_samples: int
    n_features: int
    dtype: np.dtype[Any]
    sqnorm: float  # over the observed entries
    mean: float
    size: float  # the root mean square
    unit: float = 1.0  # what X was divided by, see `deepnmf.engines.scaling`
    workers: Workers
    is_complete = True  # whether every entry was observed, or has been filled in

    @abstractmethod
    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Take one pass over X: new row arrays, and the blocks' sums added up in order, in float64.

        `out` receives the new row arrays where it is given.
        """

    def project(self, features: Array) -> Array:
        """X Cᵀ, one row a sample."""
        across = np.ascontiguousarray(features.T, dtype=self.dtype)  # of the layout that it has in another process too
        (projected,), _ = self.sweep((), lambda X_b, _: ((X_b @ across,), ()))
        return projected

    @abstractmethod
    def upon(self, codes: Array) -> "Engine":
        """Passes over codes of these rows, as the data of a layer above."""

    def as_rows(self, array: Array) -> Array:
        """An array of all rows in the form that passes take it in."""
        return np.ascontiguousarray(array, dtype=self.dtype)

    def _measure(self, sizes: Step) -> None:
        """Take ‖X‖² and the mean in a first pass."""
        _, (sqnorm, total, count) = self.sweep((), sizes)
        entries = float(count) or 1.0  # weights may add up to less than one
        self.sqnorm, self.mean = float(sqnorm), float(total) / entries
        self.size = math.sqrt(self.sqnorm / entries)

    def completed(self, codes: Array, decoder: Array) -> "Engine":
        """The same rows with what was not observed filled in by a model, H D; here nothing is missing."""
        return self

    def filled(self) -> "Engine":
        """The same rows with each hole filled by the mean of its column; here nothing is missing."""
        return self


def sizes(X_b: Matrix, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    """‖X_b‖², the sum of its entries, and how many there are."""
    values = X_b.data[None] if sparse.issparse(X_b) else X_b
    with np.errstate(over="ignore"):  # what is too large is seen to be
        sqnorm = np.einsum("ij,ij->", values, values, dtype=np.float64)
    count = X_b.shape[0] * X_b.shape[1]
    return (), (np.asarray(sqnorm), np.asarray(values.sum(dtype=np.float64)), np.asarray(count))


@dataclass(frozen=True)
class CheckedSizes:
    """The same of rows that nobody has looked at before, with one sentence if they will not do."""

    nonnegative: bool

    def __call__(self, X_b: Matrix, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        """Check a block and measure it."""
        values = X_b.data if sparse.issparse(X_b) else X_b
        if not np.isfinite(values.sum(dtype=np.float64)):
            raise ValueError("Input X contains NaN or infinity, and rows that are not in memory must be whole.")
        if self.nonnegative and values.min(initial=0) < 0:
            raise ValueError("Negative values in data passed to a nonnegative model (input X).")
        return sizes(X_b, rows)
