from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.metrics import clustering_accuracy, nmi, sparseness
from deepnmf.models.factorization import Factorization
from deepnmf.plotting.groups import Groups, clusters, labelled
from deepnmf.report.rows import Rows, squared_errors


@dataclass(frozen=True)
class LayerScore:
    """What one layer is worth; see `layer_scores`."""

    layer: int
    size: int
    error: float
    sparseness: float
    accuracy: float | None
    nmi: float | None


def layer_scores(model: Factorization, X: Matrix, y: Any = None, *, groups: Any = None) -> list[LayerScore]:
    """Score every layer of a fitted model.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Labels, -1, None or NaN where unknown; of several columns, the last counts.
    groups : array-like of shape (n_samples,), optional
        The recording each row belongs to, for models that pool codes over neighbouring rows.

    Returns
    -------
    list of LayerScore
        The lowest layer first, each with its number ``layer`` (from 1), ``size``, ``error`` (the Frobenius norm of X
        minus its reconstruction from the layer's codes, over the observed entries), ``sparseness`` (Hoyer's, of the
        features) and, where labels are known, ``accuracy`` and ``nmi`` of k-means on the codes; else these are None.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import DeepNSNMF
    >>> from deepnmf.report import layer_scores
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DeepNSNMF((20, 10), random_state=0, tol=1e-3).fit(X)
    >>> lower, upper = layer_scores(model, X, y)
    >>> lower.size, upper.size
    (20, 10)
    >>> lower.error < upper.error
    True
    """
    check_is_fitted(model)
    codes = encoded_layers(model, X, groups)
    errors, _ = squared_errors(model, Rows(X), codes)
    return scores_of(model, codes, errors, labelled(y, len(codes[0])))


def encoded_layers(model: Factorization, X: Matrix, groups: Any = None) -> list[Array]:
    """Codes of X at every layer, the lowest first, pooled within the groups where the model pools."""
    known = {} if groups is None or "groups" not in signature(model.encode).parameters else {"groups": groups}
    return [np.asarray(model.encode(X, layer, **known)) for layer in range(len(model.features_))]


def scores_of(
    model: Factorization, codes: list[Array], squared_error: Array, labels: Groups | None
) -> list[LayerScore]:
    """Scores from codes and squared errors that are there already."""
    return [
        LayerScore(
            layer=layer + 1,
            size=len(C),
            error=float(np.sqrt(squared_error[layer])),
            sparseness=sparseness(C),
            **_clustering(codes[layer], labels),
        )
        for layer, C in enumerate(model.features_)
    ]


def _clustering(codes: Array, labels: Groups | None) -> dict[str, float | None]:
    """Accuracy and NMI over the labelled samples; the others count in the clusters only."""
    if labels is None:
        return {"accuracy": None, "nmi": None}
    found = clusters(codes, len(labels.names))[labels.known]
    truth = labels.places[labels.known]
    return {"accuracy": clustering_accuracy(truth, found), "nmi": nmi(truth, found)}
