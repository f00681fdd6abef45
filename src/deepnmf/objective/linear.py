"""Squared error of a linear chain with penalties, and its quadratic problem in each factor."""

from dataclasses import dataclass
from functools import cached_property

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain, Statistics
from deepnmf.objective.gram import left_gram, right_gram
from deepnmf.objective.graph_penalties import GraphPenalty, Graphs
from deepnmf.objective.penalties import Penalized, Penalty
from deepnmf.objective.quadratic import FactorTerms, Quadratic, inner


@dataclass(frozen=True)
class Objective(Penalized):
    """½‖X - H D‖² + penalties with the decoder D of the chain, as a function of the statistics."""

    penalties: tuple[Penalty, ...] = ()

    @cached_property
    def graphs(self) -> Graphs:
        """The penalties that join samples."""
        return Graphs(tuple(one for one in self.penalties if isinstance(one, GraphPenalty)))

    def value(self, chain: Chain, stats: Statistics) -> float:
        """The objective at the codes of the statistics."""
        D = chain.decoder()
        fit = 0.5 * stats.sqnorm - inner(stats.M, D) + 0.5 * inner(stats.K, D @ D.T)
        return fit + sum(penalty.value(chain, stats) for penalty in self.penalties)

    def factor_terms(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        """The sum of the terms that penalties add to the problem of a factor."""
        return FactorTerms.sum_of([penalty.on_factor(chain, layer, stats) for penalty in self.penalties])

    def block(self, chain: Chain, layer: int, stats: Statistics, n_steps: int) -> Quadratic:
        """The problem of Z_l with everything else fixed, ½<AᵀKA Z BBᵀ, Z> - <AᵀMBᵀ, Z> + penalties."""
        terms = self.factor_terms(chain, layer, stats) if self.penalties else FactorTerms()
        K = stats.K if terms.top_gram is None else stats.K + terms.top_gram
        A, below = chain.above(layer), chain.below(layer)
        columns = len(K) if A is None else min(A.shape)
        linear = block_target(A, below, stats.M)
        linear = linear - terms.l1 if terms.l1 else linear
        return Quadratic(
            left=left_gram(A, K, terms.gram),
            linear=linear if terms.linear is None else linear + terms.linear,
            right=right_gram(below, columns, n_steps) if below else None,
            ridge=terms.ridge,
            row_sums=terms.row_sums,
            kronecker=terms.kronecker,
        )


def block_target(A: Array | None, below: list[Array], M: Array) -> Array:
    """AᵀMBᵀ."""
    for factor in below:
        M = M @ factor.T
    return M if A is None else A.T @ M
