"""Which engine a matrix needs."""

from deepnmf.arrays import Matrix
from deepnmf.engines.holes import observed_block
from deepnmf.engines.memory import RowsInMemory
from deepnmf.engines.protocol import CheckedSizes, Engine
from deepnmf.engines.scaling import ScaledRows, in_units, unit_of
from deepnmf.engines.streaming import StreamedRows, is_streamed
from deepnmf.engines.threads import Workers


def make_engine(
    X: Matrix, weight: Matrix | None = None, *, workers: Workers, nonnegative: bool, unit: float | None = None
) -> Engine:
    """Read what is not in memory, and leave out holes where there are any or where entries have weights.

    What is read for the first time here is checked here too. Rows are divided by `unit`, where that is None by what
    makes their size an ordinary one.
    """
    engine = _make_engine(in_units(X, unit or 1.0), weight, workers, nonnegative, unit or 1.0)
    if unit is None and (unit := unit_of(engine)) != 1:
        return make_engine(X, weight, workers=workers, nonnegative=nonnegative, unit=unit)
    return engine


def _make_engine(X: Matrix, weight: Matrix | None, workers: Workers, nonnegative: bool, unit: float) -> Engine:
    if is_on_cluster(X):
        from deepnmf.engines.cluster import RowsOnCluster  # noqa: PLC0415 - dask is imported for its own arrays only

        return RowsOnCluster(X, workers, unit=unit, sizes=CheckedSizes(nonnegative))
    if is_streamed(X) or isinstance(X, ScaledRows):
        return StreamedRows(X, workers, unit=unit, nonnegative=nonnegative)
    return RowsInMemory(observed_block(X, weight), workers, unit=unit)


def is_on_cluster(X: Matrix) -> bool:
    """Whether X is a dask array; without importing dask, which who has one has done."""
    return type(X).__module__.partition(".")[0] == "dask"
