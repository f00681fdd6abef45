"""The data sets: some are used to choose defaults, the others only to check the choices."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from deepnmf.datasets import load
from deepnmf.metrics import clustering_accuracy

EVERY = {"pie_pose27": 4, "samson_95x95": 4}  # only every fourth row is used, because all rows would take an hour


@dataclass(frozen=True)
class Problem:
    """A data set, the sizes of two layers, and whether it may be used to choose defaults."""

    name: str
    sizes: tuple[int, int]
    chooses: bool

    def data(self) -> tuple[Any, np.ndarray | None]:
        """Return the data, and the classes if there are any.

        Images have unit norm, words are weighted by tf-idf, and other data are not changed.
        """
        bunch = load_digits() if self.name == "digits" else load(self.name)
        X, y, every = bunch.data, bunch.get("target"), EVERY.get(self.name, 1)
        if self.name == "bbc_news":
            return TfidfTransformer().fit_transform(X).astype(float), y
        X = X.astype(float) / bunch.get("scale", 1)
        X = X if self.name in ("leukemia_golub", "samson_95x95") else normalize(X)
        return X[::every], None if y is None else y[::every]


PROBLEMS = (
    Problem("pie_pose27", (100, 50), chooses=True),
    Problem("yale_32x32", (60, 15), chooses=True),
    Problem("cbcl_faces_19x19", (49, 16), chooses=True),
    Problem("bbc_news", (40, 5), chooses=True),
    Problem("orl_32x32", (100, 40), chooses=False),
    Problem("coil20_32x32", (100, 40), chooses=False),
    Problem("leukemia_golub", (12, 3), chooses=False),
    Problem("samson_95x95", (12, 3), chooses=False),
    Problem("digits", (40, 10), chooses=False),
)


def sqnorm(X) -> float:
    """Return ‖X‖²."""
    return float((X.multiply(X) if hasattr(X, "multiply") else X * X).sum())


def explained(model, X) -> float:
    """Return the share of ‖X‖² that the fitted codes explain, in percent."""
    return 100 * (1 - model.reconstruction_err_**2 / sqnorm(X))


def accuracy(codes, y, n_seeds: int = 3) -> float:
    """Return the mean accuracy of k-means with one cluster per class, or NaN if there are no classes."""
    if y is None:
        return np.nan
    k = len(np.unique(y))
    found = [KMeans(k, n_init=10, random_state=seed).fit_predict(codes) for seed in range(n_seeds)]
    return float(np.mean([clustering_accuracy(y, each) for each in found]))
