"""Weights of `SparseDeepNMF`: as plain numbers, and in units of the data."""

from benchmarks.corrections.problems import PROBLEMS, explained
from benchmarks.page import table

from deepnmf import SparseDeepNMF
from deepnmf.metrics import sparseness

PENALTIES = ("L", "R", "RL1", "RL2")
GRID = (0.01, 0.03, 0.1)
PLAIN = 0.01  # the earlier default, a plain number
CHOSEN = SparseDeepNMF().feature_penalty


def fitted(X, sizes, penalty, features=0.0, codes=0.0, **settings):
    """Return a fit with given weights."""
    weights = {"penalty": penalty, "feature_penalty": features, "code_penalty": codes}
    return SparseDeepNMF(sizes, **weights, random_state=0, **settings).fit(X)


def with_plain_weight(X, sizes, penalty, weight):
    """Return a fit in which each term has the plain weight, and the largest weight in units of the data.

    For any X, the plain weight is divided by the units of the data.
    """
    units = fitted(X, sizes, penalty, 1.0, 1.0, max_iter=1)._learned.penalty_units
    shares = {("codes" if "Codes" in name else "features"): [weight / u for u in each] for name, each in units.items()}
    return fitted(X, sizes, penalty, **shares), max(max(each) for each in shares.values())


def rows():
    """Yield the decrease of the explained share with the plain weight, and with weights in units of the data."""
    for problem in PROBLEMS:
        X, _ = problem.data()
        none = fitted(X, problem.sizes, None)
        for penalty in PENALTIES:
            before, share = with_plain_weight(X, problem.sizes, penalty, PLAIN)
            after = [fitted(X, problem.sizes, penalty, weight, weight) for weight in GRID]
            falls = [f"{explained(none, X) - explained(model, X):.2f}" for model in (before, *after)]
            shown = (none, before, after[GRID.index(CHOSEN)])
            yield (
                problem.name,
                "" if problem.chooses else "held out",
                penalty,
                f"{explained(none, X):.2f}",
                f"{100 * share:.3g}",
                *falls,
                " / ".join(f"{sparseness_of(model, penalty):.2f}" for model in shown),
            )


def sparseness_of(model, penalty) -> float:
    """Return the sparseness of the top codes for "R", and of the top features for other penalties."""
    return sparseness(model.codes_[-1] if penalty == "R" else model.components_)


def page() -> str:
    """Return the table."""
    falls = (f"fall, plain {PLAIN:g}", *(f"fall at {weight:g}" for weight in GRID))
    head = ("data", "", "penalty", "explained without", f"share of the plain {PLAIN:g}, %", *falls)
    return table((*head, f"sparseness without / plain / {CHOSEN:g}"), rows())
