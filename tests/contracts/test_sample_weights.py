"""A sample of weight 2 is a sample that occurs twice, and one of weight 0 is left out.

The estimator checks of scikit-learn, which `test_scikit_learn.py` runs, compare default fits of these models too.
"""

import inspect
import re
from functools import partial

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from catalogue import SMALL, VARIANTS, data, name_of
from deepnmf import NMF, DeepNMF, DeepSemiNMF, SemiNMF, load
from deepnmf.engines import sparse_holes

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FEW = {"max_iter": 3, "tol": 0, "pretrain_max_iter": 3, "pretrain_tol": 0}
X = data(100)
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)


def takes_weights(method):
    return "sample_weight" in inspect.signature(method).parameters


WEIGHING = [model for model in VARIANTS if takes_weights(model.fit) and model._problem().weighs_rows]
FORMS = [
    NMF(4, random_state=0),
    NMF(4, beta_loss="kullback-leibler", alpha_W=0.01, random_state=0),
    NMF(4, beta_loss=1.5, random_state=0),
    DeepNMF((8, 4), random_state=0),
    DeepNMF((8, 4), explains="data", beta_loss="kullback-leibler", random_state=0),
    DeepSemiNMF((8, 4), random_state=0),
]


def few_sweeps(model, **params):
    params |= {name: value for name, value in FEW.items() if name in model.get_params()}
    return clone(model).set_params(**params)


def repeated(array):
    """Rows as often as their weights say."""
    return np.repeat(array, WEIGHTS.astype(int), axis=0)


def assert_same_fit(weighed, other, limit=1e-8):
    for Z, expected in zip(weighed.factors_, other.factors_, strict=True):
        assert np.abs(Z - expected).max() <= limit * np.abs(expected).max()
    assert weighed.loss_curve_ == pytest.approx(other.loss_curve_, rel=limit)
    assert weighed.reconstruction_err_ == pytest.approx(other.reconstruction_err_, rel=limit)
    codes = weighed.codes_[-1]
    assert np.abs(repeated(codes) - other.codes_[-1]).max() <= limit * codes.max()
    if hasattr(weighed, "kkt_residual_"):
        assert weighed.kkt_residual_ == pytest.approx(other.kkt_residual_, rel=max(1e-5, 100 * limit))


@pytest.mark.parametrize("model", WEIGHING, ids=name_of)
def test_weights_count_as_repetitions(model):
    weighed = few_sweeps(model).fit(X, sample_weight=WEIGHTS)
    other = few_sweeps(model).fit(repeated(X))
    assert_same_fit(weighed, other)
    assert weighed.score(X, sample_weight=WEIGHTS) == pytest.approx(other.score(repeated(X)), rel=1e-8)
    for one, expected in zip(getattr(weighed, "hierarchy_", []), getattr(other, "hierarchy_", []), strict=True):
        assert one.explained == pytest.approx(expected.explained, rel=1e-8)


@pytest.mark.parametrize("init", ["random", "nndsvdar", "kmeans"])
def test_weights_count_as_repetitions_from_every_start(init):
    model = few_sweeps(SemiNMF(4) if init == "kmeans" else NMF(4), init=init, random_state=0)
    assert_same_fit(clone(model).fit(X, sample_weight=WEIGHTS), clone(model).fit(repeated(X)))


def test_weights_count_as_repetitions_where_the_start_is_sketched():
    wide = np.random.default_rng(0).random((80, 300))
    weights = np.tile([2.0, 0.0, 1.0, 1.0], 20)
    weighed = few_sweeps(NMF(3, random_state=0)).fit(wide, sample_weight=weights)
    other = few_sweeps(NMF(3, random_state=0)).fit(np.repeat(wide, weights.astype(int), axis=0))
    assert weighed.components_ == pytest.approx(other.components_, abs=1e-8)


@pytest.mark.parametrize("form", ["sparse", "holes", "sparsely observed", "entry weights", "file", "dask"])
@pytest.mark.parametrize("model", FORMS, ids=name_of)
def test_weights_count_as_repetitions_in_every_form_of_data(model, form, tmp_path, monkeypatch):
    rng, entries, known = np.random.default_rng(0), X, {}
    if form == "holes":
        entries = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    elif form == "sparsely observed":
        # Rows keep enough entries to decide their codes; with two or three of them the last bits would decide.
        monkeypatch.setattr(sparse_holes, "SPARSELY_OBSERVED", 1.1)
        entries = np.where(rng.random(X.shape) < 0.4, np.nan, X + 0.1)
    elif form == "entry weights":
        known = {"entry_weight": rng.uniform(0.1, 1, X.shape)}
    bring = {"sparse": sparse.csr_array, "file": partial(mapped, tmp_path), "dask": in_chunks}.get(form, np.asarray)
    weighed = few_sweeps(model).fit(bring(entries), sample_weight=WEIGHTS, **known)
    other = few_sweeps(model).fit(bring(repeated(entries)), **{name: repeated(known[name]) for name in known})
    weighed.codes_, other.codes_ = ([np.asarray(H) for H in one.codes_] for one in (weighed, other))
    assert_same_fit(weighed, other, limit=1e-7)


def mapped(folder, array):
    path = folder / f"{len(array)}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def in_chunks(array):
    return pytest.importorskip("dask.array").from_array(array, chunks=(11, -1))


def test_blocks_of_rows_have_their_own_weights(small_blocks, monkeypatch):
    monkeypatch.setattr("deepnmf.engines.memory.WORTH_ROUNDING", np.inf)
    model, many = few_sweeps(NMF(4, random_state=0)), data(4000)
    weights = np.random.default_rng(0).random(4000)
    one_block = clone(model).fit(many[:, :], sample_weight=weights)
    order = np.random.default_rng(1).permutation(4000)
    other = clone(model).fit(many[order], sample_weight=weights[order])
    assert other.components_ == pytest.approx(one_block.components_, abs=1e-9)


def test_weights_count_in_single_precision():
    weighed = few_sweeps(NMF(4, random_state=0)).fit(X.astype(np.float32), sample_weight=WEIGHTS)
    other = few_sweeps(NMF(4, random_state=0)).fit(repeated(X))
    assert weighed.components_.dtype == np.float32
    assert weighed.components_ == pytest.approx(other.components_, abs=1e-4)


@pytest.mark.parametrize("model", [NMF(4, tol=1e-8, max_iter=2000), DeepSemiNMF((8, 4))], ids=name_of)
def test_samples_without_weight_have_codes_and_transform_knows_no_weights(model):
    model = clone(model).set_params(random_state=0).fit(X, sample_weight=WEIGHTS)
    codes = model.transform(X)
    assert model.codes_[-1][WEIGHTS == 0] == pytest.approx(codes[WEIGHTS == 0], abs=0.02 * codes.max())
    assert model.fit_transform(X, sample_weight=WEIGHTS) == pytest.approx(codes, abs=1e-12)


def test_a_model_with_sample_weights_is_saved_and_continues(tmp_path):
    model = NMF(4, random_state=0, warm_start=True, max_iter=3, tol=0).fit(X, sample_weight=WEIGHTS)
    model.save(tmp_path / "model.safetensors")
    assert np.array_equal(load(tmp_path / "model.safetensors").transform(X), model.transform(X))
    before = model.loss_curve_[-1]
    assert model.fit(X, sample_weight=WEIGHTS).loss_curve_[-1] < before


def test_weights_are_routed_to_a_model_that_asks_for_them():
    with sklearn.config_context(enable_metadata_routing=True):
        model = NMF(4, random_state=0).set_fit_request(sample_weight=True)
        fitted = make_pipeline(FunctionTransformer(), model).fit(X, sample_weight=WEIGHTS)[-1]
    assert np.array_equal(fitted.components_, NMF(4, random_state=0).fit(X, sample_weight=WEIGHTS).components_)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-WEIGHTS, "Negative values in data passed to `sample_weight`"),
        (np.where(WEIGHTS == 0, np.nan, WEIGHTS), "Input sample_weight contains NaN"),
        (WEIGHTS[1:], r"sample_weight.shape == \(99,\), expected \(100,\)!"),
        (np.zeros(100), "Sample weights must contain at least one non-zero number"),
        (np.ma.masked_equal(WEIGHTS, 0), "sample_weight"),
    ],
)
def test_invalid_sample_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        NMF(4).fit(X, sample_weight=weights)


def test_a_model_below_an_activation_refuses_weights():
    with pytest.raises(ValueError, match="DeepSemiNMF with these parameters supports no sample weights"):
        DeepSemiNMF((8, 4), activation="relu").fit(X, sample_weight=WEIGHTS)


@pytest.mark.parametrize("model", [m for m in SMALL if not takes_weights(m.fit)], ids=name_of)
def test_models_with_graphs_labels_or_networks_have_no_such_argument(model):
    assert is_classifier(model) or not takes_weights(model.score)
    assert not takes_weights(model.set_fit_request)
    for method in (model.fit, model.score):
        assert takes_weights(method) == bool(re.search(r"^ *sample_weight :", method.__doc__, re.MULTILINE))
    with pytest.raises((TypeError, ValueError), match="sample_weight"):
        clone(model).fit(X, np.arange(100) % 3, sample_weight=WEIGHTS)


def test_models_without_weights_are_those_with_graphs_labels_or_networks():
    without = {type(model).__name__ for model in SMALL if not takes_weights(model.fit)}
    assert without == {"WSF", "WSFMA", "DeepWSF", "DiscriminantNMF", "GNMF", "CNMF", "GDNMF", "SSNMF", "DeepNMFNetwork"}
