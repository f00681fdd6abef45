"""Metrics of codes and features: clustering scores, sparseness and agreement."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import normalize
from sklearn.utils import check_array, check_consistent_length

__all__ = ["clustering_accuracy", "error_rate", "matched_cosine", "naive_precision", "nmi", "purity", "sparseness"]


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples in the right cluster, for the best assignment of clusters to classes.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1], [1, 1, 0, 2])
    0.75
    """
    counts = _counts(y_true, y_pred)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float(matched / counts.sum())


def nmi(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Normalized mutual information, with the arithmetic mean of the two entropies.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> nmi([0, 0, 1, 1], ["a", "a", "b", "b"])
    1.0
    """
    return float(normalized_mutual_info_score(y_true, y_pred))


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of samples that belong to the majority class of their cluster.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float in (0, 1]

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 1, 2, 2])
    1.0
    """
    counts = _counts(y_true, y_pred)
    return float(counts.max(axis=0).sum() / counts.sum())


def naive_precision(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """NP of Sparse Deep NMF: the mean over classes of the largest share of a class in one cluster.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float in (0, 1]

    Examples
    --------
    >>> naive_precision([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    counts = _counts(y_true, y_pred)
    return float(np.mean(counts.max(axis=1) / counts.sum(axis=1)))


def error_rate(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """ER of Sparse Deep NMF: √‖Z*Z*ᵀ - ZZᵀ‖_F of the one-hot memberships, from the counts alone.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float
        0 if and only if the two partitions are the same.

    Examples
    --------
    >>> error_rate([0, 0, 1, 1], [1, 1, 0, 0])
    0.0
    """
    counts = _counts(y_true, y_pred).astype(float)
    square = (counts.sum(axis=1) ** 2).sum() + (counts.sum(axis=0) ** 2).sum() - 2 * (counts**2).sum()
    return float(max(square, 0.0) ** 0.25)


def sparseness(array: ArrayLike, axis: int | None = 1) -> float:
    """Mean Hoyer sparseness of vectors: 0 if all entries are equal, 1 if only one entry is not zero.

    Parameters
    ----------
    array : array-like of shape (n, r)
        Features, factors or codes.
    axis : {1, 0, None}, default=1
        Sparseness of the rows, of the columns, or of the matrix as one vector. Zero vectors are ignored.

    Returns
    -------
    float in [0, 1]
        NaN if every vector is zero.

    Examples
    --------
    >>> sparseness([[1.0, 0.0], [0.0, 2.0]])
    1.0
    """
    matrix = check_array(array, dtype=[np.float64, np.float32])
    vectors = matrix.reshape(1, -1) if axis is None else matrix if axis == 1 else matrix.T
    size = vectors.shape[1]
    if size == 1:
        return 0.0
    l1 = np.abs(vectors).sum(axis=1, dtype=np.float64)
    l2 = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1))
    nonzero = l2 > 0
    if not nonzero.any():
        return float("nan")
    return float(np.mean((np.sqrt(size) - l1[nonzero] / l2[nonzero]) / (np.sqrt(size) - 1)))


def matched_cosine(features: ArrayLike, truth: ArrayLike) -> float:
    """Mean cosine between true features and the features that they are matched with.

    The matching is one-to-one, and has the largest sum of cosines. The scale and the order of features do not matter.

    Parameters
    ----------
    features : array-like of shape (r, n_features)
        Features in input space, such as ``model.features_[0]``. Zero vectors have cosine 0.
    truth : array-like of shape (s, n_features)
        The true features, or those of another fit. If there are more than `features`, those without a match count as 0;
        if there are fewer, the remaining `features` are ignored.

    Returns
    -------
    float in [-1, 1]

    See Also
    --------
    deepnmf.datasets.make_hierarchy : Data with true features.

    Examples
    --------
    >>> matched_cosine([[0.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]])
    0.8
    """
    found, true = (
        normalize(check_array(array, dtype=np.float64, input_name=name))
        for array, name in ((features, "features"), (truth, "truth"))
    )
    if found.shape[1] != true.shape[1]:
        raise ValueError(
            f"features has {found.shape[1]} columns, but truth has {true.shape[1]}: expected the same number."
        )
    cosines = true @ found.T
    return float(cosines[linear_sum_assignment(cosines, maximize=True)].sum() / len(true))


def _counts(y_true: ArrayLike, y_pred: ArrayLike) -> NDArray[Any]:
    """Return the number of samples of each class (rows) in each cluster (columns)."""
    check_consistent_length(y_true, y_pred)
    return np.asarray(contingency_matrix(np.asarray(y_true), np.asarray(y_pred)))
