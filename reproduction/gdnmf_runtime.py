"""GD²NMF (supplement): Table R1, run times in seconds."""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

from deepnmf import CNMF, GDNMF, DeepSemiNMF, DeepWSF
from reproduction.experiment import Array, Data, Experiment, Plan, Results, Row, Trial, Value
from reproduction.faces import unit_samples
from reproduction.gdnmf_labels import SETS, decayed, few_sweeps
from reproduction.pages import table
from reproduction.protocols import given_labels, known_rows

__all__ = ["EXPERIMENTS"]

TIMINGS = 3
SHARE = 0.1  # share of the labels; the supplement gives none for this table

# Table R1, in seconds, without AR and Caltech101-20, which are not among our data sets.
PUBLISHED = {
    "CMU PIE": {
        "CNMF": 20.95,
        "DNBMF": 101.44,
        "Deep Semi-NMF": 199.82,
        "Deep WSF": 251.39,
        "SGDNMF": 886.15,
        "GD²NMF": 236.38,
    },
    "COIL-20": {
        "CNMF": 5.82,
        "DNBMF": 100.04,
        "Deep Semi-NMF": 105.97,
        "Deep WSF": 126.49,
        "SGDNMF": 305.85,
        "GD²NMF": 61.95,
    },
    "Yale": {"CNMF": 1.52, "DNBMF": 5.46, "Deep Semi-NMF": 32, "Deep WSF": 36.29, "SGDNMF": 15.47, "GD²NMF": 3.91},
}


def _models(n_features: int, plan: Plan) -> dict[str, Any]:
    """Return the models of the table that this package has, with the same sizes and their defaults."""
    sizes = decayed(n_features)
    few = few_sweeps(plan)
    return {
        "CNMF": CNMF(sizes[-1], random_state=0, **few_sweeps(plan, pretrains=False)),
        "Deep Semi-NMF": DeepSemiNMF(sizes, random_state=0, **few),
        "Deep WSF": DeepWSF(sizes, random_state=0, **few),
        "GD²NMF": GDNMF(random_state=0, **few),
    }


def _trials(plan: Plan) -> list[Trial]:
    """Return a single trial, so that no two fits are timed at once."""
    return [{"timed": "one after the other"}]


def _run(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    sets = {name: unit_samples(data, file) for name, file in SETS.items()}
    for model in _models(sets["Yale"][0].shape[1], plan).values():
        _timed(model, *sets["Yale"])  # warm-up: compiles and loads what is needed once
    for name, timing in product(sets, plan.repeats(TIMINGS)):
        for title, model in _models(sets[name][0].shape[1], plan).items():
            yield {
                "data": name,
                "model": title,
                "timing": timing,
                "seconds": _timed(model, *sets[name]),
                "sweeps": model.n_iter_,
            }


def _timed(model: Any, X: Array, y: Array) -> float:
    labels = given_labels(y, known_rows(y, SHARE, seed=0))
    began = time.perf_counter()
    model.fit(X, labels)
    return time.perf_counter() - began


def _line(name: Value, model: str, results: Results) -> list[object]:
    theirs = PUBLISHED[str(name)][model]
    some = results.where(data=name, model=model)
    if not some:
        return [name, model, "", "", theirs, ""]
    ours = min(some.column("seconds"))
    return [name, model, f"{ours:.2f}", some.rows[0]["sweeps"], theirs, f"{theirs / ours:.0f}"]


def _page(results: Results) -> str:
    rows = [_line(name, model, results) for name in results.distinct("data") for model in PUBLISHED[str(name)]]
    return "\n\n".join(
        [
            f"The table gives the time of one fit on one core, best of {len(results.distinct('timing'))}, with\n"
            f"{SHARE:.0%} of the labels and in single precision. Models have two layers with a decay of 0.3; CNMF\n"
            "has as many components as the top layer. Every model has its own defaults, hence its own stopping rule.\n"
            "All fits run one after the other in one trial; other programs on the machine would slow all of them\n"
            "down equally.",
            "**The published seconds are from another machine** (Core i7-10700, MATLAB R2020b) and from programs\n"
            "with unknown stopping rules: the last column does not compare methods. DNBMF and SGDNMF are not\n"
            "implemented in this package.",
            table(["data", "model", "ours, s", "sweeps", "published, s", "published / ours"], rows),
        ]
    )


EXPERIMENTS = (
    Experiment(
        name="gdnmf-runtime",
        title="GD²NMF, Table R1: seconds",
        data=tuple(SETS.values()),
        trials=_trials,
        run=_run,
        page=_page,
        timed=True,
    ),
)
