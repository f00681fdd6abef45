from dataclasses import dataclass

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain
from deepnmf.objective.gram import left_gram, right_gram
from deepnmf.objective.penalties import CodePenalty, Penalty, codes_share, factor_share
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
        return codes_share(self.penalties, chain)

    def block(self, chain: Chain, layer: int, stats: Statistics, n_steps: int) -> Quadratic:
        """The problem of Z_l with everything else fixed, ½<AᵀKA Z BBᵀ, Z> - <AᵀMBᵀ, Z> + penalties."""
        terms = factor_share(self.penalties, chain, layer, stats.K)
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
