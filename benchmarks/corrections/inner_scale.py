"""Deep WSF below square and relu: the penalty with a free inner scale, and without."""

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
    """The earlier form: an activation of which the objective does not know that scale passes through it."""
    known = ACTIVATIONS[activation]
    ACTIVATIONS[activation] = replace(known, degree=None)
    try:
        yield
    finally:
        ACTIVATIONS[activation] = known


def fitted(X, places, sizes, activation, sweeps):
    """Labels on the top layer alone."""
    settings = {"graph_weights": WEIGHT, "max_iter": sweeps, "tol": 0, "random_state": 0}
    return DeepWSF(sizes, activation=activation, **settings).fit(X, places)


def roughness(model, X, places, activation) -> float:
    """½ Tr(HᵀLH) with unit rows in every factor, in percent of ½‖H‖² there."""
    chain = model._learned.chain.with_unit_rows_below(ACTIVATIONS[activation].degree)
    H = model.codes_[-1] * np.linalg.norm(chain.factors[-1], axis=1)
    return 100 * float(np.sum(H * label_graph("binary", X, places).product(H)) / np.sum(H * H)) / len(X)


def rows():
    """Half of the labels are known; neighbors are judged on the others, by codes that `transform` gives."""
    for problem in PROBLEMS:
        X, y = problem.data()
        if y is None:
            continue
        X, known = np.asarray(X.todense()) if hasattr(X, "todense") else X, np.arange(len(y)) % 2 == 0
        places = np.where(known, y, -1)
        for activation in ("square", "relu"):
            with free_inner_scale(activation):
                before = [fitted(X, places, problem.sizes, activation, sweeps) for sweeps in SWEEPS]
            after = [fitted(X, places, problem.sizes, activation, sweeps) for sweeps in SWEEPS]
            yield (
                problem.name,
                "" if problem.chooses else "held out",
                activation,
                *(" → ".join(f"{roughness(m, X, places, activation):.2f}" for m in pair) for pair in (before, after)),
                *(f"{explained(pair[-1], X):.2f}" for pair in (before, after)),
                *(f"{neighbors(pair[-1], X, y, known, activation):.3f}" for pair in (before, after)),
            )


def neighbors(model, X, y, known, activation) -> float:
    """The accuracy of the nearest neighbor, among rows with labels, of rows without."""
    chain = model._learned.chain.with_unit_rows_below(ACTIVATIONS[activation].degree)
    H = model.transform(X) * np.linalg.norm(chain.factors[-1], axis=1)
    return KNeighborsClassifier(1).fit(H[known], y[known]).score(H[~known], y[~known])


def page() -> str:
    """The table."""
    each = [
        f"{what} {when}" for what in ("scatter within classes, %,", "explained", "1-NN") for when in ("before", "after")
    ]
    return table(("data", "", "activation", *each), rows())
