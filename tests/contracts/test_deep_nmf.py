"""DeepNMF: parts, and wholes that are made of them."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone

from catalogue import data
from deepnmf import NMF, DeepNMF, DeepNSNMF, DeepSemiNMF, SparseDeepNMF, load
from deepnmf.datasets import make_hierarchy
from deepnmf.engines import RowsInMemory, Workers
from deepnmf.metrics import matched_cosine
from deepnmf.objective import Divergence
from deepnmf.solvers.layer_steps import CountedCodes, SquaredCodes, expected_rows
from deepnmf.solvers.layered_descent import LayeredDescent, LayeredLoss
from deepnmf.solvers.layered_fits import CountsFit, SquaredFit
from reference.hierarchy import best_codes, loss_of_codes, loss_of_data

LOSSES = ["frobenius", "kullback-leibler"]
every_loss = pytest.mark.parametrize("loss", LOSSES)
BETWEEN_LAYERS = [((8, 4), "kullback-leibler"), ((10, 6, 3), "kullback-leibler")] + [
    ((10, 6, 3), names)
    for names in (("frobenius", "kullback-leibler"), ("kullback-leibler", "frobenius"), ("frobenius", "frobenius"))
]


def counts(n=60, p=24):
    return np.random.default_rng(1).poisson(3 * data(n, p)).astype(float)


def optimized_codes(model, codes):
    """Codes as the loss has them, from those that are handed out."""
    factors, _ = model._learned.optimized(1.0)
    features, norms = np.eye(factors[0].shape[1]), []
    for Z in factors:
        features = Z @ features
        norms.append(np.linalg.norm(features, axis=1))
    return [H / norm for H, norm in zip(codes, norms, strict=True)]


# ----------------------------------------------------------------------------------------------- what it finds


@pytest.mark.parametrize("variation", [0.2, 0.5, 1.0])
def test_planted_parts_and_wholes_are_found(variation):
    truth = make_hierarchy(500, (16, 4), image_shape=(16, 16), variation=variation, random_state=3)
    model = DeepNMF((16, 4), random_state=0).fit(truth.data)
    parts, wholes = (matched_cosine(*pair) for pair in zip(model.features_, truth.features, strict=True))
    assert parts > 0.95
    assert wholes > 0.95


def test_parts_and_wholes_of_three_planted_levels_are_found():
    truth = make_hierarchy(800, (18, 6, 3), image_shape=(18, 18), variation=0.5, random_state=1)
    model = DeepNMF((18, 6, 3), random_state=0).fit(truth.data)
    parts, between, wholes = (matched_cosine(*pair) for pair in zip(model.features_, truth.features, strict=True))
    assert parts > 0.95
    assert between > 0.9
    assert wholes > 0.95


def test_published_fine_tuning_loses_planted_parts_that_deep_nmf_keeps():
    truth = make_hierarchy(500, (16, 4), image_shape=(16, 16), variation=0.5, random_state=3)
    ours, published = (model((16, 4), random_state=0).fit(truth.data) for model in (DeepNMF, DeepNSNMF))
    assert matched_cosine(ours.features_[0], truth.features[0]) > 0.1 + matched_cosine(
        published.features_[0], truth.features[0]
    )


def explained(features, X):
    """The share of ‖X‖² that features explain, with the best codes."""
    codes = np.array([nnls(features.T, x)[0] for x in X])
    return 1 - np.sum((X - codes @ features) ** 2) / np.sum(X**2)


@pytest.mark.parametrize(("explains", "margin"), [("codes", 0.03), ("data", 0.02)])
def test_every_layer_explains_nearly_as_much_as_an_nmf_of_its_size(explains, margin):
    """Where data have no wholes, and the top is the layer that has the most to lose."""
    gaps = []
    for seed in range(3):
        X = data(200, 40, rank=12, seed=seed)
        model = DeepNMF((10, 4), explains=explains, max_iter=500, tol=1e-5, random_state=0).fit(X)
        alone = [NMF(size, max_iter=500, random_state=0).fit(X).components_ for size in (10, 4)]
        gaps.append([explained(C, X) - explained(D, X) for C, D in zip(model.features_, alone, strict=True)])
    assert np.all(np.mean(gaps, axis=0) > -margin)


def test_parts_of_data_that_are_mostly_noise_follow_the_data():
    X = make_hierarchy(300, (16, 4), image_shape=(16, 16), noise_level=4, random_state=0).data
    model, alone = DeepNMF((16, 4), random_state=0).fit(X), NMF(16, random_state=0).fit(X)
    assert explained(model.features_[0], X) > explained(alone.components_, X) - 0.005


def test_wholes_have_an_effect_on_data_with_almost_no_noise():
    truth = make_hierarchy(300, (16, 4), image_shape=(16, 16), variation=0.2, noise_level=0.005, random_state=0)
    model = DeepNMF((16, 4), random_state=0).fit(truth.data)
    assert matched_cosine(model.features_[0], truth.features[0]) > 0.96


def test_weights_trade_what_layers_explain_for_each_other():
    X = data(200, 40, rank=12)
    first, top = (
        DeepNMF((10, 4), explains="data", layer_weights=weights, max_iter=500, tol=1e-6, random_state=0).fit(X)
        for weights in ((100, 1), (1, 100))
    )
    assert explained(first.features_[0], X) > explained(top.features_[0], X)
    assert explained(first.features_[1], X) < explained(top.features_[1], X)


# ---------------------------------------------------------------------------------------------- the loss of codes


@every_loss
@pytest.mark.parametrize(("sizes", "layer_loss"), BETWEEN_LAYERS)
def test_the_loss_is_the_one_that_is_written_out_and_never_rises(loss, sizes, layer_loss):
    X = counts()
    model = DeepNMF(sizes, beta_loss=loss, layer_loss=layer_loss, max_iter=1000, tol=1e-8, random_state=0).fit(X)
    factors, weights = model._learned.optimized(1.0)
    codes = optimized_codes(model, [model.encode(X, layer) for layer in range(len(sizes))])
    expected = loss_of_codes(X, codes, factors, weights, loss, layer_loss)
    assert model.loss_curve_[-1] == pytest.approx(expected, rel=1e-3)
    assert (np.diff(model.loss_curve_) <= 1e-9 * model.loss_curve_[0]).all()


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
@every_loss
def test_layer_weights_are_relative_to_the_losses_after_the_pretraining(loss):
    X = counts()
    light, heavy = (
        DeepNMF((8, 4), layer_weights=weights, beta_loss=loss, max_iter=1, random_state=0).fit(X)
        for weights in ((1, 0.3), (2, 6))
    )
    assert heavy._learned.weights[0] == pytest.approx(10 * light._learned.weights[0])


@every_loss
@pytest.mark.parametrize(
    ("sizes", "layer_loss"), [((6, 3), "kullback-leibler"), *(((6, 4, 2), names) for _, names in BETWEEN_LAYERS[1:])]
)
def test_codes_of_a_row_are_the_best_ones_of_all_layers_together(loss, sizes, layer_loss):
    X = counts(60, 12)
    model = DeepNMF(sizes, beta_loss=loss, layer_loss=layer_loss, random_state=0).fit(X)
    factors, weights = model._learned.optimized(1.0)
    found = optimized_codes(model, [model.encode(X[:8], layer) for layer in range(len(sizes))])
    for i, x in enumerate(X[:8]):
        _, best = best_codes(x, factors, weights, loss, layer_loss)
        own = loss_of_codes(x[None], [H[i : i + 1] for H in found], factors, weights, loss, layer_loss)
        assert own <= best * (1 + 1e-5) + 1e-4


@every_loss
def test_codes_of_a_row_do_not_depend_on_other_rows_and_are_close_to_those_of_the_fit(loss):
    X = counts()
    model = DeepNMF((8, 4), beta_loss=loss, max_iter=1000, tol=1e-7, random_state=0).fit(X)
    together = model.transform(X)
    assert np.array_equal(model.transform(X[5:9]), together[5:9])
    assert np.linalg.norm(together - model.codes_[-1]) < 0.02 * np.linalg.norm(together)


@pytest.mark.parametrize("fit", [SquaredFit(), CountsFit(Divergence.of(1))], ids=LOSSES)
def test_a_sweep_is_one_pass_over_the_data(fit):
    rng, X = np.random.default_rng(0), counts()
    factors = [rng.random((8, 24)), rng.random((6, 8)), rng.random((3, 6))]
    with Workers() as workers:
        engine = CountingEngine(X, workers)
        descent = LayeredDescent(engine, LayeredLoss(fit, (CountedCodes(), SquaredCodes()), (0.1, 0.1)))
        state = descent.advance(descent.start(rng.random((60, 17)), factors))
        engine.n_passes = 0
        descent.advance(state)
        assert engine.n_passes == 1


class CountingEngine(RowsInMemory):
    """Counts passes over X."""

    n_passes = 0

    def sweep(self, rows, step, out=None):
        self.n_passes += 1
        return super().sweep(rows, step, out)


@every_loss
def test_streamed_rows_give_the_same_bits_and_sparse_ones_nearly_the_same(loss, tmp_path):
    X = counts(120)
    np.save(tmp_path / "X.npy", X)
    model = DeepNMF((8, 4), beta_loss=loss, random_state=0)
    dense, streamed, stored = (
        clone(model).fit(form) for form in (X, np.load(tmp_path / "X.npy", mmap_mode="r"), sparse.csr_array(X))
    )
    assert stored.loss_curve_[-1] == pytest.approx(dense.loss_curve_[-1], rel=1e-3)
    if loss == "frobenius":  # counts in memory are pre-trained by columns too
        assert np.array_equal(streamed.components_, dense.components_)
    assert streamed.loss_curve_[-1] == pytest.approx(dense.loss_curve_[-1], rel=0.05)


@every_loss
def test_unobserved_entries_do_not_count(loss):
    X = counts(200)
    hidden = np.random.default_rng(0).random(X.shape) < 0.1
    holed = np.where(hidden, np.nan, X)
    model = DeepNMF((8, 4), beta_loss=loss, random_state=0).fit(holed)
    assert (np.diff(model.loss_curve_) <= 1e-9 * model.loss_curve_[0]).all()
    other = np.where(hidden, 0.0, X)
    weighted = DeepNMF((8, 4), beta_loss=loss, random_state=0).fit(other, entry_weight=(~hidden).astype(float))
    assert weighted.loss_curve_[-1] == pytest.approx(model.loss_curve_[-1], rel=1e-2)


def test_rows_of_given_sums_that_have_carried_counts_are_optimal_under_weights():
    rng = np.random.default_rng(0)
    N, T, totals = rng.gamma(1, size=(5, 9)), rng.random((5, 9)), rng.random(5) + 0.5
    Z = expected_rows(N, totals, T)
    assert Z.sum(axis=1) == pytest.approx(totals)
    slopes = T - N / Z  # equal along a row where its sum is fixed
    assert slopes == pytest.approx(np.repeat(slopes[:, :1], 9, axis=1), abs=1e-6)


@every_loss
def test_a_saved_model_continues_where_it_stopped(loss, tmp_path):
    X, between = data(), ("kullback-leibler", "frobenius")
    model = DeepNMF((8, 4, 2), beta_loss=loss, layer_loss=between, random_state=0).fit(X)
    model.partial_fit(X[:30])
    model.save(tmp_path / "model.safetensors")
    restored = load(tmp_path / "model.safetensors")
    assert np.array_equal(restored.transform(X), model.transform(X))
    assert np.allclose(restored.partial_fit(X[30:]).components_, model.partial_fit(X[30:]).components_)


# ---------------------------------------------------------------------------------------------- the loss of data


def test_the_weighted_loss_is_the_one_that_is_written_out():
    X = data()
    model = DeepNMF((10, 6, 3), explains="data", layer_weights=(1, 2, 3), tol=0, random_state=0, max_iter=300).fit(X)
    features, factors = model.features_, model.factors_
    codes = [np.array([nnls(C.T, x)[0] for x in X]) for C in features]
    assert model.loss_curve_[-1] == pytest.approx(loss_of_data(X, codes, factors, (1, 2, 3)), rel=1e-4)
    assert model.kkt_residual_ < 1e-3


@pytest.mark.parametrize(
    "model", [DeepNSNMF((8, 4), theta=0.2), SparseDeepNMF((8, 4)), DeepSemiNMF((8, 4)), DeepNSNMF((8, 4), beta_loss=1)]
)
def test_a_weight_on_the_top_layer_alone_is_the_published_model(model):
    X = counts()
    published = clone(model).set_params(random_state=0).fit(X)
    weighted = clone(model).set_params(random_state=0, layer_weights=(0, 1)).fit(X)
    assert np.array_equal(weighted.components_, published.components_)


def test_one_layer_is_an_nmf():
    X = data()
    deep, shallow = DeepNMF((5,), tol=0, max_iter=50, random_state=0), NMF(5, tol=0, max_iter=50, random_state=0)
    assert deep.fit(X).reconstruction_err_ == pytest.approx(shallow.fit(X).reconstruction_err_, rel=1e-6)


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
@pytest.mark.parametrize("beta", [0.5, 1, 1.5, 3])
@pytest.mark.parametrize("theta", [0.0, 0.3])
def test_weighted_divergences_never_rise(beta, theta):
    X = counts() + 0.1
    model = DeepNSNMF((8, 5, 3), theta=theta, beta_loss=beta, layer_weights=(1, 1, 1), max_iter=40, random_state=0)
    curve = model.fit(X).loss_curve_
    assert (np.diff(curve) <= 1e-9 * curve[0]).all()


# ------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (DeepNMF((8, 4), layer_weights=(1, 1, 1)), "layer_weights"),
        (DeepNMF((8, 4), layer_weights=(1, -1)), "layer_weights"),
        (DeepNMF((8, 4), layer_weights=(1, 0)), "layer_weights must be above 0"),
        (DeepNMF((8, 4), explains="data", layer_weights=(1, 0)), "layer_weights must end with a weight above 0"),
        (DeepNMF((8, 4), beta_loss=0.5), "needs explains='data'"),
        (DeepNMF((8, 4), layer_loss=("frobenius", "frobenius")), "layer_loss must be one of"),
        (DeepNMF((8, 4), layer_loss=["squared"]), "layer_loss must be one of"),
        (SparseDeepNMF((8, 4), penalty="L", layer_weights=(1, 1)), "a chain without penalties"),
        (SparseDeepNMF((8, 4), activation="square", layer_weights=(1, 1)), "a chain without activation"),
    ],
)
def test_weights_that_do_not_fit_are_refused_in_a_sentence(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(data())
