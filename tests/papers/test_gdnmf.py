"""GD²NMF on CMU PIE and COIL-20, unit samples, few labels; `python -m reproduction gdnmf-labels` writes the tables."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from deepnmf import GDNMF, NMF
from deepnmf.metrics import nmi

pytestmark = [pytest.mark.data, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]


@pytest.fixture
def at_unit_norm(benchmark_data):
    def read(name):
        bunch = benchmark_data(name)
        return normalize(bunch.data.astype(np.float32)), bunch.target

    return read


def partly_labeled(y, share, seed=0):
    """Keep a share of the labels of each class; the others become -1."""
    rng = np.random.default_rng(seed)
    known = np.full(len(y), -1)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        known[rng.choice(rows, round(share * len(rows)), replace=False)] = label
    return known


def clustering_nmi(codes, y):
    """NMI of k-means on codes with unit rows."""
    return nmi(y, KMeans(len(np.unique(y)), n_init=3, random_state=0).fit_predict(codes))


def accuracy_on_unlabeled(model, labels, y):
    return np.mean((model.transduction_ == y)[labels < 0])


@pytest.mark.parametrize(("share", "least_nmi", "least_accuracy"), [(0.1, 0.94, 0.98), (0.3, 0.95, 0.99)])
def test_few_labels_separate_the_faces(at_unit_norm, share, least_nmi, least_accuracy):
    X, y = at_unit_norm("pie_pose27")
    labels = partly_labeled(y, share)
    model = GDNMF(random_state=0).fit(X, labels)
    assert [len(Z) for Z in model.factors_] == [307, 92]
    assert clustering_nmi(normalize(model.codes_[-1]), y) >= least_nmi
    assert accuracy_on_unlabeled(model, labels, y) >= least_accuracy


def test_few_labels_tell_the_objects_apart_and_cost_little_clustering_nmi(at_unit_norm):
    """The mean over five draws: single draws differ by 0.02, and by the rounding of a processor."""
    X, y = at_unit_norm("coil20_32x32")
    accuracies, gains = [], []
    for seed in range(5):
        labels = partly_labeled(y, 0.1, seed)
        models = GDNMF(random_state=seed).fit(X, labels), NMF(92, random_state=seed).fit(X)
        ours, theirs = (clustering_nmi(normalize(model.codes_[-1]), y) for model in models)
        accuracies.append(accuracy_on_unlabeled(models[0], labels, y))
        gains.append(ours - theirs)
    assert np.mean(accuracies) >= 0.8
    assert np.mean(gains) >= -0.03


def test_the_square_fits_better_than_a_linear_map(at_unit_norm):
    X, _ = at_unit_norm("coil20_32x32")
    square, linear = (GDNMF(activation=g, random_state=0).fit(X).loss_curve_[-1] for g in ("square", "identity"))
    assert square < linear
