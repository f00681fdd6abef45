"""The two protocols: k-means on codes, chosen by labels as in the papers or without labels."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType

import joblib
import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import RidgeClassifier
from sklearn.preprocessing import normalize

from deepnmf.metrics import clustering_accuracy, nmi, purity
from reproduction.experiment import Array, Matrix, Results, Row

__all__ = [
    "CODE_SCALES",
    "LABELED_PROTOCOLS",
    "PROTOCOLS",
    "clusterings",
    "described",
    "given_labels",
    "known_rows",
    "of_protocol",
    "ridge_accuracy",
    "scores",
    "scores_beside_labels",
]

RESTARTS = 20
CODE_SCALES: dict[str, Callable[[Array], Array]] = {"as they are": np.asarray, "unit rows": normalize}
PROTOCOLS = {
    "paper": (
        "the restart of k-means and the setting of each model with the best accuracy; both are chosen by the labels"
    ),
    "blind": (
        "the restart of k-means with the lowest inertia and the defaults of each model; labels are used for scoring "
        "only"
    ),
}
Measures = Mapping[str, Callable[[Array, Array], float]]
ACCURACY_AND_NMI: Measures = MappingProxyType({"accuracy": clustering_accuracy, "nmi": nmi})


def clusterings(codes: Matrix, n_clusters: int, seed: int, restarts: int = RESTARTS) -> list[tuple[float, Array]]:
    """Return the inertia and the clusters of every restart of k-means.

    A process repeats no clustering, because k-means of the data is the slowest, and is shown for every size of a model.
    """
    key = joblib.hash(codes), n_clusters, seed, restarts
    if key not in _clusterings:
        found = (KMeans(n_clusters, n_init=1, random_state=1000 * seed + start).fit(codes) for start in range(restarts))
        _clusterings[key] = [(model.inertia_, model.labels_) for model in found]
    return _clusterings[key]


_clusterings: dict[Hashable, list[tuple[float, Array]]] = {}


def scores(codes: Matrix, y: Array, seed: int, restarts: int = RESTARTS, measures: Measures = ACCURACY_AND_NMI) -> Row:
    """Return measures of the best restart by the labels (`paper_`) and of that with the lowest inertia (`blind_`).

    The first measure decides which restart is best; if several are equal, the second decides.
    """
    found = clusterings(codes, len(np.unique(y)), seed, restarts)
    first, second, *_ = measures.values()
    by_labels = [first(y, clusters) for _, clusters in found]
    best = [clusters for value, (_, clusters) in zip(by_labels, found, strict=True) if value == max(by_labels)]
    chosen: Mapping[str, Array] = {
        "paper": max(best, key=lambda clusters: second(y, clusters)),
        "blind": min(found, key=lambda pair: pair[0])[1],
    }
    return {
        f"{protocol}_{name}": measure(y, clusters)
        for protocol, clusters in chosen.items()
        for name, measure in measures.items()
    }


def described(results: Results, protocols: Mapping[str, str] = PROTOCOLS) -> str:
    """Return a description of the protocols of a page, as a list."""
    return "\n".join(f"- `{protocol}`: {protocols[protocol]}." for protocol in results.protocols)


def of_protocol(results: Results, protocol: str, measure: str) -> Results:
    """Return the rows of the setting with the best mean by the labels (`paper`), or of the default (`blind`)."""
    return results.where(default=1) if protocol == "blind" else results.best("setting", f"paper_{measure}")


LABELED_PROTOCOLS = {
    "paper": (
        "the restart of k-means with the best accuracy, scored on all samples, including those whose label was given"
    ),
    "blind": "the restart of k-means with the lowest inertia, scored on the samples whose label was not given",
}
WITH_PURITY: Measures = MappingProxyType({"accuracy": clustering_accuracy, "nmi": nmi, "purity": purity})


def known_rows(y: Array, share: float, seed: int) -> Array:
    """Return a mask of a random share of each class, with at least one row per class.

    Examples
    --------
    >>> int(known_rows(np.array([0, 0, 0, 0, 1, 1]), 0.5, seed=0).sum())
    3
    """
    rng = np.random.default_rng(seed)
    known = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        known[rng.choice(members, max(1, round(share * len(members))), replace=False)] = True
    return known


def given_labels(y: Array, known: Array) -> Array:
    """Return the labels of the known rows, and -1 for the others."""
    return np.where(known, y, -1)


def scores_beside_labels(found: Sequence[tuple[float, Array]], y: Array, known: Array) -> Row:
    """Return accuracy, NMI and purity of clusterings by both protocols; `blind` scores the rows without a label."""
    best = max((clusters for _, clusters in found), key=lambda clusters: clustering_accuracy(y, clusters))
    tightest = min(found, key=lambda pair: pair[0])[1]
    scored: Mapping[str, tuple[Array, Array]] = {"paper": (y, best), "blind": (y[~known], tightest[~known])}
    return {
        f"{protocol}_{name}": measure(*pair)
        for protocol, pair in scored.items()
        for name, measure in WITH_PURITY.items()
    }


def ridge_accuracy(X: Array, y: Array, known: Array) -> float:
    """Return the accuracy of a linear classifier of the data on the rows without a label."""
    return float(RidgeClassifier().fit(X[known], y[known]).score(X[~known], y[~known]))
