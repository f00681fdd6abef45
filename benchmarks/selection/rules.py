"""Rules that choose the size of one layer; each of them takes data, a seed and the candidates."""

from itertools import product

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.optimize import linear_sum_assignment, nnls
from scipy.spatial.distance import squareform
from sklearn.metrics import silhouette_samples
from sklearn.preprocessing import normalize

from deepnmf import NMF

STARTS = 5  # random starts, for rules that compare several
PERTURBATION = 0.03  # relative change of every entry, for NMFk
STABLE = 0.8  # silhouette, for NMFk
MATCHINGS = 3


def by_bi_cross_validation(X, seed, candidates):
    """Choose by 2 x 2 bi-cross-validation (Owen & Perry): each quarter is predicted from a fit to the opposite one."""
    rng = np.random.default_rng(seed)
    rows, columns = (rng.permutation(np.arange(size) % 2) == 0 for size in X.shape)
    errors = [
        sum(
            _quarter_error(X, hidden_rows, hidden_columns, k)
            for hidden_rows, hidden_columns in product((rows, ~rows), (columns, ~columns))
        )
        for k in candidates
    ]
    return candidates[int(np.argmin(errors))]


def _quarter_error(X, hidden_rows, hidden_columns, k):
    model = NMF(k, random_state=0).fit(X[~hidden_rows][:, ~hidden_columns])
    codes = model.transform(X[hidden_rows][:, ~hidden_columns])
    features = _nonnegative_least_squares(model.codes_[-1], X[~hidden_rows][:, hidden_columns])
    return np.sum((X[hidden_rows][:, hidden_columns] - codes @ features) ** 2)


def _nonnegative_least_squares(H, X):
    return np.column_stack([nnls(H, column)[0] for column in X.T])


def by_elbow(X, seed, candidates):
    """Choose the size at which the error of the fit is farthest below the line from the first to the last error."""
    errors = np.array([NMF(k, random_state=seed).fit(X).reconstruction_err_ for k in candidates])
    line = np.linspace(errors[0], errors[-1], len(errors))
    return candidates[int(np.argmax(line - errors))]


def by_cophenetic_correlation(X, seed, candidates):
    """Choose the size, from 2 on, at which the clusters of random starts agree most (Brunet et al.)."""
    return max(candidates[1:], key=lambda k: _agreement(X, k, seed))


def _agreement(X, k, seed):
    together = np.zeros((len(X), len(X)))
    for start in range(STARTS):
        found = NMF(k, init="random", random_state=seed + start).fit(X).codes_[-1].argmax(axis=1)
        together += found[:, None] == found
    distances = squareform(1 - together / STARTS, checks=False)
    return np.nan_to_num(cophenet(linkage(distances, "average"), distances)[0], nan=0.0) if distances.any() else 1.0


def by_silhouette(X, seed, candidates):
    """Choose the largest size whose features are all stable if X is perturbed (NMFk); one feature is always stable."""
    return max(k for k in candidates if k == 1 or _least_silhouette(X, k, seed) > STABLE)


def _least_silhouette(X, k, seed):
    """Return the smallest mean silhouette of a cluster of matched features."""
    rng, fits = np.random.default_rng(seed), []
    for start in range(STARTS):
        perturbed = X * rng.uniform(1 - PERTURBATION, 1 + PERTURBATION, X.shape)
        fits.append(normalize(NMF(k, init="random", random_state=seed + start).fit(perturbed).components_))
    pooled, clusters = np.vstack(_matched(fits)), np.tile(np.arange(k), STARTS)
    silhouettes = silhouette_samples(pooled, clusters, metric="cosine")
    return min(silhouettes[clusters == cluster].mean() for cluster in range(k))


def _matched(fits):
    """Return the features of all fits in a common order, by their similarity to the means of matched features."""
    means = fits[0]
    for _ in range(MATCHINGS):
        matched = [fit[linear_sum_assignment(means @ fit.T, maximize=True)[1]] for fit in fits]
        means = normalize(np.mean(matched, axis=0))
    return matched


RULES = {
    "bi-cross-validation": by_bi_cross_validation,
    "elbow": by_elbow,
    "cophenetic correlation": by_cophenetic_correlation,
    "NMFk's rule": by_silhouette,
}
