"""Layers that the fits of a table have in common."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from deepnmf import GDNMF, NMF, DeepNMF, DeepNSNMF, DeepSemiNMF, MultilayerNMF, SparseDeepNMF
from deepnmf.solvers.pretraining import LayerwisePlan
from reproduction import shared_layers as module
from reproduction.shared_layers import shared_layers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a few sweeps are enough

X = (load_digits().data[:300] / 16).astype(np.float32)
FEW = {"max_iter": 4, "random_state": 3}
MODELS = {
    "linear": lambda: SparseDeepNMF((20, 6), **FEW),
    "more layers": lambda: SparseDeepNMF((20, 10, 6), **FEW),
    "sparse": lambda: SparseDeepNMF((20, 6), penalty="L", **FEW),
    "another weight": lambda: SparseDeepNMF((20, 6), penalty="L", feature_penalty=0.003, **FEW),
    "beyond the rank": lambda: SparseDeepNMF((70, 6), penalty="R", **FEW),
    "root": lambda: SparseDeepNMF((20, 6), activation="square", penalty="RL1", **FEW),
    "smoothed": lambda: DeepNSNMF((20, 6), **FEW),
    "multi-layer": lambda: MultilayerNMF((20, 6), **FEW),
    "semi": lambda: DeepSemiNMF((20, 6), **FEW),
    "random semi": lambda: DeepSemiNMF((20, 6), init="random", **FEW),
    "stanh": lambda: DeepSemiNMF((20, 6), activation="stanh", **FEW),
    "GDNMF": lambda: GDNMF((20, 6), **FEW),
    "DeepNMF": lambda: DeepNMF((20, 6), **FEW),
    "one layer": lambda: NMF(6, **FEW),
}


@pytest.fixture(autouse=True)
def _no_layers(monkeypatch):
    monkeypatch.setattr(module, "_layers", type(module._layers)())


def fitted(model):
    model.fit(X)
    return [*model.features_, model.codes_[-1]]


def test_fits_with_shared_layers_have_the_same_bits():
    alone = {name: fitted(make()) for name, make in MODELS.items()}
    for _ in range(2):
        with shared_layers():
            together = {name: fitted(make()) for name, make in MODELS.items()}
        for name, arrays in alone.items():
            for one, other in zip(arrays, together[name], strict=True):
                np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize(("first", "second"), [("linear", "sparse"), ("sparse", "another weight"), ("semi", "stanh")])
def test_models_with_the_same_layers_share_them(first, second, monkeypatch):
    ranks = []

    def counting(plan, engine, rank, *others):
        ranks.append(rank)
        return original(plan, engine, rank, *others)

    original = module._fit_layer
    monkeypatch.setattr(module, "_fit_layer", counting)
    with shared_layers():
        MODELS[first]().fit(X)
        before = len(ranks)
        MODELS[second]().fit(X)
    assert before == 2
    assert ranks.count(20) == 1


@pytest.mark.parametrize(
    "change", [{"random_state": 4, "init": "random"}, {"pretrain_max_iter": 7}, {"init": "random"}]
)
def test_other_settings_share_nothing(change):
    model = SparseDeepNMF((20, 6), pretrain_max_iter=5, **FEW).set_params(**change)
    with shared_layers():
        SparseDeepNMF((20, 6), pretrain_max_iter=5, **FEW).fit(X)
        together = fitted(model)
    for one, other in zip(fitted(model), together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_library_is_as_before_after_the_context():
    original = LayerwisePlan.fit_layer
    with pytest.raises(ZeroDivisionError), shared_layers():
        1 / 0  # noqa: B018
    assert LayerwisePlan.fit_layer is original


def test_few_layers_are_kept():
    with shared_layers():
        for size in range(2, module.MOST + 6):
            SparseDeepNMF((20, size), pretrain_max_iter=1, max_iter=1, random_state=0).fit(X)
    assert len(module._layers) == module.MOST
