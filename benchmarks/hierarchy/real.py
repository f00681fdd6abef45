"""Real data: the share explained by each layer and by a separate NMF of its size, copies, dead features and parts."""

from benchmarks.hierarchy.contenders import build, contenders, explained, fitted
from benchmarks.hierarchy.part import Part
from benchmarks.hierarchy.problems import REAL


def measure(problem, name, seed, limits):
    """Fit a model, and summarize its layers."""
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
        "The numbers are given by layer, from the lowest. `explained` is the share of ‖X‖² in percent that the features of the layer alone explain "
        "with their best codes, over all rows (for `GDNMF`, whose layers have an activation, over some rows). `copies` is the "
        "percentage of features whose cosine with one feature of the layer below is more than 0.9. `dead` is the percentage "
        "of features that are zero or never used. `parts` is the mean number of features of the layer below that a feature is made of. The copies of separate "
        "NMFs are a lower limit: they show how similar features of these sizes are without a hierarchy. Seconds are processor seconds of one fit on one "
        "thread; for separate NMFs, they are those of the widest one. Images have entries up to 1, texts are weighted by tf-idf, and cells are scaled to "
        "equal totals and transformed by log(1 + x). The data were not changed otherwise."
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
