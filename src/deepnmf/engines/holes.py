"""Rows of which some entries were not observed, or count less than others.

½ Σ w_ij (x_ij - (HD)_ij)² with w in [0, 1] is nowhere above ½‖X̃ - HD‖² + a constant, X̃ = W∘X + (1 - W)∘H₀D₀, and
equal to it at H₀, D₀: a descent on the completed rows is one on the observed entries. X̃ is made a block at a time, or
never where X is sparse.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, TypeGuard

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.memory import RowsInMemory, rows_at
from deepnmf.engines.protocol import Engine, Step, Sums
from deepnmf.engines.threads import Workers

LITTLE = 0.15  # of the entries; measured by `python -m benchmarks.observed`


class ObservedRow(NamedTuple):
    """Where a row was observed, what was seen there, and what it weighs."""

    columns: Array
    values: Array
    weights: Array


class HoledBlock(Protocol):
    """A block of rows, X and W."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    def weighted(self) -> tuple[Matrix, Matrix]:
        """W∘X and W."""
        ...

    def observed(self, H: Array, D: Array) -> tuple[Matrix, Matrix]:
        """W∘X and W∘HD."""
        ...

    def misfit(self, H: Array, D: Array) -> float:
        """Σ w (x - HD)²."""
        ...

    def completed(self, H: Array, D: Array) -> tuple[Matrix, float]:
        """X̃ = W∘X + (1 - W)∘HD, and ‖X̃‖² plus what makes its fit that of the observed entries at H, D."""
        ...

    def rows(self) -> Iterator[ObservedRow]:
        """The rows, one by one."""
        ...


@dataclass(frozen=True)
class DenseHoles:
    """NaN is not observed; what is weighs as much as `weight` says, or one."""

    X: Array
    weight: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @cached_property
    def _seen(self) -> Array:
        return np.asarray(~np.isnan(self.X))

    @cached_property
    def _weight(self) -> Array:
        return self._seen if self.weight is None else np.where(self._seen, self.weight, 0)

    def weighted(self) -> tuple[Array, Array]:
        return self._weight * np.where(self._seen, self.X, 0), self._weight

    def observed(self, H: Array, D: Array) -> tuple[Array, Array]:
        return self.weighted()[0], self._weight * (H @ D)

    def misfit(self, H: Array, D: Array) -> float:
        residual = np.where(self._seen, self.X - H @ D, 0)
        return float(np.sum(self._weight * np.square(residual), dtype=np.float64))

    def completed(self, H: Array, D: Array) -> tuple[Array, float]:
        model = H @ D
        if self.weight is None:
            np.copyto(model, self.X, where=self._seen)
            return model, _square(model)
        residual = np.where(self._seen, self.X - model, 0)
        model += self._weight * residual
        return model, _square(model) + float(np.sum(self._weight * (1 - self._weight) * residual**2, dtype=np.float64))

    def rows(self) -> Iterator[ObservedRow]:
        for x, seen, weight in zip(self.X, self._seen, self._weight, strict=True):
            yield ObservedRow(seen, x[seen], weight[seen])


@dataclass(frozen=True)
class SparseHoles:
    """What X stores was observed, and nothing else; `weight` has the pattern of X."""

    X: Matrix
    weight: Matrix | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @cached_property
    def weights(self) -> Array:
        """One for each stored entry."""
        return np.ones_like(self.X.data) if self.weight is None else self.weight.data

    def weighted(self) -> tuple[Matrix, Matrix]:
        return self._with(self.weights * self.X.data), self._with(self.weights)

    def observed(self, H: Array, D: Array) -> tuple[Matrix, Matrix]:
        return self.weighted()[0], self._with(self.weights * self._model(H, D))

    def misfit(self, H: Array, D: Array) -> float:
        return float(np.sum(self.weights * np.square(self.X.data - self._model(H, D)), dtype=np.float64))

    def completed(self, H: Array, D: Array) -> tuple["LowRankPlusSparse", float]:
        model = self._model(H, D)
        residual = self.X.data - model
        step = self.weights * residual
        low_rank = np.einsum("ij,ij->", H.T @ H, D @ D.T, dtype=np.float64)
        square = low_rank + np.sum(step * (2 * model + residual), dtype=np.float64)
        return LowRankPlusSparse(H, D, self._with(step)), float(square)

    def rows(self) -> Iterator[ObservedRow]:
        for begin, end in zip(self.X.indptr[:-1], self.X.indptr[1:], strict=True):
            yield ObservedRow(self.X.indices[begin:end], self.X.data[begin:end], self.weights[begin:end])

    def _model(self, H: Array, D: Array) -> Array:
        from deepnmf.engines.sampling import sampled_products  # noqa: PLC0415 - numba is loaded where it is used

        return sampled_products(self.X, H, D)

    def _with(self, data: Array) -> Matrix:
        return type(self.X)((data, self.X.indices, self.X.indptr), shape=self.X.shape, copy=False)


@dataclass(frozen=True)
class LowRankPlusSparse:
    """H D + R, multiplied without being formed."""

    H: Array
    D: Array
    R: Matrix

    __array_ufunc__ = None  # an array on the left leaves the product to this class

    @property
    def shape(self) -> tuple[int, int]:
        return self.R.shape

    @property
    def row_squares(self) -> Array:
        """‖(H D + R)_i‖² of every row."""
        from deepnmf.engines.sampling import sampled_products  # noqa: PLC0415 - numba is loaded where it is used

        added = self.R.copy()
        added.data *= 2 * sampled_products(self.R, self.H, self.D) + self.R.data
        return np.einsum("ij,ij->i", self.H @ (self.D @ self.D.T), self.H) + np.asarray(added.sum(axis=1)).ravel()

    def __matmul__(self, right: Array) -> Array:
        return np.asarray(self.H @ (self.D @ right) + self.R @ right)

    def __rmatmul__(self, left: Array) -> Array:
        return np.asarray((left @ self.H) @ self.D + left @ self.R)


class RowsWithHoles(RowsInMemory):
    """Blocks are `HoledBlock`; sizes are over the observed entries, by their weights.

    Parameters
    ----------
    X : array with NaN where nothing was observed, or CSR matrix that stores what was
    workers : Workers
        The open pool the passes run on.
    weight : array or CSR matrix of the pattern of X, optional
        Weights from 0 to 1.
    """

    is_complete = False
    scatter = 0.0  # what a loss counts beside: the squares of other rows about these, where these are their means

    def __init__(self, X: Matrix, workers: Workers, weight: Matrix | None = None) -> None:
        self._weight = weight
        super().__init__(X, workers, _observed_sizes)

    def _rows(self, block: slice) -> HoledBlock:
        weight = None if self._weight is None else rows_at(self._weight, block)
        return (SparseHoles if sparse.issparse(self._X) else DenseHoles)(rows_at(self._X, block), weight)

    def weighted(self) -> tuple[Matrix, Matrix]:
        """W∘X and W, whole."""
        return self._rows(slice(0, self.n_samples)).weighted()

    def of_means(self, X: Matrix, weight: Matrix) -> "RowsWithHoles":
        """Rows that are means of these, with which a loss is still that of these."""
        means = RowsWithHoles(X, self.workers, weight)
        means.scatter = self.sqnorm - means.sqnorm
        return means

    @property
    def stores_little(self) -> bool:
        """Whether so little was observed that rows are better fitted each on its own."""
        return sparse.issparse(self._X) and self._X.nnz < LITTLE * self.n_samples * self.n_features

    @cached_property
    def turned(self) -> "RowsWithHoles":
        """The columns as rows, of what is stored."""
        X, weight = (None if matrix is None else matrix.T.tocsr() for matrix in (self._X, self._weight))
        return RowsWithHoles(X, self.workers, weight)

    def completed(self, codes: Array, decoder: Array) -> "CompletedRows":
        """The same rows with what was not observed filled in by a model, H D."""
        return CompletedRows(self, codes, decoder)

    def filled(self) -> "CompletedRows":
        """The same rows with each hole filled by the mean of its column."""
        _, (sums, weights) = self.sweep((), _column_sums)
        means = sums / np.where(weights > 0, weights, 1)
        filled = self.completed(np.ones((self.n_samples, 1), self.dtype), means[None])
        filled.sweep((), lambda *_: ((), ()))  # for its norm
        return filled


class CompletedRows(Engine):
    """Rows with holes that a model fills, block by block.

    `sqnorm` is of the last pass: ‖X̃‖², and what makes the fit of X̃ that of the observed entries.
    """

    def __init__(self, rows: RowsWithHoles, codes: Array, decoder: Array) -> None:
        self._holed, self._codes = rows, codes
        self._decoder = np.ascontiguousarray(decoder, dtype=rows.dtype)
        self.n_samples, self.n_features = rows.n_samples, rows.n_features
        self.dtype, self.workers, self.mean, self.sqnorm = rows.dtype, rows.workers, rows.mean, np.nan
        self.size, self.unit = rows.size, rows.unit

    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Take one pass over the completed rows."""

        def on_completed(block: HoledBlock, rows_b: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
            codes_b, *own = rows_b
            X_b, square = block.completed(codes_b, self._decoder)
            new_rows, sums = step(X_b, tuple(own))
            return new_rows, (*sums, np.asarray(square))

        new_rows, (*sums, sqnorm) = self._holed.sweep((self._codes, *rows), on_completed, out)
        self.sqnorm = float(sqnorm) + self._holed.scatter
        return new_rows, tuple(sums)

    def upon(self, codes: Array) -> Engine:
        """Passes over codes, which have no holes."""
        return self._holed.upon(codes)


def stored_if_little(X: Array) -> Matrix:
    """X as it is, or where little of it is not NaN, a sparse matrix that stores that."""
    seen = ~np.isnan(X)
    if np.count_nonzero(seen) >= LITTLE * X.size:
        return X
    rows, columns = np.nonzero(seen)
    return sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)


def has_holes(X: Array) -> bool:
    """Whether any entry is NaN, without an array of answers; sums of both signs may overflow to it."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(X.sum()) and np.isnan(X).any())


def is_holed(X_b: Matrix) -> TypeGuard[HoledBlock]:
    """Whether a block is one of rows with holes."""
    return isinstance(X_b, DenseHoles | SparseHoles)


def _observed_sizes(X_b: HoledBlock, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    """Σ w x², Σ w x and Σ w."""
    observed, weights = X_b.weighted()
    nothing = (np.zeros(shape, observed.dtype) for shape in ((X_b.shape[0], 1), (1, X_b.shape[1])))
    with np.errstate(over="ignore"):  # what is too large is seen to be
        sqnorm = X_b.misfit(*nothing)
    measured = (sqnorm, observed.sum(dtype=np.float64), weights.sum(dtype=np.float64))
    return (), tuple(np.asarray(value) for value in measured)


def _column_sums(X_b: HoledBlock, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    return (), tuple(np.asarray(part.sum(axis=0, dtype=np.float64)).ravel() for part in X_b.weighted())


def _square(array: Array) -> float:
    return float(np.einsum("ij,ij->", array, array, dtype=np.float64))
