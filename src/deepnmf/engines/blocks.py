"""Blocks of rows: the view of X that a step of a pass gets, for every kind of data.

A block has a shape, a dtype and two products, X @ A and A @ X. Every other method has a default implementation in
terms of these, so that a new kind of data is one small class. Rows may have weights: sums over rows are weighted,
products are not. A kind of data with a faster implementation overrides the default, above all that of `dense`. Rows
with unobserved entries are in `deepnmf.engines.holes`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.kernels import sampled_products
from deepnmf.row_weights import by_roots, by_weights, column_of, roots

DENSE_ROWS = 64  # rows that are converted at once for a kind of data that has only products


class Sizes(NamedTuple):
    """Σ w x², Σ w x and Σ w over the observed entries; w is 1 if entries and rows have no weights."""

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
    row_weights: Array | None = None  # in double precision

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

    def weighed(self, rows: Array) -> Array:
        """An array of these rows, each row times its weight."""
        return by_weights(rows, self.row_weights)

    def by_roots(self, rows: Array) -> Array:
        """Each row times the square root of its weight, so that sums of squares are weighted."""
        return by_roots(rows, self.row_weights)

    def without_roots(self, rows: Array) -> Array:
        """The inverse of `by_roots`."""
        return rows if self.row_weights is None else rows / column_of(roots(self.row_weights), rows)

    def weights_of(self, part: slice) -> Array | None:
        """The weights of some rows."""
        return None if self.row_weights is None else self.row_weights[part]

    def total(self, each: Array) -> float:
        """The weighted sum of one number for each row, in double precision."""
        return float(np.sum(self.weighed(each), dtype=np.float64))

    def dense(self, part: slice | Array) -> Array:
        """Some rows as an array."""
        places = np.arange(self.shape[0])[part]
        chosen = np.zeros((len(places), self.shape[0]), self.dtype)
        chosen[np.arange(len(places)), places] = 1
        return np.asarray(chosen @ self)

    def rows(self, part: slice) -> "Block":
        """Some rows as a block."""
        return Dense(self.dense(part))

    def rounded(self) -> "Block":
        """The rows in single precision."""
        return Dense(self.dense(slice(None)).astype(np.float32))

    def sizes(self) -> Sizes:
        """‖X‖², the sum of the entries, and their number."""
        with np.errstate(over="ignore"):  # infinite sizes make the engine scale the data
            return Sizes(*map(self.total, self.row_sizes()))

    def row_sizes(self) -> tuple[Array, Array, Array]:
        """‖x‖², the sum of the entries, and their number, of every row in double precision."""
        parts = [rows.row_sizes() for _, rows in self._dense_parts()]
        squares, totals, counts = map(np.concatenate, zip(*parts, strict=True))
        return squares, totals, counts

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
        parts = [rows.column_sums()[0] for _, rows in self._dense_parts()]
        return np.sum(parts, axis=0), np.full(self.shape[1], self.total(np.ones(self.shape[0])))

    def misfit(self, H: Array, D: Array) -> float:
        """Σ w (x - HD)² over the observed entries, computed from the residual."""
        return self.total(self.row_misfits(H, D))

    def row_misfits(self, H: Array, D: Array) -> Array:
        """The same for every row, without its weight."""
        return np.concatenate([rows.row_misfits(H[part], D) for part, rows in self._dense_parts()])

    def normal_equations(self, features: Array) -> Iterator[NormalEquations]:
        """The normal equations of the codes, with features Dᵀ; complete rows share one Gram matrix."""
        yield NormalEquations(slice(0, self.shape[0]), self @ features)

    def with_zeros(self) -> "Block | None":
        """The rows with zeros in place of unobserved entries, if most entries are zeros; otherwise None."""
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

    def scaled(self, weights: Array) -> "Block":
        """Rows times weights or, if entries have weights, entry weights times row weights."""
        raise TypeError(f"{type(self).__name__} cannot be scaled.")

    def _dense_parts(self) -> Iterator[tuple[slice, "Dense"]]:
        n_rows = self.shape[0]
        for start in range(0, n_rows, DENSE_ROWS):
            part = slice(start, min(start + DENSE_ROWS, n_rows))
            rows = Dense(self.dense(part))
            rows.row_weights = self.weights_of(part)
            yield part, rows


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

    def row_sizes(self) -> tuple[Array, Array, Array]:
        counts = np.full(self.shape[0], float(self.shape[1]))
        return row_squares(self.X), self.X.sum(axis=1, dtype=np.float64), counts

    def absolute_sizes(self) -> tuple[float, float]:
        return absolute_sum(self.X), self.X.size

    def minimum(self) -> float:
        return float(self.X.min(initial=0))

    def row_squares(self) -> Array:
        return np.asarray(np.einsum("ij,ij->i", self.X, self.X))

    def column_sums(self) -> tuple[Array, Array]:
        count = self.total(np.ones(self.shape[0]))
        return self.weighed(self.X).sum(axis=0, dtype=np.float64), np.full(self.shape[1], count)

    def row_misfits(self, H: Array, D: Array) -> Array:
        residual = H @ D
        residual -= self.X
        return row_squares(residual)

    def scaled(self, weights: Array) -> "Dense":
        return Dense(self.X * column_of(weights, self.X))

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

    def row_sizes(self) -> tuple[Array, Array, Array]:
        values = self.X.data.astype(np.float64, copy=False)
        squares, totals = (self.row_sums(each) for each in (np.square(values), values))
        return squares, totals, np.full(self.shape[0], float(self.shape[1]))

    def rounded(self) -> "Sparse":
        return Sparse(sparse.csr_array((self.X.data.astype(np.float32), self.X.indices, self.X.indptr), self.shape))

    def row_sums(self, values: Array) -> Array:
        """The sum of one number for each stored entry, by rows."""
        return np.bincount(entry_rows(self.X), values, self.shape[0])

    def absolute_sizes(self) -> tuple[float, float]:
        return absolute_sum(self.X.data), self.shape[0] * self.shape[1]

    def minimum(self) -> float:
        return float(self.X.data.min(initial=0))

    def row_squares(self) -> Array:
        return np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()

    def column_sums(self) -> tuple[Array, Array]:
        n_rows, n_columns = self.shape
        values = self.X.data if self.row_weights is None else self.X.data * self.row_weights[entry_rows(self.X)]
        return np.bincount(self.X.indices, values, n_columns), np.full(n_columns, self.total(np.ones(n_rows)))

    def row_misfits(self, H: Array, D: Array) -> Array:
        """‖x‖² - 2<xDᵀ, h> + <h DDᵀ, h> in double precision, without a dense array of the shape of X."""
        H, D, values = (array.astype(np.float64, copy=False) for array in (H, D, self.X.data))
        return self.row_sums(np.square(values)) + np.einsum("ij,ij->i", H @ (D @ D.T) - 2 * (self.X @ D.T), H)

    def scaled(self, weights: Array) -> "Sparse":
        X = self.X.copy()
        X.data *= weights.astype(self.dtype)[entry_rows(X)]
        return Sparse(X)

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
    """Rows of a CSR matrix as a view, because slicing or a constructor would copy its values in every pass."""
    begin, end = X.indptr[part.start], X.indptr[part.stop]
    rows = type(X)((part.stop - part.start, X.shape[1]), dtype=X.dtype)
    rows.data, rows.indices = X.data[begin:end], X.indices[begin:end]
    rows.indptr = X.indptr[part.start : part.stop + 1] - begin
    return rows


def row_squares(values: Array) -> Array:
    """‖a‖² of every row, summed in double precision."""
    return np.asarray(np.einsum("ij,ij->i", values, values, dtype=np.float64))


def entry_rows(X: Matrix) -> Array:
    """The row of each stored entry of a CSR matrix."""
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


@np.errstate(over="ignore")
def absolute_sum(values: Array) -> float:
    """Σ|x|; the sum may overflow to infinity."""
    return float(np.abs(values).sum(dtype=np.float64))
