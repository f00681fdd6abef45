"""Terms of an energy as functions of one nonnegative array, with all others fixed.

A gradient is `down` - `up`: the nonnegative parts that decrease and increase the array in a descent step.
Multiplicative updates use their ratio.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.quadratic import inner


class Pulls(NamedTuple):
    """The gradient as a difference of nonnegative parts, `down` - `up`."""

    up: Array
    down: Array


class Term(Protocol):
    """A differentiable function of one array."""

    def value(self, V: Array) -> float:
        """Its value."""
        ...

    def pulls(self, V: Array) -> Pulls:
        """Its gradient, split into `up` and `down`."""
        ...


@dataclass(frozen=True)
class Sum:
    """Several terms as one."""

    terms: Sequence[Term]

    def value(self, V: Array) -> float:
        return sum(term.value(V) for term in self.terms)

    def pulls(self, V: Array) -> Pulls:
        ups, downs = zip(*(term.pulls(V) for term in self.terms), strict=True)
        return Pulls(sum(ups[1:], start=ups[0]), sum(downs[1:], start=downs[0]))


@dataclass(frozen=True)
class ValueOnly:
    """A term that is part of the value but not of the gradient."""

    term: Term

    def value(self, V: Array) -> float:
        return self.term.value(V)

    def pulls(self, V: Array) -> Pulls:
        zero = np.zeros_like(V)
        return Pulls(zero, zero)


@dataclass(frozen=True)
class GramFit:
    """½‖X - V D‖² through F = X Dᵀ, G = D Dᵀ and ‖X‖².

    It is used for both sides of a layer: V = H with D = Z, and V = Zᵀ with D = Hᵀ and Xᵀ.
    """

    target: Array
    gram: Array
    sqnorm: float

    def value(self, V: Array) -> float:
        return 0.5 * self.sqnorm - inner(self.target, V) + 0.5 * inner(V @ self.gram, V)

    def pulls(self, V: Array) -> Pulls:
        return Pulls(self.target, V @ self.gram)


@dataclass(frozen=True)
class Labels:
    """The one-hot labels Y of the labeled rows, and their weight λ."""

    rows: Array
    one_hot: Array
    weight: float

    def on_codes(self, head: Array) -> "LabelFit":
        """(λ/2)‖L∘(Y - H B)‖² as a function of H."""
        return LabelFit(self, head)

    def on_head(self, H: Array) -> GramFit:
        """The same as a function of Bᵀ."""
        known, Y = H[self.rows].astype(np.float64, copy=False), self.one_hot
        return GramFit(self.weight * Y.T @ known, self.weight * known.T @ known, self.weight * inner(Y, Y))


@dataclass(frozen=True)
class LabelFit:
    """(λ/2)‖L∘(Y - V B)‖²: how well the codes V of the labeled rows, times B, fit their labels."""

    labels: Labels
    head: Array

    def value(self, V: Array) -> float:
        residual = V[self.labels.rows] @ self.head - self.labels.one_hot
        return 0.5 * self.labels.weight * inner(residual, residual)

    def pulls(self, V: Array) -> Pulls:
        up, down = np.zeros_like(V), np.zeros_like(V)
        rows, back = self.labels.rows, self.labels.weight * self.head.T
        up[rows], down[rows] = self.labels.one_hot @ back, (V[rows] @ self.head) @ back
        return Pulls(up, down)
