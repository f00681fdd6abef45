"""Sparse Deep NMF, Table III: no published row is better than our best one."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from deepnmf import SparseDeepNMF
from deepnmf.metrics import error_rate, naive_precision, nmi

pytestmark = [pytest.mark.data, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]
TESTED = 6  # pictures of each person that are tested


def test_codes_of_new_faces_cluster_as_well_as_the_best_published_ones(benchmark_data):
    bunch = benchmark_data("pie_pose27")
    X, y = normalize(bunch.data.astype(np.float32)), bunch.target
    rng = np.random.default_rng(0)
    test = np.concatenate([rng.permutation(np.flatnonzero(y == person))[:TESTED] for person in np.unique(y)])
    model = SparseDeepNMF((600, 160), activation="square", max_iter=40, random_state=0).fit(np.delete(X, test, axis=0))
    codes = model.transform(X[test])
    found = [KMeans(68, n_init=10, random_state=seed).fit_predict(codes) for seed in range(10)]
    assert np.mean([nmi(y[test], labels) for labels in found]) >= 0.968
    assert np.mean([naive_precision(y[test], labels) for labels in found]) >= 0.951
    assert np.mean([error_rate(y[test], labels) for labels in found]) <= 5.234
