"""Flenner & Hunter's network: pooling, energy, labels and holes."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import deepnmf
from catalogue import data, explained
from deepnmf import NMF, SSNMF, DeepNMFNetwork
from deepnmf.engines import HoledDense, RowsInMemory, Workers
from deepnmf.objective.network_energy import Pooling
from deepnmf.objective.terms import Labels
from deepnmf.solvers.network_descent import NetworkDescent
from jitter import without_copies
from reference import deep_nmf_network

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
RUN = {"random_state": 0, "tol": 0, "max_iter": 20}
GROUPS = np.repeat([3, 1, 2], [25, 15, 20])
LABELS = np.where(np.arange(60) % 7 == 0, np.arange(60) % 3, -1)


def with_holes(share=0.2, seed=0):
    X = data()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def same(first, second):
    assert np.array_equal(first.loss_curve_, second.loss_curve_)
    for a, b in zip(first.factors_, second.factors_, strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(first.codes_[-1], second.codes_[-1])


# -------------------------------------------------------------------------------------------------- pooling


@given(st.integers(0, 12), st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 2**31))
@settings(max_examples=60, deadline=None)
def test_pooling_takes_the_first_maximum_of_a_window_and_routes_back_to_it(width, lengths, seed):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(lengths)), lengths)
    H, V = rng.integers(0, 4, (len(groups), 3)).astype(float), rng.random((len(groups), 3))
    maxima, jacobians = deep_nmf_network.pool(H, width, groups)
    pooled = Pooling.centered(width, groups)(H)
    assert np.array_equal(pooled.maxima, maxima)
    expected = np.column_stack([J.T @ v for J, v in zip(jacobians, V.T, strict=True)])
    assert np.allclose(pooled.route_back(V), expected)


def test_a_window_of_even_width_has_one_more_row_after_its_center():
    H = np.array([[0.0], [1.0], [5.0], [2.0], [0.0]])
    assert Pooling.centered(2, np.zeros(5))(H).maxima.ravel().tolist() == [1, 5, 5, 2, 0]
    assert Pooling.centered(3, np.zeros(5))(H).maxima.ravel().tolist() == [1, 5, 5, 5, 2]


def test_a_pool_size_of_one_is_no_pooling():
    X = data()
    one, none = (DeepNMFNetwork((8, 4), pool_size=size, **RUN).fit(X, LABELS) for size in (1, 0))
    same(one, none)
    assert np.array_equal(one.predict(X), none.predict(X))


def test_nothing_is_pooled_across_the_ends_of_a_group():
    X = data()
    model = DeepNMFNetwork((8, 4), pool_size=7, **RUN).fit(X, groups=GROUPS)
    together = model.transform(X, groups=GROUPS)
    alone = np.vstack([model.transform(X[group == GROUPS]) for group in (3, 1, 2)])
    assert np.allclose(together, alone, atol=1e-8)
    assert not np.allclose(together, model.transform(X), atol=1e-3)


def test_one_pool_size_is_used_for_all_layers():
    X = data()
    same(
        DeepNMFNetwork((8, 6, 4), pool_size=3, **RUN).fit(X), DeepNMFNetwork((8, 6, 4), pool_size=(3, 3), **RUN).fit(X)
    )


# --------------------------------------------------------------------------------------------------- energy


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("weight", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("pool_size", [0, 2, 9])
@pytest.mark.parametrize("backprop", [True, False])
def test_the_energy_never_rises(backprop, pool_size, weight, holes):
    X = with_holes(holes)
    model = DeepNMFNetwork((8, 6, 4), pool_size=pool_size, backprop=backprop, label_weight=weight, init="random")
    curve = (
        model.set_params(pretrain_max_iter=0, random_state=0, tol=0, max_iter=60)
        .fit(X, LABELS, groups=GROUPS)
        .loss_curve_
    )
    assert (np.diff(curve) <= 1e-12 * np.nansum(X**2)).all()
    assert curve[-1] < 0.9 * curve[0]


def random_start(seed):
    """Codes and factors of sizes (6, 4) with unit rows in Z, and B."""
    rng = np.random.default_rng(seed)
    factors = [rng.random((6, 24)), rng.random((4, 6))]
    factors = [Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in factors]
    return [rng.random((60, 6)), rng.random((60, 4))], factors, rng.random((4, 3))


PUBLISHED = (np.eye(3)[LABELS], LABELS >= 0, 0.1, 3, GROUPS)  # labels, mask of the known ones, λ, width, groups


@pytest.mark.parametrize("backprop", [True, False])
def test_the_energy_of_a_sweep_is_the_published_one(backprop):
    X, (codes, factors, _) = with_holes(), random_start(0)
    Y, known, weight, width, groups = PUBLISHED
    labels = Labels(np.flatnonzero(known), Y[known], weight)
    with Workers() as workers:
        engine = RowsInMemory(HoledDense(X), workers)
        descent = NetworkDescent(engine, [Pooling.centered(width, groups)], labels, backprop=backprop)
        state = descent.start(codes, factors)
        for _ in range(5):
            state = descent.advance(state)
    ours = state.network
    expected = deep_nmf_network.energy(X, list(ours.codes), list(ours.factors), ours.head, *PUBLISHED)
    assert state.loss == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("backprop", [True, False])
def test_the_library_ends_lower_than_the_published_algorithm(backprop, seed):
    X, (codes, factors, B) = with_holes(0.1, seed), random_start(seed)
    for _ in range(80):
        codes, factors, B = deep_nmf_network.sweep(X, codes, factors, B, *PUBLISHED, backprop)
    model = DeepNMFNetwork((6, 4), pool_size=3, label_weight=0.1, backprop=backprop, **(RUN | {"max_iter": 80}))
    ours = model.fit(X, LABELS, groups=GROUPS).loss_curve_[-1]
    assert ours <= deep_nmf_network.energy(X, *at_unit_scale(codes, factors), B, *PUBLISHED)


def at_unit_scale(codes, factors):
    """The same reconstruction with unit rows in Z_1: the published energy decreases with the scale of the codes."""
    scale = np.linalg.norm(factors[0], axis=1)
    return [codes[0] * scale, codes[1]], [factors[0] / scale[:, None], factors[1] * scale]


def test_published_steps_change_the_scale_of_the_factors_and_ours_do_not():
    X, (codes, factors, B) = data(), random_start(0)
    sizes = []
    for _ in range(200):
        codes, factors, B = deep_nmf_network.sweep(X, codes, factors, B, *PUBLISHED, True)
        sizes.append(np.linalg.norm(factors[0]))
    assert sizes[-1] > 1.5 * sizes[5]
    model = DeepNMFNetwork((6, 4), init="random", random_state=0).fit(X)
    for Z in model.factors_:
        assert np.allclose(np.linalg.norm(Z, axis=1), 1)


def test_one_layer_is_ssnmf():
    X = data()
    one, shallow = DeepNMFNetwork((5,), **RUN).fit(X, LABELS), SSNMF(5, **RUN).fit(X, LABELS)
    same(one, shallow)
    assert np.array_equal(one.transduction_, shallow.transduction_)


def test_ssnmf_without_labels_is_as_good_as_nmf():
    X = data(noise=0.3)
    error = SSNMF(4, random_state=0, tol=1e-7, max_iter=2000).fit(X).reconstruction_err_
    assert error <= 1.001 * NMF(4, random_state=0, tol=1e-7, max_iter=2000).fit(X).reconstruction_err_


# --------------------------------------------------------------------------------------------------- labels


def problem_with_classes(n=150):
    """Rows of three classes in order, and the labels of every tenth row."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], n // 3)
    X = rng.random((3, 20))[truth] ** 4 + 0.2 * rng.random((n, 20))
    return X, truth, np.where(np.arange(n) % 10 == 0, truth, -1)


@pytest.mark.parametrize("model", [SSNMF(5, **RUN), DeepNMFNetwork((6, 5), pool_size=3, **RUN)], ids=repr)
def test_a_network_with_label_weight_zero_is_unsupervised_and_can_predict(model):
    X, truth, y = problem_with_classes()
    weightless, unsupervised = clone(model).set_params(label_weight=0.0).fit(X, y), clone(model).fit(X)
    same(weightless, unsupervised)
    assert np.mean(weightless.predict(X) == truth) > 0.95


@pytest.mark.parametrize("readout", ["logistic", "head"])
@pytest.mark.parametrize("unknown", [-1, None, np.nan])
@pytest.mark.parametrize("kind", ["text", "integers"])
def test_labels_may_be_text_or_integers_with_three_marks_for_unknown_ones(kind, unknown, readout):
    X, truth, y = problem_with_classes()
    names = np.array(["hen", "crow", "rooster"]) if kind == "text" else np.array([7, 3, 12])
    labels = np.array([names[place] if place >= 0 else unknown for place in y], dtype=object)
    model = SSNMF(5, readout=readout, random_state=0).fit(X, labels)
    assert np.array_equal(model.classes_, np.unique(names))
    assert model.classes_.dtype.kind == names.dtype.kind
    assert np.mean(model.predict(X) == names[truth]) > 0.9
    assert model.score(X, names[truth]) == np.mean(model.predict(X) == names[truth])


def test_transduction_keeps_known_labels_and_fills_in_the_others():
    X, truth, y = problem_with_classes()
    y[0] = 2  # a wrong label is kept too
    model = DeepNMFNetwork((6, 5), random_state=0).fit(X, y)
    known = y >= 0
    assert np.array_equal(model.transduction_[known], y[known])
    assert np.mean(model.transduction_[~known] == truth[~known]) > 0.9


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
def test_prediction_works_with_any_label_weight(weight):
    X, digits = load_digits(return_X_y=True)
    X, digits = X[:600] / 16, digits[:600]
    y = np.where(np.arange(600) % 10 == 0, digits, -1)
    model = SSNMF(20, label_weight=weight, random_state=0).fit(X, y)
    assert np.mean(model.transduction_[y < 0] == digits[y < 0]) > 0.75
    assert np.mean(model.predict(X)[y < 0] == digits[y < 0]) > 0.75


def test_probabilities_sum_to_one_and_scores_of_two_classes_are_one_column():
    X, truth, y = problem_with_classes()
    P = SSNMF(5, random_state=0).fit(X, y).predict_proba(X)
    assert np.allclose(P.sum(axis=1), 1)
    two = truth < 2
    for readout in ("logistic", "head"):
        model = SSNMF(5, readout=readout, random_state=0).fit(X[two], y[two])
        score = model.predict_proba(X)[:, 1] - 0.5 if readout == "logistic" else model.decision_function(X)
        assert np.array_equal(model.predict(X), model.classes_[(score > 0).astype(int)])
    assert not hasattr(SSNMF(readout="head"), "predict_proba")
    assert not hasattr(SSNMF(), "decision_function")


def test_labels_of_a_single_class_predict_that_class():
    X, _, _ = problem_with_classes()
    model = SSNMF(5, random_state=0).fit(X, np.where(np.arange(150) < 5, 4, -1))
    assert set(model.predict(X)) == set(model.transduction_) == {4}


@pytest.mark.parametrize("names", [np.array(["hen", "crow", "rooster"]), np.array([7, 3, 12], dtype=np.int32)])
def test_a_loaded_classifier_has_its_classes(names, tmp_path):
    X, _, y = problem_with_classes()
    labels = np.array([names[place] if place >= 0 else None for place in y], dtype=object)
    model = DeepNMFNetwork((6, 5), pool_size=3, random_state=0).fit(X, labels)
    model.save(tmp_path / "model")
    loaded = deepnmf.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert np.array_equal(loaded.transduction_, model.transduction_)
    assert np.array_equal(loaded.label_factor_, model.label_factor_)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


# ---------------------------------------------------------------------------------------------------- holes


def test_codes_of_rows_with_holes_are_those_of_their_observed_entries():
    X = with_holes()
    model = SSNMF(4, random_state=0).fit(X)
    Z = model.components_
    expected = [nnls(Z[:, seen].T, x[seen])[0] for x, seen in zip(X, ~np.isnan(X), strict=True)]
    assert np.allclose(model.transform(X), expected, atol=1e-8)


def test_unobserved_entries_are_filled_in():
    whole, X = data(), with_holes(0.3)
    model = SSNMF(6, random_state=0, max_iter=2000, tol=1e-6).fit(X)
    holes = np.isnan(X)
    filled = model.inverse_transform(model.transform(X))
    assert np.linalg.norm((filled - whole)[holes]) < 0.3 * np.linalg.norm(whole[holes])
    assert model.reconstruction_err_ == pytest.approx(
        np.linalg.norm((model.decode(model.codes_[-1]) - X)[~holes]), rel=1e-9
    )


def test_data_without_holes_give_the_fit_of_a_mask_of_ones():
    X, rng = data(), np.random.default_rng(0)
    codes, factors = [rng.random((60, r)) for r in (6, 4)], [rng.random((6, 24)), rng.random((4, 6))]
    labels = Labels(np.array([1, 5]), np.eye(2), 0.1)
    losses = []
    with Workers() as workers:
        for rows in (X, HoledDense(X)):
            descent = NetworkDescent(RowsInMemory(rows, workers), [Pooling.centered(3, GROUPS)], labels)
            state = descent.start(codes, factors)
            for _ in range(20):
                state = descent.advance(state)
            losses.append(state.loss)
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_a_network_with_unobserved_rows_and_columns_is_finite():
    X = with_holes()
    X[5], X[:, 7] = np.nan, np.nan
    model = DeepNMFNetwork((8, 4), pool_size=3, random_state=0).fit(X, LABELS)
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.reconstruction_err_)


@without_copies
def test_holes_never_need_a_copy_of_the_data():
    X = np.random.default_rng(0).random((40_000, 400))
    X[::3, ::5] = np.nan
    tracemalloc.start()
    try:
        SSNMF(4, random_state=0, max_iter=2, tol=0, pretrain_max_iter=1).fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.7 * X.nbytes


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_holes_in_several_blocks_give_the_same_bits_with_one_and_two_threads(dtype):
    from threadpoolctl import threadpool_limits

    X = data(n=1500, p=120).astype(dtype)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            results.append(DeepNMFNetwork((8, 4), pool_size=5, random_state=0, max_iter=5, tol=0).fit(X))
    same(*results)
    assert results[0].components_.dtype == results[0].transform(X).dtype == dtype


# ----------------------------------------------------------------------------------------------- pipelines and starts


def test_groups_are_routed_through_a_pipeline():
    X, truth, y = problem_with_classes()
    groups = np.repeat(np.arange(15), 10)
    network = DeepNMFNetwork((6, 5), pool_size=5, random_state=0)
    direct = clone(network).fit(X, y, groups=groups)
    with config_context(enable_metadata_routing=True):
        network.set_fit_request(groups=True).set_predict_request(groups=True).set_score_request(groups=True)
        network.set_transform_request(groups=True)
        pipeline = make_pipeline(FunctionTransformer(), network).fit(X, y, groups=groups)
        assert np.array_equal(pipeline.predict(X, groups=groups), direct.predict(X, groups=groups))
        assert pipeline.score(X, truth, groups=groups) == direct.score(X, truth, groups=groups)
        assert np.array_equal(pipeline.transform(X, groups=groups), direct.transform(X, groups=groups))
    assert not np.array_equal(direct.transform(X), direct.transform(X, groups=groups))


def test_given_factors_are_used_and_layers_above_are_trained():
    X = data()
    below = NMF(8, random_state=0).fit(X)
    model = DeepNMFNetwork((8, 4), init="custom", random_state=0, max_iter=1, tol=0)
    model.fit(X, factors=below.factors_)
    assert np.abs(model.factors_[0] - below.factors_[0]).max() < 0.1
    assert explained(model, X) > 0.8


@pytest.mark.parametrize("pool_size", [0, 5])
def test_a_start_from_fitted_factors_does_not_depend_on_their_scale(pool_size):
    X = data()
    model = DeepNMFNetwork((8, 4), pool_size=pool_size, random_state=0, max_iter=100).fit(X)
    D = np.random.default_rng(0).random(8) + 0.5
    again = DeepNMFNetwork((8, 4), pool_size=pool_size, init="custom", max_iter=3, tol=0)
    plain = clone(again).fit(X, factors=model.factors_)
    scaled = clone(again).fit(X, factors=[D[:, None] * model.factors_[0], model.factors_[1] / D])
    assert np.allclose(plain.loss_curve_, scaled.loss_curve_, rtol=1e-6)


# ------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"groups": np.zeros(59)}, "groups has 59 entries, but X has 60 samples: expected one per sample"),
        (
            {"groups": np.arange(60) % 2},
            "groups must have consecutive rows for each group, but 0 begins again at row 2",
        ),
        ({"y": np.zeros(59)}, "y has 59 labels, but X has 60 samples"),
        ({"y": np.linspace(0, 1, 60)}, "Unknown label type: continuous"),
        ({"factors": [np.ones((8, 23))]}, r"factors\[0\] has shape \(8, 23\), but the model needs \(8, 24\)"),
    ],
    ids=["groups", "scattered", "labels", "continuous", "factors"],
)
def test_arguments_of_fit_are_checked(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        DeepNMFNetwork((8, 4), pool_size=3).fit(data(), **arguments)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"pool_size": -1}, "pool_size must be an integer of at least 0, or one per pooling; got -1"),
        ({"pool_size": (3, -2)}, "pool_size must be an integer of at least 0, or one per pooling; got -2"),
        ({"pool_size": (3.5,)}, "pool_size must be an integer of at least 0, or one per pooling; got 3.5"),
        ({"pool_size": (3, 3)}, "pool_size has 2 values, but 2 layers have 1 poolings"),
        ({"pool_size": "wide"}, "The 'pool_size' parameter of DeepNMFNetwork"),
        ({"label_weight": -1}, "The 'label_weight' parameter of DeepNMFNetwork"),
        ({"readout": "softmax"}, "The 'readout' parameter of DeepNMFNetwork"),
        ({"init": "custom"}, "init='custom' needs a start: pass factors"),
        ({"init": "nndsvd", "layer_sizes": (30, 4)}, "can only be used when n_components <= min"),
        ({"output_layer": 2}, "output_layer is 2, but the model has 2 layers"),
    ],
    ids=repr,
)
def test_bad_parameters_are_named(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        DeepNMFNetwork(**({"layer_sizes": (8, 4)} | parameters)).fit(data())


@pytest.mark.parametrize("y", [None, np.full(60, -1)], ids=["none", "unknown"])
def test_a_model_fitted_without_labels_cannot_predict_and_says_so(y):
    model = SSNMF(4, random_state=0).fit(data(), y)
    for call in (model.predict, model.predict_proba, lambda X: model.score(X, np.zeros(60))):
        with pytest.raises(ValueError, match="was fitted without labels and cannot predict: pass y to fit"):
            call(data())
    assert (model.transduction_ == -1).all()


def test_groups_are_checked_in_transform_and_predict():
    model = DeepNMFNetwork((8, 4), pool_size=3, random_state=0).fit(data(), LABELS)
    for call in (model.transform, model.predict):
        with pytest.raises(ValueError, match="groups has 5 entries, but X has 60 samples"):
            call(data(), groups=np.zeros(5))


def test_negative_entries_beside_nan_are_refused():
    X = with_holes()
    X[0, 0] = -1
    with pytest.raises(ValueError, match="Negative values in data passed to SSNMF"):
        SSNMF(4).fit(X)


def test_infinity_beside_nan_is_refused():
    X = with_holes()
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        SSNMF(4).fit(X)


def test_a_network_refuses_data_without_observed_entries():
    with pytest.raises(ValueError, match="X has no observed entry, only NaN"):
        SSNMF(4).fit(np.full((20, 6), np.nan))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("model", "seeds"), [(SSNMF, 20), (DeepNMFNetwork, 6)])
def test_more_features_than_columns_predict_scikit_learns_blobs_in_both_precisions(model, seeds, dtype):
    X, y = make_blobs(n_samples=300, random_state=0)
    X = StandardScaler().fit_transform(X)
    X = (X - X.min()).astype(dtype)
    assert min(model(random_state=seed).fit(X, y).score(X, y) for seed in range(seeds)) > 0.9
