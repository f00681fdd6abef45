"""The papers' numbers on CMU PIE, with samples of unit norm."""

import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from deepnmf import NMF, DeepSemiNMF, SemiNMF, SparseDeepNMF
from deepnmf.metrics import clustering_accuracy, nmi

pytestmark = [pytest.mark.data, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]

# Deep Semi-NMF paper, Table 1.
SVD = {20: 8.249, 30: 6.81, 40: 5.766, 50: 4.96, 60: 4.29, 70: 3.725}
DEEP_SEMI = {20: 9.18, 30: 7.61, 40: 6.50, 50: 5.67, 60: 4.99, 70: 4.39}
NENMF = {20: 9.83, 30: 8.39, 40: 7.39, 50: 6.60, 60: 5.94, 70: 5.36}


@pytest.fixture
def pie(benchmark_data):
    bunch = benchmark_data("pie_pose27")
    return normalize(bunch.data.astype(float)), bunch.target


@pytest.mark.parametrize("k", [20, 40, 70])
def test_semi_nmf_reaches_the_truncated_svd_error(pie, k):
    assert SemiNMF(k, random_state=0).fit(pie[0]).reconstruction_err_ <= SVD[k] * 1.001


@pytest.mark.parametrize("k", DEEP_SEMI)
def test_deep_semi_nmf_is_below_the_papers_table_and_near_the_svd(pie, k):
    error = DeepSemiNMF((625, k), random_state=0).fit(pie[0]).reconstruction_err_
    assert error <= DEEP_SEMI[k]
    assert error <= SVD[k] * 1.01


@pytest.mark.parametrize("k", NENMF)
def test_nmf_is_below_nenmf(pie, k):
    assert NMF(k, random_state=0).fit(pie[0]).reconstruction_err_ < NENMF[k]


def clusters(codes, y):
    found = KMeans(68, n_init=10, random_state=0).fit_predict(codes)
    return clustering_accuracy(y, found), nmi(y, found)


def test_nmf_codes_separate_the_people(pie):
    X, y = pie
    accuracy, _ = clusters(NMF(160, random_state=0).fit(X).codes_[-1], y)
    assert accuracy >= 0.90


def test_a_deep_chain_separates_the_people_better_than_in_the_papers(pie):
    X, y = pie
    model = SparseDeepNMF((300, 160), random_state=0).fit(X)
    accuracy, information = clusters(model.codes_[-1], y)
    assert accuracy >= 0.95
    assert information >= 0.98
