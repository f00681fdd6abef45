"""The estimator checks of scikit-learn, and its tests of NMF with our class instead."""

import importlib.util
import re
from functools import cache
from types import ModuleType

import numpy as np
import pytest
import sklearn.decomposition
from numpy.testing import assert_allclose
from sklearn.base import is_classifier
from sklearn.decomposition import MiniBatchNMF
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.fixes import CSC_CONTAINERS, CSR_CONTAINERS

from catalogue import SMALL
from deepnmf import NMF, DeepNMF, SparseDeepNMF

# Tests of something other than the estimator NMF with the Frobenius loss.
OTHER_THINGS = re.compile(
    r"consistency$|non_negative_factorization|n_components_auto_no_h_update|w_h_not_used"
    r"|minibatch|mbnmf|initialize|beta_divergence|special_sparse_dot|underflow"
    r"|multiplicative_update_sparse|deprecation"
    r"|parameter_checking"  # solver="cd" takes other losses here; test_bad_input.py has the other cases
    r"|sparse_input"  # replaced below: with a penalty on H alone, W grows without bound, and loses small entries
)


ROUNDING_DECIDES = {  # the sizes of test_sample_weights.py are narrower than the data
    f"check_sample_weight_equivalence_on_{form}_data": "100 features fit 15 samples exactly, in many ways"
    for form in ("dense", "sparse")
}
MINUS_ONE_IS_A_CLASS = {
    "check_classifiers_classes": "-1 is an unknown label here; test_network.py has text and integers"
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "model",
    [*SMALL, *(type(model)(max_iter=50) for model in SMALL)],  # the default sizes, in less time
    ids=lambda model: repr(model).replace("\n", ""),
)
def test_check_estimator_passes(model):
    expected = MINUS_ONE_IS_A_CLASS if is_classifier(model) else {}
    if isinstance(model, DeepNMF | SparseDeepNMF) and model.layer_sizes == type(model)().layer_sizes:
        expected = ROUNDING_DECIDES
    results = check_estimator(model, expected_failed_checks=expected, on_skip=None)
    assert _not_passed(results) <= _not_passed_by_scikit_learn() | set(expected)


@cache
def _not_passed_by_scikit_learn():
    return _not_passed(check_estimator(sklearn.decomposition.NMF(), on_skip=None, on_fail=None))


def _not_passed(results):
    return {result["check_name"] for result in results if result["status"] != "passed"}


def _their_tests_with_our_class() -> ModuleType:
    spec = importlib.util.find_spec("sklearn.decomposition.tests.test_nmf")
    module = importlib.util.module_from_spec(spec)
    theirs = sklearn.decomposition.NMF
    sklearn.decomposition.NMF = NMF
    try:
        spec.loader.exec_module(module)
    finally:
        sklearn.decomposition.NMF = theirs
    return module


def _without_minibatch(test):
    """Drop the parameter sets of MiniBatchNMF."""
    for i, mark in enumerate(test.pytestmark if hasattr(test, "pytestmark") else []):
        if mark.name == "parametrize":
            names, values = mark.args
            kept = [v for v in values if not (v is MiniBatchNMF or (isinstance(v, list) and MiniBatchNMF in v))]
            test.pytestmark[i] = pytest.mark.parametrize(names, kept, **mark.kwargs).mark
    return pytest.mark.filterwarnings("default")(test)


for _name, _test in vars(_their_tests_with_our_class()).items():
    if _name.startswith("test_") and not OTHER_THINGS.search(_name):
        globals()[_name] = _without_minibatch(_test)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("container", CSC_CONTAINERS + CSR_CONTAINERS)
@pytest.mark.parametrize("alpha_W", [0.0, 1.0])
@pytest.mark.parametrize("alpha_H", [0.0, 1.0, "same"])
def test_sparse_input_gives_what_dense_input_gives(solver, container, alpha_W, alpha_H):
    A = np.abs(np.random.RandomState(42).randn(10, 10))
    A[:, ::2] = 0
    model = NMF(5, init="random", solver=solver, alpha_W=alpha_W, alpha_H=alpha_H, random_state=0, tol=0, max_iter=100)
    W = model.fit_transform(A)
    H = model.components_
    assert_allclose(model.fit_transform(container(A)), W, atol=1e-9 * W.max())
    assert_allclose(model.components_, H, atol=1e-9 * H.max())


def test_at_least_ten_tests_of_scikit_learns_nmf_are_run():
    assert sum(name.startswith("test_nmf") for name in globals()) >= 10
