"""The certificate: the violation of the first-order optimality conditions, measured at the result itself."""

from deepnmf.arrays import Array
from deepnmf.objective import Chain
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.descent import ChainDescent, relative
from deepnmf.solvers.steps import squared_violation


def kkt_residual(descent: ChainDescent, codes: Array, chain: Chain) -> float:
    """Return the largest relative projected gradient among codes and factors, with one pass over X.

    The projected gradient is the gradient of the objective without the entries that would push a zero below 0. It is
    relative to the norm of its linear part, X Dᵀ for the codes: 0 at a stationary point, and of the order of 1 at a
    random start. The value measured during a sweep is older, because it belongs to the point where the sweep started.
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
