"""`NMF(k).fit(X)` of scikit-learn and of this package, where only the rank is given."""

from typing import Any

import sklearn.decomposition
from benchmarks.page import table
from benchmarks.speed.objective import relative_error
from benchmarks.speed.options import Options
from benchmarks.speed.problems import DESCRIPTION, Problem, problems
from benchmarks.speed.timing import geometric_mean, in_seconds, interleaved
from sklearn.base import clone

from deepnmf import NMF

TITLE = "NMF with default settings, compared with scikit-learn's"
HEAD = [
    "problem",
    "scikit-learn",
    "`deepnmf.NMF`",
    "speedup",
    "scikit-learn's iterations",
    "our sweeps",
    "scikit-learn's ‖X - WH‖ / ‖X‖",
    "ours",
]


def compared(problem: Problem, repeats: int) -> tuple[float, list[Any]]:
    """Return the ratio of the times, and the row of the table."""
    models = {
        "theirs": sklearn.decomposition.NMF(problem.rank, random_state=0),
        "ours": NMF(problem.rank, random_state=0),
    }
    clone(models["ours"]).fit(problem.corner().X)
    runs = {name: lambda model=model: model.fit(problem.X) for name, model in models.items()}
    seconds = interleaved(runs, repeats)
    errors = [f"{_error(model, problem):.5f}" for model in models.values()]
    iterations = [model.n_iter_ for model in models.values()]
    ratio = seconds["theirs"] / seconds["ours"]
    times = [in_seconds(seconds["theirs"]), in_seconds(seconds["ours"])]
    return ratio, [problem.described, *times, f"{ratio:.1f}", *iterations, *errors]


def _error(model: Any, problem: Problem) -> float:
    """Return the error of the codes that `fit_transform` returns."""
    again = clone(model)
    codes = again.fit_transform(problem.X)
    return relative_error(problem.X, codes, again.components_)


def page(options: Options) -> str:
    """Measure, and return the page."""
    missing: set[str] = set()
    parts = [
        "Both models get only a number of components and a random state: each uses its own default initialization, "
        "tolerance and limit of iterations. Seconds are those of `fit`, the best of several runs, in which the models alternate. For both, the error "
        f"is computed from the codes of `fit_transform` and from `components_`. {DESCRIPTION}"
    ]
    for dtype in options.dtypes:
        found = [compared(problem, options.repeats) for problem in problems(options.problems, dtype, missing)]
        ratios = [ratio for ratio, _ in found]
        parts += [
            f"## {dtype}",
            table(HEAD, [row for _, row in found]),
            f"The geometric mean of the speedups is {geometric_mean(ratios):.1f}, and the smallest is {min(ratios):.1f}.",
        ]
    return "\n\n".join(parts + [f"The data of `{name}` are missing." for name in sorted(missing)])
