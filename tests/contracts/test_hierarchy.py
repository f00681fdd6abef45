"""Every deep model says what its layers are like, whatever its data are, and warns of poor ones once."""

import json
import warnings
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone

import deepnmf
from catalogue import VARIANTS, beta_of, data, explains_codes, is_linear, name_of
from deepnmf import NMF, DeepNSNMF, HierarchyWarning, LayerSummary, MultilayerNMF, SparseDeepNMF
from deepnmf.engines import row_source, sampling
from deepnmf.models import hierarchy

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DEEP_MODELS = [model for model in VARIANTS if len(np.ravel(getattr(model, "layer_sizes", 1) or 1)) > 1]
SQUARED = [
    model for model in DEEP_MODELS if is_linear(model) and beta_of(model) == 2 and not isinstance(model, deepnmf.GDNMF)
]
LABELS = np.arange(60) % 3


def fitted(model, X=None):
    return clone(model).fit(data() if X is None else X, LABELS)


@pytest.mark.parametrize("model", DEEP_MODELS, ids=name_of)
def test_every_deep_model_has_a_summary_for_each_layer(model):
    model = fitted(model)
    sizes = [len(Z) for Z in model.factors_]
    found = model.hierarchy_
    assert [(one.layer, one.size) for one in found] == list(enumerate(sizes, start=1))
    assert [one.dead for one in found] == model.n_dead_
    assert (found[0].copies, found[0].parts) == (0, 1.0)
    for below, one in zip(sizes, found[1:], strict=False):
        assert 0 <= one.copies <= one.size - one.dead
        assert 1 <= one.parts <= below
    assert all(0.2 < one.explained < 1 for one in found)


@pytest.mark.parametrize("model", SQUARED, ids=name_of)
def test_explained_is_what_the_best_codes_of_a_layer_leave(model):
    X, model = data(), fitted(model)
    for layer, one in enumerate(model.hierarchy_):
        square = sum(nnls(model.features_[layer].T, x)[1] ** 2 for x in X)
        assert one.explained == pytest.approx(1 - square / np.sum((X - X.mean(axis=0)) ** 2), abs=1e-6)
        assert one.share_of_squares == pytest.approx(1 - square / np.sum(X**2), abs=1e-6)


@pytest.mark.parametrize("model", [model for model in DEEP_MODELS if beta_of(model) == 1], ids=name_of)
def test_explained_is_a_share_of_the_deviance_under_other_losses(model):
    X, model = data(), fitted(model)
    top = model.hierarchy_[-1].explained
    assert np.isnan(model.hierarchy_[-1].share_of_squares)
    if isinstance(model, MultilayerNMF) or explains_codes(model) or getattr(model, "theta", 0):
        assert top >= model.score(X) - 1e-6  # codes that explain codes, or are smoothed, explain less of the data
    else:
        assert top == pytest.approx(model.score(X), abs=1e-6)


def forms(X, folder):
    np.save(folder / "X.npy", X)
    return {
        "sparse": sparse.csr_array(X),
        "a file": folder / "X.npy",
        "a memory map": np.load(folder / "X.npy", mmap_mode="r"),
        "dask": da.from_array(X, chunks=(7, -1)),
        "sparse dask": da.from_array(X, chunks=(7, -1)).map_blocks(sparse.csr_array),
        "in other units": 2.0**200 * X,
    }


@pytest.mark.parametrize("most", [500, 20])
def test_all_kinds_of_data_have_the_same_hierarchy(tmp_path, monkeypatch, most):
    monkeypatch.setattr(hierarchy, "MOST_ROWS", most)
    X, model = data(), MultilayerNMF((8, 4), random_state=0, max_iter=40)
    expected = model.fit(X).hierarchy_
    for kind, form in forms(X, tmp_path).items():
        found = clone(model).fit(form).hierarchy_
        assert [one.explained for one in found] == pytest.approx([one.explained for one in expected], abs=1e-6), kind
        assert [one.parts for one in found] == pytest.approx([one.parts for one in expected], rel=1e-3), kind


def test_many_rows_are_represented_by_some_that_are_evenly_spaced(monkeypatch):
    monkeypatch.setattr(hierarchy, "MOST_ROWS", 20)
    X = data()
    model = DeepNSNMF((8, 4), theta=0, random_state=0).fit(X)
    assert model.hierarchy_[-1].explained == pytest.approx(model.score(X[::3]), abs=1e-6)


@pytest.mark.parametrize("block_bytes", [1, 2**11, 2**22])
def test_rows_of_a_file_are_read_one_by_one_or_together(tmp_path, monkeypatch, block_bytes):
    monkeypatch.setattr(sampling, "BLOCK_BYTES", block_bytes)
    X = data(61).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    source = row_source(tmp_path / "X.npy")
    for step in (1, 2, 7, 61, 100):
        found = sampling.spaced(source, step)
        assert found.dtype == np.float32
        assert np.array_equal(found, X[::step])


def test_unobserved_entries_and_weights_do_not_count(monkeypatch):
    X = data()
    weight = (np.random.default_rng(0).random(X.shape) < 0.9).astype(float)
    model = DeepNSNMF((8, 4), theta=0, random_state=0, max_iter=40, pretrain_max_iter=20)
    holed, weighed = np.where(weight > 0, X, np.nan), np.where(weight > 0, X, 100.0)
    by_nan, by_weight = (clone(model).fit(holed), clone(model).fit(weighed, entry_weight=weight))
    for one, other in zip(by_nan.hierarchy_, by_weight.hierarchy_, strict=True):
        assert one.explained == pytest.approx(other.explained, abs=1e-6)
    assert by_nan.hierarchy_[-1].explained == pytest.approx(by_nan.score(holed), abs=1e-6)
    monkeypatch.setattr(hierarchy, "MOST_ROWS", 20)
    by_weight.fit(weighed, entry_weight=weight)
    assert by_weight.hierarchy_[-1].explained == pytest.approx(by_weight.score(holed[::3]), abs=1e-6)


def test_features_that_select_are_copies_and_features_that_combine_are_made_of_parts():
    parts = np.eye(4, 12)
    wholes = np.array([[1.0, 1, 0, 0], [0, 0, 1, 0.01]])
    codes = np.random.default_rng(0).random((40, 2))
    model = MultilayerNMF((4, 2), max_iter=1, tol=0).fit(codes @ wholes @ parts, factors=[parts, wholes])
    _, top = model.hierarchy_
    assert (top.copies, top.dead) == (1, 0)
    assert 1.5 < top.parts < 1.6  # two parts, and little more than one


@pytest.mark.parametrize("penalty", ["L", "R", "RL1", "RL2"])
def test_tiny_features_give_finite_numbers(penalty):
    weights = {"feature_penalty": 100.0, "code_penalty": 100.0}
    model = SparseDeepNMF((8, 4), penalty=penalty, **weights, solver="mu", max_iter=100, random_state=0).fit(data())
    for one in model.hierarchy_:
        assert 0 <= one.share_of_squares <= 1
        assert np.isfinite(one.explained)
        assert np.isfinite(one.parts)


def test_models_with_one_layer_have_no_hierarchy():
    assert not hasattr(NMF(4), "hierarchy_")
    assert not hasattr(NMF(4).fit(data()), "hierarchy_")
    assert not hasattr(DeepNSNMF((4,)).fit(data()), "hierarchy_")


# ---------------------------------------------------------------------------------------- files and batches


def test_a_saved_model_keeps_its_hierarchy(tmp_path):
    for model in DEEP_MODELS:
        model = fitted(model)
        model.save(tmp_path / "model")
        assert deepnmf.load(tmp_path / "model").hierarchy_ == model.hierarchy_, name_of(model)


def test_files_without_it_leave_what_is_explained_unknown(tmp_path):
    model = DeepNSNMF((8, 4), random_state=0).fit(data())
    expected = model.hierarchy_
    del model._explained, model._shares_of_squares
    model.save(tmp_path / "model")
    for one, before in zip(deepnmf.load(tmp_path / "model").hierarchy_, expected, strict=True):
        assert np.isnan(one.explained)
        assert (one.dead, one.copies, one.parts) == (before.dead, before.copies, before.parts)


def test_a_second_batch_leaves_what_is_explained_unknown():
    X, model = data(), DeepNSNMF((8, 4), random_state=0)
    model.partial_fit(X[:30])
    assert not np.isnan(model.hierarchy_[0].explained)
    model.partial_fit(X[30:])
    assert np.isnan(model.hierarchy_[0].explained)


# -------------------------------------------------------------------------------------------------- warnings


def poor_data():
    """Data of rank 2: most features of a wide chain are of no use."""
    rng = np.random.default_rng(0)
    return rng.gamma(0.5, size=(60, 2)) @ rng.gamma(0.5, size=(2, 12))


def hierarchy_warnings(method, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        method(*args)
    return [one for one in caught if issubclass(one.category, HierarchyWarning)]


def test_a_poor_hierarchy_gets_one_warning_that_names_the_remedy_and_the_place():
    model = DeepNSNMF((8, 4), random_state=0)
    for method in (model.fit, model.fit_transform):
        (warning,) = hierarchy_warnings(method, poor_data())
        assert "DeepNMF" in str(warning.message)
        assert f"{model.hierarchy_[-1].copies} copied of 4" in str(warning.message)
    (warning,) = hierarchy_warnings(model.fit, poor_data())
    assert warning.filename == __file__


def test_batches_single_layers_and_good_hierarchies_get_no_warning():
    X = poor_data()
    assert not hierarchy_warnings(DeepNSNMF((8, 4), random_state=0).partial_fit, X)
    assert not hierarchy_warnings(NMF(8, random_state=0).fit, X)
    truth = deepnmf.datasets.make_hierarchy(300, (12, 4), n_features=60, parts_per_whole=5, random_state=2)
    model = MultilayerNMF((12, 4), random_state=0)
    assert not hierarchy_warnings(model.fit, truth.data)
    assert not any(one.is_poor for one in model.hierarchy_)


def test_a_layer_is_poor_above_a_fifth():
    summary = LayerSummary(layer=2, size=10, explained=0.9, share_of_squares=0.9, dead=1, copies=1, parts=3.0)
    assert not summary.is_poor
    assert replace(summary, copies=2).is_poor


# ------------------------------------------------------------------------------------------------ notebooks


def test_notebooks_show_the_hierarchy_below_the_diagram_of_a_fitted_model():
    model = DeepNSNMF((8, 4), random_state=0)
    assert "copies" not in model._repr_html_()
    model.fit(data())
    explained = f"<td>{100 * model.hierarchy_[-1].explained:.1f} %</td>"
    for page in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert explained in page
        assert page.count('<th scope="col">copies</th>') == 1
    assert "copies" not in NMF(4).fit(data())._repr_html_()
    json.dumps(model._repr_mimebundle_())
