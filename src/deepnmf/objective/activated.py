"""X ≈ f(··· f(H Z_m) ···) Z_1: values and gradients by the chain rule.

With the factors fixed, rows see the data only through F = X Z_1ᵀ and Z_1 Z_1ᵀ: nothing here is as wide as X.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.activations import Activation
from deepnmf.objective.chain import Chain
from deepnmf.objective.gram import FormedGram
from deepnmf.objective.ladder import Ladder
from deepnmf.objective.linear import Statistics
from deepnmf.objective.penalties import CodePenalty, Penalty, codes_share, factor_share
from deepnmf.objective.quadratic import Quadratic, inner


class Slope(NamedTuple):
    """The gradient in a factor, and a measure of curvature for each of its entries (Gauss-Newton, diagonal)."""

    gradient: Array
    curvature: Array

    def step(self) -> Array:
        """The gradient in units of the curvature; what has none does not move."""
        return np.divide(self.gradient, self.curvature, out=np.zeros_like(self.gradient), where=self.curvature > 0)


@dataclass(frozen=True)
class ActivatedRows:
    """The problem of each row's codes h with the factors fixed: ½‖x - v Z_1‖² - ½‖x‖² + penalty.

    v = f(··· f(h Z_m) ··· Z_2) is the row's code on the lowest layer.
    """

    lowest_gram: Array  # Z_1 Z_1ᵀ
    upper: Ladder  # of Z_2..Z_m
    penalty: CodePenalty

    def values_below(self, H: Array) -> list[Array]:
        """V_1..V_m, the codes of every layer, from those of the top one."""
        return self.upper.trace(H).values[::-1]

    def evaluate(self, H: Array, F: Array) -> tuple[Array, Array]:
        """The value of each row, and its gradient in the codes."""
        trace = self.upper.trace(H)
        V = trace.bottom
        VG = V @ self.lowest_gram
        HP = H @ self.penalty.gram
        loss = _row_sums(V, 0.5 * VG - F) + _row_sums(H, 0.5 * HP + self.penalty.l1)
        return loss, self.upper.backward(trace, VG - F).top + HP + self.penalty.l1

    def slopes(self, H: Array, F: Array) -> list[Slope]:
        """The slope of the fit in Z_2..Z_m, summed over the rows."""
        trace = self.upper.trace(H)
        found = self.upper.backward(trace, trace.bottom @ self.lowest_gram - F)
        gradients = self.upper.factor_gradients(trace, found)
        bent = self.upper.curvature(trace, self._lowest_curvature)
        above = reversed(trace.values[:-1])
        curvatures = [np.square(V).T @ curvature for V, curvature in zip(above, bent.arguments, strict=True)]
        return [Slope(*pair) for pair in zip(gradients, curvatures, strict=True)]

    def curvature(self, H: Array) -> Array:
        """The slopes' measure of curvature for each entry of the codes."""
        return self.upper.curvature(self.upper.trace(H), self._lowest_curvature).top + np.diag(self.penalty.gram)

    @property
    def _lowest_curvature(self) -> Array:
        return np.diag(self.lowest_gram)


@dataclass(frozen=True)
class ActivatedObjective:
    """½‖X - V_1 Z_1‖² + penalties. Penalties see the codes' scale against Z_m alone: no other one is free to move."""

    activation: Activation
    penalties: tuple[Penalty, ...] = ()

    def rows(self, chain: Chain, dtype: np.dtype[np.floating]) -> ActivatedRows:
        """The rows' problem at given factors."""
        factors = [Z.astype(dtype, copy=False) for Z in chain.factors]
        penalty = self.code_penalty(chain)
        return ActivatedRows(
            lowest_gram=factors[0] @ factors[0].T,
            upper=Ladder(tuple(factors[1:]), self.activation),
            penalty=CodePenalty(penalty.gram.astype(dtype), penalty.l1),
        )

    def code_penalty(self, chain: Chain) -> CodePenalty:
        """The penalties' shares of the codes' problem, added up."""
        return codes_share(self.penalties, chain)

    def value(self, chain: Chain, lowest: Statistics, K: Array, code_sums: Array) -> float:
        """The objective, from the statistics of V_1 with X and of the codes with themselves."""
        Z = chain.factors[0]
        fit = 0.5 * lowest.sqnorm - inner(lowest.M, Z) + 0.5 * inner(lowest.K, Z @ Z.T)
        return fit + sum(penalty.value(chain, K, code_sums) for penalty in self.penalties)

    def lowest_block(self, chain: Chain, lowest: Statistics, K: Array) -> Quadratic:
        """The problem of Z_1, next to the data: linear in the codes V_1, so quadratic."""
        terms = factor_share(self.penalties, chain, 0, K)
        gram = lowest.K if terms.extra_gram is None else lowest.K + terms.extra_gram
        return Quadratic(FormedGram(gram), lowest.M - terms.l1, ridge=terms.ridge, row_sums=terms.row_sums)

    def with_penalties(self, chain: Chain, K: Array, slopes: Sequence[Slope]) -> Iterator[Slope]:
        """The slopes of the whole objective in Z_2..Z_m, from those of the fit."""
        for layer, slope in enumerate(slopes, start=1):
            terms, Z = factor_share(self.penalties, chain, layer, K), chain.factors[layer]
            price = terms.applied(Z) + terms.l1
            yield Slope(slope.gradient + price, slope.curvature + terms.diagonal(len(Z))[:, None])


def _row_sums(first: Array, second: Array) -> Array:
    return np.einsum("ij,ij->i", first, second, dtype=np.float64)
