"""Linear chains: every penalty on every layer, for every depth."""

import numpy as np

from deepnmf.objective import (
    Chain,
    ElasticNet,
    GraphPenalty,
    Guide,
    Objective,
    RidgeCodes,
    SquaredL1Codes,
    SquaredL1Features,
    Statistics,
    TopScaleSquaredL1Codes,
    UnitScaleSquaredL1Codes,
    UnitScaleSquaredL1Features,
)
from deepnmf.objective.graphs import ClassMeans, EdgeGraph, FisherScatter, LabelGraph, symmetric
from gradients.case import Case

N, P, MU, LAM = 8, 6, (0.3, 0.2, 0.1), 0.4
TARGETS = np.array([[1, 2, np.nan, 0, 3, 1], [np.nan] * P, [0, 1, 1, np.nan, 0, 5]])
CLASSES = ClassMeans(np.arange(N) % 3 - 1)
GRAPHS = {
    "labels": LabelGraph(CLASSES),
    "scatter": FisherScatter(CLASSES, 0.5, 0.2),
    "edges": EdgeGraph(symmetric(np.random.default_rng(3).random((N, N)))),
}


def penalties(depth):
    """All penalties by name; graphs on every layer."""
    return {
        "none": (),
        "squared L1 of features": (SquaredL1Features(MU[:depth]),),
        "the same with codes of unit norm": (UnitScaleSquaredL1Features(MU[:depth]),),
        "squared L1 of codes": (SquaredL1Codes(LAM),),
        "the same with features of unit norm": (UnitScaleSquaredL1Codes(LAM),),
        "the same with rows of the top factor": (TopScaleSquaredL1Codes((LAM,) * depth),),
        "ridge of codes": (RidgeCodes(LAM),),
        "elastic net": (ElasticNet(0.1, 0.2, 0.3, 0.4),),
        **{f"guide of layer {layer}": (Guide.of(layer, TARGETS, 0.7),) for layer in range(depth)},
        **{
            f"graph of {name} on layer {layer}": (GraphPenalty(graph, 0.3, layer),)
            for name, graph in GRAPHS.items()
            for layer in range(depth)
        },
        "a graph on every layer": tuple(GraphPenalty(GRAPHS["labels"], 0.1 + 0.1 * i, i) for i in range(depth)),
    }


def random_chain(depth, theta, seed=0):
    rng = np.random.default_rng(seed)
    sizes = (5, 4, 3)[:depth]
    factors = [0.2 + rng.random(shape) for shape in zip(sizes, (P, *sizes), strict=False)]
    return 0.2 + rng.random((N, sizes[-1])), Chain.of(factors, (theta,) * depth), rng.standard_normal((N, P))


def statistics(objective, X, H):
    graphs = objective.graphs
    joint = graphs.joint([H.T @ LH for LH in graphs.products(H)])
    return Statistics(H.T @ X, H.T @ H, H.sum(axis=0), float(np.sum(X**2)), joint)


def codes_gradient(objective, chain, X, H):
    graphs, D, penalty = objective.graphs, chain.decoder(), objective.code_penalty(chain)
    own = H @ (D @ D.T + penalty.gram) - X @ D.T + penalty.l1
    return sum((LH @ S for LH, S in zip(graphs.products(H), graphs.metrics(chain), strict=True)), start=own)


def case(depth, name, theta):
    H, chain, X = random_chain(depth, theta)
    objective = Objective(penalties(depth)[name])
    arrays = {"H": H, **{f"Z{i}": Z for i, Z in enumerate(chain.factors, start=1)}}

    def chain_of(arrays):
        return Chain.of([arrays[f"Z{i}"] for i in range(1, depth + 1)], chain.theta)

    def value(arrays):
        return objective.value(chain_of(arrays), statistics(objective, X, arrays["H"]))

    def gradients(arrays):
        own, stats = chain_of(arrays), statistics(objective, X, arrays["H"])
        blocks = [objective.block(own, layer, stats, n_steps=3).gradient(Z) for layer, Z in enumerate(own.factors)]
        upper = {f"Z{i}": gradient for i, gradient in enumerate(blocks, start=1)}
        return {"H": codes_gradient(objective, own, X, arrays["H"])} | upper

    return Case(arrays, value, gradients)


def is_smoothed_graph(name, theta):
    return "graph" in name and theta > 0


CASES = {
    f"linear, depth {depth}, theta {theta}, {name}": case(depth, name, theta)
    for depth in (1, 2, 3)
    for theta in (0.0, 0.3)
    for name in penalties(depth)
    # Left out: graphs with smoothing are refused (test_gradients.py), the others are for chains without smoothing.
    if not is_smoothed_graph(name, theta)
}
