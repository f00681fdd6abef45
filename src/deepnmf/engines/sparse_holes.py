"""Blocks of sparse rows with holes: only the stored entries are observed, or all entries except some.

X is never converted to a dense array. The values filled in by a model are of low rank, in addition to stored entries.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.blocks import (
    Block,
    LowRankPlusSparse,
    NormalEquations,
    Sizes,
    Sparse,
    entry_rows,
    stored_bytes,
    stored_rows,
)
from deepnmf.engines.holes import Completed, Holed, ObservedRow, inverse_where_positive
from deepnmf.kernels import sampled_products
from deepnmf.row_weights import roots

SPARSELY_OBSERVED = 0.15  # share of the entries; measured by `python -m benchmarks.observed`


@dataclass(frozen=True)
class PatternWeights:
    """Weights of a sparse X whose absent entries are observed zeros: one for each stored entry, and one for the rest.

    An unobserved entry, even a zero, is stored with weight 0.
    """

    stored: Matrix  # in the pattern of X
    rest: float

    @property
    def data(self) -> Array:
        """The largest weights, which are used for checks."""
        return np.append(self.stored.data.max(initial=0), self.rest)


class HoledSparse(Holed):
    """Rows of a CSR matrix whose stored entries have weights; all others are zeros of the weight `rest`.

    With ``rest=0`` the stored entries are the observed ones. `weight` has the pattern of X.
    """

    def __init__(self, X: Matrix, weight: Matrix | None = None, rest: float = 0.0) -> None:
        super().__init__(X, weight)
        self.rest = rest
        self.is_sparsely_observed = rest == 0 and is_sparse(X.nnz, X.shape)

    @property
    def nbytes(self) -> int:
        return stored_bytes(self.X)

    @cached_property
    def weights(self) -> Array:
        """The weight of each stored entry."""
        return np.ones_like(self.X.data) if self.weight is None else self.weight.data.astype(self.dtype, copy=False)

    def rows(self, part: slice) -> "HoledSparse":
        weight = None if self.weight is None else stored_rows(self.weight, part)
        return HoledSparse(stored_rows(self.X, part), weight, self.rest)

    def weighted(self) -> tuple[Matrix, Matrix]:
        """W∘X, and the stored part of W."""
        return self._with(self.weights * self.X.data), self._with(self.weights)

    def sizes(self) -> Sizes:
        values = self.weights * self.X.data
        with np.errstate(over="ignore"):  # infinite sizes make the engine scale the data
            return Sizes(self._sum(self.weights * np.square(self.X.data)), self._sum(values), self._total_weight())

    def column_sums(self) -> tuple[Array, Array]:
        values, weights = super().column_sums()
        n_stored = np.bincount(self.X.indices, self._by_rows(np.ones(self.X.nnz)), self.shape[1])
        return values, weights + self.rest * (self.total(np.ones(self.shape[0])) - n_stored)

    def absolute_sizes(self) -> tuple[float, float]:
        with np.errstate(over="ignore"):
            return self._sum(np.abs(self.weights * self.X.data)), self._total_weight()

    def observed(self, H: Array, D: Array) -> tuple[Matrix, Matrix | Block]:
        seen = self._with((self.weights - self.rest) * sampled_products(self.X, H, D))
        return self.weighted()[0], LowRankPlusSparse(self.rest * H, D, seen) if self.rest else seen

    def misfit(self, H: Array, D: Array) -> float:
        model = sampled_products(self.X, H, D)
        stored = self._sum(self.weights * np.square(self.X.data - model))
        return (
            stored + self.rest * (self._square_of_product(H, D) - self._sum(np.square(model))) if self.rest else stored
        )

    def _completed(self, H: Array, D: Array) -> Completed:
        """X̃ is (1 - rest) HD plus stored entries."""
        model = sampled_products(self.X, H, D)
        residual = self.X.data - model
        step = self.weights * residual
        added = self._sum(step * (2 * model + residual) + self.rest * model**2)
        sqnorm = (1 - self.rest) * self._square_of_product(H, D) + added
        R = self._with(step + self.rest * model)
        return Completed(Sparse(R) if self.rest == 1 else LowRankPlusSparse((1 - self.rest) * H, D, R), sqnorm)

    def with_zeros(self) -> Sparse | None:
        return Sparse(self.weighted()[0]) if self.rest else None

    def observed_rows(self) -> Iterator[ObservedRow]:
        for begin, end in zip(self.X.indptr[:-1], self.X.indptr[1:], strict=True):
            yield ObservedRow(self.X.indices[begin:end], self.X.data[begin:end], self.weights[begin:end])

    def normal_equations(self, features: Array) -> Iterator[NormalEquations]:
        """The normal equations: weight `rest` for all entries, and the difference from it for stored entries."""
        if self.rest == 0:
            yield from super().normal_equations(features)
            return
        D = features.T.astype(np.float64, copy=False)
        gram = self.rest * (D @ D.T)
        for place, (columns, values, weights) in enumerate(self.observed_rows()):
            seen = D[:, columns]
            target, own = (seen * weights) @ values, gram + (seen * (weights - self.rest)) @ seen.T
            yield NormalEquations(slice(place, place + 1), target[None], own, self.shape[1] - len(columns))

    def averaged(self, mean: Matrix, scaled_mean: Matrix) -> "HoledSparse":
        """Means in the pattern of the averaged weights; means that are zero are stored too."""
        values, weights = self.weighted()
        W = mean @ weights
        W.sort_indices()  # both have the same pattern, and SciPy would sort one of them in place
        X = (scaled_mean @ values) * _with_data(W, inverse_where_positive(W.data))
        W, X = W.astype(self.dtype, copy=False), X.astype(self.dtype, copy=False)
        places = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
        return HoledSparse(_with_data(W, np.asarray(X[places, W.indices], dtype=self.dtype).ravel()), W)

    def transposed(self) -> "HoledSparse":
        return HoledSparse(self.X.T.tocsr(), None if self.weight is None else self.weight.T.tocsr(), self.rest)

    def scaled(self, weights: Array) -> "HoledSparse":
        return HoledSparse(self.X, self._with(self.weights * weights.astype(self.dtype)[entry_rows(self.X)]), self.rest)

    def by_roots_of_rows(self) -> Matrix:
        """The stored entries times the roots of the weights of their rows."""
        if self.row_weights is None:
            return self.X
        return self._with(self.X.data * roots(self.row_weights).astype(self.dtype)[entry_rows(self.X)])

    def _total_weight(self) -> float:
        n_entries = self.shape[1] * self.total(np.ones(self.shape[0]))
        return self._sum(self.weights) + self.rest * (n_entries - self._sum(np.ones(self.X.nnz)))

    def _sum(self, values: Array) -> float:
        """The sum of one number for each stored entry, weighted by rows."""
        return float(np.sum(self._by_rows(values), dtype=np.float64))

    def _by_rows(self, values: Array) -> Array:
        return values if self.row_weights is None else values * self.row_weights[entry_rows(self.X)]

    def _square_of_product(self, H: Array, D: Array) -> float:
        return float(np.einsum("ij,ij->", self.weighed(H).T @ H, D @ D.T, dtype=np.float64))

    def _with(self, data: Array) -> Matrix:
        return type(self.X)((data, self.X.indices, self.X.indptr), shape=self.X.shape, copy=False)


def is_sparse(n_observed: int, shape: tuple[int, ...]) -> bool:
    """Whether so few entries were observed that they are stored individually and rows are fitted separately."""
    return n_observed < SPARSELY_OBSERVED * shape[0] * shape[1]


def _with_data(pattern: Matrix, data: Array) -> Matrix:
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
