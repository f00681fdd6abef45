"""Which engine a matrix needs."""

import numpy as np
from scipy import sparse

from deepnmf.arrays import Matrix
from deepnmf.engines.holes import RowsWithHoles
from deepnmf.engines.memory import RowsInMemory
from deepnmf.engines.protocol import Engine
from deepnmf.engines.threads import Workers


def rows_of(X: Matrix, weight: Matrix | None = None, *, workers: Workers) -> Engine:
    """Rows with holes where there are any, or where entries have weights."""
    holed = weight is not None or (not sparse.issparse(X) and np.isnan(X.sum()))
    return RowsWithHoles(X, workers, weight) if holed else RowsInMemory(X, workers)
