"""Stability: whether other seeds and other halves of the data lead to the same features."""

import numpy as np
from benchmarks.hierarchy.contenders import build, contenders, has
from benchmarks.hierarchy.part import Part
from benchmarks.hierarchy.problems import REAL

from deepnmf.metrics import matched_cosine


def agreement(model, other) -> list[float]:
    """Return the matched cosine of the features of two fits, by layer."""
    return [matched_cosine(C, D) for C, D in zip(model.features_, other.features_, strict=True)]


def measure(problem, name, seed, limits):
    """Compare fits from two random starts, and fits of two halves of the rows from the default start."""
    X = limits.of(problem.read())
    order = np.random.default_rng(seed).permutation(X.shape[0])
    halves = [X[np.sort(part)] for part in np.array_split(order, 2)]
    one, other = (build(name, problem.sizes, seed, **limits.params).fit(half) for half in halves)
    values = {"halves": agreement(one, other)}
    if has(name, "init"):
        first, second = (
            build(name, problem.sizes, start, init="random", **limits.params).fit(X) for start in (seed, 1000 + seed)
        )
        values["starts"] = agreement(first, second)
    return values


PART = Part(
    title="Stability",
    text=(
        "The tables show the matched cosine (`deepnmf.metrics.matched_cosine`) of the features of two fits, by layer from the lowest. `halves` "
        'compares fits of two halves of the rows from the default initialization; `random starts` compares fits of all rows from two random starts (`init="random"`), '
        "because the default initialization hardly depends on the seed."
    ),
    cases={name: REAL[name] for name in ("digits", "cbcl", "orl", "bbc", "pbmc_facs", "samson")},
    contenders=contenders,
    measure=measure,
    columns={"halves": "halves", "random starts": "starts"},
    digits={},
)
