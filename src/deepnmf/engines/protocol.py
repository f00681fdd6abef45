"""What every engine offers, whatever the data is made of."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines.blocks import Block, Sizes
from deepnmf.engines.holes import Holed
from deepnmf.engines.threads import Workers

Sums = tuple[Array, ...]
"""Statistics that add up over the blocks of rows."""

Step = Callable[[Any, tuple[Array, ...]], tuple[tuple[Array, ...], Sums]]
"""``step(X_b, rows_b) -> (new_rows_b, sums_b)`` for one block of rows, a `Block` of the kind that the engine has."""


class Engine(ABC):
    """Passes over the rows of X. Blocks depend on the data alone, never on the number of threads."""

    n_samples: int
    n_features: int
    dtype: np.dtype[Any]
    measured: Sizes  # of these rows, over the observed entries
    unit: float = 1.0  # what X was divided by, see `deepnmf.engines.choice`
    workers: Workers
    is_complete: bool = True  # whether every entry was observed, or has been filled in

    @property
    def sqnorm(self) -> float:
        """The ‖X‖² that a loss begins from."""
        return self.measured.sqnorm

    @property
    def scatter(self) -> float:
        """What a loss counts beside these rows: squares of samples about them, where they are means of groups."""
        return 0.0

    @property
    def mean(self) -> float:
        """The mean of the entries."""
        return self.measured.total / (self.measured.n_entries or 1.0)

    @property
    def size(self) -> float:
        """The root mean square of the entries."""
        return math.sqrt(self.measured.sqnorm / (self.measured.n_entries or 1.0))

    @property
    def is_sparsely_observed(self) -> bool:
        """Whether so little was observed, and is stored, that each row is better fitted on its own."""
        return False

    @abstractmethod
    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Take one pass over X: new row arrays, and the blocks' sums added up in order, in float64.

        `out` receives the new row arrays where it is given.
        """

    @abstractmethod
    def for_codes(self, codes: Array) -> "Engine":
        """Passes over codes of these rows, as the data of a layer above."""

    def project(self, features: Array) -> Array:
        """X Cᵀ, one row a sample."""
        across = np.ascontiguousarray(features.T, dtype=self.dtype)  # of the layout that it has in another process too
        (projected,), _ = self.sweep((), _Projection(across))
        return projected

    def combined(self, weights: Array) -> Array:
        """AᵀX, sums of rows by columns of weights."""
        _, (sums,) = self.sweep((weights,), _combination)
        return sums

    def as_rows(self, array: Array) -> Array:
        """An array of all rows in the form that passes take it in."""
        return np.ascontiguousarray(array, dtype=self.dtype)

    def completed(self, codes: Array, decoder: Array) -> "Engine":
        """The same rows with what was not observed filled in by a model, H D."""
        return self if self.is_complete else CompletedRows(self, codes, decoder)

    def filled(self) -> "Engine":
        """The same rows with each hole filled by the mean of its column."""
        if self.is_complete:
            return self
        _, (sums, weights) = self.sweep((), _column_sums)
        means = sums / np.where(weights > 0, weights, 1)
        return self.completed(np.ones((self.n_samples, 1), self.dtype), means[None])

    def transposed(self) -> "Engine":
        """The columns as rows, where little is stored."""
        raise TypeError(f"{type(self).__name__} has no columns at hand.")

    def grouped(self, places: Array, counts: Array) -> "Engine":
        """The mean of each group of rows times √count, with the loss of the samples that these rows are.

        `places` are the groups of the samples, `counts` their sizes.
        """
        raise TypeError(f"{type(self).__name__} has not all rows at hand, as means of groups need them.")


class CompletedRows(Engine):
    """Rows with holes that a model fills, block by block."""

    def __init__(self, holed: Engine, codes: Array, decoder: Array) -> None:
        self._holed, self._codes = holed, codes
        self._decoder = np.ascontiguousarray(decoder, dtype=holed.dtype)
        self.n_samples, self.n_features, self.dtype = holed.n_samples, holed.n_features, holed.dtype
        self.workers, self.measured, self.unit = holed.workers, holed.measured, holed.unit
        self._sqnorm: float | None = None

    @property
    def sqnorm(self) -> float:
        """‖X̃‖², and what makes the fit of X̃ that of the observed entries: any pass finds it, else one is made."""
        if self._sqnorm is None:
            self.sweep((), _nothing)
        return self._sqnorm or 0.0

    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Take one pass over the completed rows."""
        completing = _CompletingStep(self._decoder, step)
        new_rows, (*sums, sqnorm) = self._holed.sweep((self._codes, *rows), completing, out)
        self._sqnorm = float(sqnorm) + self._holed.scatter
        return new_rows, tuple(sums)

    def for_codes(self, codes: Array) -> Engine:
        """Passes over codes, which have no holes."""
        return self._holed.for_codes(codes)


@dataclass(frozen=True)
class _Projection:
    right: Array

    def __call__(self, X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        return (X_b @ self.right,), ()


def _combination(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    return (), (np.ascontiguousarray(rows[0].T) @ X_b,)


@dataclass(frozen=True)
class _CompletingStep:
    """A step on the completed block; its sums, and ‖X̃_b‖²."""

    decoder: Array
    step: Step

    def __call__(self, X_b: Holed, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        codes, *own = rows
        completed = X_b.completed(codes, self.decoder)
        new_rows, sums = self.step(completed.block, tuple(own))
        return new_rows, (*sums, np.asarray(completed.sqnorm))


def _nothing(*_: object) -> tuple[tuple[Array, ...], Sums]:
    return (), ()


def _column_sums(X_b: Holed, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    return (), X_b.column_sums()


def sizes(X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    """‖X_b‖², the sum of its entries, and how many there are."""
    return (), tuple(np.asarray(value) for value in X_b.sizes())


@dataclass(frozen=True)
class CheckedSizes:
    """The same of rows that nobody has looked at before, with one sentence if they will not do."""

    nonnegative: bool

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        """Check a block and measure it."""
        _, measured = sizes(X_b, rows)
        if not np.isfinite(measured[1]):
            raise ValueError("Input X contains NaN or infinity, and rows that are not in memory must be whole.")
        if self.nonnegative and X_b.minimum() < 0:
            raise ValueError("Negative values in data passed to a nonnegative model (input X).")
        return (), measured


def measure(engine: Engine, step: Step = sizes) -> Sizes:
    """Take the sizes of the rows in a first pass."""
    return Sizes(*map(float, engine.sweep((), step)[1]))
