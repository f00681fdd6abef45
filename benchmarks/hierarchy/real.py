"""Real data: the share explained by each layer and by a separate NMF of its size, copies, dead features and parts."""

from benchmarks.hierarchy.contenders import build, contenders, explained, fitted
from benchmarks.hierarchy.part import Part
from benchmarks.hierarchy.problems import REAL


def measure(problem, name, seed, limits):
    """Fit, and summarize the layers."""
    X = limits.of(problem.read())
    model, seconds = fitted(build(name, problem.sizes, seed, **limits.params), X)
    found = model.hierarchy_
    return {
        "explained": [100 * share for share in explained(model, X)],
        "copies": [100 * one.copies / one.size for one in found[1:]],
        "dead": [100 * one.dead / one.size for one in found],
        "parts": [one.parts for one in found[1:]],
        "seconds": getattr(model, "seconds_of_widest_", seconds),
    }


PART = Part(
    title="Real data",
    text=(
        "By layer from the lowest: `explained`, the share of ‖X‖² in percent that the features of the layer alone explain "
        "with their best codes, over all rows (of `GDNMF`, whose layers have an activation, over some); `copies`, the "
        "percentage of features whose cosine with one feature of the layer below is more than 0.9; `dead`, the percentage "
        "that is zero or never used; `parts`, the mean number of features below that a feature is made of. The copies of separate "
        "NMFs are a lower limit: they show how similar features of these sizes are by themselves. Seconds are processor seconds of one fit on one "
        "thread; for separate NMFs, of the widest. Images have entries up to 1, texts are weighted by tf-idf, cells by "
        "log(1 + x) of equal totals; the data were not changed otherwise."
    ),
    cases=REAL,
    contenders=contenders,
    measure=measure,
    columns={
        "explained, %": "explained",
        "copies, %": "copies",
        "dead, %": "dead",
        "parts": "parts",
        "seconds": "seconds",
    },
    digits={"explained, %": 1, "copies, %": 0, "dead, %": 0, "parts": 1, "seconds": 2},
)
