"""A fitted model evaluated on data: codes, errors and scores of every layer, and groups of the samples."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.masks import with_holes
from deepnmf.metrics import clustering_accuracy, nmi, sparseness
from deepnmf.models.factorization import Factorization
from deepnmf.models.hierarchy import LayerSummary
from deepnmf.objective.divergences import Divergence
from deepnmf.plotting.sample_groups import (
    ClassNames,
    Groups,
    kmeans_clusters,
    label_groups,
    label_or_cluster_groups,
    recording_groups,
)

# ---------------------------------------------------------------------------------- rows of the data


BLOCK_ENTRIES = 2**21
MOST_CLUSTERED = 2**19  # entries of data that are clustered by k-means in about a second


class Rows:
    """X as dense rows of float64, wherever it is stored; NaN is unobserved.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, path of an .npy file, array of h5py, zarr or dask
    """

    def __init__(self, X: Matrix) -> None:
        self._X = _sliceable(X)
        self.n_samples, self.n_features = self._X.shape

    def __getitem__(self, rows: Array | slice) -> Array:
        """Return rows, given by increasing indices or a slice."""
        X = self._X
        if sparse.issparse(X):
            return np.asarray(X[rows].toarray(), dtype=np.float64)
        if isinstance(rows, slice) or isinstance(X, np.ndarray):
            return np.asarray(X[rows], dtype=np.float64)
        return np.array([np.asarray(X[int(row)]) for row in rows], dtype=np.float64)

    @property
    def is_sparse(self) -> bool:
        """Whether X is a sparse matrix."""
        return bool(sparse.issparse(self._X))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield all rows, block by block."""
        height = max(1, BLOCK_ENTRIES // self.n_features)
        for start in range(0, self.n_samples, height):
            block = slice(start, min(start + height, self.n_samples))
            yield block, self[block]


def _sliceable(X: Any) -> Any:
    """Return X as an object with a shape and rows by index."""
    X = with_holes(X)
    if isinstance(X, str | os.PathLike):
        return np.load(X, mmap_mode="r")
    if sparse.issparse(X):
        return X.tocsr()
    is_array = type(X).__module__.partition(".")[0] in ("numpy", "h5py", "zarr", "dask")
    return X if is_array else np.asarray(X, dtype=np.float64)


@dataclass(frozen=True)
class ColumnStatistics:
    """Means, standard deviations and sums of the columns over the observed entries."""

    means: Array
    deviations: Array
    sums: Array

    @classmethod
    def of(cls, rows: Rows) -> "ColumnStatistics":
        """Compute them in one pass over X."""
        counts, sums, squares = (np.zeros(rows.n_features) for _ in range(3))
        for _, X in rows.blocks():
            counts += np.count_nonzero(~np.isnan(X), axis=0)
            sums += np.nansum(X, axis=0)
            squares += np.nansum(np.square(X), axis=0)
        means = sums / np.maximum(counts, 1)
        variances = (squares / np.maximum(counts, 1) - means**2).clip(0)
        return cls(means, np.sqrt(variances), sums)

    @property
    def shares(self) -> Array:
        """The share of each column in the sum of the data."""
        return self.sums / (self.sums.sum() or 1.0)


@dataclass(frozen=True)
class Divergences:
    """d(X, X̂) of every layer by the loss of the model, over the observed entries, and the share that it explains."""

    loss: Divergence
    of_layers: Array
    shares: list[float]  # explained by each layer with its best codes, as in `hierarchy_`
    baseline: Callable[[Array], Array]  # the reference for errors of samples

    @classmethod
    def of(cls, model: Any, X: Matrix, codes: list[Array]) -> "Divergences":
        """Compute them in one pass over X; losses other than squared error take another one for the baseline."""
        loss, rows = model._learned.divergence, Rows(X)
        baseline = _baseline(loss, (X for _, X in rows.blocks()))
        of_layers = np.zeros(len(codes))
        for block, X_b in rows.blocks():
            for layer, H in enumerate(codes):
                of_layers[layer] += loss.of_rows(X_b, model.decode(H[block], layer)).sum()
        return cls(loss, of_layers, model._layer_shares(X).explained, baseline)

    @property
    def explained(self) -> float:
        """The share that the top layer explains beyond the baseline of `score`."""
        return self.shares[-1]

    def unexplained(self, X: Array, rebuilt: Array) -> Array:
        """Return the error of each row: ‖x - x̂‖ / ‖x‖ for squared error, otherwise the share of its deviance."""
        without = self.loss.of_rows(X, self.baseline(X))
        shares = self.loss.of_rows(X, rebuilt) / np.where(without > 0, without, 1)
        return np.sqrt(shares) if self.loss.is_squared_error else shares


def _baseline(loss: Divergence, blocks: Iterable[Array]) -> Callable[[Array], Array]:
    """Return the reference for the errors of samples, as a function of rows.

    For squared error it is zero, because errors are relative to the norm of the sample; otherwise that of `score`.
    """
    if loss.is_squared_error:
        return np.zeros_like
    totals, weights = 0.0, 0.0
    for X in blocks:
        totals, weights = totals + np.nansum(X, axis=0), weights + np.count_nonzero(~np.isnan(X), axis=0)

    def reconstruction(X: Array) -> Array:
        rows, columns = loss.baseline(np.nansum(X, axis=1), np.asarray(totals), np.asarray(weights))
        return np.broadcast_to(columns, X.shape) if rows is None else np.outer(rows, columns)

    return reconstruction


# -------------------------------------------------------------------------------------------- scores


@dataclass(frozen=True)
class LayerScore:
    """The scores of one layer; see `layer_scores`."""

    layer: int
    size: int
    loss: str
    explained: float
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
        Labels; -1, None or NaN if unknown. Of several columns the last is used.
    groups : array-like of shape (n_samples,), optional
        The recording of each row, for models that pool the codes of neighboring rows.

    Returns
    -------
    list of LayerScore
        The lowest layer first. Each has its number ``layer`` (from 1), ``size``, ``loss`` (as `beta_loss` names it),
        ``explained`` (the share that the features of the layer explain with their best codes beyond the baseline of
        `score`; for the data of the fit it is that of `hierarchy_`), ``error`` (√(2d), where d is the loss of the
        reconstruction from the codes of the layer, over the observed entries: for squared error the Frobenius norm of
        X minus the reconstruction), ``sparseness`` (Hoyer's measure of the features), and ``accuracy`` and ``nmi`` of
        k-means on the codes, None without labels.

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
    codes = encode_layers(model, X, groups)
    return scores_of(model, codes, Divergences.of(model, X, codes), label_groups(y, len(codes[0])))


def encode_layers(model: Factorization, X: Matrix, groups: Any = None) -> list[Array]:
    """Return the codes of X at every layer, the lowest first; models that pool do so within the groups."""
    options = {} if groups is None or "groups" not in signature(model.encode).parameters else {"groups": groups}
    return [np.asarray(codes) for codes in model._encoded_layers(X, **options)]


def scores_of(
    model: Factorization, codes: list[Array], divergences: Divergences, labels: Groups | None
) -> list[LayerScore]:
    """Return the scores of every layer from its codes and divergences."""
    loss = divergences.loss
    return [
        LayerScore(
            layer=layer + 1,
            size=len(C),
            loss=loss.name,
            explained=divergences.shares[layer],
            error=loss.reconstruction_error(float(divergences.of_layers[layer])),
            sparseness=sparseness(C),
            **_clustering(codes[layer], labels),
        )
        for layer, C in enumerate(model.features_)
    ]


class Clustering(NamedTuple):
    """The agreement of k-means clusters with labels."""

    accuracy: float
    nmi: float


def _clustering(codes: Array, labels: Groups | None) -> dict[str, float | None]:
    """Return accuracy and NMI over the labeled samples; the other samples are only clustered."""
    return {"accuracy": None, "nmi": None} if labels is None else clustering(codes, labels)._asdict()


def clustering(rows: Array, labels: Groups) -> Clustering:
    """Cluster rows by k-means, one cluster per class, and compare the labeled ones with their labels."""
    found, truth = kmeans_clusters(rows, len(labels.names))[labels.known], labels.places[labels.known]
    return Clustering(clustering_accuracy(truth, found), nmi(truth, found))


# ------------------------------------------------------------------------------------ the evaluation


@dataclass(frozen=True)
class Evaluation:
    """A fitted model on data: its codes, their scores, and the groups of the samples."""

    model: Factorization
    rows: Rows
    codes: list[Array]
    scores: list[LayerScore]
    divergences: Divergences
    columns: ColumnStatistics
    groups: Groups
    labels: Groups | None

    @classmethod
    def of(
        cls, model: Factorization, X: Matrix, y: Any = None, class_names: ClassNames = None, groups: Any = None
    ) -> "Evaluation":
        """Encode X and compute the scores once, for everything that is shown."""
        check_model(model)
        codes, rows = encode_layers(model, X, groups), Rows(X)
        divergences = Divergences.of(model, X, codes)
        labels, recordings = label_groups(y, rows.n_samples, class_names), recording_groups(groups, rows.n_samples)
        return cls(
            model=model,
            rows=rows,
            codes=codes,
            scores=scores_of(model, codes, divergences, labels),
            divergences=divergences,
            columns=ColumnStatistics.of(rows),
            groups=labels or recordings or label_or_cluster_groups(None, codes[-1]),
            labels=labels,
        )

    @property
    def loss(self) -> Divergence:
        """The loss of the model."""
        return self.divergences.loss

    @property
    def hierarchy(self) -> list[LayerSummary]:
        """The summary of each layer of a deep model, as measured by the fit; empty for a single layer."""
        return getattr(self.model, "hierarchy_", [])

    def clustering_of_data(self) -> Clustering | None:
        """Cluster the data themselves, for comparison with the codes; None without labels, or for much data.

        Unobserved entries are filled in by the means of their columns.
        """
        if self.labels is None or self.rows.n_samples * self.rows.n_features > MOST_CLUSTERED:
            return None
        X = self.rows[slice(0, self.rows.n_samples)]
        observed = ~np.isnan(X)
        means = np.sum(X, axis=0, where=observed) / np.maximum(observed.sum(axis=0), 1)
        return clustering(np.where(observed, X, means), self.labels)

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.codes)


def check_model(model: Any) -> Factorization:
    """Return the model; raise an error unless it is a fitted model of deepnmf."""
    if not isinstance(model, Factorization):
        raise TypeError(f"model is of type {type(model).__name__}: expected a fitted model of deepnmf.")
    check_is_fitted(model)
    return model
