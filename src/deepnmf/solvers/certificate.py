"""How far a result is from the first-order conditions of optimality, measured at the result itself."""

from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Sums
from deepnmf.objective import Chain, Statistics
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.descent import ChainDescent, relative
from deepnmf.solvers.statistics import block_statistics
from deepnmf.solvers.steps import projected_gradient


def kkt_residual(descent: ChainDescent, codes: Array, chain: Chain) -> float:
    """The largest relative projected gradient among codes and factors, with one pass over X.

    The gradient of the objective in one of them, without what points out of the nonnegative ones at a zero, by the
    norm of its linear part, X Dᵀ for the codes: 0 at a stationary point, and of the order of 1 at a guess. What a sweep
    measures on its way is older: it belongs to where that sweep set out from.
    """
    stats, worst = _codes_residual(descent, codes, chain)
    for layer in range(chain.depth):
        problem = descent.objective.block(chain, layer, stats, 1)
        if chain.nonnegative:
            violation = _violation(chain.factors[layer], problem.gradient(chain.factors[layer]))
        else:
            violation = descent.free_factor(chain, layer, stats).violation
        worst = max(worst, relative(violation, inner(problem.linear, problem.linear)))
    return worst


@dataclass(frozen=True)
class _GradientStep:
    """Statistics of one block of rows, and the gradient of its codes; `rows` are these and what graphs add to it."""

    decoder: Array
    gram: Array
    l1: float

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        H, *pulls = rows
        target = X_b @ self.decoder.T - self.l1
        gradient = sum(pulls, start=H @ self.gram - target)
        return (), (*block_statistics(X_b, H), np.array([_violation(H, gradient), inner(target, target)]))


def _codes_residual(descent: ChainDescent, codes: Array, chain: Chain) -> tuple[Statistics, float]:
    """The statistics of the codes, and how far these are from optimal."""
    engine, graphs, D = descent.engine, descent.objective.graphs, chain.decoder()
    penalty = descent.objective.code_penalty(chain)
    step = _GradientStep(D.astype(engine.dtype), (D @ D.T + penalty.gram).astype(engine.dtype), penalty.l1)
    products = graphs.products(codes)
    pulls = [LH @ S.astype(LH.dtype) for LH, S in zip(products, graphs.metrics(chain), strict=True)]
    _, (M, K, code_sums, (violation, size)) = engine.completed(codes, D).sweep((codes, *pulls), step)
    joint = graphs.joint([codes.T @ LH for LH in products])
    stats = Statistics(M, K, code_sums, engine.sqnorm, joint)
    return stats, relative(violation, size)


def _violation(Z: Array, gradient: Array) -> float:
    """The square of the projected gradient: at a zero only what would raise it counts."""
    projected = projected_gradient(Z, gradient)
    return inner(projected, projected)
