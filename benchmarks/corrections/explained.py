"""The baseline of "explained": the share of ‖X‖² that the column means alone explain, and both shares of a model."""

import numpy as np
from benchmarks.corrections.problems import PROBLEMS, sqnorm
from benchmarks.page import table
from sklearn.datasets import load_breast_cancer, load_wine

from deepnmf import NMF

SIZE = 5
TABLES = {"wine": load_wine, "breast cancer": load_breast_cancer}


def data():
    """Yield the data sets of the corrections, and two tables with columns in different units."""
    for problem in PROBLEMS:
        yield problem.name, problem.data()[0]
    for name, load in TABLES.items():
        yield name, load().data


def share_of_means(X) -> float:
    """Return the share of ‖X‖² that the column means alone explain."""
    means = np.asarray(X.mean(axis=0)).ravel()
    return float(X.shape[0] * means @ means / sqnorm(X))


def rows():
    """Yield the shares in percent."""
    for name, X in data():
        model = NMF(SIZE, random_state=0).fit(X)
        shares = share_of_means(X), model.share_of_squares(X), model.score(X)
        yield name, *(f"{100 * share:.1f}" for share in shares)


def page() -> str:
    """Return the table."""
    return table(
        ("data", "means alone, % of ‖X‖²", f"NMF of {SIZE}, % of ‖X‖²", f"NMF of {SIZE}, explained, %"), rows()
    )
