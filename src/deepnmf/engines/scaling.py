"""Data of any size, as rows of an ordinary one: squares of very large or very small numbers are no numbers any more.

Rows of ordinary data are left alone. Others are divided by a power of two, which changes no digit, and the engine says
by which: `Engine.unit`. What is learnt from them is that of the data in other units, and models give it back in theirs.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.blocks import Block
from deepnmf.engines.protocol import Engine, Sums
from deepnmf.engines.streaming import RowSource, is_streamed

MAX_RMS = {"float64": 2.0**100, "float32": 2.0**30}  # root mean squares up to this, and from one by it
MAX_RMS_OF_SCALE_DEPENDENT_MODELS = {
    "float64": 2.0**40,
    "float32": 2.0**20,
}  # the same of models that are others in other units
MAX_DECIMAL_EXPONENT = {"float64": 150, "float32": 30}  # powers of ten, in both directions
MAX_MAGNITUDE = {"float64": 2.0**510, "float32": 2.0**110}  # what leaves room for the codes in their precision

UNIT_EXPONENT_STEP = 16  # of this power of two, roots are exact down the starts of four layers


class ScaledRows:
    """Rows that are divided when they are read."""

    def __init__(self, source: RowSource, unit: float) -> None:
        self.shape, self.folder = source.shape, source.folder
        self.dtype = source.dtype if source.dtype == np.float32 else np.dtype(np.float64)
        self._source, self._unit = source, unit

    def read(self, rows: slice, room: Array | None) -> Array:
        """Some rows, in memory."""
        block = self._source.read(rows, room).astype(self.dtype, copy=False)
        block *= 1 / self._unit
        return block


def in_units(X: Matrix, unit: float) -> Any:
    """X divided by a power of two, in whatever form it is; X itself where that is one."""
    if unit == 1:
        return X
    return ScaledRows(X, unit) if is_streamed(X) else X * (1 / unit)


def has_safe_magnitude(engine: Engine, limits: Mapping[str, float] | None = None) -> bool:
    """Whether squares of these rows, and squares of those, are sound in their precision; zeros are."""
    most = (limits or MAX_RMS)[engine.dtype.name]
    return 1 / most <= engine.size <= most or mean_magnitude(engine) == 0


def unit_of(engine: Engine) -> float:
    """1 for ordinary rows; a power of two next to the mean of |x| for others."""
    if has_safe_magnitude(engine):
        return 1.0
    size, name = mean_magnitude(engine), engine.dtype.name
    if not 1 / MAX_MAGNITUDE[name] <= size <= MAX_MAGNITUDE[name]:
        raise ValueError(
            f"X has entries of about {size:.1e} in {name}, and sizes from 1e-{MAX_DECIMAL_EXPONENT[name]} to 1e{MAX_DECIMAL_EXPONENT[name]} "
            "are expected: scale X."
        )
    return float(2.0 ** (UNIT_EXPONENT_STEP * np.rint(np.log2(size) / UNIT_EXPONENT_STEP)))


def check_magnitude(engine: Engine, whom: str) -> None:
    """Refuse rows of a size that a model which is another in other units was not made for."""
    if not has_safe_magnitude(engine, MAX_RMS_OF_SCALE_DEPENDENT_MODELS):
        most = MAX_RMS_OF_SCALE_DEPENDENT_MODELS[engine.dtype.name]
        raise ValueError(
            f"X has entries of about {mean_magnitude(engine):.1e}, and {whom} as it is set is another model in other "
            f"units: root mean squares from {1 / most:.0e} to {most:.0e} are expected: scale X."
        )


def mean_magnitude(engine: Engine) -> float:
    """The mean of |x|, which takes no squares."""
    _, (total, count) = engine.sweep((), _absolute)
    return float(total) / (float(count) or 1.0)


def _absolute(X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    return (), tuple(np.asarray(value) for value in X_b.absolute_sizes())
