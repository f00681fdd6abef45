"""Planted hierarchies: how often the sizes and the number of layers are found."""

import numpy as np
from benchmarks.page import table
from benchmarks.selection.search import Part, only_select_layers, percent, searched

from deepnmf import DeepNMF
from deepnmf.datasets import make_hierarchy

N_SAMPLES = 1000


def measure(case, _, seed, limits):
    """Choose the layers for data of this seed."""
    X = limits.of(make_hierarchy(N_SAMPLES, **case, random_state=seed).data)
    selection, seconds = searched(DeepNMF(), X, seed, limits, refit=False)
    return {"true": case["layer_sizes"], "chosen": selection.best_sizes_, "seconds": seconds}


def tables(records) -> str:
    """Return a table of hit rates, by case."""
    rows = []
    for case in dict.fromkeys(one["case"] for one in records):
        of_case = [one["values"] for one in records if one["case"] == case]
        pairs = [(values["chosen"], values["true"]) for values in of_case]
        rates = (
            percent(abs(chosen[0] - true[0]) <= 1 for chosen, true in pairs),
            percent(abs(chosen[-1] - true[-1]) <= 1 for chosen, true in pairs),
            percent(len(chosen) == len(true) for chosen, true in pairs),
        )
        choices = ", ".join(str(tuple(chosen)) for chosen, _ in pairs)
        rows.append([case, len(pairs), *rates, choices, f"{np.mean([values['seconds'] for values in of_case]):.0f}"])
    head = ["first layer within one, %", "top within one, %", "number of layers, %", "chosen", "seconds"]
    return table(["planted", "seeds", *head], rows)


def _case(*sizes, variation):
    return f"{sizes}, variation {variation:g}", {"layer_sizes": sizes, "variation": variation}


PART = Part(
    title="Hierarchies",
    text=(
        f"The data are made by `deepnmf.datasets.make_hierarchy`: {N_SAMPLES} samples of 20 x 20 pixels, with Gaussian noise of 5 %. `select_layers(DeepNMF(), X)` uses its default grids. Percentages are shares of the seeds. "
        "These seeds had not been used before."
    ),
    cases=dict(
        [
            _case(24, 6, variation=0.2),
            _case(24, 6, variation=0.5),
            _case(24, 6, variation=1.0),
            _case(24, 8, 4, variation=0.2),
            _case(24, 8, 4, variation=0.5),
            _case(40, 12, 4, variation=0.2),
            _case(40, 12, 4, variation=0.5),
            ("(24,)", {"layer_sizes": (24,)}),
        ]
    ),
    contenders=only_select_layers,
    measure=measure,
    tables=tables,
)
