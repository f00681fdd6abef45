"""k-means on codes, scored as the papers do and as one can without labels."""

from collections.abc import Mapping

import numpy as np
from sklearn.cluster import KMeans

from deepnmf.arrays import Array
from deepnmf.metrics import clustering_accuracy, nmi
from deepnmf.reproduction.results import Row

__all__ = ["PROTOCOLS", "clusterings", "scores"]

RESTARTS = 20
PROTOCOLS = {
    "paper": "the restart of k-means, and the setting of each model, with the best accuracy: both are chosen by looking at the labels",
    "blind": "the restart of k-means with the lowest inertia, and the defaults of each model: labels are only used to score",
}


def clusterings(codes: Array, n_clusters: int, seed: int, restarts: int = RESTARTS) -> list[tuple[float, Array]]:
    """Inertia and clusters of every restart of k-means."""
    found = (KMeans(n_clusters, n_init=1, random_state=1000 * seed + start).fit(codes) for start in range(restarts))
    return [(model.inertia_, model.labels_) for model in found]


def scores(codes: Array, y: Array, seed: int, restarts: int = RESTARTS) -> Row:
    """Accuracy and NMI of the restart that is best by the labels (`paper_`), and of that with the lowest inertia (`blind_`)."""
    found = clusterings(np.asarray(codes), len(np.unique(y)), seed, restarts)
    accuracies = [clustering_accuracy(y, clusters) for _, clusters in found]
    chosen: Mapping[str, Array] = {
        "paper": found[int(np.argmax(accuracies))][1],
        "blind": min(found, key=lambda pair: pair[0])[1],
    }
    row: Row = {}
    for protocol, clusters in chosen.items():
        row |= {f"{protocol}_accuracy": clustering_accuracy(y, clusters), f"{protocol}_nmi": nmi(y, clusters)}
    return row
