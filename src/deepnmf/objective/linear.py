from dataclasses import dataclass, replace

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain
from deepnmf.objective.coupled import NO_GRAPHS, Graphs
from deepnmf.objective.gram import left_gram, right_gram
from deepnmf.objective.penalties import CodePenalty, Penalty, codes_share, factor_share
from deepnmf.objective.quadratic import Quadratic, inner


@dataclass(frozen=True)
class Statistics:
    """All that a linear chain needs to know of the data: M = HᵀX, K = HᵀH, h = Hᵀ1, ‖X‖², and HᵀLH a graph."""

    M: Array
    K: Array
    code_sums: Array
    sqnorm: float
    couplings: tuple[Array, ...] = ()


@dataclass(frozen=True)
class Objective:
    """½‖X - H D‖² + penalties, D the chain's decoder, seen through the statistics alone."""

    penalties: tuple[Penalty, ...] = ()
    graphs: Graphs = NO_GRAPHS

    def value(self, chain: Chain, stats: Statistics) -> float:
        """The objective at the codes of the statistics."""
        D = chain.decoder()
        fit = 0.5 * stats.sqnorm - inner(stats.M, D) + 0.5 * inner(stats.K, D @ D.T)
        priced = sum(penalty.value(chain, stats.K, stats.code_sums) for penalty in self.penalties)
        return fit + priced + self.graphs.value(chain, stats.couplings)

    def code_penalty(self, chain: Chain) -> CodePenalty:
        """The penalties' shares of the codes' problem, added up."""
        return codes_share(self.penalties, chain)

    def held(self, chain: Chain, stats: Statistics) -> Statistics:
        """The statistics as factors see them: graphs on the top codes hold the features that those codes are of."""
        return replace(stats, K=stats.K + self.graphs.top_gram(chain, stats.couplings)) if self.graphs else stats

    def block(self, chain: Chain, layer: int, stats: Statistics, n_steps: int) -> Quadratic:
        """The problem of Z_l with everything else fixed, ½<AᵀKA Z BBᵀ, Z> - <AᵀMBᵀ, Z> + penalties."""
        terms = factor_share(self.penalties, chain, layer, stats.K)
        A, below = chain.above(layer), chain.below(layer)
        K = self.held(chain, stats).K
        K = K if terms.extra_gram is None else K + terms.extra_gram
        linear = stats.M
        for factor in below:
            linear = linear @ factor.T
        linear = linear if A is None else A.T @ linear
        columns = len(stats.K) if A is None else min(A.shape)
        return Quadratic(
            left=left_gram(A, K),
            linear=linear - terms.l1 if terms.l1 else linear,
            right=right_gram(below, columns, n_steps) if below else None,
            ridge=terms.ridge,
            row_sums=terms.row_sums,
        )
