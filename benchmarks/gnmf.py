"""Measure GNMF on COIL-20: `python -m benchmarks.gnmf > docs/benchmarks/gnmf.md` (needs DEEPNMF_DATA)."""

import time
import warnings

import numpy as np
import sklearn.decomposition
from benchmarks.page import described, fitted, spread
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from deepnmf import GNMF, NMF
from deepnmf.datasets import load
from deepnmf.metrics import clustering_accuracy, nmi

SIZE, SEEDS = 20, 10
WEIGHTS = (0.01, 0.1, 1.0, 10.0, 100.0)


def scores(codes, y):
    """Return the accuracy and the NMI of k-means as two cells."""
    found = [KMeans(SIZE, n_init=10, random_state=seed).fit_predict(codes) for seed in range(SEEDS)]
    return " | ".join(spread([metric(y, labels) for labels in found]) for metric in (clustering_accuracy, nmi))


def row(name, error, seconds, codes, new_codes, y):
    """Print the scores of fitted codes, and of the codes that `transform` returns for the same samples."""
    print(f"| {name} | {error:.3f} | {scores(codes, y)} | {scores(new_codes, y)} | {seconds:.1f} |", flush=True)


def header(first):
    """Print the heading of a table."""
    print(f"| {first} | error | accuracy | NMI | accuracy, `transform` | NMI, `transform` | seconds |")
    print("| --- " * 7 + "|")


def ours(name, model, X, y):
    """Fit one of our models, and print its row."""
    model, seconds = fitted(model, X)
    row(name, model.reconstruction_err_, seconds, model.codes_[-1], model.transform(X), y)


def scikit_learns(X, y):
    """Print the row of scikit-learn's NMF, with codes in its own scale."""
    model = sklearn.decomposition.NMF(SIZE, random_state=0)
    began = time.perf_counter()
    codes = model.fit_transform(X)
    seconds = time.perf_counter() - began
    row("scikit-learn's `NMF(20)`", model.reconstruction_err_, seconds, codes, model.transform(X), y)


def main():
    """Print the page."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    bunch = load("coil20_32x32")
    X, y = normalize(bunch.data.astype(np.float32)), bunch.target
    print("# GNMF on COIL-20\n")
    print(f"Made by `python -m benchmarks.gnmf`. {described()}\n")
    print(
        "The data are 1440 images of 20 objects with 32 x 32 pixels, as samples of unit norm in single precision. The codes are clustered without scaling,\n"
        f"by k-means with 20 clusters and n_init 10. The tables show the mean and the standard deviation over {SEEDS} seeds of k-means. Fitted codes use the graph of neighbors; codes of\n"
        "`transform` do not, because new samples have no graph.\n"
    )
    header("model")
    scikit_learns(X, y)
    ours("`NMF(20)`", NMF(SIZE, random_state=0), X, y)
    ours("`GNMF(20)`", GNMF(SIZE, random_state=0), X, y)
    print(
        f"\n## By weight of the graph\n\nThe default is {GNMF().graph_weights}. The comparison of weights uses labels, which users may not have.\n"
    )
    header("`graph_weights`")
    for weight in WEIGHTS:
        ours(f"{weight:g}", GNMF(SIZE, graph_weights=weight, random_state=0), X, y)


if __name__ == "__main__":
    main()
