"""transform computes the optimal codes of each row, independently of other rows."""

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone, is_classifier
from sklearn.pipeline import make_pipeline

from catalogue import SMALL, VARIANTS, data, is_linear, name_of
from deepnmf import GDNMF, GNMF, NMF, DeepNMFNetwork, DeepNSNMF, SparseDeepNMF
from deepnmf.objective import CodePenalty
from deepnmf.solvers.encoding import RIDGE, solve_rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
NEW = data(n=17, seed=1)


@pytest.mark.parametrize("order", [1, 3, 16, 40])
def test_codes_agree_with_scipys_nonnegative_least_squares(order):
    rng = np.random.default_rng(order)
    D, X = rng.gamma(0.5, size=(order, 60)), rng.gamma(0.5, size=(25, 60))
    H = solve_rows(D @ D.T, X @ D.T)
    assert np.allclose(H, [nnls(D.T, x)[0] for x in X], atol=1e-9)


@pytest.mark.parametrize("order", [30, 60, 200])
def test_codes_are_optimal_with_more_features_than_dimensions(order):
    rng = np.random.default_rng(0)
    D, X = rng.random((order, 12)), rng.random((20, 12))
    H = solve_rows(D @ D.T, X @ D.T)
    best = [nnls(D.T, x)[1] for x in X]
    assert np.allclose(np.linalg.norm(X - H @ D, axis=1), best, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_smallest_of_equally_good_codes_is_chosen(dtype):
    X = data(n=40, p=3)
    model = NMF(12, random_state=0, max_iter=20, tol=0).fit(X)
    codes, moved = (model.transform(rows.astype(dtype)) for rows in (X, X * (1 + 1e-6)))
    assert np.allclose(model.inverse_transform(codes), X, atol=1e-3 * X.max())
    assert np.allclose(moved, codes, atol=1e-3 * codes.max())
    C = np.vstack([model.components_.T, np.sqrt(RIDGE) * np.eye(12)])  # components have unit norm
    smallest = [nnls(C, np.r_[row, np.zeros(12)])[0] for row in X]
    assert np.allclose(codes, smallest, atol=1e-3 * codes.max())


def test_codes_meet_the_optimality_conditions_with_mixed_signs_and_penalties():
    rng = np.random.default_rng(0)
    D, X = rng.standard_normal((10, 30)), rng.standard_normal((50, 30))
    P = CodePenalty(0.3 * np.ones((10, 10)), l1=0.2)
    H = solve_rows(D @ D.T + P.gram, X @ D.T - P.l1)
    gradient = H @ (D @ D.T + P.gram) - X @ D.T + P.l1
    assert (H >= 0).all()
    assert np.abs(gradient[H > 0]).max() < 1e-8
    assert gradient[H == 0].min() > -1e-8


@pytest.mark.parametrize("model", [m for m in VARIANTS if not np.any(getattr(m, "pool_size", 0))], ids=name_of)
def test_a_rows_codes_do_not_depend_on_the_other_rows(model):
    model = clone(model).set_params(max_iter=8).fit(data())
    together = model.transform(NEW)
    alone = np.vstack([model.transform(row[None]) for row in NEW])
    assert np.allclose(together, alone, atol=1e-8)


@pytest.mark.parametrize("model", VARIANTS, ids=name_of)
def test_fit_transform_is_transform_of_the_training_rows(model):
    X = data()
    model = clone(model).set_params(max_iter=8)
    assert np.array_equal(model.fit_transform(X), model.transform(X))


@pytest.mark.parametrize("model", [m for m in SMALL if not isinstance(m, DeepNMFNetwork | GDNMF | GNMF)], ids=name_of)
def test_codes_of_a_converged_fit_are_what_transform_gives(model):
    X = data(noise=0.3)
    model = clone(model).set_params(tol=1e-7, max_iter=1000).fit(X)
    assert np.allclose(model.transform(X), model.codes_[-1], atol=0.02 * model.codes_[-1].max())


@pytest.mark.parametrize("layer", [0, 1, -1, -2])
@pytest.mark.parametrize("theta", [0.0, 0.3])
def test_encode_and_decode_work_for_every_layer(layer, theta):
    X = data()
    model = DeepNSNMF((8, 4), theta=theta, random_state=0, max_iter=50).fit(X)
    H = model.encode(X, layer)
    assert H.shape == (len(X), (8, 4)[layer])
    explained = 1 - np.sum((X - model.decode(H, layer)) ** 2) / np.sum((X - X.mean(axis=0)) ** 2)
    assert explained == pytest.approx(model.set_params(output_layer=layer).score(X), rel=1e-9)
    assert explained > 0.7


def test_a_pipeline_can_set_the_output_layer():
    X = data()
    pipeline = make_pipeline(SparseDeepNMF((8, 4), random_state=0, max_iter=50))
    assert pipeline.fit_transform(X).shape == (60, 4)
    pipeline.set_params(sparsedeepnmf__output_layer=0)
    assert pipeline.fit_transform(X).shape == (60, 8)
    assert len(pipeline.get_feature_names_out()) == 8


def test_a_penalized_model_transforms_with_its_penalty():
    X = data()
    model = SparseDeepNMF((8, 4), penalty="R", code_penalty=0.5, random_state=0).fit(X)
    C = model.components_
    weight = 0.5 * model._learned.penalty_units["UnitScaleSquaredL1Codes"][-1]
    expected = solve_rows(C @ C.T + weight * np.ones((4, 4)), X @ C.T)
    assert np.allclose(model.transform(X), expected, atol=1e-8)


def test_scikit_learns_penalties_give_scikit_learns_codes():
    from sklearn.decomposition import NMF as Theirs

    X = data()
    settings = {"n_components": 4, "alpha_W": 0.01, "alpha_H": 0.02, "l1_ratio": 0.3, "init": "nndsvda"}
    ours = NMF(**settings, random_state=0, tol=1e-10, max_iter=5000).fit(X)
    theirs = Theirs(**settings, random_state=0, tol=1e-10, max_iter=5000).fit(X)
    assert ours.reconstruction_err_ == pytest.approx(theirs.reconstruction_err_, rel=1e-3)
    assert np.allclose(ours.components_, theirs.components_, atol=0.02 * theirs.components_.max())
    theirs.components_ = ours.components_
    assert np.allclose(ours.transform(X), theirs.transform(X), atol=1e-4)


@pytest.mark.parametrize("model", [m for m in SMALL if not is_classifier(m)], ids=name_of)
def test_score_is_the_share_that_is_explained_beyond_the_column_means(model):
    X = data()
    model = clone(model).fit(X)
    square = np.sum((X - model.inverse_transform(model.transform(X))) ** 2)
    assert model.score(X) == pytest.approx(1 - square / np.sum((X - X.mean(axis=0)) ** 2), rel=1e-9)
    assert model.share_of_squares(X) == pytest.approx(1 - square / np.sum(X**2), rel=1e-9)


def test_data_of_all_forms_far_from_zero_have_the_same_score(tmp_path):
    X = 100 + data()  # sums in single precision would lose the variance
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    forms = sparse.csr_array(X.astype(np.float32)), tmp_path / "X.npy", da.from_array(X, chunks=(7, -1))
    model = NMF(4, random_state=0).fit(X)
    assert [model.score(form) for form in forms] == pytest.approx([model.score(X)] * 3, abs=1e-3)
    hidden = np.random.default_rng(0).random(X.shape) < 0.2
    weight, holed = np.where(hidden, 0.0, 1.0), np.where(hidden, np.nan, X)
    square = np.nansum((holed - model.inverse_transform(model.transform(holed))) ** 2)
    expected = 1 - square / np.nansum((holed - np.nanmean(holed, axis=0)) ** 2)
    assert model.score(holed) == pytest.approx(expected, rel=1e-6)
    assert model.score(X, entry_weight=weight) == pytest.approx(expected, rel=1e-6)


def test_rows_that_are_all_equal_score_1_if_they_are_reconstructed_and_0_if_not():
    X = np.tile(np.arange(1.0, 6), (20, 1))
    model = NMF(1).fit(X)
    assert model.score(X) == 1
    assert model.score(X[:, ::-1]) == 0
    assert model.share_of_squares(X[:, ::-1]) == pytest.approx((35 / 55) ** 2)


def test_the_share_of_squares_is_for_squared_error_only():
    assert not hasattr(NMF(2, beta_loss="kullback-leibler"), "share_of_squares")


@pytest.mark.parametrize("model", [m for m in VARIANTS if is_linear(m) and hasattr(m, "project")], ids=name_of)
def test_projection_is_least_squares_without_constraints(model):
    X = data()
    model = clone(model).fit(X)
    for layer in range(len(model.factors_)):
        size = len(model.factors_[layer])
        H = model.project(NEW, layer)
        assert H.shape == (len(NEW), size)
        best, *_ = np.linalg.lstsq(model.decode(np.eye(size), layer).T, NEW.T, rcond=None)
        assert np.allclose(model.decode(H, layer), model.decode(best.T, layer), atol=1e-6)


def test_projection_through_an_activation_is_refused():
    model = SparseDeepNMF((8, 4), activation="square", random_state=0, max_iter=5).fit(data())
    with pytest.raises(ValueError, match="project needs a linear map to layer 1, but activation is 'square'"):
        model.project(NEW)
    assert model.project(NEW, 0).shape == (len(NEW), 8)
