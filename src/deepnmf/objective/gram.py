"""Symmetric positive semidefinite operators on the rows of a factor.

At layer 1 the matrix on the other side would be p x p, and AᵀKA of a wide layer has only the rank
of the top one: which products are formed is decided by counting operations.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from deepnmf.arrays import Array

FEW_ROWS = 128  # up to so many, passes over a formed matrix cost less than two thin products, however thin
NEGLIGIBLE_NORM = (
    1e-15  # of the largest norm: smaller ones are rounding, and who divides by their squares leaves the numbers
)
POWER_STEPS, POWER_TOLERANCE = (
    30,
    1e-2,
)  # of a power iteration: at most so many, until one changes the norm by less than this


class Gram(Protocol):
    """G of a quadratic ½<G Z, Z>, applied without saying how."""

    def apply(self, Z: Array) -> Array:
        """G Z."""
        ...

    @property
    def norm(self) -> float:
        """The largest eigenvalue, as a power iteration finds it."""
        ...


class Follower(Protocol):
    """Rows of G Z while Z changes a few rows at a time."""

    def rows(self, rows: slice) -> Array:
        """(G Z)[rows]."""
        ...

    def moved(self, rows: slice, change: Array) -> None:
        """Take note that Z[rows] has changed."""
        ...


class LeftGram(Gram, Protocol):
    """A Gram whose rows can be visited in turn, as coordinate descent does."""

    def between(self, Z: Array, right: Gram) -> Array:
        """G Z R, the thinnest product first."""
        ...

    def follow(self, Z: Array) -> Follower:
        """Watch Z."""
        ...

    def block(self, rows: slice) -> Array:
        """The diagonal block G[rows, rows]."""
        ...


class FormedGram:
    """G as a matrix; what curves next to nothing rests."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = without_negligible_curvature(matrix, matrix.diagonal().max(initial=0.0))

    def apply(self, Z: Array) -> Array:
        return self.matrix @ Z

    def between(self, Z: Array, right: Gram) -> Array:
        return self.matrix @ right.apply(Z.T).T

    @cached_property
    def norm(self) -> float:
        return _norm(self.apply, len(self.matrix))

    def block(self, rows: slice) -> Array:
        return self.matrix[rows, rows]

    def follow(self, Z: Array) -> Follower:
        return _FormedFollower(self.matrix, Z)


class FactoredGram:
    """G = AᵀKA of a layer much wider than the top one, applied as Aᵀ(K(A Z))."""

    def __init__(self, A: Array, K: Array) -> None:
        self.A = A
        self.KA = K @ A
        self._largest = np.einsum("ij,ij->j", A, self.KA).max()

    def apply(self, Z: Array) -> Array:
        return self.KA.T @ (self.A @ Z)

    def between(self, Z: Array, right: Gram) -> Array:
        return self.KA.T @ right.apply((self.A @ Z).T).T

    @cached_property
    def norm(self) -> float:
        return _norm(self.apply, self.A.shape[1])

    def block(self, rows: slice) -> Array:
        return without_negligible_curvature(self.A[:, rows].T @ self.KA[:, rows], self._largest)

    def follow(self, Z: Array) -> Follower:
        return _FactoredFollower(self.A, self.KA, self.A @ Z)


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
        """Rows of B."""
        return len(self.factors[-1])

    def form(self) -> FormedGram:
        """Multiply it out, from the data upwards."""
        gram = self.factors[0] @ self.factors[0].T
        for factor in self.factors[1:]:
            gram = factor @ gram @ factor.T
        return FormedGram(gram)

    def cost(self) -> int:
        """Multiplications to apply it to one column."""
        return 2 * sum(factor.size for factor in self.factors)

    def cost_of_forming(self) -> int:
        """Multiplications to form it; the first product is symmetric, half the work."""
        first, *above = self.factors
        return len(first) * first.size // 2 + sum(Z.size * (len(Z) + Z.shape[1]) for Z in above)


def without_negligible_curvature(gram: Array, largest: float) -> Array:
    """Zeros for curvatures that are nothing beside the largest: coordinate descent leaves their rows as they are."""
    negligible = np.flatnonzero(gram.diagonal() < NEGLIGIBLE_NORM**2 * largest)
    if not negligible.size:
        return gram
    gram = gram.copy()
    gram[negligible, negligible] = 0
    return gram


def left_gram(A: Array | None, K: Array) -> LeftGram:
    """AᵀKA, formed unless the layer is so much wider than the top one that two thin products cost less."""
    if A is None:
        return FormedGram(K)
    return FactoredGram(A, K) if is_cheaper_factored(*A.shape) else FormedGram(A.T @ K @ A)


def is_cheaper_factored(top: int, order: int) -> bool:
    """Whether AᵀKA of a layer of `order` below one of `top` is better applied than formed."""
    return order > FEW_ROWS and 2 * top < order


def left_cost(top: int, order: int) -> int:
    """Multiplications to apply AᵀKA to one column."""
    return 2 * top * order if is_cheaper_factored(top, order) else order**2


def right_gram(factors: Sequence[Array], n_columns: int, n_steps: int) -> Gram:
    """BBᵀ, formed if `n_steps` applications to `n_columns` columns repay it."""
    product = ProductGram(factors)
    columns = n_columns * n_steps
    repaid = product.cost_of_forming() + columns * product.order**2 < columns * product.cost()
    return product.form() if repaid else product


def affordable_steps(factors: Sequence[Array], n_columns: int, other_cost: float, budget: float) -> int:
    """How many applications of `right_gram` to `n_columns` columns, each with something else, a budget allows."""
    if not factors:
        return int(budget / other_cost)
    product = ProductGram(factors)
    formed = (budget - product.cost_of_forming()) / (other_cost + n_columns * product.order**2)
    applied = budget / (other_cost + n_columns * product.cost())
    return int(max(formed, applied))


class _FormedFollower:
    def __init__(self, matrix: Array, Z: Array) -> None:
        self._matrix, self._Z = matrix, Z

    def rows(self, rows: slice) -> Array:
        return self._matrix[rows] @ self._Z

    def moved(self, rows: slice, change: Array) -> None:
        """Z is read again at each visit."""


class _FactoredFollower:
    def __init__(self, A: Array, KA: Array, AZ: Array) -> None:
        self._A, self._KA, self._AZ = A, KA, AZ

    def rows(self, rows: slice) -> Array:
        return self._KA[:, rows].T @ self._AZ

    def moved(self, rows: slice, change: Array) -> None:
        self._AZ += self._A[:, rows] @ change


def _norm(apply: Callable[[Array], Array], order: int) -> float:
    """From below: who steps by it must see that the step descends.

    Sums of rows are near the leading vector of what is nonnegative; the rest of the start is for what is not.
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
