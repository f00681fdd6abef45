"""How far a result is from the first-order conditions of optimality, measured at the result itself."""

from deepnmf.arrays import Array
from deepnmf.objective import Chain
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.descent import ChainDescent, relative
from deepnmf.solvers.steps import squared_violation


def kkt_residual(descent: ChainDescent, codes: Array, chain: Chain) -> float:
    """The largest relative projected gradient among codes and factors, with one pass over X.

    The gradient of the objective in one of them, without what points out of the nonnegative ones at a zero, by the
    norm of its linear part, X Dᵀ for the codes: 0 at a stationary point, and of the order of 1 at a guess. What a sweep
    measures on its way is older: it belongs to where that sweep set out from.
    """
    stats, worst = descent.codes_residual(codes, chain)
    for layer in range(chain.depth):
        problem, Z = descent.objective.block(chain, layer, stats, 1), chain.factors[layer]
        if chain.nonnegative:
            violation = squared_violation(Z, chain.at_learned_entries(layer, problem.gradient(Z)))
        else:
            violation = descent.free_factor(chain, layer, stats).violation
        worst = max(worst, relative(violation, inner(problem.linear, problem.linear)))
    return worst
