"""A hierarchy of topics of BBC news: the words of each topic, and the lower topics that it is made of."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

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
    layer_scores,
    layers_of,
    score_rows,
    starts,
    top_names,
)
from reproduction.experiment import Array, Data, Experiment, Matrix, Plan, Results, Row, Trial
from reproduction.pages import table
from reproduction.protocols import RESTARTS

__all__ = ["EXPERIMENTS"]

NEWS = "bbc_news"
SIZES = (30, 12, 5)
WORDS, PARTS = 8, 3  # number of words and of lower topics that are shown for a topic
SHOWN = ("NMF", *DEEP)


def _trials(plan: Plan) -> list[Trial]:
    return starts(plan) + baseline_trials(plan)


def _run(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    bunch = data[NEWS]
    X = TfidfTransformer().fit_transform(bunch.data)
    sizes = (8, 6, 5) if plan.quick else SIZES
    if trial["model"] in BASELINES:
        yield baseline_scores(trial, X, bunch.target, sizes[-1], plan)
        return
    model = contender(str(trial["model"]), sizes, str(trial["start"]), int(trial["draw"]), plan).fit(X)
    for row in layer_scores(model, X, bunch.target, int(trial["draw"]), plan):
        yield row | {"part": "layer"}
    if trial["start"] == "default" and trial["model"] in SHOWN:
        yield from _topics(model, X, bunch)


def _topics(model: Any, X: Matrix, bunch: Any) -> Iterator[Row]:
    """Yield the words, the main class and the lower topics of every topic of every layer."""
    for layer, (_, codes) in enumerate(layers_of(model, X)):
        strongest = codes.argmax(axis=1)
        below = _made_of(model.factors_[layer]) if layer else [""] * len(model.factors_[0])
        for topic, words in enumerate(top_names(model, layer, bunch.vocabulary, WORDS)):
            row: Row = {"part": "topic", "layer": layer + 1, "topic": topic + 1, "words": " ".join(words)}
            yield row | {"made_of": below[topic]} | _class_of(bunch, strongest == topic)


def _made_of(factor: Array) -> list[str]:
    """Return the lower topics with the largest weights in each topic, with their shares of its weight."""
    shares = factor / np.maximum(factor.sum(axis=1, keepdims=True), 1e-12)
    return [", ".join(f"{j + 1} ({share[j]:.0%})" for j in np.argsort(-share)[:PARTS]) for share in shares]


def _class_of(bunch: Any, members: Array) -> Row:
    """Return the number of documents whose strongest topic this is, and the class of most of them."""
    if not members.any():
        return {"documents": 0, "class": "", "share": 0.0}
    counts = np.bincount(bunch.target[members])
    return {
        "documents": int(members.sum()),
        "class": str(bunch.class_names[counts.argmax()]),
        "share": float(counts.max() / members.sum()),
    }


def _score_table(some: Results, start: str) -> str:
    strongest = {
        "accuracy of the strongest topics": "strongest_accuracy",
        "their NMI": "strongest_nmi",
        "their purity": "purity",
    }
    measures = clustering_measures(some) | strongest
    head = ["model", "layer", "topics", *measures, "relative error of the fit"]
    return table(head, score_rows(some, start, list(measures.values())))


def _topic_tables(results: Results, model: str) -> str:
    some = results.where(part="topic", model=model)
    parts = []
    for layer in reversed(some.distinct("layer")):
        rows = [
            [
                row["topic"],
                row["words"],
                row["documents"],
                f"{row['class']} ({float(row['share']):.0%})",
                row["made_of"],
            ]
            for row in some.where(layer=layer).rows
        ]
        head = ["topic", "words", "documents", "class of most", "made of topics below"]
        parts += [f"Layer {layer}:", table(head, rows)]
    return "\n\n".join(parts)


def _findings(some: Results) -> str:
    """Return a list that compares the layers of each deep model with NMF, by measures that choose nothing by labels."""
    lines = []
    clusters = some.protocols[-1]
    measures = {"strongest_nmi": "of the strongest topics", f"{clusters}_nmi": f"of k-means by `{clusters}`"}
    for start, (measure, title) in product(some.distinct("start"), measures.items()):
        plain = {model: some.where(start=start, model=model).mean(measure) for model in MODELS[:2]}
        found = []
        for model in DEEP:
            layers = some.where(start=start, model=model)
            means = [f"{layers.where(layer=layer).mean(measure):.3f}" for layer in layers.distinct("layer")]
            found.append(f"{model} {', '.join(means)}")
        beside = f"NMF {plain['NMF']:.3f}, scikit-learn's NMF {plain[MODELS[0]]:.3f}"
        lines.append(f"- {start} init, NMI {title}, from the lowest layer upwards: {'; '.join(found)}; {beside}.")
    return "\n".join(lines)


def _page(results: Results) -> str:
    layers = results.where(part="layer")
    parts = [
        "BBC news has 2225 documents of five classes and 9635 stemmed words; rows are tf-idf values at unit norm.\n"
        "Models have five topics on top, one per class; deep models have more topics in lower layers. k-means runs\n"
        f"on the codes of each layer, with as many clusters as classes and {RESTARTS} restarts. In a second\n"
        "clustering, each document belongs to the cluster of its strongest topic.",
        described_protocols(layers),
        "## Findings",
        _findings(layers),
        "## Default init",
        _score_table(layers, "default"),
        "## Random inits",
        _score_table(layers, "random"),
        baseline_table(results.where(part="baseline")),
        "## Topics",
        "The topics are those of the default initialization. The words of a topic have the largest weights in its\n"
        "feature, and its documents are those in which it is the strongest topic of the layer. The topics below of\n"
        "which it is made are the largest entries in its row of the factor between the layers, as shares of the row.",
    ]
    for model in SHOWN:
        parts += [f"### {model}", _topic_tables(results, model)]
    return "\n\n".join(parts)


EXPERIMENTS = (
    Experiment(
        name="topics-bbc",
        title="Beyond the papers: a hierarchy of topics of BBC news",
        data=(NEWS,),
        trials=_trials,
        run=_run,
        page=_page,
    ),
)
