"""Print the figures behind the defaults of GDNMF: `python -m benchmarks.gdnmf_choices` (needs DEEPNMF_DATA)."""

import warnings

import numpy as np
from benchmarks.page import described
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from deepnmf import GDNMF
from deepnmf.metrics import nmi
from reproduction.experiment import Data
from reproduction.faces import unit_samples
from reproduction.protocols import given_labels, known_rows

SETS = {"PIE": "pie_pose27", "COIL-20": "coil20_32x32"}
CHANGES = [
    {},
    *({"max_iter": sweeps, "tol": 0} for sweeps in (5, 20, 60)),
    *({"label_weight": weight} for weight in (0.0, 0.001, 0.1, 1.0, 100.0)),
    *({"pretrain_max_iter": sweeps} for sweeps in (5, 10, 40)),
]


def information(codes, y):
    """Return the NMI of k-means."""
    return nmi(y, KMeans(len(np.unique(y)), n_init=3, random_state=0).fit_predict(codes))


def cells(X, y, changes):
    """Return the loss, the NMI of the codes without scaling and with unit rows, and the accuracy of unknown labels.

    10 % of the labels are known.
    """
    known = known_rows(y, 0.1, seed=0)
    model = GDNMF(random_state=0, **changes).fit(X, given_labels(y, known))
    codes = model.codes_[-1]
    scores = [information(form, y) for form in (codes, normalize(codes))]
    accuracy = np.mean((model.transduction_ == y)[~known])
    return f"{model.loss_curve_[-1]:.1f} | {scores[0]:.3f} / {scores[1]:.3f} | {accuracy:.3f}"


def main():
    """Print the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = {name: unit_samples(Data(), file) for name, file in SETS.items()}
    print(f"{described()}\n")
    print("| change | " + " | ".join(f"{name}: loss | NMI | label accuracy" for name in data) + " |")
    print("| --- |" + " --- | --- | --- |" * len(data))
    for changes in CHANGES:
        title = ", ".join(f"`{name}={value}`" for name, value in changes.items()) or "defaults"
        print(f"| {title} | " + " | ".join(cells(X, y, changes) for X, y in data.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
