"""½‖X - Ĝ_1 S_1 F̂_1 - G W‖² + (α/2)‖Q∘(Y - Ĝ_1 U - G V)‖²: its value and every gradient, by the chain rule.

Ĝ_1 = g(··· g(G S^R_m) ··· S^R_2) and F̂_1 = g(S^L_2 ··· g(S^L_m F)). X and Y are linear in B = [Ĝ_1, G]: X ≈ B E with
E = [S_1 F̂_1; W], Y ≈ B P with P = [U; V]. The codes G need only X Eᵀ of the data, everything else only BᵀX and BᵀB, so
no array here is as large as X. A part that a model does not have is an array without rows or without columns.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.objective.gram import FormedGram
from deepnmf.objective.layer_stack import Backward, LayerStack, Trace
from deepnmf.objective.quadratic import Quadratic, inner


@dataclass(frozen=True)
class TwoSided:
    """All variables except the codes.

    `features` holds S^R_2..S^R_m, `basis` the transposes of S^L_2..S^L_m: its rows are the columns of F. `head` is P.
    """

    features: LayerStack
    S: Array
    basis: LayerStack
    F: Array
    W: Array
    head: Array

    @property
    def n_deep(self) -> int:
        """The number of columns of Ĝ_1 in B."""
        return len(self.S)

    @cached_property
    def basis_trace(self) -> Trace:
        """The forward pass of the basis side, with one row per column of X."""
        return self.basis.trace(self.F.T)

    @cached_property
    def decoder(self) -> Array:
        """E."""
        return np.vstack([self.S @ self.basis_trace.bottom.T, self.W])

    def stacked(self, codes: Array) -> Array:
        """B."""
        return stacked(self.features.trace(codes), len(self.W))

    def rescaled(self, scale: Array) -> "TwoSided":
        """Return the same model for codes that are divided by `scale`, column by column."""
        column = scale[:, None]
        shallow = column[: len(self.W)]
        U, V = np.split(self.head, [self.n_deep])
        scaled = replace(self, W=shallow * self.W)
        if not self.features.factors:  # Ĝ_1 is G itself
            return replace(scaled, S=column * self.S, head=np.vstack([column * U, shallow * V]))
        *lower, top = self.features.factors
        features = replace(self.features, factors=(*lower, column * top))
        return replace(scaled, features=features, head=np.vstack([U, shallow * V]))


def stacked(trace: Trace, n_shallow: int) -> Array:
    """B = [Ĝ_1, G]; without the shallow path, Ĝ_1 alone."""
    return np.hstack([trace.bottom, trace.values[0][:, :n_shallow]])


@dataclass(frozen=True)
class TwoSidedSums:
    """The sums over rows that the variables other than the codes need.

    M = BᵀX, K = BᵀB, and over the labeled rows N = BᵀY, J = BᵀQB; ‖X‖², and ‖Y‖², the number of labels.
    """

    M: Array
    K: Array
    N: Array
    J: Array
    sqnorm: float
    n_labels: float

    def value(self, model: TwoSided, label_weight: float) -> float:
        """The objective."""
        fit = _half_square(self.sqnorm, self.M, self.K, model.decoder)
        return fit + label_weight * _half_square(self.n_labels, self.N, self.J, model.head)

    def shallow_block(self, model: TwoSided) -> Quadratic:
        """The problem of W, equation (11)."""
        deep, shallow = slice(model.n_deep), slice(model.n_deep, None)
        linear = self.M[shallow] - self.K[shallow, deep] @ model.decoder[deep]
        return Quadratic(FormedGram(self.K[shallow, shallow]), linear)

    def middle_block(self, model: TwoSided) -> Quadratic:
        """The problem of S_1, equation (7)."""
        gram, linear = self._deep(model)
        F = model.basis_trace.bottom.T
        return Quadratic(FormedGram(gram), linear @ F.T, right=FormedGram(F @ F.T))

    def basis_block(self, model: TwoSided) -> Quadratic:
        """The problem of F̂_1, equation (4)."""
        gram, linear = self._deep(model)
        return Quadratic(FormedGram(model.S.T @ gram @ model.S), model.S.T @ linear)

    def head_block(self) -> Quadratic:
        """The problem of P up to its weight, equations (12) and (13)."""
        return Quadratic(FormedGram(self.J), self.N)

    def _deep(self, model: TwoSided) -> tuple[Array, Array]:
        """The problem of S_1 F̂_1: its Gram matrix and linear term."""
        deep, shallow = slice(model.n_deep), slice(model.n_deep, None)
        return self.K[deep, deep], self.M[deep] - self.K[deep, shallow] @ model.W


def _half_square(sqnorm: float, cross: Array, gram: Array, Z: Array) -> float:
    """½‖A - BZ‖² from ‖A‖², BᵀA and BᵀB."""
    return 0.5 * sqnorm - inner(cross, Z) + 0.5 * inner(gram @ Z, Z)


@dataclass(frozen=True)
class Rows:
    """The data of a block of rows in the problem of its codes: the target X Eᵀ + αY Pᵀ of B, and the labeled rows."""

    target: Array
    known: Array


@dataclass(frozen=True)
class Point:
    """Codes of a block of rows, and the values computed from them.

    `pull` is the part of the gradient in B that is linear in B, B(EEᵀ + αQPPᵀ); `values` are the losses of the rows up
    to terms that do not depend on the codes.
    """

    trace: Trace
    B: Array
    pull: Array
    values: Array

    @property
    def codes(self) -> Array:
        """G."""
        return self.trace.values[0]

    def where(self, rows: Array, other: "Point") -> "Point":
        """Combine the selected rows of this point with the other rows of another point."""
        if rows.all():
            return self
        column = rows[:, None]
        values, arguments = (
            [np.where(column, mine, theirs) for mine, theirs in zip(ours, others, strict=True)]
            for ours, others in zip(self.trace, other.trace, strict=True)
        )
        B, pull = np.where(column, self.B, other.B), np.where(column, self.pull, other.pull)
        return Point(Trace(values, arguments), B, pull, np.where(rows, self.values, other.values))


@dataclass(frozen=True)
class CodesProblem:
    """The problem of each row of codes, with everything else fixed; arrays have the dtype of the data."""

    features: LayerStack
    decoder: Array
    gram: Array
    head: Array
    label_weight: float
    n_shallow: int

    @classmethod
    def of(cls, model: TwoSided, label_weight: float, dtype: Any) -> "CodesProblem":
        """Form EEᵀ once for all rows."""
        E = model.decoder
        factors = [Z.astype(dtype, copy=False) for Z in model.features.factors]
        decoder, gram, head = (Z.astype(dtype, copy=False) for Z in (E, E @ E.T, model.head))
        return cls(
            LayerStack(tuple(factors), model.features.activation), decoder, gram, head, label_weight, len(model.W)
        )

    def rows(self, X_b: Matrix, Y_b: Array, known: Array) -> Rows:
        """The target of a block of rows, by its only product with X."""
        return Rows(X_b @ self.decoder.T + self.label_weight * (Y_b @ self.head.T), known)

    def at(self, codes: Array, rows: Rows) -> Point:
        """Evaluate the losses of the rows."""
        trace = self.features.trace(codes)
        B = stacked(trace, self.n_shallow)
        pull = B @ self.gram
        if self.head.size:
            pull += (self.label_weight * rows.known * (B @ self.head)) @ self.head.T
        return Point(trace, B, pull, np.einsum("ij,ij->i", B, 0.5 * pull - rows.target))

    def backward(self, point: Point, in_B: Array) -> Backward:
        """Propagate a gradient in B to the codes, equations (8) and (10)."""
        n_deep = in_B.shape[1] - self.n_shallow
        found = self.features.backward(point.trace, in_B[:, :n_deep])
        return found._replace(top=found.top + in_B[:, n_deep:]) if self.n_shallow else found
