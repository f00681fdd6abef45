"""The order of the rows does not matter: reordered rows get the same codes, and the features stay.

Sums over rows are rounded in another order. Extrapolation and spectral steps amplify that from sweep to sweep, so the
fits compared here make few sweeps, and those that begin in single precision are made in double.
"""

import numpy as np
import pytest
from sklearn.base import clone

from catalogue import SMALL, VARIANTS, data, is_linear, name_of
from deepnmf import DeepNMFNetwork, DeepSemiNMF, SemiNMF
from deepnmf.checks import NNDSVD
from deepnmf.engines import RowsInMemory, Workers
from deepnmf.solvers import coordinate_sweeps, pass_sweeps
from deepnmf.solvers.kmeans import kmeans_centers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FEW = {"max_iter": 2, "tol": 0, "pretrain_max_iter": 2, "pretrain_tol": 0}
LENGTHS = (7, 12, 9, 6, 11, 15)  # of the groups whose rows stay together for models that pool neighboring rows


@pytest.fixture(autouse=True)
def _in_double(monkeypatch):
    for sweeps in (coordinate_sweeps, pass_sweeps):
        monkeypatch.setattr(sweeps, "is_sound_in_single", lambda _: False)


def with_every_start(model):
    """The model with each start that it has, but for a given one."""
    starts = NNDSVD if model._problem().nonnegative else ("kmeans",)
    return [clone(model).set_params(init=init) for init in ("random", *starts)]


def few_sweeps(model):
    return clone(model).set_params(**{name: FEW[name] for name in FEW if name in model.get_params()})


def reordered(model, n):
    """An order of the rows, and groups of them in which it keeps rows together for models that need it."""
    rng = np.random.default_rng(1)
    if not isinstance(model, DeepNMFNetwork):
        return rng.permutation(n), {}, {}
    groups = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    order = np.concatenate([np.flatnonzero(groups == group) for group in rng.permutation(len(LENGTHS))])
    return order, {"groups": groups}, {"groups": groups[order]}


def difference(first, second):
    return np.abs(first - second).max() / np.abs(first).max()


def assert_order_does_not_matter(model, X, limit=1e-8):
    y = np.random.default_rng(2).integers(-1, 3, len(X))
    order, known, known_in_order = reordered(model, len(X))
    model = few_sweeps(model)
    fitted = clone(model).fit(X, y, **known)
    other = clone(model).fit(X[order], y[order], **known_in_order)
    # Codes pass to the next layer as roots there, and the root of what rounding leaves of a zero is large.
    limit = 1e-2 if isinstance(model, DeepSemiNMF) and model.activation == "square" else limit
    assert difference(fitted.codes_[-1][order], other.codes_[-1]) <= limit
    assert max(map(difference, fitted.factors_, other.factors_)) <= limit
    if is_linear(model):
        assert difference(fitted.transform(X, **known)[order], other.transform(X[order], **known_in_order)) <= limit


@pytest.mark.parametrize("model", [*VARIANTS, *(each for one in SMALL for each in with_every_start(one))], ids=name_of)
def test_reordered_rows_get_the_same_codes_and_features(model):
    assert_order_does_not_matter(model, data())


@pytest.mark.parametrize("model", SMALL, ids=name_of)
def test_the_order_does_not_matter_with_more_features_than_rows(model):
    size = "n_components" if "n_components" in model.get_params() else "layer_sizes"
    sizes = {"n_components": 30, "layer_sizes": (30, 8)}[size]
    few = data(15, 30) if not isinstance(model, DeepNMFNetwork) else data(60, 70)
    # With more components than rows, Gram matrices are singular, and rounding grows faster.
    assert_order_does_not_matter(clone(model).set_params(**{size: sizes}), few, limit=1e-6)


def test_the_order_does_not_matter_where_rows_are_zero_or_occur_twice():
    X = np.vstack([data(20), np.zeros((3, 24)), data(20)])
    for model in (*map(clone, SMALL[:3]), SemiNMF(8, init="kmeans", random_state=0)):
        assert_order_does_not_matter(model, X)


def test_rows_are_drawn_for_kmeans_by_how_far_they_are():
    """Three rows far from each other among many equal ones: k-means++ draws each of them."""
    X = np.zeros((60, 3))
    X[[5, 17, 40]] = np.eye(3) * 10
    with Workers() as workers:
        centers = kmeans_centers(RowsInMemory(X, workers), 4, np.random.RandomState(0))
    assert np.allclose(np.sort(centers.sum(axis=1)), [0, 10, 10, 10])
