"""Deep WSF with the activations square and relu: the penalty with and without a free inner scale."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from benchmarks.corrections.problems import PROBLEMS, explained
from benchmarks.page import table
from sklearn.neighbors import KNeighborsClassifier

from deepnmf import DeepWSF
from deepnmf.objective import ACTIVATIONS
from deepnmf.objective.graphs import label_graph

WEIGHT, SWEEPS = 0.01, (1, 100)


@contextmanager
def free_inner_scale(activation):
    """Use the earlier form, in which the objective does not know the degree of the activation."""
    known = ACTIVATIONS[activation]
    ACTIVATIONS[activation] = replace(known, degree=None)
    try:
        yield
    finally:
        ACTIVATIONS[activation] = known


def fitted(X, places, sizes, activation, sweeps):
    """Return a fit with labels on the top layer only."""
    settings = {"graph_weights": WEIGHT, "max_iter": sweeps, "tol": 0, "random_state": 0}
    return DeepWSF(sizes, activation=activation, **settings).fit(X, places)


def unit_scale(model, activation):
    """Return the scales of the top codes if every factor has unit rows."""
    chain = model._learned.chain.with_unit_rows_below(ACTIVATIONS[activation].degree)
    return np.linalg.norm(chain.factors[-1], axis=1)


def roughness(pair, X, places, scales) -> str:
    """Return ½ Tr(HᵀLH) after the first and after the last sweep, for codes multiplied by scales."""
    graph = label_graph("binary", X, places)
    codes = [model.codes_[-1] * scale for model, scale in zip(pair, scales, strict=True)]
    return " → ".join(f"{0.5 * np.sum(H * graph.product(H)):.3g}" for H in codes)


def rows():
    """Yield rows for dense data with labels, of which every second one is known.

    Predictions by neighbors are evaluated on the other rows, with the codes of `transform`.
    """
    for problem in PROBLEMS:
        X, y = problem.data()
        if y is None or not isinstance(X, np.ndarray):
            continue
        known = np.arange(len(y)) % 2 == 0
        places = np.where(known, y, -1)
        for activation in ("square", "relu"):
            with free_inner_scale(activation):
                before = [fitted(X, places, problem.sizes, activation, sweeps) for sweeps in SWEEPS]
            after = [fitted(X, places, problem.sizes, activation, sweeps) for sweeps in SWEEPS]
            yield (
                problem.name,
                "" if problem.chooses else "held out",
                activation,
                roughness(before, X, places, (1, 1)),  # Z_m has unit rows, the factors below do not
                *(
                    roughness(pair, X, places, [unit_scale(model, activation) for model in pair])
                    for pair in (before, after)
                ),
                *(f"{explained(pair[-1], X):.2f}" for pair in (before, after)),
                *(f"{neighbors(pair[-1], X, y, known, activation):.3f}" for pair in (before, after)),
            )


def neighbors(model, X, y, known, activation) -> float:
    """Return the accuracy of predictions for rows without labels by their nearest neighbors with labels."""
    H = model.transform(X) * unit_scale(model, activation)
    return KNeighborsClassifier(1).fit(H[known], y[known]).score(H[~known], y[~known])


def page() -> str:
    """Return the table."""
    penalties = "as counted before", "at unit rows, before", "at unit rows, after"
    others = (f"{what} {when}" for what in ("explained", "1-NN") for when in ("before", "after"))
    return table(("data", "", "activation", *penalties, *others), rows())
