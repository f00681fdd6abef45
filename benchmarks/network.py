"""Compare readouts of labels in Flenner & Hunter's network, for decision 7.

Run `python -m benchmarks.network > docs/benchmarks/network.md` (needs DEEPNMF_DATA).
"""

import warnings

import numpy as np
from benchmarks.page import described, spread
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from deepnmf import SSNMF, DeepNMFNetwork
from deepnmf.datasets import load
from reproduction.protocols import given_labels, known_rows
from reproduction.sequences import Sequences, bird_frames

BIRD_RANK, TEXT_RANK = 30, 20  # as in the paper
SHARE = 0.01  # share of the rows with labels
LABEL_WEIGHTS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
DRAWS = 5
RANDOM_START = {"init": "random", "pretrain_max_iter": 0}  # as in the paper


def documents():
    """Return BBC news as tf-idf, with rows of unit norm; every document is a separate sequence."""
    bunch = load("bbc_news")
    n = len(bunch.target)
    return Sequences(TfidfTransformer().fit_transform(bunch.data), bunch.target, np.arange(n), np.zeros(n, dtype=int))


def fitted(model, rows, known):
    """Fit a model with the labels of the known rows."""
    return model.fit(rows.X, given_labels(rows.y, known), groups=rows.groups)


def accuracy_of_rows(model, rows, known):
    """Return the share of unlabeled rows whose predicted label is correct."""
    return np.mean((model.transduction_ == rows.y)[~known])


def head_accuracy(model, rows, known):
    """Return the share of unlabeled rows for which argmax H_m B, the published prediction, is correct."""
    return np.mean(((model.codes_[-1] @ model.label_factor_).argmax(axis=1) == rows.y)[~known])


def table(*columns):
    """Print the heading of a table."""
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")


def row(*cells):
    """Print a row of a table."""
    print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)


def weight_table(problems):
    """Print the accuracy for each λ, with a readout refitted on label-free codes, and with B of the energy."""
    table("λ", *(f"{name}, {readout}" for name in problems for readout in ("refitted", "B of the energy")))
    for weight in LABEL_WEIGHTS:
        cells = []
        for rows, model in problems.values():
            measured = []
            for seed in range(2):
                known = known_rows(rows.y, SHARE, seed)
                model.set_params(label_weight=weight, random_state=seed, tol=0, max_iter=60)
                fitted(model, rows, known)
                measured.append((accuracy_of_rows(model, rows, known), head_accuracy(model, rows, known)))
            cells += [f"{mean:.3f}" for mean in np.mean(measured, axis=0)]
        row(f"{weight:g}", *cells)


def readout_table(problems):
    """Print the accuracy of several regressions from label-free codes to labels."""
    table("readout", *problems)
    codes = {name: model.fit_transform(rows.X, groups=rows.groups) for name, (rows, model) in problems.items()}
    for name, guess in READOUTS.items():
        cells = []
        for problem, (rows, _) in problems.items():
            H = codes[problem] / np.sqrt(np.mean(codes[problem] ** 2))
            draws = [known_rows(rows.y, SHARE, seed) for seed in range(DRAWS)]
            cells.append(spread([np.mean(guess(H, rows.y, known)[~known] == rows.y[~known]) for known in draws]))
        row(name, *cells)


def by_head(H, y, known):
    """Predict by nonnegative least squares on the one-hot labels."""
    B = [nnls(H[known], y[known] == label, maxiter=1000)[0] for label in np.unique(y)]
    return (H @ np.transpose(B)).argmax(axis=1)


def by_ridge(alpha):
    """Return a ridge regression on the one-hot labels, whose penalty is a multiple of the mean eigenvalue."""

    def guess(H, y, known):
        gram, one_hot = H[known].T @ H[known], np.eye(y.max() + 1)[y[known]]
        B = np.linalg.solve(gram + alpha * np.trace(gram) / len(gram) * np.eye(len(gram)), H[known].T @ one_hot)
        return (H @ B).argmax(axis=1)

    return guess


def by_logistic(C):
    """Return a logistic regression."""
    return lambda H, y, known: LogisticRegression(C=C, max_iter=5000).fit(H[known], y[known]).predict(H)


READOUTS = {
    "B ≥ 0, nonnegative least squares": by_head,
    "ridge, 0.001 of the mean eigenvalue": by_ridge(1e-3),
    "ridge, 0.1 of the mean eigenvalue": by_ridge(1e-1),
    "logistic, C = 1 (the default)": by_logistic(1.0),
    "logistic, C = 10": by_logistic(10.0),
}


INTRODUCTION = """# Readout of labels in a network of NMF layers

The models are `DeepNMFNetwork` and `SSNMF`. Rank, pool width and share of labels are those of Flenner & Hunter's experiments. The bird sounds are those of ESC-50 (4 classes, 160
clips of 2 s), and a row is a frame. The text is BBC news (5 classes, 2225 documents), and a row is a document. Made by `python -m benchmarks.network`. {described}
[Decision 7](../decisions/0007-labels-in-the-network.md) is based on these tables; the figures of the paper are reproduced by `python -m reproduction network-bbc network-birds`.
"""

WEIGHTS = """## The weight of labels

The table shows the accuracy of `SSNMF` on unlabeled rows after 60 sweeps, if 1 % of the rows have labels. It is the mean of two draws of labels, from the default initialization and from a random one as in the paper.
"Refitted" is the default, a logistic regression on the codes that labeled rows get without their labels; "B of the energy" is the published
prediction, argmax H B.
"""

READING = """
## Choice of the readout

The codes are those of fits without labels. Each regression is fitted to 1 % of the rows, and the table shows the mean and the standard deviation over {draws} draws.
"""


def main():
    """Print the page."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(INTRODUCTION.format(described=described()))
    rows, news = bird_frames(load("esc50_birds")), documents()
    print(WEIGHTS)
    weight_table(
        {
            "BBC": (news, SSNMF(TEXT_RANK)),
            "BBC, random start": (news, SSNMF(TEXT_RANK, **RANDOM_START)),
            "birds": (rows, SSNMF(BIRD_RANK)),
            "birds, random start": (rows, SSNMF(BIRD_RANK, **RANDOM_START)),
        }
    )
    print(READING.format(draws=DRAWS))
    readout_table(
        {
            "birds, SSNMF": (rows, SSNMF(BIRD_RANK, random_state=0)),
            "birds, 2 layers, pool 50": (rows, DeepNMFNetwork((BIRD_RANK,) * 2, pool_size=50, random_state=0)),
            "BBC, SSNMF": (news, SSNMF(TEXT_RANK, random_state=0)),
        }
    )


if __name__ == "__main__":
    main()
