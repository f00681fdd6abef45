"""Gene expression: kinds of leukemia in Golub's microarrays, and types of single blood cells."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from reproduction.baselines import BASELINES
from reproduction.contenders import (
    DEEP,
    MODELS,
    baseline_scores,
    baseline_table,
    baseline_trials,
    clustering_measures,
    contender,
    described_protocols,
    described_starts,
    layer_scores,
    layers_of,
    own_names,
    score_rows,
    starts,
    top_names,
)
from reproduction.experiment import Array, Data, Experiment, Matrix, Plan, Results, Row, Trial, Value
from reproduction.pages import table
from reproduction.protocols import RESTARTS, described

__all__ = ["EXPERIMENTS"]

SHOWN = ("NMF", *DEEP)


def _trials(plan: Plan) -> list[Trial]:
    return starts(plan) + baseline_trials(plan)


def _features(model: Any, X: Matrix, y: Array, classes: Sequence[str], genes: Sequence[str], n: int) -> Iterator[Row]:
    """Yield the heaviest and the most specific genes of every top feature, and the class of most of its samples."""
    features, codes = layers_of(model, X)[-1]
    heaviest, own = top_names(model, -1, genes, n), own_names(features, genes, n)
    strongest = codes.argmax(axis=1)
    for place in range(len(features)):
        genes_of: Row = {"heaviest": "; ".join(heaviest[place]), "own": "; ".join(own[place])}
        majority = _majority(y[strongest == place], classes)
        yield genes_of | {"part": "feature", "feature": place + 1, "strongest_in": majority}


def _majority(members: Array, classes: Sequence[str]) -> str:
    if not len(members):
        return "none"
    counts = np.bincount(members)
    return f"{classes[int(counts.argmax())]} ({counts.max() / len(members):.0%} of {len(members)})"


def _feature_table(some: Results) -> str:
    rows = [[row["feature"], row["strongest_in"], row["heaviest"], row["own"]] for row in some.rows]
    return table(["feature", "strongest in", "heaviest genes", "most specific genes"], rows)


# ---------------------------------------------------------------------------------------------------------- leukemia

LEUKEMIA = "leukemia_golub"
BELOW = 10
LEUKEMIA_GENES = 5
START_PROTOCOLS = {
    "paper": "the random initialization with the best accuracy, which is chosen by the labels",
    "blind": "the random initialization with the lowest error of the fit",
}
VALUES: dict[str, Callable[[Array], Array]] = {"as measured": np.asarray, "in logarithms": lambda X: np.log2(1 + X)}


def _leukemia_trials(plan: Plan) -> list[Trial]:
    return [{**trial, "k": k, "values": values} for k, values, trial in product((2, 3), VALUES, _trials(plan))]


def _kinds(bunch: Any, k: int) -> tuple[Array, list[str]]:
    """Return labels and names of the three kinds, or of acute myeloid (AML) and lymphoblastic (ALL) leukemia."""
    names = [str(name) for name in bunch.class_names]
    if k == 3:
        return bunch.target, names
    lymphoblastic = np.array([name.startswith("ALL") for name in names])
    return lymphoblastic[bunch.target].astype(int), ["AML", "ALL"]


def _run_leukemia(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    bunch, k = data[LEUKEMIA], int(trial["k"])
    X = VALUES[str(trial["values"])](bunch.data.astype(float))
    y, kinds = _kinds(bunch, k)
    if trial["model"] in BASELINES:
        yield baseline_scores(trial, X, y, k, plan)
        return
    model = contender(str(trial["model"]), (plan.size(BELOW, 5), k), str(trial["start"]), int(trial["draw"]), plan).fit(
        X
    )
    *_, top = layer_scores(model, X, y, int(trial["draw"]), plan)
    yield top | {"part": "top"}
    if trial["start"] == "default" and trial["model"] in SHOWN:
        described = (str(text).strip('"') for text in bunch.gene_descriptions)
        genes = [f"{text} ({gene})" for text, gene in zip(described, bunch.gene_ids, strict=True)]
        yield from _features(model, X, y, kinds, genes, LEUKEMIA_GENES)


def _leukemia_row(some: Results) -> list[str]:
    """Return scores of the default initialization, of all random ones, and of the one that each protocol chooses."""
    default, random = some.where(start="default"), some.where(start="random")
    chosen = {
        "paper": max(random.rows, key=lambda row: float(row["strongest_accuracy"])),
        "blind": min(random.rows, key=lambda row: float(row["error"])),
    }
    return [
        f"{default.mean('strongest_accuracy'):.3f}",
        random.spread("strongest_accuracy"),
        *(f"{chosen[protocol]['strongest_accuracy']:.3f}" for protocol in some.protocols),
        f"{default.mean('strongest_nmi'):.3f}",
        f"{default.mean('error'):.4f}",
    ]


def _leukemia_table(some: Results) -> str:
    head = ["values", "model", "default init", "random inits", *(f"best random init, `{p}`" for p in some.protocols)]
    pairs = product(some.distinct("values"), some.distinct("model"))
    rows = [[values, model, *_leukemia_row(some.where(values=values, model=model))] for values, model in pairs]
    return table([*head, "NMI, default init", "relative error, default init"], rows)


def _leukemia_findings(some: Results) -> str:
    lines = []
    for k, values in product(some.distinct("k"), some.distinct("values")):
        found = some.where(k=k, values=values, start="default")
        means = {model: found.where(model=model).mean("strongest_accuracy") for model in MODELS}
        best = [model for model, mean in means.items() if mean == max(means.values())]
        lines.append(
            f"- k = {k}, values {values}, default init: the best accuracy is {max(means.values()):.1%} "
            f"({', '.join(best)}); NMF has {means['NMF']:.1%}, scikit-learn's NMF {means[MODELS[0]]:.1%}."
        )
    return "\n".join(lines)


def _leukemia_page(results: Results) -> str:
    top = results.where(part="top")
    parts = [
        "Golub's microarrays have 38 samples of bone marrow (19 B-cell ALL, 8 T-cell ALL, 11 AML) and the 5000 genes\n"
        "that Brunet et al. (2004) chose. The cluster of a sample is its strongest feature; k = 2 is scored against\n"
        f"AML and ALL, k = 3 against all three kinds. Deep models have {BELOW} features in the lower layer. Accuracy\n"
        "is the share of correct samples under the best matching of clusters to kinds.",
        described(top, START_PROTOCOLS),
        described_starts(top),
        "## Findings",
        _leukemia_findings(top),
    ]
    for k in top.distinct("k"):
        parts += [f"## k = {k}", _leukemia_table(top.where(k=k))]
    for k, values in product(top.distinct("k"), top.distinct("values")):
        parts += [baseline_table(results.where(part="baseline", k=k, values=values), f", k = {k}, values {values}")]
    parts.append("## Genes of the features, default init")
    for k, values, model in product(top.distinct("k"), top.distinct("values"), SHOWN):
        some = results.where(part="feature", k=k, values=values, model=model)
        parts += [f"{model}, k = {k}, values {values}:", _feature_table(some)]
    return "\n\n".join(parts)


# -------------------------------------------------------------------------------------------------------------- PBMC

PBMC = "pbmc68k_reduced"
PBMC_SIZES = (40, 20, 10)
PBMC_GENES = 8


def _run_pbmc(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    bunch = data[PBMC]
    sizes = (14, 12, 10) if plan.quick else PBMC_SIZES
    if trial["model"] in BASELINES:
        yield baseline_scores(trial, bunch.data, bunch.target, sizes[-1], plan)
        return
    model = contender(str(trial["model"]), sizes, str(trial["start"]), int(trial["draw"]), plan).fit(bunch.data)
    for row in layer_scores(model, bunch.data, bunch.target, int(trial["draw"]), plan):
        yield row | {"part": "layer"}
    if trial["start"] == "default" and trial["model"] in SHOWN:
        classes = [str(name) for name in bunch.class_names]
        yield from _features(model, bunch.data, bunch.target, classes, list(bunch.gene_names), PBMC_GENES)


def _pbmc_table(some: Results, start: Value) -> str:
    measures = clustering_measures(some) | {"NMI of the strongest features": "strongest_nmi"}
    head = ["model", "layer", "features", *measures, "relative error of the fit"]
    return table(head, score_rows(some, start, list(measures.values())))


def _pbmc_findings(some: Results) -> str:
    lines, protocol = [], some.protocols[-1]
    for start in some.distinct("start"):
        found = some.where(start=start)
        means = {
            f"layer {layer} of {model}": found.where(model=model, layer=layer).mean(f"{protocol}_nmi")
            for model, layer in dict.fromkeys((row["model"], row["layer"]) for row in found.rows)
        }
        best = max(means, key=lambda name: means[name])
        plain = means["layer 1 of NMF"], means[f"layer 1 of {MODELS[0]}"]
        lines.append(
            f"- {start} init, NMI by `{protocol}`: the highest is {means[best]:.3f} ({best}); "
            f"NMF has {plain[0]:.3f}, scikit-learn's NMF {plain[1]:.3f}."
        )
    return "\n".join(lines)


def _pbmc_page(results: Results) -> str:
    layers = results.where(part="layer")
    parts = [
        "Blood cells (PBMC 68k, scanpy's reduced set): 700 cells, 765 genes, sparse log-normalized counts, and ten\n"
        "cell types, which were assigned by similarity of expression. Models have ten features on top. k-means runs\n"
        f"on the codes of each layer, with ten clusters and {RESTARTS} restarts.",
        described_protocols(layers),
        "## Findings",
        _pbmc_findings(layers),
    ]
    for start in layers.distinct("start"):
        parts += [f"## {str(start).capitalize()} init", _pbmc_table(layers, start)]
    parts.append(baseline_table(results.where(part="baseline")))
    parts.append("## Genes of the top features, default init")
    for model in SHOWN:
        parts += [f"{model}:", _feature_table(results.where(part="feature", model=model))]
    return "\n\n".join(parts)


EXPERIMENTS = (
    Experiment(
        name="genes-leukemia",
        title="Beyond the papers: kinds of leukemia",
        data=(LEUKEMIA,),
        trials=_leukemia_trials,
        run=_run_leukemia,
        page=_leukemia_page,
    ),
    Experiment(
        name="genes-pbmc",
        title="Beyond the papers: types of blood cells",
        data=(PBMC,),
        trials=_trials,
        run=_run_pbmc,
        page=_pbmc_page,
    ),
)
