"""Groups of samples: their labels, their recordings, or clusters of their codes."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from deepnmf.arrays import Array
from deepnmf.checks import check_groups
from deepnmf.labels import UNKNOWN, split_labels

ClassNames = Sequence[str] | Mapping[Any, str] | None
MOST_CLUSTERS = 10
MOST_RECORDINGS = 100  # the colors of more could not be distinguished


@dataclass(frozen=True)
class Groups:
    """The names of groups, and the index of the group of each sample, -1 if its label is unknown."""

    kind: Literal["class", "group", "cluster"]
    names: tuple[str, ...]
    places: Array

    @property
    def known(self) -> Array:
        """The indices of the samples whose group is known."""
        return np.flatnonzero(self.places != UNKNOWN)


def label_or_cluster_groups(y: Any, codes: Array, class_names: ClassNames = None) -> Groups:
    """Return the classes if labels are known, otherwise clusters of the codes, one per column, at most ten."""
    return label_groups(y, len(codes), class_names) or cluster_groups(codes, min(codes.shape[1], MOST_CLUSTERS))


def label_groups(y: Any, n_samples: int, class_names: ClassNames = None) -> Groups | None:
    """Return the groups by label; None if no label is known. Of several attributes the last (top layer) is used."""
    classes, places = split_labels(_last_column(y), n_samples)
    if not len(classes):
        return None
    return Groups("class", tuple(_name(label, class_names) for label in classes.tolist()), places)


def recording_groups(groups: Any, n_samples: int) -> Groups | None:
    """Return the groups by recording; None if there is only one, or too many."""
    ids = check_groups(groups, n_samples)
    _, first, places = np.unique(ids, return_index=True, return_inverse=True)
    if not 1 < len(first) <= MOST_RECORDINGS:
        return None
    order = np.argsort(first)
    return Groups("group", tuple(str(ids[row]) for row in first[order]), np.argsort(order)[places])


def cluster_groups(codes: Array, n_clusters: int) -> Groups:
    """Return the groups found by k-means on the codes."""
    places = kmeans_clusters(codes, n_clusters)
    return Groups("cluster", tuple(f"cluster {number + 1}" for number in range(int(places.max()) + 1)), places)


def kmeans_clusters(codes: Array, n_clusters: int) -> Array:
    """Return the k-means clusters, computed on one thread, because threads would mostly wait for each other."""
    from sklearn.cluster import KMeans  # noqa: PLC0415 - so that importing deepnmf is fast

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters give fewer clusters
        return KMeans(min(n_clusters, len(codes)), n_init=10, random_state=0).fit_predict(codes)


def _last_column(y: Any) -> Any:
    if not hasattr(y, "shape") or len(y.shape) < 2:
        return y
    return np.asarray(y, dtype=object)[:, -1] if hasattr(y, "iloc") else y[:, -1]


def _name(label: Any, class_names: ClassNames) -> str:
    if class_names is None:
        return str(label)
    try:
        if isinstance(label, int) and label < 0:
            raise IndexError(label)
        return str(class_names[label])
    except (IndexError, KeyError, TypeError):
        raise ValueError(
            f"class_names has no name for the label {label!r} of y: expected class_names[label] for every label."
        ) from None
