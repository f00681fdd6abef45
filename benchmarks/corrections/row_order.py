"""Initializations that do not depend on the order of the rows, compared with random numbers drawn for each row."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from benchmarks.corrections.problems import PROBLEMS, explained
from benchmarks.page import table

from deepnmf import NMF, SemiNMF
from deepnmf.solvers import kmeans, starts

SEEDS = 5
CHOSEN_BY = ("digits", "bbc_news", "orl_32x32", "samson_95x95")  # random codes were chosen by the losses on these
OTHERS = ("yale_32x32", "leukemia_golub")
WIDEST = 200  # a model with more features than rows or columns is fitted if X has fewer rows or columns than this


def drawn_codes(engine, rank, rng):
    """Return codes as in the earlier version: half-normal numbers, drawn row by row."""
    return np.abs(rng.standard_normal((engine.n_samples, rank)))


def drawn_row(chances, order, rng):  # noqa: ARG001
    """Draw a row by its number, as in the earlier version."""
    return rng.choice(len(chances), p=chances / chances.sum() if chances.any() else None)


@contextmanager
def starts_of_before():
    """Use the earlier initializations."""
    with patch.object(starts, "random_codes", drawn_codes), patch.object(kmeans, "_drawn", drawn_row):
        yield


def models(shape, sizes):
    """Yield the name of each initialization, and a function that creates the model for a seed."""
    yield "random", lambda seed: NMF(sizes[0], init="random", random_state=seed)
    if min(shape) < WIDEST:
        yield "beyond the rank", lambda seed: NMF(min(shape) + 15, random_state=seed)
    for init in ("random", "svd", "kmeans"):
        yield init, lambda seed, init=init: SemiNMF(sizes[1], init=init, random_state=seed)


def left(X, make) -> str:
    """Return the unexplained share of ‖X‖² in percent (mean, smallest, largest over the seeds), and the mean sweeps."""
    fits = [make(seed).fit(X) for seed in range(SEEDS)]
    shares = [100 - explained(fit, X) for fit in fits]
    return f"{np.mean(shares):.4f} ({min(shares):.4f} to {max(shares):.4f}), {np.mean([f.n_iter_ for f in fits]):.0f}"


def rows():
    """Yield one row for each data set and model."""
    for problem in PROBLEMS:
        if problem.name not in CHOSEN_BY + OTHERS:
            continue
        X, _ = problem.data()
        for init, make in models(X.shape, problem.sizes):
            with starts_of_before():
                before = left(X, make)
            model = make(0)
            name = f"{type(model).__name__}({model.n_components}), {init}"
            yield problem.name, "" if problem.name in CHOSEN_BY else "held out", name, before, left(X, make)


def page() -> str:
    """Return the table."""
    what = "‖X - X̂‖² in % of ‖X‖², sweeps"
    return table(("data", "", "model, start", f"before: {what}", f"after: {what}"), rows())
