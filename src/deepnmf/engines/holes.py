"""Blocks of rows with holes, that is, with unobserved entries, or with entry weights.

½ Σ w_ij (x_ij - (HD)_ij)² with w in [0, 1] is majorized by ½‖X̃ - HD‖² + a constant, X̃ = W∘X + (1 - W)∘H₀D₀, with
equality at H₀, D₀: a step that lowers the loss of the completed rows X̃ also lowers that of the observed entries. X̃ is
formed one block at a time. Sparse rows are in `deepnmf.engines.sparse_holes`.
"""

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.blocks import Block, Dense, NormalEquations, absolute_sum, row_squares


class ObservedRow(NamedTuple):
    """The columns in which a row was observed, its values there, and their weights."""

    columns: Array
    values: Array
    weights: Array


class Completed(NamedTuple):
    """X̃, and ‖X̃‖² plus the constant for which the loss of X̃ at H₀, D₀ is that of the observed entries."""

    block: Block
    sqnorm: float


class Holed(Block):
    """X and W. It has no products: they exist only for completed rows."""

    is_complete = False

    def __init__(self, X: Matrix, weight: Matrix | None = None) -> None:
        self.X, self.weight = X, weight
        self.shape, self.dtype = X.shape, X.dtype

    def __matmul__(self, right: Array) -> NoReturn:
        raise TypeError("Rows with unobserved entries cannot be multiplied: complete them first.")

    __rmatmul__ = __matmul__

    @abstractmethod
    def weighted(self) -> tuple[Matrix, Matrix]:
        """W∘X and W."""

    @abstractmethod
    def observed(self, H: Array, D: Array) -> tuple[Matrix, Matrix]:
        """W∘X and W∘HD."""

    def completed(self, H: Array, D: Array) -> Completed:
        """X̃ = W∘X + (1 - W)∘HD."""
        completed = self._completed(H, D)
        completed.block.row_weights = self.row_weights
        return completed

    @abstractmethod
    def _completed(self, H: Array, D: Array) -> Completed:
        """The same without the weights of rows of X̃."""

    @abstractmethod
    def observed_rows(self) -> Iterator[ObservedRow]:
        """The rows, one by one."""

    def row_sizes(self) -> tuple[Array, Array, Array]:
        zero_factors = (np.zeros(shape, self.dtype) for shape in ((self.shape[0], 1), (1, self.shape[1])))
        totals, counts = (np.asarray(part.sum(axis=1, dtype=np.float64)).ravel() for part in self.weighted())
        return self.row_misfits(*zero_factors), totals, counts

    def column_sums(self) -> tuple[Array, Array]:
        """Σ w x and Σ w for each column."""
        rows = self.weighed(np.ones(self.shape[0]))
        values, weights = (np.asarray(part.T @ rows).ravel() for part in self.weighted())
        return values, weights

    def normal_equations(self, features: Array) -> Iterator[NormalEquations]:
        """The normal equations of each row over its observed entries, in double precision."""
        D = features.T.astype(np.float64, copy=False)
        for place, (columns, values, weights) in enumerate(self.observed_rows()):
            seen = D[:, columns]
            weighted = seen * weights
            own = weighted @ values, weighted @ seen.T
            yield NormalEquations(slice(place, place + 1), own[0][None], own[1], seen.shape[1])


class HoledDense(Holed):
    """Rows of an array in which NaN marks unobserved entries; the others have weights, by default 1."""

    @property
    def nbytes(self) -> int:
        return self.X.nbytes

    @cached_property
    def _is_observed(self) -> Array:
        return np.asarray(~np.isnan(self.X))

    @cached_property
    def _weight(self) -> Array:
        return self._is_observed if self.weight is None else np.where(self._is_observed, self.weight, 0)

    def rows(self, part: slice) -> "HoledDense":
        return HoledDense(self.X[part], None if self.weight is None else self.weight[part])

    def weighted(self) -> tuple[Array, Array]:
        return self._weight * np.where(self._is_observed, self.X, 0), self._weight

    def absolute_sizes(self) -> tuple[float, float]:
        values, weights = self.weighted()
        return absolute_sum(values), float(weights.sum(dtype=np.float64))

    def observed(self, H: Array, D: Array) -> tuple[Array, Array]:
        return self.weighted()[0], self._weight * (H @ D)

    def row_misfits(self, H: Array, D: Array) -> Array:
        residual = H @ D
        np.subtract(self.X, residual, out=residual)
        np.copyto(residual, 0, where=~self._is_observed)
        np.square(residual, out=residual)
        if self.weight is not None:
            residual *= self._weight
        return np.asarray(np.sum(residual, axis=1, dtype=np.float64))

    def _completed(self, H: Array, D: Array) -> Completed:
        model = H @ D
        if self.weight is None:
            np.copyto(model, self.X, where=self._is_observed)
            return Completed(Dense(model), self.total(row_squares(model)))
        residual = np.where(self._is_observed, self.X - model, 0)
        model += self._weight * residual
        between = np.sum(self._weight * (1 - self._weight) * residual**2, axis=1, dtype=np.float64)
        return Completed(Dense(model), self.total(row_squares(model) + between))

    def scaled(self, weights: Array) -> "HoledDense":
        return HoledDense(self.X, (self._weight * weights[:, None]).astype(self.dtype))

    def observed_rows(self) -> Iterator[ObservedRow]:
        for x, seen, weight in zip(self.X, self._is_observed, self._weight, strict=True):
            yield ObservedRow(seen, x[seen], weight[seen])

    def averaged(self, mean: Matrix, scaled_mean: Matrix) -> "HoledDense":
        values, weights = self.weighted()
        W = mean @ weights
        X = (scaled_mean @ values) * inverse_where_positive(W)
        W = W.astype(self.dtype, copy=False)
        return HoledDense(X.astype(self.dtype, copy=False), None if W.min() == 1 else W)


def inverse_where_positive(weights: Array) -> Array:
    """1/w, and 0 for entries without weight."""
    return np.divide(1, weights, out=np.zeros_like(weights), where=weights > 0)
