"""Quadratic problems of one factor, and the terms that penalties add to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.fixed_entries import FixedEntries, FreeBlock
from deepnmf.objective.gram import Gram, LeftGram


class KroneckerTerm(NamedTuple):
    """½<left Z right, Z>; `right` is the identity if it is None."""

    left: Array
    right: Array | None = None

    def applied(self, Z: Array) -> Array:
        """The Hessian applied to Z."""
        return self.left @ Z if self.right is None else self.left @ Z @ self.right

    def diagonal(self, n_columns: int) -> Array:
        """The diagonal of the Hessian, one number per entry of Z."""
        return np.outer(np.diag(self.left), np.ones(n_columns) if self.right is None else np.diag(self.right))

    @property
    def norm(self) -> float:
        """The largest curvature."""
        right = 1.0 if self.right is None else np.linalg.norm(self.right, 2)
        return float(np.linalg.norm(self.left, 2) * right)


@dataclass(frozen=True)
class FactorTerms:
    """The terms that penalties add to the problem of a factor Z_l in X ≈ H A Z_l B.

    They are ½ ridge ‖Z‖² + ½ Σ_k row_sums_k (Σ_j Z_kj)² + Σ ½<left Z right, Z> + l1 Σ Z - <linear, Z>. For penalties on
    features in input space, `top_gram` is added to K = HᵀH in ½<AᵀKA Z BBᵀ, Z>, and `gram` is added to AᵀKA there.
    """

    top_gram: Array | None = None
    gram: Array | None = None
    ridge: float = 0.0
    row_sums: Array | None = None
    kronecker: tuple[KroneckerTerm, ...] = ()
    l1: float = 0.0
    linear: Array | None = None

    @classmethod
    def sum_of(cls, terms: Sequence["FactorTerms"]) -> "FactorTerms":
        """The sum of the terms of several penalties."""
        return cls(
            top_gram=_sum([term.top_gram for term in terms]),
            gram=_sum([term.gram for term in terms]),
            ridge=sum(term.ridge for term in terms),
            row_sums=_sum([term.row_sums for term in terms]),
            kronecker=tuple(one for term in terms for one in term.kronecker),
            l1=sum(term.l1 for term in terms),
            linear=_sum([term.linear for term in terms]),
        )

    def applied(self, Z: Array) -> Array:
        """The Hessian of the quadratic terms on Z itself applied to it."""
        product = self.ridge * Z
        if self.row_sums is not None:
            product = product + (self.row_sums * Z.sum(axis=1))[:, None]
        for term in self.kronecker:
            product = product + term.applied(Z)
        return product

    def diagonal(self, shape: tuple[int, ...]) -> Array:
        """The diagonal of that Hessian, one number per entry of Z."""
        diagonal = np.full(shape, self.ridge)
        for term in self.kronecker:
            diagonal += term.diagonal(shape[1])
        return diagonal if self.row_sums is None else diagonal + self.row_sums[:, None]


def _sum(arrays: Sequence[Array | None]) -> Array | None:
    present = [array for array in arrays if array is not None and array.any()]
    return sum(present[1:], start=present[0]) if present else None


@dataclass(frozen=True)
class Quadratic:
    """A block of a linear chain: a sum of terms left Z right, and a linear term.

    ½<GA Z GB, Z> + ½ ridge ‖Z‖² + ½ Σ_k ρ_k (Σ_j Z_kj)² + Σ ½<left Z right, Z> - <F, Z>. Columns of Z are independent
    unless GB (`right`), ρ (`row_sums`) or a Kronecker term couples them.
    """

    left: LeftGram
    linear: Array
    right: Gram | None = None
    ridge: float = 0.0
    row_sums: Array | None = None
    kronecker: tuple[KroneckerTerm, ...] = ()

    @property
    def columns_are_free(self) -> bool:
        """Whether the columns of Z are independent problems."""
        return self.right is None and self.row_sums is None and not self.kronecker

    def curvature(self, Z: Array) -> Array:
        """The Hessian applied to Z."""
        product = self.left.apply(Z) if self.right is None else self.left.apply_both(Z, self.right)
        if self.ridge:
            product = product + self.ridge * Z
        if self.row_sums is not None:
            product = product + (self.row_sums * Z.sum(axis=1))[:, None]
        for term in self.kronecker:
            product = product + term.applied(Z)
        return product

    def gradient(self, Z: Array) -> Array:
        """The gradient at Z."""
        return self.curvature(Z) - self.linear

    @cached_property
    def lipschitz(self) -> float:
        """An estimate of the largest curvature."""
        joint = self.left.norm * (1.0 if self.right is None else self.right.norm)
        coupled = 0.0 if self.row_sums is None else float(self.row_sums.max()) * self.linear.shape[1]
        return joint + self.ridge + coupled + sum(term.norm for term in self.kronecker)

    def columns(self, columns: slice) -> "Quadratic":
        """The problem of some columns, which must be independent of the others."""
        return Quadratic(self.left, self.linear[:, columns], ridge=self.ridge)

    def of_block(self, block: FreeBlock, Z: Array, fixed: FixedEntries) -> "Quadratic":
        """The problem of a block of learned entries of Z_1, with all other entries fixed.

        The contribution of fixed rows is subtracted from the target. Columns of Z_1 are coupled only by sums of rows,
        which contain learned entries only.
        """
        rows, columns = block
        around = Z[:, columns].copy()
        around[rows] = 0
        linear = (self.linear[:, columns] - self.left.apply(around))[rows]
        row_sums = None
        if self.row_sums is not None:
            row_sums, learned = self.row_sums[rows], fixed.at_learned(Z)
            learned[block.entries] = 0
            linear -= (row_sums * learned[rows].sum(axis=1))[:, None]
        return Quadratic(self.left.of_rows(rows), linear, ridge=self.ridge, row_sums=row_sums)


def inner(first: Array, second: Array) -> float:
    """<A, B>, without a temporary array."""
    return float(np.einsum("ij,ij->", first, second, dtype=np.float64))
