"""GDNMF and GD²NMF: the parts of the model, its special cases, and labels."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import deepnmf
from catalogue import data
from deepnmf import GDNMF, NMF

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
RUN = {"random_state": 0, "tol": 0, "max_iter": 15}
TIGHT = {"random_state": 0, "tol": 1e-7, "max_iter": 2000}


def groups(n=90, p=30, seed=0):
    """Rows of three classes, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.gamma(1.0, size=(3, p))[y] * (0.5 + rng.random((n, 1))) + 0.2 * rng.random((n, p)), y


def with_unknown_labels(y, every=5):
    return np.where(np.arange(len(y)) % every < 1, y, -1)


# ------------------------------------------------------------------------------------- parts


@pytest.mark.parametrize(
    ("parameters", "features", "basis", "rows_of_w"),
    [
        ({}, [(8, 24), (4, 8)], [(8, 8), (8, 4), (4, 24)], 4),
        ({"basis_sizes": 10}, [(8, 24), (4, 8)], [(8, 10), (10, 24)], 4),
        ({"layer_sizes": 4, "basis_sizes": (10, 5)}, [(4, 24)], [(4, 10), (10, 5), (5, 24)], 4),
        ({"paths": "deep"}, [(8, 24), (4, 8)], [(8, 8), (8, 4), (4, 24)], 0),
        ({"paths": "shallow"}, [(4, 24)], [(0, 0), (0, 24)], 4),
        ({"layer_sizes": None, "decay": 0.5, "depth": 3}, [(12, 24), (6, 12), (3, 6)], None, 3),
    ],
    ids=["both sides deep", "features only", "basis only", "deep only", "shallow only", "sizes by decay"],
)
def test_every_ablation_has_its_parts(parameters, features, basis, rows_of_w):
    model = GDNMF(**{"layer_sizes": (8, 4), **parameters}, **RUN).fit(data())
    assert [Z.shape for Z in model.factors_] == features
    assert basis is None or [Z.shape for Z in model.basis_factors_] == basis
    assert model.shallow_components_.shape == (rows_of_w, 24)


def test_sizes_by_decay_are_those_of_the_paper():
    assert GDNMF()._problem().layer_sizes(1024) == ((307, 92), (307, 92))


def test_the_reconstruction_agrees_with_the_formula():
    X = data()
    model = GDNMF((8, 6, 4), basis_sizes=(7, 5), keep_codes="all", **RUN).fit(X)
    _, R2, R3 = model.factors_
    S, L2, F = model.basis_factors_
    G1, G2, G3 = model.codes_
    assert np.allclose(G2, np.square(G3 @ R3))
    assert np.allclose(G1, np.square(G2 @ R2))
    expected = G1 @ S @ np.square(L2 @ F) + G3 @ model.shallow_components_
    assert np.allclose(model.decode(G3), expected)
    assert np.allclose(model.decode(G1, 0), G1 @ model.factors_[0])
    assert model.loss_curve_[-1] == pytest.approx(0.5 * np.sum((X - expected) ** 2), rel=1e-9)


def test_codes_have_unit_root_mean_square():
    codes = GDNMF((8, 4), **RUN).fit(data()).codes_[-1]
    assert np.allclose(np.mean(codes**2, axis=0), 1)


def test_encoding_reaches_about_the_error_of_the_fit():
    X = data(noise=0.3)
    model = GDNMF((8, 4), random_state=0, tol=1e-5, max_iter=500).fit(X)
    assert np.linalg.norm(X - model.inverse_transform(model.transform(X))) <= 1.02 * model.reconstruction_err_


# ------------------------------------------------------------------------------ special cases


@pytest.mark.parametrize(
    "parameters", [{"paths": "shallow"}, {"activation": "identity"}, {"activation": "relu"}], ids=repr
)
def test_gdnmf_without_a_nonlinear_path_reaches_the_error_of_nmf(parameters):
    X = data(noise=0.3)
    model = GDNMF((8, 4), **parameters, **TIGHT).fit(X)
    assert model.reconstruction_err_ == pytest.approx(NMF(4, **TIGHT).fit(X).reconstruction_err_, rel=1e-3)


def test_gdnmf_without_the_deep_path_continues_from_nmf():
    X = data(noise=0.3)
    nmf = NMF(4, init="nndsvd", **TIGHT).fit(X)
    model = GDNMF((8, 4), paths="shallow", pretrain_max_iter=2000, pretrain_tol=1e-7, **TIGHT).fit(X)
    assert model.reconstruction_err_ == pytest.approx(nmf.reconstruction_err_, rel=1e-6)
    assert np.allclose(model.components_, nmf.components_, atol=1e-3)
    assert np.allclose(model.transform(X), nmf.transform(X), atol=1e-2 * nmf.codes_[-1].max())


@pytest.mark.parametrize("activation", ["identity", "relu"])
def test_gdnmf_with_a_linear_map_is_ssnmf_of_the_top_rank(activation):
    """X ≈ G (S^R S_1 F̂_1 + W) and Y ≈ G (S^R U + V): one matrix each for data and labels."""
    X, y = groups()
    model = GDNMF((8, 4), activation=activation, label_weight=0.5, **RUN).fit(X, with_unknown_labels(y))
    (_, R), (U, V), G = model.factors_, model.label_factors_, model.codes_[-1]
    Z, B = R @ model.factors_[0] + model.shallow_components_, R @ U + V
    known = with_unknown_labels(y) >= 0
    residual = np.eye(3)[y[known]] - G[known] @ B
    assert np.allclose(model.components_, Z)
    assert model.loss_curve_[-1] == pytest.approx(0.5 * np.sum((X - G @ Z) ** 2) + 0.25 * np.sum(residual**2), rel=1e-9)


def test_a_label_weight_of_zero_does_not_change_the_codes():
    X, y = groups()
    with_labels = GDNMF((8, 4), label_weight=0, **RUN).fit(X, with_unknown_labels(y))
    without = GDNMF((8, 4), **RUN).fit(X)
    assert np.array_equal(with_labels.codes_[-1], without.codes_[-1])
    assert np.array_equal(with_labels.loss_curve_, without.loss_curve_)
    assert np.mean(with_labels.transduction_ == y) > 0.9


# --------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("paths", ["both", "deep", "shallow"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_few_labels_predict_the_others(paths, container):
    X, y = groups()
    model = GDNMF((8, 4), paths=paths, random_state=0).fit(container(X), with_unknown_labels(y))
    assert np.mean(model.transduction_ == y) > 0.95
    assert np.mean(model.predict(container(groups()[0][::-1])) == y[::-1]) > 0.95
    assert model.decision_function(X).shape == (90, 3)


@pytest.mark.parametrize("weight", [1e-4, 1.0, 1e3])
def test_the_loss_never_rises_with_labels_of_any_weight(weight):
    X, y = groups()
    curve = (
        GDNMF((8, 4), label_weight=weight, random_state=0, tol=0, max_iter=60)
        .fit(X, with_unknown_labels(y))
        .loss_curve_
    )
    assert (np.diff(curve) <= 1e-12 * np.sum(X**2)).all()


@pytest.mark.parametrize(
    ("names", "unknown"),
    [(np.array(["ash", "elm", "oak"], dtype=object), None), (np.array([3, 5, 8]), -1), (np.array([3.0, 5, 8]), np.nan)],
    ids=["text and None", "integers and -1", "integers and NaN"],
)
def test_labels_keep_their_names_in_a_file(names, unknown, tmp_path):
    X, y = groups()
    labels = names[y]
    labels[with_unknown_labels(y) < 0] = unknown
    model = GDNMF((8, 4), **RUN).fit(X, labels)
    model.save(tmp_path / "model")
    for again in (deepnmf.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.classes_.tolist() == names.tolist()
        assert again.classes_.dtype == model.classes_.dtype
        assert np.array_equal(again.predict(X), model.predict(X))
        assert np.array_equal(again.transduction_, model.transduction_)
    known = with_unknown_labels(y) >= 0
    assert (model.transduction_[known] == names[y][known]).all()


def test_one_label_per_class_and_a_labeled_row_of_zeros_give_finite_results():
    X, y = groups()
    X[0], labels = 0, np.full(len(y), -1)
    labels[[0, 1, 2]] = y[[0, 1, 2]]
    model = GDNMF((8, 4), **RUN).fit(X, labels)
    assert np.isfinite(model.loss_curve_).all()
    assert np.isfinite(model.decision_function(X)).all()


def test_a_refit_without_labels_forgets_them():
    X, y = groups()
    model = GDNMF((8, 4), **RUN).fit(X, y)
    assert hasattr(model, "predict")
    model.fit(X)
    assert not hasattr(model, "predict")
    assert not hasattr(model, "classes_")


def test_gdnmf_without_labels_has_no_predict_and_says_why():
    X, y = groups()
    with pytest.raises(AttributeError, match="has no attribute 'predict'") as error:
        GDNMF((8, 4)).predict(X)
    assert isinstance(error.value.__cause__, NotFittedError)
    model = GDNMF((8, 4), **RUN).fit(X, np.full(len(y), -1))
    with pytest.raises(AttributeError, match="has no attribute 'predict'") as error:
        model.predict(X)
    assert "fitted without labels" in str(error.value.__cause__)


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"layer_sizes": ()}, "layer_sizes must contain one positive integer per layer"),
        ({"layer_sizes": (5, 0)}, "layer_sizes must be positive, got 0"),
        ({"basis_sizes": (5, -1)}, "basis_sizes must be positive, got -1"),
        ({"basis_sizes": ()}, "basis_sizes must contain one positive integer per layer"),
        ({"decay": 0}, "The 'decay' parameter of GDNMF"),
        ({"decay": 1.5}, "The 'decay' parameter of GDNMF"),
        ({"depth": 0}, "The 'depth' parameter of GDNMF"),
        ({"paths": "none"}, "The 'paths' parameter of GDNMF"),
        ({"activation": "stanh"}, "The 'activation' parameter of GDNMF"),
        ({"label_weight": -1}, "The 'label_weight' parameter of GDNMF"),
        ({"init": "custom"}, "The 'init' parameter of GDNMF"),
        ({"layer_sizes": (30, 4), "init": "nndsvd"}, r"n_components <= min\(n_samples, n_features\), layer by layer"),
        ({"output_layer": 2}, "output_layer is 2, but the model has 2 layers: expected -2 to 1"),
        ({"output_layer": 1, "paths": "shallow"}, "output_layer is 1, but the model has 1 layers"),
    ],
    ids=repr,
)
def test_bad_parameters_are_named(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        GDNMF(**parameters).fit(data())


def test_sizes_that_are_not_integers_are_refused():
    with pytest.raises(TypeError, match="basis_sizes must contain integers, got 2.5"):
        GDNMF((8, 4), basis_sizes=(8, 2.5)).fit(data())


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.zeros(59), "y has 59 labels, but X has 60 samples"),
        (np.linspace(0, 1, 60), "Unknown label type: continuous"),
        (np.array(["a", 1] * 30, dtype=object), "y must contain labels of one type"),
    ],
    ids=["too few", "continuous", "mixed"],
)
def test_invalid_labels_are_refused(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        GDNMF((8, 4)).fit(data(), y)
