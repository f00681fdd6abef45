"""The interface of all engines, whatever kind of data they have."""

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
"""``step(X_b, rows_b) -> (new_rows_b, sums_b)`` for one block of rows; X_b is a `Block`."""


class Engine(ABC):
    """Passes over the rows of X. The blocks depend only on the data, not on the number of threads."""

    n_samples: int
    n_features: int
    dtype: np.dtype[Any]
    measured: Sizes  # sizes of these rows, over the observed entries
    unit: float = 1.0  # X was divided by it, see `deepnmf.engines.choice`
    workers: Workers
    is_complete: bool = True  # whether every entry was observed or has been filled in
    is_sparsely_observed: bool = False  # whether so few were observed that it is faster to fit each row separately
    row_weights: Array | None = None  # the weight of each row in sums; None: every weight is 1
    one_array: Array | None = None  # all rows, if they are few and complete and have no weights
    gains_by_single_precision: bool = False  # whether passes in single precision save more time than rounding X costs
    scatter: float = 0.0  # a constant part of the loss: the scatter within groups, if rows are group means

    @property
    def sqnorm(self) -> float:
        """‖X‖², the constant term of the squared error."""
        return self.measured.sqnorm

    @property
    def mean(self) -> float:
        """The mean of the entries."""
        return self.measured.total / (self.measured.n_entries or 1.0)

    @property
    def spread(self) -> float:
        """(Σ x)² / (n Σ x²), in [0, 1]: the effective share of nonzero entries of nonnegative data."""
        n_squares = self.measured.n_entries * self.measured.sqnorm
        return self.measured.total**2 / n_squares if n_squares > 0 else 1.0

    @property
    def total_weight(self) -> float:
        """Σ w over the rows, which is their number if these have no weights."""
        return float(self.n_samples if self.row_weights is None else self.row_weights.sum())

    @property
    def counting_rows(self) -> Array:
        """Whether each row has a weight above 0."""
        return np.ones(self.n_samples, dtype=bool) if self.row_weights is None else self.row_weights > 0

    def mean_over_rows(self, array: Array) -> float:
        """The mean of the entries of an array of all rows."""
        return float(
            array.mean() if self.row_weights is None else self.row_weights @ array.mean(axis=1) / self.total_weight
        )

    def weighing(self, rows: Sequence[Array], step: Step) -> tuple[Sequence[Array], Step]:
        """Return rows and step of a pass in which blocks have the weights of their rows."""
        return (rows, step) if self.row_weights is None else ((self.row_weights, *rows), _WeighingStep(step))

    @abstractmethod
    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Run one pass over X; return the new row arrays, and the sums over the blocks, added in order in float64.

        If `out` is given, the new row arrays are written into it.
        """

    @abstractmethod
    def for_codes(self, codes: Array) -> "Engine":
        """Return an engine for codes of these rows, which are the data of the next layer."""

    def project(self, features: Array) -> Array:
        """X Cᵀ, one row per sample."""
        across = np.ascontiguousarray(features.T, dtype=self.dtype)  # the layout that it also has in another process
        (projected,), _ = self.sweep((), _Projection(across))
        return projected

    def combined(self, weights: Array) -> Array:
        """AᵀX for weights A, without row weights: each row of the result is a weighted sum of the rows of X."""
        _, (sums,) = self.sweep((weights,), _combination)
        return sums

    def column_sums(self) -> tuple[Array, Array]:
        """Σ w x and Σ w for each column, over the observed entries."""
        _, (sums, weights) = self.sweep((), _column_sums)
        return sums, weights

    def as_rows(self, array: Array) -> Array:
        """Convert an array of all rows to the form that `sweep` takes."""
        return np.ascontiguousarray(array, dtype=self.dtype)

    def completed(self, codes: Array, decoder: Array) -> "Engine":
        """Return an engine for the same rows, with unobserved entries filled in by the model H D."""
        return self if self.is_complete else CompletedRows(self, codes, decoder)

    def filled(self) -> "Engine":
        """Return an engine for the same rows, with unobserved entries filled in by the means of their columns."""
        if self.is_complete:
            return self
        sums, weights = self.column_sums()
        means = sums / np.where(weights > 0, weights, 1)
        return self.completed(np.ones((self.n_samples, 1), self.dtype), means[None])

    def in_single_precision(self) -> "Engine":
        """Return an engine for the same rows in single precision."""
        raise TypeError(f"{type(self).__name__} cannot round its rows.")

    def transposed(self) -> "Engine":
        """Return an engine for the columns of sparsely observed data."""
        raise TypeError(f"{type(self).__name__} cannot be transposed.")

    def grouped(self, places: Array, counts: Array) -> "Engine":
        """Return an engine for the mean of each group times √count; its loss is that of the samples.

        `places` contains the index of the group of each sample, `counts` the sizes of the groups.
        """
        raise TypeError(f"{type(self).__name__} cannot average groups of rows, because not all rows are in memory.")


class CompletedRows(Engine):
    """Rows with unobserved entries, which a model fills in, block by block."""

    def __init__(self, holed: Engine, codes: Array, decoder: Array) -> None:
        self._holed, self._codes = holed, codes
        self._decoder = np.ascontiguousarray(decoder, dtype=holed.dtype)
        self.n_samples, self.n_features, self.dtype = holed.n_samples, holed.n_features, holed.dtype
        self.workers, self.measured, self.unit = holed.workers, holed.measured, holed.unit
        self.row_weights = holed.row_weights
        self._sqnorm: float | None = None

    @property
    def sqnorm(self) -> float:
        """‖X̃‖², corrected so that the loss is that of the observed entries. Every pass computes it."""
        if self._sqnorm is None:
            self.sweep((), _no_computation)
        return self._sqnorm or 0.0

    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Run one pass over the completed rows."""
        completing = _CompletingStep(self._decoder, step)
        new_rows, (*sums, sqnorm) = self._holed.sweep((self._codes, *rows), completing, out)
        self._sqnorm = float(sqnorm) + self._holed.scatter
        return new_rows, tuple(sums)

    def for_codes(self, codes: Array) -> Engine:
        """Return an engine for codes of these rows; codes have no holes."""
        return self._holed.for_codes(codes)


@dataclass(frozen=True)
class _WeighingStep:
    """A step on a block with the weights of its rows, which are the first of the row arrays."""

    step: Step

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        X_b.row_weights, *own = rows
        return self.step(X_b, tuple(own))


@dataclass(frozen=True)
class _Projection:
    right: Array

    def __call__(self, X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        return (X_b @ self.right,), ()


def _combination(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    return (), (np.ascontiguousarray(rows[0].T) @ X_b,)


@dataclass(frozen=True)
class _CompletingStep:
    """A step on the completed block, with ‖X̃_b‖² as an additional sum."""

    decoder: Array
    step: Step

    def __call__(self, X_b: Holed, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        codes, *own = rows
        completed = X_b.completed(codes, self.decoder)
        new_rows, sums = self.step(completed.block, tuple(own))
        return new_rows, (*sums, np.asarray(completed.sqnorm))


def _no_computation(*_: object) -> tuple[tuple[Array, ...], Sums]:
    return (), ()


def _column_sums(X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    return (), X_b.column_sums()


def sizes(X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    """‖X_b‖², the sum of its entries, and their number."""
    return (), tuple(np.asarray(value) for value in X_b.sizes())


@dataclass(frozen=True)
class CheckedSizes:
    """The sizes of rows that have not been validated before; raises an error if they are invalid."""

    nonnegative: bool

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        """Validate a block and return its sizes."""
        _, measured = sizes(X_b, rows)
        if not np.isfinite(measured[1]):
            raise ValueError("Input X contains NaN or infinity, but rows that are not in memory must be complete.")
        if self.nonnegative and X_b.minimum() < 0:
            raise ValueError("Negative values in data passed to a nonnegative model (input X).")
        return (), measured
