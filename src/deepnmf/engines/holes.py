"""Blocks of rows of which some entries were not observed, or count less than others.

½ Σ w_ij (x_ij - (HD)_ij)² with w in [0, 1] is nowhere above ½‖X̃ - HD‖² + a constant, X̃ = W∘X + (1 - W)∘H₀D₀, and
equal to it at H₀, D₀: a descent on the completed rows is one on the observed entries. X̃ is made a block at a time, or
never where X is sparse.
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
    absolute_sum,
    block_of,
    square,
    stored_bytes,
    stored_rows,
)
from deepnmf.kernels import sampled_products

SPARSELY_OBSERVED = 0.15  # of the entries; measured by `python -m benchmarks.observed`


class ObservedRow(NamedTuple):
    """The columns where a row was observed, the values there, and their weights."""

    columns: Array
    values: Array
    weights: Array


class Completed(NamedTuple):
    """X̃, and ‖X̃‖² plus what makes the fit of X̃ that of the observed entries at H₀, D₀."""

    block: Block
    sqnorm: float


class Holed(Block):
    """X and W. It has no products: these are of completed rows."""

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
        nothing = (np.zeros(shape, observed.dtype) for shape in ((self.shape[0], 1), (1, self.shape[1])))
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is scaled
            sqnorm = self.misfit(*nothing)
        return Sizes(sqnorm, observed.sum(dtype=np.float64), weights.sum(dtype=np.float64))

    def column_sums(self) -> tuple[Array, Array]:
        """Σ w x and Σ w of every column."""
        values, weights = (np.asarray(part.sum(axis=0, dtype=np.float64)).ravel() for part in self.weighted())
        return values, weights

    def normal_equations(self, features: Array) -> Iterator[NormalEquations]:
        """Each row over its own observed entries, in double precision."""
        D = features.T.astype(np.float64, copy=False)
        for place, (columns, values, weights) in enumerate(self.observed_rows()):
            seen = D[:, columns]
            weighted = seen * weights
            own = weighted @ values, weighted @ seen.T
            yield NormalEquations(slice(place, place + 1), own[0][None], own[1], seen.shape[1])


class HoledDense(Holed):
    """NaN was not observed; other entries have the weight that `weight` says, or 1."""

    @property
    def nbytes(self) -> int:
        return self.X.nbytes

    @cached_property
    def _seen(self) -> Array:
        return np.asarray(~np.isnan(self.X))

    @cached_property
    def _weight(self) -> Array:
        return self._seen if self.weight is None else np.where(self._seen, self.weight, 0)

    def rows(self, part: slice) -> "HoledDense":
        return HoledDense(self.X[part], None if self.weight is None else self.weight[part])

    def weighted(self) -> tuple[Array, Array]:
        return self._weight * np.where(self._seen, self.X, 0), self._weight

    def absolute_sizes(self) -> tuple[float, float]:
        values, weights = self.weighted()
        return absolute_sum(values), float(weights.sum(dtype=np.float64))

    def observed(self, H: Array, D: Array) -> tuple[Array, Array]:
        return self.weighted()[0], self._weight * (H @ D)

    def misfit(self, H: Array, D: Array) -> float:
        residual = np.where(self._seen, self.X - H @ D, 0)
        return float(np.sum(self._weight * np.square(residual), dtype=np.float64))

    def completed(self, H: Array, D: Array) -> Completed:
        model = H @ D
        if self.weight is None:
            np.copyto(model, self.X, where=self._seen)
            return Completed(Dense(model), square(model))
        residual = np.where(self._seen, self.X - model, 0)
        model += self._weight * residual
        between = float(np.sum(self._weight * (1 - self._weight) * residual**2, dtype=np.float64))
        return Completed(Dense(model), square(model) + between)

    def observed_rows(self) -> Iterator[ObservedRow]:
        for x, seen, weight in zip(self.X, self._seen, self._weight, strict=True):
            yield ObservedRow(seen, x[seen], weight[seen])

    def averaged(self, mean: Matrix, scaled_mean: Matrix) -> "HoledDense":
        values, weights = self.weighted()
        W = mean @ weights
        X = (scaled_mean @ values) * _inverse_where_positive(W)
        W = W.astype(self.dtype, copy=False)
        return HoledDense(X.astype(self.dtype, copy=False), None if W.min() == 1 else W)


class HoledSparse(Holed):
    """What X stores was observed, and nothing else; `weight` has the pattern of X."""

    @property
    def nbytes(self) -> int:
        return stored_bytes(self.X)

    @property
    def is_sparsely_observed(self) -> bool:
        return self.X.nnz < SPARSELY_OBSERVED * self.shape[0] * self.shape[1]

    @cached_property
    def weights(self) -> Array:
        """One for each stored entry."""
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
        """In the pattern of the averaged weights, zeros among the means stored too."""
        values, weights = self.weighted()
        W = mean @ weights
        W.sort_indices()  # means and weights share the pattern, and SciPy sorts one of them in place
        X = (scaled_mean @ values) * _with_data(W, _inverse_where_positive(W.data))
        W, X = W.astype(self.dtype, copy=False), X.astype(self.dtype, copy=False)
        places = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
        return HoledSparse(_with_data(W, np.asarray(X[places, W.indices], dtype=self.dtype).ravel()), W)

    def transposed(self) -> "HoledSparse":
        return HoledSparse(self.X.T.tocsr(), None if self.weight is None else self.weight.T.tocsr())

    def _with(self, data: Array) -> Matrix:
        return type(self.X)((data, self.X.indices, self.X.indptr), shape=self.X.shape, copy=False)


def observed_block(X: Matrix, weight: Matrix | None = None) -> Block:
    """X as a block: `Holed` where it has NaN or weights, stored as sparse where little of it is not NaN."""
    if weight is not None:
        return holed(X, weight)
    return holed(_stored_if_little(X)) if has_holes(X) else block_of(X)


def holed(X: Matrix, weight: Matrix | None = None) -> Holed:
    """X with NaN where nothing was observed, or a CSR matrix that stores what was; weights from 0 to 1."""
    return HoledSparse(X, weight) if sparse.issparse(X) else HoledDense(X, weight)


def has_holes(X: Matrix) -> bool:
    """Whether any entry is NaN, without an array of answers; sums of both signs may overflow to it."""
    if sparse.issparse(X):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(X.sum()) and np.isnan(X).any())


def _stored_if_little(X: Array) -> Matrix:
    seen = ~np.isnan(X)
    if np.count_nonzero(seen) >= SPARSELY_OBSERVED * X.size:
        return X
    rows, columns = np.nonzero(seen)
    return sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)


def _inverse_where_positive(weights: Array) -> Array:
    return np.divide(1, weights, out=np.zeros_like(weights), where=weights > 0)


def _with_data(pattern: Matrix, data: Array) -> Matrix:
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
