"""Chains with an activation: every activation, depth and penalty."""

from dataclasses import replace

import numpy as np

from deepnmf.objective import (
    ACTIVATIONS,
    ActivatedObjective,
    Chain,
    GraphPenalty,
    RidgeCodes,
    SquaredL1Codes,
    SquaredL1Features,
    Statistics,
    TopScaleSquaredL1Codes,
    UnitScaleSquaredL1Features,
)
from deepnmf.objective.graphs import ClassMeans, LabelGraph
from deepnmf.solvers.activated_descent import Known
from gradients.case import Case

MU, LAM = (0.3, 0.2, 0.15, 0.1), 0.4


def penalties(name, depth):
    return {
        "none": (),
        "L": (UnitScaleSquaredL1Features(MU[:depth]),),
        "R": (TopScaleSquaredL1Codes((LAM,) * depth),),
        "RL1": (SquaredL1Features(MU[:depth]), SquaredL1Codes(LAM)),
        "RL2": (SquaredL1Features(MU[:depth]), RidgeCodes(LAM)),
    }[name]


def label_graphs(depth, n):
    """One attribute per layer, with two or three classes and unknown labels."""
    places = [np.arange(n) % (2 + layer % 2) - (np.arange(n) == layer) * 9 for layer in range(depth)]
    graphs = [LabelGraph(ClassMeans(np.maximum(place, -1))) for place in places]
    return tuple(GraphPenalty(graph, 0.1 + 0.1 * layer, layer) for layer, graph in enumerate(graphs))


def case(activation, depth, penalty, nonnegative, graphs=(), n=6, p=5):
    rng = np.random.default_rng(0)
    sizes = (5, 4, 4, 3)[:depth]
    factors = [0.2 + rng.random(shape) if nonnegative else rng.standard_normal(shape) for shape in shapes(p, sizes)]
    arrays = {"H": 0.2 + rng.random((n, sizes[-1])), **{f"Z{i}": Z for i, Z in enumerate(factors, start=1)}}
    X = rng.standard_normal((n, p))
    objective = ActivatedObjective(ACTIVATIONS[activation], (*penalties(penalty, depth), *graphs))

    def chain_of(arrays):
        return Chain.of([arrays[f"Z{i}"] for i in range(1, depth + 1)], nonnegative=nonnegative)

    def statistics(arrays):
        chain, H = chain_of(arrays), arrays["H"]
        V = objective.rows(chain, X.dtype).values_below(H)[0]
        sqnorm = float(np.sum(X**2))
        return Statistics(V.T @ X, V.T @ V, V.sum(axis=0), sqnorm), Statistics(H.T @ X, H.T @ H, H.sum(axis=0), sqnorm)

    def known(arrays):
        below = objective.rows(chain_of(arrays), X.dtype).values_below(arrays["H"])
        values = [below[penalty.layer] for penalty in graphs]
        products = [penalty.graph.product(V) for penalty, V in zip(graphs, values, strict=True)]
        return Known(tuple(values), tuple(products))

    def value(arrays):
        return objective.value(chain_of(arrays), *statistics(arrays), known(arrays).roughness)

    def gradients(arrays):
        chain, H = chain_of(arrays), arrays["H"]
        lowest, top = statistics(arrays)
        seen = known(arrays)
        pulls = objective.pulls(chain, seen.values, seen.products)
        rows, F = replace(objective.rows(chain, X.dtype), pulls=pulls), X @ chain.factors[0].T
        slopes = objective.with_penalties(chain, top, rows.slopes(H, F), seen.roughness)
        upper = {f"Z{i}": slope.gradient for i, slope in enumerate(slopes, start=2)}
        return {
            "H": rows.evaluate(H, F)[1],
            "Z1": objective.lowest_block(
                chain, objective.gram_with_graphs(chain, lowest, seen.roughness), top
            ).gradient(chain.factors[0]),
        } | upper

    return Case(arrays, value, gradients)


def shapes(p, sizes):
    return zip(sizes, (p, *sizes), strict=False)


CASES = (
    {
        f"activated {activation}, depth {depth}, penalty {penalty}": case(activation, depth, penalty, nonnegative=True)
        for activation in ACTIVATIONS
        for depth in (1, 2, 3, 4)
        for penalty in ("none", "L", "R", "RL1", "RL2")
    }
    | {
        f"activated {activation}, depth {depth}, factors of any sign": case(
            activation, depth, "none", nonnegative=False
        )
        for activation in ACTIVATIONS
        for depth in (1, 2, 3, 4)
    }
    | {
        f"activated {activation}, depth {depth}, a graph a layer": case(
            activation, depth, "none", nonnegative=False, graphs=label_graphs(depth, n=6)
        )
        for activation in ACTIVATIONS
        for depth in (1, 2, 3, 4)
    }
)
