"""Symmetric positive semidefinite operators on the rows of a factor.

At layer 1 the matrix on the right would be p x p, and AᵀKA of a wide layer has only the rank of the top layer. The
number of operations decides whether a matrix is formed or applied as a product of thin ones.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from deepnmf.arrays import Array

FEW_ROWS = 128  # up to this number of rows, products with a formed matrix are always cheaper than two thin products
# Relative to the largest norm: smaller norms are rounding errors, and a division by their squares may overflow.
NEGLIGIBLE_NORM = 1e-15
# The limit of steps of the power iteration, and the relative change at which it ends.
POWER_STEPS, POWER_TOLERANCE = 30, 1e-2


class Gram(ABC):
    """The operator G of a quadratic ½<G Z, Z>."""

    order: int  # the number of rows of Z

    @abstractmethod
    def apply(self, Z: Array) -> Array:
        """G Z."""

    @cached_property
    def norm(self) -> float:
        """The largest eigenvalue, estimated from below: a solver must check that a step of this size descends.

        The start is near the vector of ones, which is near the leading eigenvector of a nonnegative matrix; the noise
        is for other matrices.
        """
        v = 1 + 0.1 * np.random.default_rng(0).standard_normal((self.order, 1))
        v /= np.linalg.norm(v)
        value = 0.0
        for _ in range(POWER_STEPS):
            v = self.apply(v)
            before, value = value, float(np.linalg.norm(v))
            if value == 0:
                return 0.0
            if abs(value - before) <= POWER_TOLERANCE * value:
                break
            v /= value
        return value


class RunningProduct(Protocol):
    """Rows of the product G Z, kept up to date while Z changes a few rows at a time."""

    def rows(self, rows: slice) -> Array:
        """(G Z)[rows]."""
        ...

    def update(self, rows: slice, change: Array) -> None:
        """Update the product after a change of Z[rows]."""
        ...


class LeftGram(Gram):
    """A Gram operator whose rows can be used one block after the other, as coordinate descent does."""

    @abstractmethod
    def apply_both(self, Z: Array, right: Gram) -> Array:
        """G Z R, in the cheaper order of products."""

    @abstractmethod
    def running_product(self, Z: Array) -> RunningProduct:
        """Return the product G Z, to be updated as Z changes."""

    @abstractmethod
    def block(self, rows: slice) -> Array:
        """The diagonal block G[rows, rows]."""

    @abstractmethod
    def of_rows(self, rows: Array) -> "LeftGram":
        """The operator restricted to some rows, with the others at zero."""


class FormedGram(LeftGram):
    """G as a matrix, without negligible curvatures."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = without_negligible_curvature(matrix, matrix.diagonal().max(initial=0.0))
        self.order = len(matrix)

    def apply(self, Z: Array) -> Array:
        return self.matrix @ Z

    def apply_both(self, Z: Array, right: Gram) -> Array:
        return self.matrix @ right.apply(Z.T).T

    def block(self, rows: slice) -> Array:
        return self.matrix[rows, rows]

    def of_rows(self, rows: Array) -> LeftGram:
        return FormedGram(self.matrix[np.ix_(rows, rows)])

    def running_product(self, Z: Array) -> RunningProduct:
        return _FormedProduct(self.matrix, Z)


class FactoredGram(LeftGram):
    """G = AᵀKA of a layer that is much wider than the top one, applied as Aᵀ(K(A Z))."""

    def __init__(self, A: Array, K: Array) -> None:
        self.A, self.K, self.order = A, K, A.shape[1]
        self.KA = K @ A
        self._largest = np.einsum("ij,ij->j", A, self.KA).max()

    def apply(self, Z: Array) -> Array:
        return self.KA.T @ (self.A @ Z)

    def apply_both(self, Z: Array, right: Gram) -> Array:
        return self.KA.T @ right.apply((self.A @ Z).T).T

    def block(self, rows: slice) -> Array:
        return without_negligible_curvature(self.A[:, rows].T @ self.KA[:, rows], self._largest)

    def of_rows(self, rows: Array) -> LeftGram:
        return FactoredGram(self.A[:, rows], self.K)

    def running_product(self, Z: Array) -> RunningProduct:
        return _FactoredProduct(self.A, self.KA, self.A @ Z)


class ProductGram(Gram):
    """G = BBᵀ of a product B = factors[-1] ··· factors[0], applied through the factors."""

    def __init__(self, factors: Sequence[Array]) -> None:
        self.factors, self.order = factors, len(factors[-1])

    def apply(self, Z: Array) -> Array:
        T = Z.T
        for factor in reversed(self.factors):
            T = T @ factor
        for factor in self.factors:
            T = T @ factor.T
        return T.T


def without_negligible_curvature(gram: Array, largest: float) -> Array:
    """Set negligible diagonal entries to zero: coordinate descent does not change rows with zero curvature."""
    negligible = np.flatnonzero(gram.diagonal() < NEGLIGIBLE_NORM**2 * largest)
    if not negligible.size:
        return gram
    gram = gram.copy()
    gram[negligible, negligible] = 0
    return gram


def left_gram(A: Array | None, K: Array, added: Array | None = None) -> LeftGram:
    """AᵀKA, formed unless the layer is so much wider than the top one that two thin products are cheaper.

    The matrix `added` by penalties is full, so that the sum is always formed.
    """
    if A is not None and added is None and left_cost(*A.shape) < A.shape[1] ** 2:
        return FactoredGram(A, K)
    gram = K if A is None else A.T @ K @ A
    return FormedGram(gram if added is None else gram + added)


def left_cost(top: int, order: int) -> int:
    """The number of multiplications to apply AᵀKA, of size `order` and rank `top`, to one column."""
    return min(2 * top * order, order**2) if order > FEW_ROWS else order**2


def right_gram(factors: Sequence[Array], n_columns: int, n_steps: int) -> Gram:
    """BBᵀ, formed if that is cheaper for `n_steps` applications to `n_columns` columns."""
    costs = right_costs(factors, n_columns * n_steps)
    if costs.forming + costs.formed >= costs.factored:
        return ProductGram(factors)
    gram = factors[0] @ factors[0].T  # from the layer next to the data upwards
    for factor in factors[1:]:
        gram = factor @ gram @ factor.T
    return FormedGram(gram)


class Costs(NamedTuple):
    """Numbers of multiplications: to form a Gram matrix, to apply it, and to apply its factors instead."""

    forming: int
    formed: int
    factored: int


def right_costs(factors: Sequence[Array], n_columns: int) -> Costs:
    """The costs of BBᵀ for `n_columns` columns; the first product is symmetric and needs half the multiplications."""
    first, *above = factors
    forming = len(first) * first.size // 2 + sum(Z.size * (len(Z) + Z.shape[1]) for Z in above)
    return Costs(forming, n_columns * len(factors[-1]) ** 2, n_columns * 2 * sum(Z.size for Z in factors))


class _FormedProduct:
    def __init__(self, matrix: Array, Z: Array) -> None:
        self._matrix, self._Z = matrix, Z

    def rows(self, rows: slice) -> Array:
        return self._matrix[rows] @ self._Z

    def update(self, rows: slice, change: Array) -> None:
        """Update nothing, because the rows are computed from Z when they are needed."""


class _FactoredProduct:
    def __init__(self, A: Array, KA: Array, AZ: Array) -> None:
        self._A, self._KA, self._AZ = A, KA, AZ

    def rows(self, rows: slice) -> Array:
        return self._KA[:, rows].T @ self._AZ

    def update(self, rows: slice, change: Array) -> None:
        self._AZ += self._A[:, rows] @ change
