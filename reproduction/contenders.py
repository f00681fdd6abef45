"""Functions that the experiments beyond the papers share: the compared models, and the scores of their layers."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import decomposition
from sklearn.preprocessing import normalize

from deepnmf import NMF, DeepNMF, DeepNSNMF, MultilayerNMF, SparseDeepNMF
from deepnmf.metrics import clustering_accuracy, nmi, purity
from reproduction.baselines import BASELINES, baseline
from reproduction.experiment import Array, Matrix, Plan, Results, Row, Trial, Value
from reproduction.pages import table
from reproduction.protocols import RESTARTS, described, scores

__all__ = [
    "DEEP",
    "MODELS",
    "Layer",
    "baseline_scores",
    "baseline_table",
    "baseline_trials",
    "clustering_measures",
    "contender",
    "described_protocols",
    "described_starts",
    "layer_scores",
    "layers_of",
    "own_names",
    "relative_error",
    "score_rows",
    "starts",
    "top_names",
]

MODELS = ("scikit-learn's NMF", "NMF", "multilayer NMF", "deep NMF", "Deep nsNMF", "DeepNMF")
DEEP = MODELS[2:]
RANDOM_STARTS = 5


class Layer(NamedTuple):
    """Features of a layer, scaled to unit norm, and the codes of the samples."""

    features: Array
    codes: Array


def contender(name: str, sizes: Sequence[int], start: str, seed: int, plan: Plan) -> Any:
    """Return a model with layers of `sizes`, lowest first; a model with a single layer has the last size."""
    common: dict[str, Any] = {"random_state": seed, "max_iter": plan.size(500, 5)}
    common |= {} if start == "default" else {"init": "random"}
    match name:
        case "scikit-learn's NMF":
            return decomposition.NMF(sizes[-1], **common)
        case "NMF":
            return NMF(sizes[-1], **common)
        case "multilayer NMF":
            return MultilayerNMF(tuple(sizes), **common)
        case "DeepNMF":
            return DeepNMF(tuple(sizes), pretrain_max_iter=plan.size(150, 5), **common)
    deep = SparseDeepNMF if name == "deep NMF" else DeepNSNMF
    return deep(tuple(sizes), pretrain_max_iter=plan.size(50, 5), **common)


def starts(plan: Plan) -> list[Trial]:
    """Return trials of every model: one with its default initialization (not random), and several with random ones."""
    random = [("random", draw) for draw in (range(1) if plan.quick else plan.repeats(RANDOM_STARTS))]
    return [
        {"model": model, "start": start, "draw": draw}
        for model, (start, draw) in product(MODELS, [("default", 0), *random])
    ]


def baseline_trials(plan: Plan) -> list[Trial]:
    """Return trials of k-means on the data, PCA and whitened PCA, as many as there are random initializations."""
    draws = plan.repeats(RANDOM_STARTS)
    return [{"model": name, "start": "k-means", "draw": draw} for name, draw in product(BASELINES, draws)]


def baseline_scores(trial: Trial, X: Matrix, y: Array, k: int, plan: Plan) -> Row:
    """Return the scores of a baseline, for comparison with models that have k features on top."""
    codes = baseline(str(trial["model"]), k).fit(X).codes_[-1]
    return scores(codes, y, int(trial["draw"]), plan.size(RESTARTS, 2)) | {"part": "baseline"}


def baseline_table(some: Results, of: str = "") -> str:
    """Return a section with the mean and deviation of each baseline over the seeds of k-means."""
    measures = clustering_measures(some)
    rows = [[name, *map(some.where(model=name).spread, measures.values())] for name in some.distinct("model")]
    text = "PCA has as many components as the models have on top. Mean and standard deviation over seeds of k-means."
    return "\n\n".join([f"## k-means without a model{of}", text, table(["k-means on", *measures], rows)])


def described_starts(results: Results) -> str:
    """Return a description of the initializations and the models."""
    draws = len(results.where(start="random").distinct("draw"))
    return (
        f"Every model is fitted from its default initialization, which is not random, and from {draws} random ones\n"
        "(mean and standard deviation). Deep NMF is `SparseDeepNMF` without a penalty. Multilayer NMF is fitted\n"
        "layer by layer, without fine-tuning. Deep nsNMF has its default smoothing. All other parameters have their\n"
        "defaults."
    )


def described_protocols(results: Results) -> str:
    """Return a description of the protocols if they choose the restart of k-means only."""
    chosen = "No settings are compared here: the protocols differ only in the restart of k-means."
    return f"{described(results)}\n\n{chosen}\n{described_starts(results)}"


def clustering_measures(results: Results) -> dict[str, str]:
    """Return the columns with the scores of k-means, by their titles."""
    titles = product(results.protocols, {"accuracy": "accuracy", "NMI": "nmi"}.items())
    return {f"{title}, `{protocol}`": f"{protocol}_{name}" for protocol, (title, name) in titles}


def score_rows(some: Results, start: Value, measures: Sequence[str]) -> list[list[Any]]:
    """Return one table row per layer of every model: its size, the measures, and the error of the fit.

    The measures of random initializations have their standard deviation.
    """
    rows = []
    for model, layer in product(MODELS, some.distinct("layer")):
        if found := some.where(start=start, model=model, layer=layer):
            cells = [found.spread(m) if start == "random" else f"{found.mean(m):.3f}" for m in measures]
            rows.append([model, layer, found.rows[0]["size"], *cells, f"{found.mean('error'):.4f}"])
    return rows


def layers_of(model: Any, X: Matrix) -> list[Layer]:
    """Return the layers of a fitted model, lowest first."""
    if isinstance(model, decomposition.NMF):
        norms = np.linalg.norm(model.components_, axis=1)
        return [Layer(normalize(model.components_), model.transform(X) * norms)]
    return [Layer(normalize(C), model.encode(X, layer)) for layer, C in enumerate(model.features_)]


def relative_error(model: Any, X: Matrix) -> float:
    """Return ‖X - X̂‖ / ‖X‖ of a fit."""
    norm = sparse.linalg.norm(X) if sparse.issparse(X) else np.linalg.norm(X)
    return float(model.reconstruction_err_ / norm)


def layer_scores(model: Any, X: Matrix, y: Array, draw: int, plan: Plan) -> Iterator[Row]:
    """Yield scores of each layer: k-means on its codes by both protocols, and its strongest features as clusters."""
    for place, layer in enumerate(layers_of(model, X)):
        strongest = layer.codes.argmax(axis=1)
        row: Row = {"layer": place + 1, "size": len(layer.features)}
        row |= {"strongest_accuracy": clustering_accuracy(y, strongest), "strongest_nmi": nmi(y, strongest)}
        row |= {"purity": purity(y, strongest), "error": relative_error(model, X)}
        yield row | scores(layer.codes, y, draw, plan.size(RESTARTS, 2))


def top_names(model: Any, layer: int, names: Sequence[str], n: int) -> list[list[str]]:
    """Return the names of the inputs with the largest weights in each feature."""
    places = {f"x{place}": str(name) for place, name in enumerate(names)}
    return [[places[name] for name, _ in feature] for feature in model.top_features(layer, n)]


def own_names(features: Array, names: Sequence[str], n: int) -> list[list[str]]:
    """Return the names of the inputs whose weight in a feature exceeds that in all other features the most.

    Examples
    --------
    >>> own_names(np.array([[0.9, 0.4, 0.1], [0.9, 0.0, 0.4]]), ["a", "b", "c"], 1)
    [['b'], ['c']]
    """
    found = []
    for place, feature in enumerate(features):
        ahead = feature - np.delete(features, place, axis=0).max(axis=0)
        found.append([str(names[j]) for j in np.argsort(-ahead, kind="stable")[:n]])
    return found
