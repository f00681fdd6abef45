"""What every engine offers, whatever the data is made of."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.threads import Workers

Sums = tuple[Array, ...]
"""Statistics that add up over the blocks of rows."""

Step = Callable[[Matrix, tuple[Array, ...]], tuple[tuple[Array, ...], Sums]]
"""``step(X_b, rows_b) -> (new_rows_b, sums_b)`` for one block of rows."""


class Engine(Protocol):
    """Passes over the rows of X. Blocks depend on the data alone, never on the number of threads."""

    n_samples: int
    n_features: int
    dtype: np.dtype[Any]
    sqnorm: float
    mean: float
    workers: Workers

    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Take one pass over X: new row arrays, and the blocks' sums added up in order, in float64."""
        ...

    def project(self, features: Array) -> Array:
        """X Cᵀ, one row a sample."""
        ...
