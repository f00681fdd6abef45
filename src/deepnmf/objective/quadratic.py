"""The quadratic problem of one factor, with all others fixed."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.gram import Gram, LeftGram
from deepnmf.objective.penalties import KroneckerTerm


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


def inner(first: Array, second: Array) -> float:
    """<A, B>, without a temporary array."""
    return float(np.einsum("ij,ij->", first, second, dtype=np.float64))
