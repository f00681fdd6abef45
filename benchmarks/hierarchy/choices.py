"""Print two tables with the figures behind the defaults of `DeepNMF`: `python -m benchmarks.hierarchy.choices`.

The first table compares pre-trainings, initializations and weights on planted hierarchies, with seeds that the page of
hierarchies does not use. The second table is about wholes of images that are copies of a single part: how many parts
they are made of, and how strongly the code of the copied part is correlated with the codes of other parts.
"""

import warnings
from contextlib import nullcontext
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from benchmarks.hierarchy.planted import PART
from benchmarks.hierarchy.problems import REAL
from benchmarks.page import spread, table
from threadpoolctl import threadpool_limits

from deepnmf import DeepNMF
from deepnmf.datasets import make_hierarchy
from deepnmf.metrics import matched_cosine
from deepnmf.solvers import hierarchy_fit
from deepnmf.solvers.pretraining import LayerwisePlan

SEEDS = [*range(100, 112), *range(200, 212)]
CASES = {
    "variation 0.2": PART.cases["variation 0.2"],
    "variation 0.2, noise 1 %": {"variation": 0.2, "noise_level": 0.01},
    "variation 1": PART.cases["variation 1"],
    "three levels": PART.cases["three levels"],
}
COPY = 0.9


def from_start(number: int):
    """Return a patch that uses one of the two starts of upper layers, without a trial of both."""

    def chosen(plan, starts, *_):
        return replace(plan, start=starts[number])

    return patch.object(LayerwisePlan, "from_best_of", chosen)


# The differences from the defaults: parameters, or parts of the solver.
CHOICES = {
    "default": ({}, nullcontext),
    "tolerance 1e-4 of the pre-training": ({"pretrain_tol": 1e-4}, nullcontext),
    "500 sweeps of pre-training": ({"pretrain_max_iter": 500}, nullcontext),
    'init="nndsvda"': ({"init": "nndsvda"}, nullcontext),
    "plain start": ({}, lambda: from_start(0)),
    "balanced start": ({}, lambda: from_start(1)),
    "weights in units of d_1": (
        {},
        lambda: patch.multiple(hierarchy_fit, LEAST_UNIT=0.0, LEAST_GAIN=1.0),
    ),
    "third layer by 0.3": ({"layer_weights": (1, 0.3, 0.03)}, nullcontext),
    "equal weights": ({"layer_weights": (1, 0.3, 0.3)}, nullcontext),
    "no negligible loss": ({}, lambda: patch.object(hierarchy_fit, "NEGLIGIBLE_SHARE", 0.0)),
}
FACES = {"orl": ((100, 40), (100, 10)), "cbcl": ((100, 49), (100, 16)), "digits": ((40, 10),)}


def cosines(case: str, params) -> list[list[float]]:
    """Return the matched cosines with the true features, by seed and layer."""
    found = []
    for seed in SEEDS:
        truth = make_hierarchy(**{"n_samples": 1000, **CASES[case], "random_state": seed})
        sizes = tuple(len(C) for C in truth.features)
        own = (
            {**params, "layer_weights": params["layer_weights"][: len(sizes)]} if "layer_weights" in params else params
        )
        model = DeepNMF(sizes, random_state=seed, **own).fit(truth.data)
        found.append([matched_cosine(*pair) for pair in zip(model.features_, truth.features, strict=True)])
    return found


def choice_row(name: str) -> list[str]:
    """Return the means and the standard deviations of the layers in all cases."""
    params, context = CHOICES[name]
    with context():
        layers = [" / ".join(map(spread, np.transpose(cosines(case, params)))) for case in CASES]
    return [name, *layers]


def copies_row(name: str, sizes) -> list[str]:
    """Return a row that compares wholes that are copies with other wholes, and copied parts with all parts."""
    model = DeepNMF(sizes, random_state=0, keep_codes="all").fit(REAL[name].read())
    similarity = model.features_[1] @ model.features_[0].T
    is_copy, copied = similarity.max(axis=1) > COPY, similarity.argmax(axis=1)
    shares = model.factors_[1] / model.factors_[1].sum(axis=1, keepdims=True)
    n_parts = np.exp(-np.sum(shares * np.log(np.where(shares > 0, shares, 1)), axis=1))
    related = np.corrcoef(model.codes_[0].T) - np.eye(sizes[0])
    strongest = related.max(axis=1)
    return [
        f"{name} {sizes}",
        f"{is_copy.sum()} of {sizes[1]}",
        _pair(n_parts[is_copy], n_parts[~is_copy], 1),
        _pair(strongest[copied[is_copy]], strongest, 2),
    ]


def _pair(some, others, digits: int) -> str:
    return " and ".join(f"{np.mean(one):.{digits}f}" if len(one) else "–" for one in (some, others))


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        print(table(["DeepNMF", *CASES], [choice_row(name) for name in CHOICES]), end="\n\n")
        rows = [copies_row(name, sizes) for name, all_sizes in FACES.items() for sizes in all_sizes]
    head = [
        "data",
        "copies",
        "parts of copies, of other wholes",
        "largest correlation of codes: copied parts, all parts",
    ]
    print(table(head, rows))


if __name__ == "__main__":
    main()
