"""Blocks of rows: the view of X that a step of a pass gets, for every kind of data.

A block has a shape, a dtype and two products, X @ A and A @ X. Every other method has a default implementation in
terms of these, so that a new kind of data is one small class. A kind of data with a faster way overrides the default,
first of all `dense`. Rows with unobserved entries are in `deepnmf.engines.holes`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.kernels import sampled_products

DENSE_ROWS = 64  # rows that are converted at once for a kind of data that has only products


class Sizes(NamedTuple):
    """Σ w x², Σ w x and Σ w over the observed entries; w is 1 if entries have no weights."""

    sqnorm: float
    total: float
    n_entries: float


class NormalEquations(NamedTuple):
    """The normal equations h G = target of some rows; G is D Dᵀ unless a row has its own Gram matrix."""

    rows: slice
    target: Array
    gram: Array | None = None
    n_observed: int = 0  # observed entries of a row with its own Gram matrix


class Block(ABC):
    """Some rows of X, or all of them."""

    __array_ufunc__ = None  # so that `array @ block` calls the block

    shape: tuple[int, int]
    dtype: np.dtype[Any]  # float32 or float64
    is_complete = True  # whether every entry was observed
    is_sparsely_observed = False  # whether so few entries were observed that it is faster to fit each row separately

    @abstractmethod
    def __matmul__(self, right: Array) -> Array:
        """X @ A."""

    @abstractmethod
    def __rmatmul__(self, left: Array) -> Array:
        """A @ X."""

    @property
    def nbytes(self) -> int:
        """The size of the stored data, which determines the number of blocks; 0 means a single block."""
        return 0

    def dense(self, part: slice | Array) -> Array:
        """Some rows as an array."""
        places = np.arange(self.shape[0])[part]
        chosen = np.zeros((len(places), self.shape[0]), self.dtype)
        chosen[np.arange(len(places)), places] = 1
        return np.asarray(chosen @ self)

    def rows(self, part: slice) -> "Block":
        """Some rows as a block."""
        return Dense(self.dense(part))

    def sizes(self) -> Sizes:
        """‖X‖², the sum of the entries, and their number."""
        parts = [rows.sizes() for _, rows in self._dense_parts()]
        return Sizes(*(sum(values) for values in zip(*parts, strict=True)))

    def absolute_sizes(self) -> tuple[float, float]:
        """Σ|x|, which is computed without squares, and the number of entries."""
        parts = [rows.absolute_sizes() for _, rows in self._dense_parts()]
        return sum(total for total, _ in parts), sum(count for _, count in parts)

    def minimum(self) -> float:
        """The smallest entry, or 0 if all entries are positive."""
        return min(rows.minimum() for _, rows in self._dense_parts())

    def row_squares(self) -> Array:
        """‖x‖² of every row."""
        return np.concatenate([rows.row_squares() for _, rows in self._dense_parts()])

    def column_sums(self) -> tuple[Array, Array]:
        """Σ w x and Σ w for each column, in double precision."""
        parts = [rows.column_sums() for _, rows in self._dense_parts()]
        return np.sum([sums for sums, _ in parts], axis=0), np.full(self.shape[1], float(self.shape[0]))

    def misfit(self, H: Array, D: Array) -> float:
        """Σ w (x - HD)² over the observed entries, computed from the residual."""
        return sum(rows.misfit(H[part], D) for part, rows in self._dense_parts())

    def normal_equations(self, features: Array) -> Iterator[NormalEquations]:
        """The normal equations of the codes, with features Dᵀ; complete rows share one Gram matrix."""
        yield NormalEquations(slice(0, self.shape[0]), self @ features)

    def with_zeros(self) -> "Block | None":
        """The rows with zeros in place of unobserved entries, where most entries are zeros; None elsewhere."""
        return None

    def averaged(self, mean: Matrix, scaled_mean: Matrix) -> "Block":
        """Means over groups of rows, times the scales of the groups.

        `mean` and `scaled_mean` are sparse matrices with a row for each group. Entry weights are averaged by `mean`,
        data by `scaled_mean`.
        """
        by_columns = scaled_mean.tocsc()
        sums = [by_columns[:, part] @ rows.X for part, rows in self._dense_parts()]
        return Dense(np.sum(sums, axis=0, dtype=np.float64).astype(self.dtype))

    def transposed(self) -> "Block":
        """The columns as rows, for data that may be sparsely observed."""
        raise TypeError(f"{type(self).__name__} cannot be transposed.")

    def _dense_parts(self) -> Iterator[tuple[slice, "Dense"]]:
        n_rows = self.shape[0]
        for start in range(0, n_rows, DENSE_ROWS):
            part = slice(start, min(start + DENSE_ROWS, n_rows))
            yield part, Dense(self.dense(part))


class Products(Block):
    """Rows of any array that has a shape, a dtype, and `@` from both sides."""

    def __init__(self, X: Any) -> None:
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __matmul__(self, right: Array) -> Array:
        return self.X @ right

    def __rmatmul__(self, left: Array) -> Array:
        return left @ self.X


class Dense(Products):
    """Rows of an array."""

    @property
    def nbytes(self) -> int:
        return self.X.nbytes

    def dense(self, part: slice | Array) -> Array:
        return self.X[part]

    @np.errstate(over="ignore")  # infinite sizes make the engine scale the data
    def sizes(self) -> Sizes:
        return Sizes(square(self.X), float(self.X.sum(dtype=np.float64)), self.X.size)

    def absolute_sizes(self) -> tuple[float, float]:
        return absolute_sum(self.X), self.X.size

    def minimum(self) -> float:
        return float(self.X.min(initial=0))

    def row_squares(self) -> Array:
        return np.asarray(np.einsum("ij,ij->i", self.X, self.X))

    def column_sums(self) -> tuple[Array, Array]:
        return self.X.sum(axis=0, dtype=np.float64), np.full(self.shape[1], float(self.shape[0]))

    def misfit(self, H: Array, D: Array) -> float:
        residual = H @ D
        residual -= self.X
        return square(residual)

    def averaged(self, mean: Matrix, scaled_mean: Matrix) -> "Dense":
        return Dense((scaled_mean @ self.X).astype(self.dtype, copy=False))


class Sparse(Products):
    """Rows of a CSR matrix; entries that are not stored are zeros."""

    @property
    def nbytes(self) -> int:
        return stored_bytes(self.X)

    def dense(self, part: slice | Array) -> Array:
        return self.X[part].toarray()

    def rows(self, part: slice) -> "Sparse":
        return Sparse(stored_rows(self.X, part))

    @np.errstate(over="ignore")
    def sizes(self) -> Sizes:
        values = self.X.data[None]
        return Sizes(square(values), float(values.sum(dtype=np.float64)), self.shape[0] * self.shape[1])

    def absolute_sizes(self) -> tuple[float, float]:
        return absolute_sum(self.X.data), self.shape[0] * self.shape[1]

    def minimum(self) -> float:
        return float(self.X.data.min(initial=0))

    def row_squares(self) -> Array:
        return np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()

    def column_sums(self) -> tuple[Array, Array]:
        n_rows, n_columns = self.shape
        return np.bincount(self.X.indices, self.X.data, n_columns), np.full(n_columns, float(n_rows))

    def misfit(self, H: Array, D: Array) -> float:
        """‖X‖² - 2<XDᵀ, H> + <HᵀH, DDᵀ> in double precision, without a dense array of the shape of X."""
        H, D, values = (array.astype(np.float64, copy=False) for array in (H, D, self.X.data))
        cross = np.einsum("ij,ij->", self.X @ D.T, H)
        return float(values @ values - 2 * cross + np.einsum("ij,ij->", H.T @ H, D @ D.T))

    def averaged(self, mean: Matrix, scaled_mean: Matrix) -> "Sparse":
        return Sparse((scaled_mean @ self.X).astype(self.dtype, copy=False))


class LowRankPlusSparse(Block):
    """H D + R with sparse R, without forming the sum."""

    def __init__(self, H: Array, D: Array, R: Matrix) -> None:
        self.H, self.D, self.R = H, D, R
        self.shape, self.dtype = R.shape, R.dtype

    def __matmul__(self, right: Array) -> Array:
        return np.asarray(self.H @ (self.D @ right) + self.R @ right)

    def __rmatmul__(self, left: Array) -> Array:
        return np.asarray((left @ self.H) @ self.D + left @ self.R)

    def dense(self, part: slice | Array) -> Array:
        return np.asarray(self.H[part] @ self.D + self.R[part].toarray())

    def row_squares(self) -> Array:
        added = self.R.copy()
        added.data *= 2 * sampled_products(self.R, self.H, self.D) + self.R.data
        return np.einsum("ij,ij->i", self.H @ (self.D @ self.D.T), self.H) + np.asarray(added.sum(axis=1)).ravel()


def block_of(X: Matrix) -> Block:
    """Complete rows of an array or a CSR matrix as a block."""
    return Sparse(X) if sparse.issparse(X) else Dense(X)


def stored_bytes(X: Matrix) -> int:
    """The number of bytes that a CSR matrix stores."""
    return X.data.nbytes + X.indices.nbytes


def stored_rows(X: Matrix, part: slice) -> Matrix:
    """Rows of a CSR matrix that share its values: slicing would copy them in every pass, and so would a constructor."""
    begin, end = X.indptr[part.start], X.indptr[part.stop]
    rows = type(X)((part.stop - part.start, X.shape[1]), dtype=X.dtype)
    rows.data, rows.indices = X.data[begin:end], X.indices[begin:end]
    rows.indptr = X.indptr[part.start : part.stop + 1] - begin
    return rows


def square(values: Array) -> float:
    """‖A‖², summed in double precision."""
    return float(np.einsum("ij,ij->", values, values, dtype=np.float64))


@np.errstate(over="ignore")
def absolute_sum(values: Array) -> float:
    """Σ|x|; the sum may overflow to infinity."""
    return float(np.abs(values).sum(dtype=np.float64))
