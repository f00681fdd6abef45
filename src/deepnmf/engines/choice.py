"""The choice of an engine for a matrix, and of the units in which its rows are fitted.

Squares of very large or very small numbers overflow or underflow. Data of an ordinary magnitude are used as they are.
Other data are divided by a power of two, which is exact, and `Engine.unit` is that power. The model is then fitted in
these units, and the estimators convert its results back into the units of the data.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.blocks import Block
from deepnmf.engines.memory import RowsInMemory
from deepnmf.engines.observed import observed_block
from deepnmf.engines.protocol import CheckedSizes, Engine, Sums
from deepnmf.engines.streaming import RowSource, StreamedRows, is_streamed
from deepnmf.engines.threads import Workers

# A root mean square between 1 / limit and limit is safe: squares of the data, and squares of these, are finite.
MAX_RMS = {"float64": 2.0**100, "float32": 2.0**30}
MAX_RMS_IN_FIXED_UNITS = {"float64": 2.0**40, "float32": 2.0**20}  # for models that cannot be fitted in other units
# Data can be scaled if the mean of |x| is between 1 / limit and limit, so that the codes can be represented too.
MAX_MAGNITUDE = {"float64": 2.0**510, "float32": 2.0**110}
DOCUMENTED_EXPONENT = {"float64": 150, "float32": 30}  # the powers of ten that messages name for this limit

UNIT_EXPONENT_STEP = 16  # units are powers of 2^16: their 2nd, 4th, 8th and 16th roots, for up to 4 layers, are exact


def make_engine(
    X: Matrix,
    weight: Matrix | None = None,
    row_weights: Array | None = None,
    *,
    workers: Workers,
    nonnegative: bool,
    unit: float | None = None,
) -> Engine:
    """Return the engine for X: in memory, with holes or entry weights, streamed from a file, or on a cluster.

    Data that are read for the first time here are also checked here. Rows are divided by `unit`; if it is None, a unit
    is chosen in which the rows have a safe magnitude.
    """
    rows = in_units(X, unit or 1.0)
    own: dict[str, Any] = {"unit": unit or 1.0, "row_weights": row_weights}
    engine: Engine
    if isinstance(rows, np.ndarray) or sparse.issparse(rows):
        engine = RowsInMemory(observed_block(rows, weight), workers, **own)
    elif is_streamed(rows):
        engine = StreamedRows(rows, workers, nonnegative=nonnegative, **own)
    else:
        from deepnmf.engines.cluster import RowsOnCluster  # noqa: PLC0415 - dask is imported for its own arrays only

        engine = RowsOnCluster(rows, workers, sizes=CheckedSizes(nonnegative), **own)
    if unit is None and not has_safe_magnitude(engine) and (unit := safe_unit(engine)) != 1:
        return make_engine(X, weight, row_weights, workers=workers, nonnegative=nonnegative, unit=unit)
    return engine


def is_on_cluster(X: Matrix) -> bool:
    """Whether X is a dask array. This does not import dask, which is already imported if X is one."""
    return type(X).__module__.partition(".")[0] == "dask"


class ScaledRows(RowSource):
    """Rows that are divided by a unit when they are read."""

    def __init__(self, source: RowSource, unit: float) -> None:
        self.shape, self.folder = source.shape, source.folder
        self.dtype = source.dtype if source.dtype == np.float32 else np.dtype(np.float64)
        self._source, self._unit = source, unit

    def read(self, rows: slice, buffer: Array | None) -> Array:
        """Read some rows into memory."""
        block = self._source.read(rows, buffer).astype(self.dtype, copy=False)
        block *= 1 / self._unit
        return block


def in_units(X: Matrix, unit: float) -> Any:
    """X divided by a power of two, for any kind of X; X itself if the unit is 1."""
    if unit == 1:
        return X
    return ScaledRows(X, unit) if is_streamed(X) else X * (1 / unit)


def has_safe_magnitude(engine: Engine, limits: Mapping[str, float] | None = None) -> bool:
    """Whether squares of the rows, and squares of these, are finite and accurate; rows of zeros are safe."""
    largest = (limits or MAX_RMS)[engine.dtype.name]
    rms = math.sqrt(engine.measured.sqnorm / (engine.measured.n_entries or 1.0))
    return 1 / largest <= rms <= largest or mean_magnitude(engine) == 0


def safe_unit(engine: Engine) -> float:
    """The unit in which these rows have a safe magnitude: a power of two near the mean of |x|."""
    magnitude, name = mean_magnitude(engine), engine.dtype.name
    if not 1 / MAX_MAGNITUDE[name] <= magnitude <= MAX_MAGNITUDE[name]:
        exponent = DOCUMENTED_EXPONENT[name]
        raise ValueError(
            f"X has entries of about {magnitude:.1e} in {name}: expected magnitudes from 1e-{exponent} to "
            f"1e{exponent}, so scale X."
        )
    return float(2.0 ** (UNIT_EXPONENT_STEP * np.rint(np.log2(magnitude) / UNIT_EXPONENT_STEP)))


def check_magnitude(engine: Engine, model: str) -> None:
    """Raise an error if the rows would need other units, for a model that is not the same in other units."""
    if not has_safe_magnitude(engine, MAX_RMS_IN_FIXED_UNITS):
        largest = MAX_RMS_IN_FIXED_UNITS[engine.dtype.name]
        raise ValueError(
            f"X has entries of about {mean_magnitude(engine):.1e}, but {model} with these parameters depends on the "
            f"units of X: expected a root mean square from {1 / largest:.0e} to {largest:.0e}, so scale X."
        )


def check_batch(engine: Engine) -> None:
    """Refuse a batch whose squares are negligible or dominant compared with those of previous batches."""
    if not has_safe_magnitude(engine):
        size = mean_magnitude(engine) * engine.unit
        raise ValueError(
            f"X has entries of about {size:.1e}, but the first batch of partial_fit had entries of about "
            f"{engine.unit:.1e}: expected batches of similar magnitude."
        )


def mean_magnitude(engine: Engine) -> float:
    """The mean of |x|, which is computed without squares."""
    _, (total, count) = engine.sweep((), _absolute_sizes)
    return float(total) / (float(count) or 1.0)


def _absolute_sizes(X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    return (), tuple(np.asarray(value) for value in X_b.absolute_sizes())
