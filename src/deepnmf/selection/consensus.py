"""Consensus features of fits from different starts, as in cNMF (Kotliar et al., 2019)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils.parallel import Parallel, delayed

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Workers
from deepnmf.models.factorization import Factorization
from deepnmf.models.input_data import observed, rows
from deepnmf.objective import CodePenalty
from deepnmf.selection.search import fitted
from deepnmf.solvers.divergence_loss import loss_of

N_STARTS = 10
NEIGHBORS = 0.3  # share of the fits that must have a similar feature
FARTHEST = 0.5  # a feature with a larger mean distance from these neighbors is an outlier
CLUSTERINGS = 10  # starts of k-means


@dataclass(frozen=True)
class Consensus:
    """The features of a layer on which fits from different random starts agree.

    Parameters
    ----------
    features : array of shape (size, n_features)
        Medians of clusters of the features of all fits, with unit norm.
    codes : array of shape (n_samples, size)
        The best codes of the rows for these features.
    share_kept : float
        The share of features with similar features in other fits. The others were discarded.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnmf import NMF, select_layers
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 3)) @ rng.random((3, 20)) ** 3
    >>> selection = select_layers(NMF(), X, sizes=[3], consensus=True, random_state=0)
    >>> selection.consensus_.features.shape
    (3, 20)
    """

    features: Array
    codes: Array
    share_kept: float


def consensus_of(model: Factorization, X: Matrix, y: Any, fit_params: dict[str, Any], n_jobs: int | None) -> Consensus:
    """Fit a model of one layer from random starts, cluster all features, and compute the codes of the medians."""
    start = {"init": "random"} if "init" in model.get_params() else {}
    models = [clone(model).set_params(random_state=model.random_state + i, **start) for i in range(N_STARTS)]
    if n_jobs in (None, 1):
        fits = [fitted(one, X, y, **fit_params) for one in models]
    else:
        fits = Parallel(n_jobs=n_jobs)(delayed(fitted)(one, X, y, **fit_params) for one in models)
    pooled = normalize(np.vstack([fit.features_[0] for fit in fits]).astype(np.float64))
    features, share_kept = medians(pooled, len(fits[0].features_[0]), model.random_state)
    return Consensus(features, best_codes(model, features, X, fit_params.get("entry_weight")), share_kept)


def medians(pooled: Array, size: int, seed: int) -> tuple[Array, float]:
    """Return the medians of clusters of features, without outliers, and the share of features that are kept.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fits = [np.eye(3) + 0.01 * rng.random((3, 3)) for _ in range(9)]
    >>> pooled = normalize(np.vstack([*fits, np.eye(3), [[1.0, 1.0, 1.0]]]))
    >>> features, share_kept = medians(pooled, 3, 0)
    >>> features.shape, round(share_kept, 2)
    ((3, 3), 0.97)
    """
    n_neighbors = max(1, int(NEIGHBORS * N_STARTS))
    distances, _ = NearestNeighbors(n_neighbors=n_neighbors).fit(pooled).kneighbors()
    kept = pooled[distances.mean(axis=1) < FARTHEST]
    share_kept = len(kept) / len(pooled)
    if len(kept) < size:
        kept = pooled
    clusters = KMeans(size, n_init=CLUSTERINGS, random_state=seed).fit_predict(kept)
    return normalize(np.vstack([np.median(kept[clusters == k], axis=0) for k in range(size)])), share_kept


def best_codes(model: Factorization, features: Array, X: Matrix, entry_weight: Any) -> Array:
    """Return the codes that minimize the loss of a model for given features."""
    problem, loss = model._problem(), loss_of(model.get_params().get("beta_loss", "frobenius"))
    data = observed(clone(model), problem, X, entry_weight, reset=True)
    with Workers() as workers:
        engine = rows(problem, data, workers, type(model).__name__)
        none = CodePenalty.none(len(features))
        return loss.encode(engine, features.astype(engine.dtype), none) * engine.unit
