"""GNMF on COIL-20: views of an object on a turntable are neighbors, and a neighbor graph separates the objects."""

import numpy as np
import pytest
import sklearn.decomposition
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from deepnmf import GNMF
from deepnmf.metrics import clustering_accuracy, nmi

pytestmark = [pytest.mark.data, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]


def scores(codes, y):
    found = [KMeans(20, n_init=10, random_state=seed).fit_predict(codes) for seed in range(3)]
    return np.mean([(clustering_accuracy(y, labels), nmi(y, labels)) for labels in found], axis=0)


def test_gnmf_clusters_clearly_better_than_nmf(benchmark_data):
    bunch = benchmark_data("coil20_32x32")
    X, y = normalize(bunch.data.astype(np.float32)), bunch.target
    plain = scores(sklearn.decomposition.NMF(20, random_state=0).fit_transform(X), y)
    with_graph = scores(GNMF(20, random_state=0).fit(X).codes_[-1], y)
    assert (with_graph >= plain + 0.1).all()
