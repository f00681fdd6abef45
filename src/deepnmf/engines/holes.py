"""Blocks of rows with holes, that is with unobserved entries, or with entry weights.

½ Σ w_ij (x_ij - (HD)_ij)² with w in [0, 1] is majorized by ½‖X̃ - HD‖² + a constant, X̃ = W∘X + (1 - W)∘H₀D₀, with
equality at H₀, D₀: a step that lowers the loss of the completed rows X̃ also lowers that of the observed entries. X̃ is
formed one block at a time, and never if X is sparse.
"""

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.blocks import (
    Block,
    Dense,
    LowRankPlusSparse,
    NormalEquations,
    Sizes,
    Sparse,
    absolute_sum,
    square,
    stored_bytes,
    stored_rows,
)
from deepnmf.kernels import sampled_products

SPARSELY_OBSERVED = 0.15  # share of the entries; measured by `python -m benchmarks.observed`


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

    @abstractmethod
    def completed(self, H: Array, D: Array) -> Completed:
        """X̃ = W∘X + (1 - W)∘HD."""

    @abstractmethod
    def observed_rows(self) -> Iterator[ObservedRow]:
        """The rows, one by one."""

    def sizes(self) -> Sizes:
        observed, weights = self.weighted()
        zero_factors = (np.zeros(shape, observed.dtype) for shape in ((self.shape[0], 1), (1, self.shape[1])))
        with np.errstate(over="ignore"):  # infinite sizes make the engine scale the data
            sqnorm = self.misfit(*zero_factors)
        return Sizes(sqnorm, observed.sum(dtype=np.float64), weights.sum(dtype=np.float64))

    def column_sums(self) -> tuple[Array, Array]:
        """Σ w x and Σ w for each column."""
        values, weights = (np.asarray(part.sum(axis=0, dtype=np.float64)).ravel() for part in self.weighted())
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

    def misfit(self, H: Array, D: Array) -> float:
        residual = np.where(self._is_observed, self.X - H @ D, 0)
        return float(np.sum(self._weight * np.square(residual), dtype=np.float64))

    def completed(self, H: Array, D: Array) -> Completed:
        model = H @ D
        if self.weight is None:
            np.copyto(model, self.X, where=self._is_observed)
            return Completed(Dense(model), square(model))
        residual = np.where(self._is_observed, self.X - model, 0)
        model += self._weight * residual
        between = float(np.sum(self._weight * (1 - self._weight) * residual**2, dtype=np.float64))
        return Completed(Dense(model), square(model) + between)

    def observed_rows(self) -> Iterator[ObservedRow]:
        for x, seen, weight in zip(self.X, self._is_observed, self._weight, strict=True):
            yield ObservedRow(seen, x[seen], weight[seen])

    def averaged(self, mean: Matrix, scaled_mean: Matrix) -> "HoledDense":
        values, weights = self.weighted()
        W = mean @ weights
        X = (scaled_mean @ values) * _inverse_where_positive(W)
        W = W.astype(self.dtype, copy=False)
        return HoledDense(X.astype(self.dtype, copy=False), None if W.min() == 1 else W)


class HoledSparse(Holed):
    """Rows of a CSR matrix whose stored entries are the observed ones; `weight` has the pattern of X."""

    def __init__(self, X: Matrix, weight: Matrix | None = None) -> None:
        super().__init__(X, weight)
        self.is_sparsely_observed = X.nnz < SPARSELY_OBSERVED * X.shape[0] * X.shape[1]

    @property
    def nbytes(self) -> int:
        return stored_bytes(self.X)

    @cached_property
    def weights(self) -> Array:
        """The weight of each stored entry."""
        return np.ones_like(self.X.data) if self.weight is None else self.weight.data

    def rows(self, part: slice) -> "HoledSparse":
        return HoledSparse(stored_rows(self.X, part), None if self.weight is None else stored_rows(self.weight, part))

    def weighted(self) -> tuple[Matrix, Matrix]:
        return self._with(self.weights * self.X.data), self._with(self.weights)

    def absolute_sizes(self) -> tuple[float, float]:
        return absolute_sum(self.weights * self.X.data), float(self._with(self.weights).sum(dtype=np.float64))

    def observed(self, H: Array, D: Array) -> tuple[Matrix, Matrix]:
        return self.weighted()[0], self._with(self.weights * sampled_products(self.X, H, D))

    def misfit(self, H: Array, D: Array) -> float:
        return float(np.sum(self.weights * np.square(self.X.data - sampled_products(self.X, H, D)), dtype=np.float64))

    def completed(self, H: Array, D: Array) -> Completed:
        model = sampled_products(self.X, H, D)
        residual = self.X.data - model
        step = self.weights * residual
        low_rank = np.einsum("ij,ij->", H.T @ H, D @ D.T, dtype=np.float64)
        sqnorm = low_rank + np.sum(step * (2 * model + residual), dtype=np.float64)
        return Completed(LowRankPlusSparse(H, D, self._with(step)), float(sqnorm))

    def observed_rows(self) -> Iterator[ObservedRow]:
        for begin, end in zip(self.X.indptr[:-1], self.X.indptr[1:], strict=True):
            yield ObservedRow(self.X.indices[begin:end], self.X.data[begin:end], self.weights[begin:end])

    def averaged(self, mean: Matrix, scaled_mean: Matrix) -> "HoledSparse":
        """Means in the pattern of the averaged weights; means that are zero are stored too."""
        values, weights = self.weighted()
        W = mean @ weights
        W.sort_indices()  # both have the same pattern, and SciPy would sort one of them in place
        X = (scaled_mean @ values) * _with_data(W, _inverse_where_positive(W.data))
        W, X = W.astype(self.dtype, copy=False), X.astype(self.dtype, copy=False)
        places = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
        return HoledSparse(_with_data(W, np.asarray(X[places, W.indices], dtype=self.dtype).ravel()), W)

    def transposed(self) -> "HoledSparse":
        return HoledSparse(self.X.T.tocsr(), None if self.weight is None else self.weight.T.tocsr())

    def _with(self, data: Array) -> Matrix:
        return type(self.X)((data, self.X.indices, self.X.indptr), shape=self.X.shape, copy=False)


def observed_block(X: Matrix, weight: Matrix | None = None) -> Block:
    """X as a block: `Holed` if it has NaN or weights, and as a sparse matrix if it is sparsely observed."""
    if weight is not None:
        return holed(X, weight)
    if sparse.issparse(X):
        return Sparse(X)
    return holed(_sparse_if_sparsely_observed(X)) if has_holes(X) else Dense(X)


def holed(X: Matrix, weight: Matrix | None = None) -> Holed:
    """Return X as a block with holes: NaN marks them in an array, entries that are not stored in a CSR matrix."""
    return HoledSparse(X, weight) if sparse.issparse(X) else HoledDense(X, weight)


def has_holes(X: Matrix) -> bool:
    """Whether any entry is NaN. The sum is checked first: it needs no array of booleans."""
    if sparse.issparse(X):
        return False
    with np.errstate(over="ignore", invalid="ignore"):  # infinities of both signs add to NaN too
        return bool(np.isnan(X.sum()) and np.isnan(X).any())


def _sparse_if_sparsely_observed(X: Array) -> Matrix:
    seen = ~np.isnan(X)
    if np.count_nonzero(seen) >= SPARSELY_OBSERVED * X.size:
        return X
    rows, columns = np.nonzero(seen)
    return sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)


def _inverse_where_positive(weights: Array) -> Array:
    return np.divide(1, weights, out=np.zeros_like(weights), where=weights > 0)


def _with_data(pattern: Matrix, data: Array) -> Matrix:
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
