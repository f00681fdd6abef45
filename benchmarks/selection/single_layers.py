"""Planted single layers: how often the rank is found, by `select_layers` and by other rules."""

import time
from itertools import product

import numpy as np
from benchmarks.page import table
from benchmarks.selection.planted import RANKS, SHAPE_OF_GAMMA, planted, rank_of
from benchmarks.selection.rules import PERTURBATION, RULES, STABLE, STARTS
from benchmarks.selection.search import QUICK_SIZES, SELECT_LAYERS, Part, only_select_layers, percent, searched

from deepnmf import NMF

CANDIDATES = range(1, 17)
NOISES = ("gamma", "poisson")
DELTAS = (4.0, 2.0, 1.2)
CLEAR = 2.0  # the rank should be found from this δ on
OTHER_MARKS = {"is_smallest_error": "its smallest error", "is_within_standard_error": "the usual rule"}
SMALLEST = 100  # number of rows of the problems on which other rules are compared
TEXT = (
    f"The planted ranks are from {RANKS[0]} to {RANKS[-1]}. The factors are gamma distributed, dense (shape {SHAPE_OF_GAMMA['dense']:g}) or sparse (shape {SHAPE_OF_GAMMA['sparse']:g}), and the noise keeps the "
    "mean. δ is the smallest singular value of the signal divided by the largest singular value of the noise. `select_layers(NMF(), X)` uses its default grid. The two numbers are the percentages of "
    "problems in which the rank was found exactly, and within one. Two other rules are evaluated on the same searches: the smallest error, and the smallest size whose error is within one standard error of "
    "it (the usual rule)."
)
OTHERS = (
    f" The other rules choose among the sizes 1 to {CANDIDATES[-1]}, for `NMF` with default settings: bi-cross-validation 2 x 2 (Owen & Perry); the elbow, the point farthest from the chord of the error of "
    f"the fit; the cophenetic correlation of the clusters of {STARTS} random starts (Brunet et al.), from size 2 on; and NMFk's rule, the largest size at which the least mean silhouette of a "
    f"cluster of features is above {STABLE}, for {STARTS} random starts with every entry of X multiplied by a uniform variable from {1 - PERTURBATION:g} to {1 + PERTURBATION:g}. (NMFk also requires "
    "an acceptable error, without giving a number; errors fall with the size, so that the largest stable size has the smallest error of all stable sizes.)"
)


def part(n: int, p: int) -> Part:
    """Return a part with problems of one shape."""
    cases = {
        f"{noise}, {factors}, δ = {delta:g}": {
            "shape": (n, p),
            "noise": noise,
            "factors": factors,
            "delta": delta,
        }
        for noise, factors, delta in product(NOISES, SHAPE_OF_GAMMA, DELTAS)
    }
    return Part(
        title=f"Single layers, {n} x {p}",
        text=TEXT + (OTHERS if n == SMALLEST else ""),
        cases=cases,
        contenders=contenders if n == SMALLEST else only_select_layers,
        measure=measure,
        tables=tables,
    )


def contenders() -> list[str]:
    """Return the names of all rules."""
    return [SELECT_LAYERS, *RULES]


def measure(case, rule, seed, limits):
    """Choose a size by one rule."""
    rank = rank_of(seed)
    X = planted(**case, rank=rank, seed=seed)
    if rule == SELECT_LAYERS:
        selection, seconds = searched(NMF(), X, seed, limits, refit=False)
        chosen = selection.best_sizes_[0]
        others = {name: next(row.size for row in selection.table_ if getattr(row, name)) for name in OTHER_MARKS}
    else:
        began = time.process_time()
        chosen = RULES[rule](X, seed, CANDIDATES if limits.sweeps is None else QUICK_SIZES)
        seconds, others = time.process_time() - began, {}
    return {"rank": rank, "chosen": int(chosen), "delta": case["delta"], "seconds": seconds, **others}


def tables(records) -> str:
    """Return a table of hit rates, by case and rule, and over all cases with a clear signal.

    The table also contains the mean seconds of a choice.
    """
    records = [*records, *_by_other_marks(records)]
    rules = list(dict.fromkeys(one["contender"] for one in records))
    cases = dict.fromkeys(one["case"] for one in records)
    rows = [[case, *_hits([one for one in records if one["case"] == case], rules)] for case in cases]
    clear = [one for one in records if one["values"]["delta"] >= CLEAR]
    rows.append([f"all with δ >= {CLEAR:g}", *_hits(clear, rules)])
    seconds = [np.mean([one["values"]["seconds"] for one in records if one["contender"] == rule]) for rule in rules]
    rows.append(["seconds", *(f"{value:.1f}" for value in seconds)])
    problems = [len([one for one in records if one["contender"] == rule]) for rule in rules]
    rows.append(["problems", *problems])
    return table(["noise, factors, δ", *rules], rows)


def _by_other_marks(records):
    """Yield the choices of the other rules that are marked in the tables of the same searches."""
    for mark, name in OTHER_MARKS.items():
        for one in records:
            if mark in one["values"]:
                yield {**one, "contender": name, "values": {**one["values"], "chosen": one["values"][mark]}}


def _hits(records, rules) -> list[str]:
    misses = {
        rule: [abs(one["values"]["chosen"] - one["values"]["rank"]) for one in records if one["contender"] == rule]
        for rule in rules
    }
    return [
        f"{percent(miss == 0 for miss in missed)} / {percent(miss <= 1 for miss in missed)}" if missed else ""
        for missed in misses.values()
    ]
