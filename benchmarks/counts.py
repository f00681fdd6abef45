"""Measure the benefit of Kullback-Leibler for counts: `python -m benchmarks.counts > docs/benchmarks/counts.md`.

It needs the environment variable DEEPNMF_DATA, the folder of the data sets.
"""

import argparse
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.page import described, fitted, spread, table
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer

from deepnmf import NMF
from deepnmf.metrics import nmi
from deepnmf.reading import read

SEEDS = range(5)


def log_normalized(X):
    """Return log(1 + x) of rows that are scaled to the same total, the median of all totals."""
    totals = np.asarray(X.sum(axis=1)).ravel()
    scaled = X.multiply((np.median(totals) / np.maximum(totals, 1))[:, None])
    return scaled.tocsr().log1p()


def tf_idf(X):
    """Return scikit-learn's tf-idf weights: rows of unit norm."""
    return TfidfTransformer().fit_transform(X)


@dataclass(frozen=True)
class Problem:
    """Counts with labels, and the usual weighting of such counts for squared error."""

    file: str
    labels: str
    weighted: Callable
    weighting: str


PROBLEMS = {
    "pbmc_facs, populations": Problem("pbmc_facs", "y_coarse", log_normalized, "log"),
    "pbmc_facs, types": Problem("pbmc_facs", "y", log_normalized, "log"),
    "BBC": Problem("bbc_news", "y", tf_idf, "tf-idf"),
    "newsgroups, families": Problem("newsgroups", "y_coarse", tf_idf, "tf-idf"),
    "newsgroups, groups": Problem("newsgroups", "y", tf_idf, "tf-idf"),
    "TDT2": Problem("tdt2_30", "y", tf_idf, "tf-idf"),
}
STARTS = {
    None: (
        "Default initialization",
        "The default initialization hardly depends on the seed, which mainly changes the k-means clusters.",
    ),
    "random": (
        "Random initialization",
        'With `init="random"`, each seed leads to another fit. Only data with few rows are used.',
    ),
}
HEAD = ["data", "classes", "loss", "fitted to", "NMI, codes", "NMI, shares", "seconds"]
CLEAR = 0.01  # a smaller difference in NMI is a tie
# Data whose fits take seconds; fits of the other data would take as long as all fits of the first table.
FEW = ("pbmc_facs", "bbc_news")


def shares(codes, features):
    """Return the share of each feature in the sum of the reconstructed row."""
    parts = codes * features.sum(axis=1)
    totals = parts.sum(axis=1, keepdims=True)
    return parts / np.where(totals > 0, totals, 1)


def scores(y, k, X, loss, init):
    """Fit and cluster with each seed; return the NMI of codes and of shares, and the median seconds of a fit."""
    found, seconds = [], []
    for seed in SEEDS:
        model, duration = fitted(NMF(k, beta_loss=loss, init=init, random_state=seed), X)
        codes = model.codes_[-1]
        kinds = (codes, shares(codes, model.components_))
        found.append([nmi(y, KMeans(k, n_init=10, random_state=seed).fit_predict(kind)) for kind in kinds])
        seconds.append(duration)
    return np.transpose(found), float(np.median(seconds))


def compared(name, init):
    """Print the rows of a problem; return the NMI of KL minus that of squared error on weighted counts."""
    problem = PROBLEMS[name]
    data = read(Path(os.environ["DEEPNMF_DATA"]) / f"{problem.file}.npz", labels=problem.labels)
    k = len(np.unique(data.y))
    fits = [
        ("frobenius", "counts", data.X),
        ("frobenius", problem.weighting, problem.weighted(data.X)),
        ("kullback-leibler", "counts", data.X),
    ]
    means = []
    for loss, form, X in fits:
        found, seconds = scores(data.y, k, X, loss, init)
        means.append(found.mean(axis=1))
        print("|", " | ".join([name, str(k), loss, form, *map(spread, found), f"{seconds:.1f}"]), "|", flush=True)
    return means[2] - means[1]


def verdict(differences):
    """Yield a sentence for codes and one for shares."""
    for kind, of_kind in zip(("codes", "shares"), np.transpose(differences), strict=True):
        better, worse = int(np.sum(of_kind > CLEAR)), int(np.sum(of_kind < -CLEAR))
        yield (
            f"For {kind}, Kullback-Leibler on counts is better than squared error on weighted counts in {better} of "
            f"{len(of_kind)} problems and worse in {worse}; the mean difference in NMI is {of_kind.mean():+.3f}."
        )


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PROBLEMS), help=f"some of {', '.join(PROBLEMS)}")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("# Counts: Kullback-Leibler or squared error\n")
    print(f"Made by `python -m benchmarks.counts`. {described()}\n")
    print(
        "The tables show the NMI of k-means clusters (n_init 10) with the labels, as mean and standard deviation over five seeds. `NMF` has as many "
        "components as there are classes, and k-means as many clusters; all other settings are defaults. Nothing was tuned, and labels are "
        "used for the scores only. Models with squared error are fitted to the counts, and to counts with the usual weighting: log(1 + x) of "
        "cells with equal totals, and tf-idf of texts. Models with Kullback-Leibler are fitted to the counts. All rows of all data are "
        "used. Codes are clustered without scaling, and as shares: a share is a code times the sum of its feature, divided by the "
        "total of the row. Seconds are those of one fit on a busy machine. A difference of less than "
        f"{CLEAR} is a tie.\n"
    )
    for init, (heading, note) in STARTS.items():
        names = [name for name in options.names if init is None or PROBLEMS[name].file in FEW]
        if names:
            print(f"## {heading}\n\n{note}\n\n{table(HEAD, [])}", flush=True)
            differences = [compared(name, init) for name in names]
            print("\n" + "\n".join(verdict(differences)) + "\n", flush=True)


if __name__ == "__main__":
    main()
