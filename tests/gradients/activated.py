"""The chain with an activation: every map, depth and penalty."""

import numpy as np

from deepnmf.objective import (
    ACTIVATIONS,
    ActivatedObjective,
    Chain,
    RidgeCodes,
    SquaredL1Codes,
    SquaredL1Features,
    Statistics,
    TopScaleSquaredL1Codes,
    UnitScaleSquaredL1Features,
)
from gradients.case import Case

MU, LAM = (0.3, 0.2, 0.15, 0.1), 0.4


def penalties(name, depth):
    return {
        "none": (),
        "L": (UnitScaleSquaredL1Features(MU[:depth]),),
        "R": (TopScaleSquaredL1Codes(LAM),),
        "RL1": (SquaredL1Features(MU[:depth]), SquaredL1Codes(LAM)),
        "RL2": (SquaredL1Features(MU[:depth]), RidgeCodes(LAM)),
    }[name]


def case(activation, depth, penalty, nonnegative, n=6, p=5):
    rng = np.random.default_rng(0)
    sizes = (5, 4, 4, 3)[:depth]
    factors = [0.2 + rng.random(shape) if nonnegative else rng.standard_normal(shape) for shape in shapes(p, sizes)]
    arrays = {"H": 0.2 + rng.random((n, sizes[-1])), **{f"Z{i}": Z for i, Z in enumerate(factors, start=1)}}
    X = rng.standard_normal((n, p))
    objective = ActivatedObjective(ACTIVATIONS[activation], penalties(penalty, depth))

    def chain_of(arrays):
        return Chain.of([arrays[f"Z{i}"] for i in range(1, depth + 1)], nonnegative=nonnegative)

    def statistics(arrays):
        chain, H = chain_of(arrays), arrays["H"]
        V = objective.rows(chain, X.dtype).values_below(H)[0]
        return Statistics(V.T @ X, V.T @ V, V.sum(axis=0), float(np.sum(X**2))), H.T @ H, H.sum(axis=0)

    def value(arrays):
        return objective.value(chain_of(arrays), *statistics(arrays))

    def gradients(arrays):
        chain, H = chain_of(arrays), arrays["H"]
        lowest, K, _ = statistics(arrays)
        rows, F = objective.rows(chain, X.dtype), X @ chain.factors[0].T
        slopes = objective.with_penalties(chain, K, rows.slopes(H, F))
        upper = {f"Z{i}": slope.gradient for i, slope in enumerate(slopes, start=2)}
        return {
            "H": rows.evaluate(H, F)[1],
            "Z1": objective.lowest_block(chain, lowest, K).gradient(chain.factors[0]),
        } | upper

    return Case(arrays, value, gradients)


def shapes(p, sizes):
    return zip(sizes, (p, *sizes), strict=False)


CASES = {
    f"activated {activation}, depth {depth}, penalty {penalty}": case(activation, depth, penalty, nonnegative=True)
    for activation in ACTIVATIONS
    for depth in (1, 2, 3, 4)
    for penalty in ("none", "L", "R", "RL1", "RL2")
} | {
    f"activated {activation}, depth {depth}, factors of any sign": case(activation, depth, "none", nonnegative=False)
    for activation in ACTIVATIONS
    for depth in (1, 2, 3, 4)
}
