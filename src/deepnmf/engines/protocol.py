"""What every engine offers, whatever the data is made of."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
    workers: Workers

    @abstractmethod
    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Take one pass over X: new row arrays, and the blocks' sums added up in order, in float64.

        `out` receives the new row arrays where it is given.
        """

    def project(self, features: Array) -> Array:
        """X Cᵀ, one row a sample."""
        features = features.astype(self.dtype, copy=False)
        (projected,), _ = self.sweep((), lambda X_b, _: ((X_b @ features.T,), ()))
        return projected

    def completed(self, codes: Array, decoder: Array) -> "Engine":
        """The same rows with what was not observed filled in by a model, H D; here nothing is missing."""
        return self

    def filled(self) -> "Engine":
        """The same rows with each hole filled by the mean of its column; here nothing is missing."""
        return self
