"""Estimators in pipelines, searches, threads and processes."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

import jitter
from catalogue import SMALL, data, name_of
from deepnmf import NMF, DeepNSNMF

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_grid_search_chooses_the_layer_and_the_smoothing():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    model = DeepNSNMF((20, 10), max_iter=20, pretrain_max_iter=10, random_state=0)
    pipeline = make_pipeline(model, StandardScaler(), LogisticRegression(max_iter=1000))
    grid = {"deepnsnmf__output_layer": [0, 1], "deepnsnmf__theta": [0.0, 0.2]}
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.8


def test_a_search_without_labels_uses_the_share_of_explained_variance():
    search = GridSearchCV(NMF(random_state=0), {"n_components": [1, 6]}, cv=2).fit(data())
    assert search.best_params_ == {"n_components": 6}


@pytest.mark.parametrize("model", SMALL, ids=name_of)
def test_fits_in_several_threads_give_the_results_of_separate_fits(model):
    problems = [data(n=400, p=200, seed=seed) for seed in range(4)]
    model = clone(model).set_params(max_iter=5, tol=0)
    alone = [clone(model).fit(X).components_ for X in problems]
    before = threadpool_info()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda X: clone(model).fit(X).components_, problems))
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))
    assert [lib["num_threads"] for lib in threadpool_info()] == [lib["num_threads"] for lib in before]


def blas_threads():
    return {library["filepath"]: library["num_threads"] for library in threadpool_info()}


def fitted_in_a_process(model, X):
    """The features, and whether BLAS has as many threads in the process as before."""
    before = blas_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X).components_, before == blas_threads()


def test_models_of_all_kinds_fitted_in_threads_and_processes_give_the_results_of_separate_fits():
    X = data(n=400, p=200)
    models = [clone(model).set_params(max_iter=3, tol=0) for model in SMALL]
    alone = [clone(model).fit(X).components_ for model in models]
    before = blas_threads()
    with ThreadPoolExecutor(4) as pool:
        in_threads = [pool.submit(lambda model: model.fit(X).components_, clone(model)) for model in models]
        in_processes = Parallel(n_jobs=2)(delayed(fitted_in_a_process)(clone(model), X) for model in models)
    for name, expected, thread, (process, as_before) in zip(
        map(name_of, models), alone, in_threads, in_processes, strict=True
    ):
        assert np.array_equal(thread.result(), expected), name
        assert np.array_equal(process, expected) or jitter.SEED, name  # a process may read data without jitter
        assert as_before, name
    assert blas_threads() == before


def test_memory_mapped_and_read_only_data_can_be_fitted(tmp_path):
    X = data()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    read_only = X.copy()
    read_only.flags.writeable = False
    expected = NMF(3, random_state=0).fit(X).components_
    assert np.array_equal(NMF(3, random_state=0).fit(mapped).components_, expected)
    assert np.array_equal(NMF(3, random_state=0).fit(read_only).components_, expected)
