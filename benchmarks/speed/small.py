"""Small fits, grids of many small fits, and `transform` of a few rows: here calls cost more than arithmetic."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.decomposition
from benchmarks.page import table
from benchmarks.speed.families import FIXED, as_they_come, digits
from benchmarks.speed.options import Options
from benchmarks.speed.problems import Array, Problem
from benchmarks.speed.startup import printed
from benchmarks.speed.timing import in_seconds, interleaved
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from deepnmf import NMF

TITLE = "Small fits and single rows"
GRID = {"n_components": list(range(2, 12)), "alpha_W": [i / 1000 for i in range(10)]}
FOLDS = 10
ROWS = (1, 10, 1000)

ENCODED = """
import time
import numpy as np
import deepnmf
model = deepnmf.load({path!r})
row = np.ones((1, model.n_features_in_))
def encode():
    began = time.perf_counter()
    model.transform(row)
    return time.perf_counter() - began
print(encode() - min(encode() for _ in range(5)))
"""


def small_table() -> Problem:
    """Return the table of 200 x 20 of the page on eight kinds of data."""
    read, rank = FIXED["table"]
    return Problem.of("table", read(), rank, "float64")


def parts_of_a_fit(problem: Problem, repeats: int) -> list[list[str]]:
    """Return rows with the seconds of scikit-learn's default fit, and of ours until it has the same error."""
    found = as_they_come(problem, repeats)
    target = NMF(problem.rank, random_state=0).fit(problem.X).n_iter_
    best = interleaved(
        {
            str(n): lambda n=n: NMF(problem.rank, max_iter=n, tol=0, random_state=0).fit(problem.X)
            for n in (1, target + 1)
        },
        repeats,
    )
    sweep = (best[str(target + 1)] - best["1"]) / target
    return [
        ["scikit-learn's fit at default settings", in_seconds(found["theirs"]), ""],
        ["our fit to its error", in_seconds(found["to theirs"]), f"{found['theirs'] / found['to theirs']:.1f}"],
        ["our fit at default settings", in_seconds(found["ours"]), f"{found['theirs'] / found['ours']:.1f}"],
        [f"our {target} sweeps alone", in_seconds(sweep * target), ""],
        ["our fit at default settings without its sweeps", in_seconds(found["ours"] - sweep * target), ""],
    ]


def share_of_squares(model: Any, X: Array) -> float:
    """Return the share of squares that a model explains in held-out rows, as a score for both packages."""
    codes = model.transform(X)
    return 1 - float(np.sum((X - codes @ model.components_) ** 2) / np.sum(X**2))


def grids(problem: Problem, repeats: int) -> dict[str, float]:
    """Return the seconds of a grid search with a thousand fits, for both packages."""
    models = {"scikit-learn": sklearn.decomposition.NMF(random_state=0), "deepnmf": NMF(random_state=0)}
    searches = {
        name: GridSearchCV(model, GRID, cv=FOLDS, scoring=share_of_squares, refit=False)
        for name, model in models.items()
    }
    return interleaved({name: lambda one=one: one.fit(problem.X) for name, one in searches.items()}, repeats)


def encodings(X: Array, rank: int, repeats: int) -> list[list[str]]:
    """Return rows with the seconds of `transform` for several numbers of rows, for both packages."""
    models = [sklearn.decomposition.NMF(rank, random_state=0), NMF(rank, random_state=0)]
    for model in models:
        model.fit(X)
    rows = []
    for n in ROWS:
        some = X[:n]
        runs = {str(place): lambda model=model, some=some: model.transform(some) for place, model in enumerate(models)}
        theirs, mine = interleaved(runs, 4 * repeats).values()
        rows.append([f"{n} x {X.shape[1]}, k = {rank}", in_seconds(theirs), in_seconds(mine), f"{theirs / mine:.1f}"])
    return rows


def first_encoding(repeats: int) -> float:
    """Return the additional time of the first `transform` of a process that loads a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        NMF(20, random_state=0).fit(digits()).save(path)
        code = ENCODED.format(path=str(path))
        printed(code)  # compiles
        return min(printed(code) for _ in range(repeats))


def page(options: Options) -> str:
    """Measure, and return the page."""
    problem = small_table()
    clone(NMF(problem.rank)).fit(problem.X)  # compiles
    seconds = grids(problem, min(options.repeats, 3))
    gamma, rank = FIXED["gamma factors"]
    encoded = [*encodings(digits(), 20, options.repeats), *encodings(gamma(), rank, options.repeats)]
    n_fits = FOLDS * len(GRID["n_components"]) * len(GRID["alpha_W"])
    return "\n\n".join(
        [
            "The runs of the two packages alternate in one process, and the best of several counts.",
            "## A table",
            f"The data are the synthetic table of [eight kinds of data](speed_families.md), {problem.X.shape[0]} x {problem.X.shape[1]}, k = {problem.rank}. "
            "The time of sweeps alone is the difference of fits with many sweeps and with one.",
            table(["what is timed", "time", "speedup"], parts_of_a_fit(problem, 4 * options.repeats)),
            "## A grid search",
            f"`GridSearchCV` over {len(GRID['n_components'])} numbers of components and {len(GRID['alpha_W'])} penalties in {FOLDS} folds makes {n_fits} fits "
            "of nine tenths of this table, and scores each by the other tenth.",
            table(
                ["scikit-learn", "deepnmf", "speedup"],
                [[*(in_seconds(s) for s in seconds.values()), f"{seconds['scikit-learn'] / seconds['deepnmf']:.1f}"]],
            ),
            "## `transform`",
            "Both models were fitted at default settings, to scikit-learn's digits (64 columns) and to gamma factors (1024 columns).",
            table(["rows", "scikit-learn", "deepnmf", "speedup"], encoded),
            f"The first `transform` of a process that loads a model takes {in_seconds(first_encoding(options.repeats))} longer than the next ones, to load "
            "compiled code.",
        ]
    )
