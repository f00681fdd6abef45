import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from catalogue import data
from deepnmf.engines import RowsInMemory, Workers
from deepnmf.solvers.kmeans import kmeans_centers


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("k", [1, 4, 9])
def test_centers_by_passes_are_as_good_as_those_of_scikit_learn(k, container):
    X = data(n=300)
    with Workers() as workers:
        centers = kmeans_centers(RowsInMemory(container(X), workers), k, np.random.RandomState(0))
    spread = np.square(X[:, None] - centers).sum(axis=2).min(axis=1).sum()
    assert spread <= 1.1 * KMeans(k, n_init=10, random_state=0).fit(X).inertia_


def test_centers_are_finite_for_fewer_points_than_centers():
    X = np.repeat(data(n=2), 5, axis=0)
    with Workers() as workers:
        centers = kmeans_centers(RowsInMemory(X, workers), 4, np.random.RandomState(0))
    assert np.isfinite(centers).all()
