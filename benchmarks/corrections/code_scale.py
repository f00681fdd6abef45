"""`code_scale` of Semi-NMF models: features of unit norm, or codes of unit root mean square."""

import numpy as np
from benchmarks.corrections.problems import PROBLEMS, accuracy
from benchmarks.page import table
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD

from deepnmf import DeepSemiNMF, SemiNMF
from deepnmf.metrics import nmi

SCALES = ("norm", "rms")
SPLITS = 2


def models(sizes, scale):
    """Yield the two models with their default start, and the shallow model with a random start."""
    common = {"code_scale": scale, "random_state": 0}
    yield "Semi-NMF", SemiNMF(sizes[1], **common)
    yield "Semi-NMF, random", SemiNMF(sizes[1], init="random", **common)
    yield "Deep Semi-NMF", DeepSemiNMF(sizes, **common)


def stability(model, X, k) -> float:
    """Return the agreement of the clusters of all rows by two models, without labels.

    The models are fitted to disjoint halves of the rows.
    """
    found = []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(X.shape[0])
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        codes = [model.fit(X[half]).transform(X) for half in halves]
        first, second = (KMeans(k, n_init=3, random_state=seed).fit_predict(each) for each in codes)
        found.append(nmi(first, second))
    return float(np.mean(found))


def rows():
    """Yield the stability with one cluster per feature and the accuracy with one cluster per class, for both scales."""
    for problem in PROBLEMS:
        X, y = problem.data()
        pairs = zip(*(models(problem.sizes, scale) for scale in SCALES), strict=True)
        whitened = TruncatedSVD(problem.sizes[1], random_state=0).fit_transform(X)
        beside = [accuracy(each, y) for each in (whitened, whitened / whitened.std(axis=0))]
        for (name, by_norm), (_, by_rms) in pairs:
            stable = [stability(model, X, problem.sizes[1]) for model in (by_norm, by_rms)]
            found = [accuracy(model.fit(X).codes_[-1], y) for model in (by_norm, by_rms)]
            figures = (f"{value:.3f}" for value in (*stable, *found, *beside))
            yield problem.name, "" if problem.chooses else "held out", name, *figures


def page() -> str:
    """Return the table."""
    each = [f"{what} {scale}" for what in ("stability,", "accuracy,") for scale in SCALES]
    return table(("data", "", "model", *each, "accuracy, SVD", "accuracy, whitened SVD"), rows())
