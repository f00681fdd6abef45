from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain
from deepnmf.objective.gram import left_gram, right_gram
from deepnmf.objective.penalties import CodePenalty, FactorTerms, Penalty
from deepnmf.objective.quadratic import Quadratic, inner


@dataclass(frozen=True)
class Statistics:
    """All that a linear chain needs to know of the data: M = HᵀX, K = HᵀH, h = Hᵀ1 and ‖X‖²."""

    M: Array
    K: Array
    code_sums: Array
    sqnorm: float


@dataclass(frozen=True)
class Objective:
    """½‖X - H D‖² + penalties, D the chain's decoder, seen through the statistics alone."""

    penalties: tuple[Penalty, ...] = ()

    def value(self, chain: Chain, stats: Statistics) -> float:
        """The objective at the codes of the statistics."""
        D = chain.decoder()
        fit = 0.5 * stats.sqnorm - inner(stats.M, D) + 0.5 * inner(stats.K, D @ D.T)
        return fit + sum(penalty.value(chain, stats.K, stats.code_sums) for penalty in self.penalties)

    def code_penalty(self, chain: Chain) -> CodePenalty:
        """The penalties' shares of the codes' problem, added up."""
        order = len(chain.factors[-1])
        shares = [penalty.on_codes(chain) for penalty in self.penalties]
        gram = sum((share.gram for share in shares), start=np.zeros((order, order)))
        return CodePenalty(gram, sum(share.l1 for share in shares))

    def block(self, chain: Chain, layer: int, stats: Statistics, n_steps: int) -> Quadratic:
        """The problem of Z_l with everything else fixed, ½<AᵀKA Z BBᵀ, Z> - <AᵀMBᵀ, Z> + penalties."""
        terms = _added([penalty.on_factor(chain, layer, stats.K) for penalty in self.penalties])
        A, below = chain.above(layer), chain.below(layer)
        K = stats.K if terms.extra_gram is None else stats.K + terms.extra_gram
        linear = stats.M
        for factor in below:
            linear = linear @ factor.T
        linear = linear if A is None else A.T @ linear
        columns = len(stats.K) if A is None else min(A.shape)
        return Quadratic(
            left=left_gram(A, K),
            linear=linear - terms.l1,
            right=right_gram(below, columns, n_steps) if below else None,
            ridge=terms.ridge,
            row_sums=terms.row_sums,
        )


def _added(terms: Sequence[FactorTerms]) -> FactorTerms:
    return FactorTerms(
        extra_gram=_sum([term.extra_gram for term in terms]),
        ridge=sum(term.ridge for term in terms),
        row_sums=_sum([term.row_sums for term in terms]),
        l1=sum(term.l1 for term in terms),
    )


def _sum(arrays: Sequence[Array | None]) -> Array | None:
    present = [array for array in arrays if array is not None and array.any()]
    return sum(present[1:], start=present[0]) if present else None
