"""Real data: which layers are chosen without labels, and whether other hidden entries lead to the same choice."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from benchmarks.hierarchy.problems import REAL, counts, digits, samson, stored
from benchmarks.holes import ratings
from benchmarks.page import table
from benchmarks.selection.search import Part, only_select_layers, searched
from sklearn.datasets import load_wine

from deepnmf import NMF, DeepNMF
from deepnmf.cli.model_choice import passes_for_choice

SQUARED_ERROR, KULLBACK_LEIBLER = DeepNMF(), DeepNMF(beta_loss="kullback-leibler")
RATINGS = {"n": 5000, "p": 500, "rank": 8, "share": 0.1}


@dataclass(frozen=True)
class Case:
    """Data, a model, known facts about the data, and whether the search has the budget of `deepnmf fit`."""

    read: Callable[[], Any]
    known: str
    model: Any = SQUARED_ERROR
    fit_params: tuple[tuple[str, Any], ...] = ()
    is_cut: bool = False


def leukemia():
    """Return the expression of genes in blood cells."""
    return stored("leukemia_golub")["X"].astype(float)


def wine():
    """Return thirteen measurements of wines, each divided by its maximum."""
    X = load_wine().data
    return X / X.max(axis=0)


def some_ratings():
    """Return ratings that depend on a product of low rank."""
    return ratings(**RATINGS)[0]


def counted(name: str):
    """Return a function that reads counts."""
    return lambda: counts(name)


CASES = {
    "Samson": Case(samson, "3 endmembers"),
    "leukemia": Case(leukemia, "3 kinds of cells"),
    "digits": Case(digits, "10 digits"),
    "wine": Case(wine, "3 cultivars"),
    "synthetic ratings": Case(some_ratings, "rank 8", NMF(), (("entry_weight", "stored"),)),
    "BBC, counts": Case(counted("bbc_news"), "5 sections", KULLBACK_LEIBLER, is_cut=True),
    "pbmc_facs, counts": Case(counted("pbmc_facs"), "5 populations, 10 types", KULLBACK_LEIBLER, is_cut=True),
    "PIE": Case(REAL["pie"].read, "68 people, 42 lightings", is_cut=True),
    "TDT2, tf-idf": Case(REAL["tdt2"].read, "30 topics", is_cut=True),
}


def measure(case, _, seed, limits):
    """Choose the layers, and return the choice with the whole table of the search."""
    X = limits.of(case.read())
    options = {"max_passes": passes_for_choice(SimpleNamespace(X=X))} if case.is_cut else {}
    selection, seconds = searched(case.model, X, seed, limits, refit=False, **options, **dict(case.fit_params))
    return {
        "chosen": selection.best_sizes_,
        "table": [asdict(row) for row in selection.table_],
        "ended_by": selection.ended_by_,
        "seconds": seconds,
    }


def tables(records) -> str:
    """Return a table of the choices, by data."""
    rows = []
    for case in dict.fromkeys(one["case"] for one in records):
        of_case = [one["values"] for one in records if one["case"] == case]
        chosen = [tuple(values["chosen"]) for values in of_case]
        first = [_row(values, "is_best") for values in of_case]
        rows.append(
            [
                case,
                CASES[case].known,
                ", ".join(map(str, chosen)),
                ", ".join(str(_row(values, "is_smallest_error")["size"]) for values in of_case),
                _means(first, "stability", ".2f"),
                _means(first, "explained", ".1%"),
                _cut(of_case),
                f"{np.mean([values['seconds'] for values in of_case]):.0f}",
            ]
        )
    head = ["data", "known", "chosen, by seed", "smallest error at", "stability", "explained", "cut", "seconds"]
    return table(head, rows)


def _row(values, rule: str):
    """Return the row of the first layer that a rule has chosen, from the table of a search."""
    return next(row for row in values["table"] if row["layer"] == 1 and row[rule])


def _means(rows, name: str, form: str) -> str:
    return format(np.mean([row[name] for row in rows]), form)


def _cut(of_case) -> str:
    n_cut = sum(values["ended_by"] is not None for values in of_case)
    return f"{n_cut} of {len(of_case)}"


PART = Part(
    title="Real data",
    text=(
        'The layers are chosen by `select_layers(DeepNMF(), X)`, with the Kullback-Leibler loss for counts, and with `NMF()` and `entry_weight="stored"` for ratings. No labels are used, and nothing was tuned on these data. Each '
        "seed hides other entries of the same data. `smallest error at` is the size of the first layer with the smallest error; stability and explained share are those of the chosen size. "
        "The searches of the larger data have the budget of `deepnmf fit` without `--layers`; `cut` is the number of searches that were ended by this budget, so that the choice was made among the sizes tried until "
        f"then. The ratings are numbers from 1 to 5 in a matrix of {RATINGS['n']} x {RATINGS['p']}, of which a twelfth is observed; they are rounded values of the square root of a product of rank {RATINGS['rank']}, so that the matrix does not have this rank. "
        "Pictures (`python -m benchmarks.selection.picture`, seed 0): [Samson](../images/selection-samson.svg), [leukemia](../images/selection-leukemia.svg), "
        "[digits](../images/selection-digits.svg), [PIE](../images/selection-pie.svg), [TDT2](../images/selection-tdt2.svg)."
    ),
    cases=CASES,
    contenders=only_select_layers,
    measure=measure,
    tables=tables,
)
