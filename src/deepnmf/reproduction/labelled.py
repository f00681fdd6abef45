"""Rows of which some labels are given: which ones, and how clusters of the codes are scored then."""

from collections.abc import Mapping

import numpy as np
from sklearn.linear_model import RidgeClassifier

from deepnmf.arrays import Array
from deepnmf.metrics import clustering_accuracy, nmi, purity
from deepnmf.reproduction.clustering import RESTARTS, clusterings
from deepnmf.reproduction.results import Row

__all__ = ["LABELLED_PROTOCOLS", "given_labels", "known_rows", "ridge_accuracy", "scores_beside_labels"]

LABELLED_PROTOCOLS = {
    "paper": "the restart of k-means with the best accuracy, scored on all samples, those with a given label too",
    "blind": "the restart of k-means with the lowest inertia, scored on the samples whose label was not given",
}
MEASURES = {"accuracy": clustering_accuracy, "nmi": nmi, "purity": purity}


def known_rows(y: Array, share: float, seed: int) -> Array:
    """Mark a share of each class at random, at least one row of it.

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
    """The labels of the known rows, -1 for the others."""
    return np.where(known, y, -1)


def scores_beside_labels(codes: Array, y: Array, known: Array, seed: int, restarts: int = RESTARTS) -> Row:
    """Accuracy, NMI and purity of k-means by both protocols."""
    found = clusterings(np.asarray(codes), len(np.unique(y)), seed, restarts)
    best = max((clusters for _, clusters in found), key=lambda clusters: clustering_accuracy(y, clusters))
    tightest = min(found, key=lambda pair: pair[0])[1]
    scored: Mapping[str, tuple[Array, Array]] = {"paper": (y, best), "blind": (y[~known], tightest[~known])}
    return {
        f"{protocol}_{name}": measure(*pair) for protocol, pair in scored.items() for name, measure in MEASURES.items()
    }


def ridge_accuracy(X: Array, y: Array, known: Array) -> float:
    """What a linear classifier on the data itself gets right among the rows without a label."""
    return float(RidgeClassifier().fit(X[known], y[known]).score(X[~known], y[~known]))
