"""Which engine a matrix needs."""

import numpy as np
from scipy import sparse

from deepnmf.arrays import Matrix
from deepnmf.engines.holes import RowsWithHoles, stored_if_little
from deepnmf.engines.memory import RowsInMemory
from deepnmf.engines.protocol import CheckedSizes, Engine
from deepnmf.engines.streaming import StreamedRows, is_streamed
from deepnmf.engines.threads import Workers


def rows_of(X: Matrix, weight: Matrix | None = None, *, workers: Workers, nonnegative: bool) -> Engine:
    """Read what is not in memory, and leave out holes where there are any or where entries have weights.

    What is read for the first time here is checked here too.
    """
    if is_on_cluster(X):
        from deepnmf.engines.cluster import RowsOnCluster  # noqa: PLC0415 - dask is imported for its own arrays only

        return RowsOnCluster(X, workers, CheckedSizes(nonnegative))
    if is_streamed(X):
        return StreamedRows(X, workers, nonnegative=nonnegative)
    if weight is not None:
        return RowsWithHoles(X, workers, weight)
    if not sparse.issparse(X) and np.isnan(X.sum()):
        return RowsWithHoles(stored_if_little(X), workers)
    return RowsInMemory(X, workers)


def is_on_cluster(X: Matrix) -> bool:
    """Whether X is a dask array; without importing dask, which who has one has done."""
    return type(X).__module__.partition(".")[0] == "dask"
