"""Symmetric positive semidefinite operators on the rows of a factor.

At layer 1 the matrix on the right would be p x p, and AᵀKA of a wide layer has only the rank of the top layer. The
number of operations decides whether a matrix is formed or applied as a product of thin ones.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from deepnmf.arrays import Array

FEW_ROWS = 128  # for at most so many rows, passes over a formed matrix are always cheaper than two thin products
NEGLIGIBLE_NORM = (
    1e-15  # relative to the largest norm: smaller ones are rounding, and a division by their squares may overflow
)
POWER_STEPS, POWER_TOLERANCE = (
    30,
    1e-2,
)  # the power iteration's limit of steps, and the relative change at which it ends


class Gram(Protocol):
    """The operator G of a quadratic ½<G Z, Z>."""

    def apply(self, Z: Array) -> Array:
        """G Z."""
        ...

    @property
    def norm(self) -> float:
        """The largest eigenvalue, estimated by a power iteration."""
        ...


class RunningProduct(Protocol):
    """Rows of the product G Z, kept up to date while Z changes a few rows at a time."""

    def rows(self, rows: slice) -> Array:
        """(G Z)[rows]."""
        ...

    def update(self, rows: slice, change: Array) -> None:
        """Update the product after a change of Z[rows]."""
        ...


class LeftGram(Gram, Protocol):
    """A Gram operator whose rows can be used one block after the other, as coordinate descent does."""

    def apply_both(self, Z: Array, right: Gram) -> Array:
        """G Z R, in the cheaper order of products."""
        ...

    def running_product(self, Z: Array) -> RunningProduct:
        """Return the product G Z, to be updated as Z changes."""
        ...

    def block(self, rows: slice) -> Array:
        """The diagonal block G[rows, rows]."""
        ...


class FormedGram:
    """G as a matrix, without negligible curvatures."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = without_negligible_curvature(matrix, matrix.diagonal().max(initial=0.0))

    def apply(self, Z: Array) -> Array:
        return self.matrix @ Z

    def apply_both(self, Z: Array, right: Gram) -> Array:
        return self.matrix @ right.apply(Z.T).T

    @cached_property
    def norm(self) -> float:
        return _norm(self.apply, len(self.matrix))

    def block(self, rows: slice) -> Array:
        return self.matrix[rows, rows]

    def running_product(self, Z: Array) -> RunningProduct:
        return _FormedProduct(self.matrix, Z)


class FactoredGram:
    """G = AᵀKA of a layer that is much wider than the top one, applied as Aᵀ(K(A Z))."""

    def __init__(self, A: Array, K: Array) -> None:
        self.A = A
        self.KA = K @ A
        self._largest = np.einsum("ij,ij->j", A, self.KA).max()

    def apply(self, Z: Array) -> Array:
        return self.KA.T @ (self.A @ Z)

    def apply_both(self, Z: Array, right: Gram) -> Array:
        return self.KA.T @ right.apply((self.A @ Z).T).T

    @cached_property
    def norm(self) -> float:
        return _norm(self.apply, self.A.shape[1])

    def block(self, rows: slice) -> Array:
        return without_negligible_curvature(self.A[:, rows].T @ self.KA[:, rows], self._largest)

    def running_product(self, Z: Array) -> RunningProduct:
        return _FactoredProduct(self.A, self.KA, self.A @ Z)


class ProductGram:
    """G = BBᵀ of a product B = factors[-1] ··· factors[0], applied through the factors."""

    def __init__(self, factors: Sequence[Array]) -> None:
        self.factors = factors

    def apply(self, Z: Array) -> Array:
        T = Z.T
        for factor in reversed(self.factors):
            T = T @ factor
        for factor in self.factors:
            T = T @ factor.T
        return T.T

    @cached_property
    def norm(self) -> float:
        return _norm(self.apply, self.order)

    @property
    def order(self) -> int:
        """The number of rows of B."""
        return len(self.factors[-1])

    def form(self) -> FormedGram:
        """Form the matrix, starting from the layer next to the data."""
        gram = self.factors[0] @ self.factors[0].T
        for factor in self.factors[1:]:
            gram = factor @ gram @ factor.T
        return FormedGram(gram)

    def cost(self) -> int:
        """The number of multiplications to apply it to one column."""
        return 2 * sum(factor.size for factor in self.factors)

    def cost_of_forming(self) -> int:
        """The number of multiplications to form it; the first product is symmetric and needs half of them."""
        first, *above = self.factors
        return len(first) * first.size // 2 + sum(Z.size * (len(Z) + Z.shape[1]) for Z in above)


def without_negligible_curvature(gram: Array, largest: float) -> Array:
    """Set negligible diagonal entries to zero: coordinate descent does not change rows with zero curvature."""
    negligible = np.flatnonzero(gram.diagonal() < NEGLIGIBLE_NORM**2 * largest)
    if not negligible.size:
        return gram
    gram = gram.copy()
    gram[negligible, negligible] = 0
    return gram


def left_gram(A: Array | None, K: Array) -> LeftGram:
    """AᵀKA, formed unless the layer is so much wider than the top one that two thin products are cheaper."""
    if A is None:
        return FormedGram(K)
    return FactoredGram(A, K) if is_cheaper_factored(*A.shape) else FormedGram(A.T @ K @ A)


def is_cheaper_factored(top: int, order: int) -> bool:
    """Whether AᵀKA, of size `order` and rank `top`, is cheaper as two thin products."""
    return order > FEW_ROWS and 2 * top < order


def left_cost(top: int, order: int) -> int:
    """The number of multiplications to apply AᵀKA to one column."""
    return 2 * top * order if is_cheaper_factored(top, order) else order**2


def right_gram(factors: Sequence[Array], n_columns: int, n_steps: int) -> Gram:
    """BBᵀ, formed if that is cheaper for `n_steps` applications to `n_columns` columns."""
    product = ProductGram(factors)
    columns = n_columns * n_steps
    is_cheaper_formed = product.cost_of_forming() + columns * product.order**2 < columns * product.cost()
    return product.form() if is_cheaper_formed else product


def affordable_steps(factors: Sequence[Array], n_columns: int, other_cost: float, budget: float) -> int:
    """The number of applications of `right_gram` to `n_columns` columns, each with an other cost, within a budget."""
    if not factors:
        return int(budget / other_cost)
    product = ProductGram(factors)
    formed = (budget - product.cost_of_forming()) / (other_cost + n_columns * product.order**2)
    applied = budget / (other_cost + n_columns * product.cost())
    return int(max(formed, applied))


class _FormedProduct:
    def __init__(self, matrix: Array, Z: Array) -> None:
        self._matrix, self._Z = matrix, Z

    def rows(self, rows: slice) -> Array:
        return self._matrix[rows] @ self._Z

    def update(self, rows: slice, change: Array) -> None:
        """Nothing to update: the rows are computed from Z when they are asked for."""


class _FactoredProduct:
    def __init__(self, A: Array, KA: Array, AZ: Array) -> None:
        self._A, self._KA, self._AZ = A, KA, AZ

    def rows(self, rows: slice) -> Array:
        return self._KA[:, rows].T @ self._AZ

    def update(self, rows: slice, change: Array) -> None:
        self._AZ += self._A[:, rows] @ change


def _norm(apply: Callable[[Array], Array], order: int) -> float:
    """The largest eigenvalue, estimated from below: a solver must check that a step of this size descends.

    The start is near the vector of ones, which is near the leading eigenvector of a nonnegative matrix; the noise is
    for other matrices.
    """
    v = 1 + 0.1 * np.random.default_rng(0).standard_normal((order, 1))
    v /= np.linalg.norm(v)
    value = 0.0
    for _ in range(POWER_STEPS):
        v = apply(v)
        before, value = value, float(np.linalg.norm(v))
        if value == 0:
            return 0.0
        if abs(value - before) <= POWER_TOLERANCE * value:
            break
        v /= value
    return value
