"""Random models, shapes, sizes, precisions, memory orders, sparsity, holes and labels give valid fits.

`DEEPNMF_EXAMPLES=10000 pytest -m slow -n auto tests/contracts/test_properties.py` runs that many fits.
"""

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from catalogue import VARIANTS, beta_of, is_linear
from deepnmf import NMF, DeepNMFNetwork, DeepSemiNMF, MultilayerNMF, SparseDeepNMF

FEW = 60
MANY = int(os.environ.get("DEEPNMF_EXAMPLES", "2000"))
SHARED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
TOLERANCE = {"float64": 1e-9, "float32": 2e-4}


@dataclass(frozen=True)
class Case:
    """A model and valid data for it."""

    model: Any
    X: Any
    y: Any

    def fitted(self, X=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return clone(self.model).fit(self.X if X is None else X, self.y)


@st.composite
def cases(draw):
    model = clone(draw(st.sampled_from(VARIANTS)))
    n, p = draw(st.integers(7, 30)), draw(st.integers(1, 20))  # GNMF needs five neighbors for each row
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.gamma(draw(st.sampled_from([0.2, 1.0, 5.0])), size=(n, p))
    X[rng.random((n, p)) < draw(st.sampled_from([0.0, 0.5, 0.9]))] = 0
    X[0, 0] = 1  # a matrix that is negligible in the units of an activation is refused
    X *= draw(st.sampled_from([1e-3, 1.0, 1e4]))
    X = X.astype(draw(st.sampled_from(["float64", "float32"])))
    model.set_params(**_sizes(draw, model), max_iter=draw(st.integers(1, 12)))
    y = rng.integers(-1, 3, n)
    y[:2] = 0, 1  # a single class is refused
    return Case(model, _in_some_form(draw, X, model, rng), draw(st.sampled_from([y, None])))


def _sizes(draw, model):
    size = st.integers(1, 12)
    if "layer_sizes" not in model.get_params():
        return {"n_components": draw(size)}
    depth = 1 if getattr(model, "paths", "") == "shallow" else draw(st.integers(1, 3))
    sizes = {"layer_sizes": tuple(draw(size) for _ in range(depth))}
    for name, value in model.get_params().items():
        if name != "layer_sizes" and isinstance(value, tuple):  # one value per layer
            sizes[name] = type(model)().get_params()[name]
    return sizes


def _in_some_form(draw, X, model, rng):
    form = draw(st.sampled_from(["C", "F", "csr", "csc", "holes"]))
    if form == "holes" and model._problem().masks_nan:
        holed = np.where(rng.random(X.shape) < 0.2, np.nan, X)
        return holed if np.isfinite(holed).any() and np.nansum(holed) > 0 else X
    if form in ("csr", "csc"):
        return sparse.csr_array(X) if form == "csr" else sparse.csc_array(X)
    return np.asfortranarray(X) if form == "F" else X


def check(case):
    model = case.fitted()
    arrays = [*model.factors_, *model.features_, *model.codes_]
    assert all(np.isfinite(array).all() for array in arrays)
    assert all((codes >= 0).all() for codes in model.codes_)
    if model._problem().nonnegative:
        assert all((array >= 0).all() for array in arrays)
    losses = np.asarray(model.loss_curve_)
    assert np.isfinite(losses).all()
    slack = 1e-9 if str(case.X.dtype) == "float64" else 1e-5
    size = max(_sqnorm(case.X), _top_input_sqnorm(case))
    assert (np.diff(losses) <= slack * max(size, abs(losses[0]))).all()
    codes = model.transform(case.X)
    assert np.isfinite(codes).all()
    assert (codes >= 0).all()
    assert codes.dtype == case.X.dtype
    assert model.inverse_transform(codes).shape == case.X.shape


def _top_input_sqnorm(case):
    """A bound on ‖input‖² of the top layer of a multilayer model with roots: their loss is relative to it."""
    return float(case.X.size) if getattr(case.model, "activation", "") == "square" else 0.0


def _sqnorm(X):
    entries = X.data if sparse.issparse(X) else X
    return float(np.nansum(np.square(entries, dtype=np.float64)))


@given(cases())
@settings(max_examples=FEW, deadline=None, suppress_health_check=SHARED, derandomize=True)
def test_every_valid_case_gives_a_valid_fit(case):
    note(repr(case.model))
    check(case)


@pytest.mark.slow
@given(cases())
@settings(max_examples=MANY, deadline=None, suppress_health_check=SHARED, database=None)
def test_thousands_of_fits_are_valid(case):
    note(repr(case.model))
    check(case)


@pytest.mark.parametrize("sizes", [(4, 5, 1), (1, 2, 1)])
def test_a_step_that_overflows_is_undone_without_a_warning(sizes):
    """Found by the test above: a step of the codes, and one of the factors that gave a sum of squares of -6e222."""
    column = [1.04849546e-04, 1.15482609e-10, 3.56783093e-04, 8.21561528e-05, 4.74785087e-05, 2.06818385e-04]
    X = np.array([*column, 5.15636535e-04])[:, None]
    model = DeepSemiNMF(sizes, activation="square", init="kmeans", max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        losses = Case(model, X, None).fitted().loss_curve_
    assert (losses >= -1e-12 * np.sum(X**2)).all()
    assert (np.diff(losses) <= 1e-14 * np.sum(X**2)).all()


def test_a_gradient_that_overflows_changes_nothing():
    """Found by generated fits: the curvature of a factor of 1e17, in single precision."""
    left = [1e4, 3567.8308, 474.7851, 5156.3652, 1.8215497e-04, 0, 1546.5063, 0, 11142.084, 0, 6.0483413, 0, 42.899555]
    right = [0, 821.56152, 0, 0, 1356.4282, 1514.1548, 0.45000833, 270.6734, 609.80994, 92.112541, 0.041859403]
    right += [5787.4106, 185.22498, 0, 23.776505, 64.881317, 165.62424]
    X = np.array([[*left, 0, 0.061561052, 0, 0], right], np.float32).T
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        check(Case(DeepSemiNMF((8, 1), activation="softplus", max_iter=5, random_state=0), X, None))


def test_a_feature_too_small_for_its_precision_is_treated_as_zero():
    """Found by generated fits: in single precision, its codes were divided by infinity."""
    X = np.zeros((7, 2), np.float32)
    X[0, 0], X[2, 0] = 1e-3, 4.747851e-05
    model = SparseDeepNMF((10,), penalty="R", code_penalty=0.1, feature_penalty=0.1, max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        check(Case(model, X, None))


def test_a_feature_with_negligible_codes_does_not_change():
    """Found by generated fits: it grew to 1e41, because its codes were negligible."""
    X = np.zeros((7, 13), np.float32)
    X[[0, 1, 2, 5, 6], [0, 4, 1, 8, 4]] = 1e-3, 9.4225328e-10, 1.9337003e-04, 2.3375667e-07, 8.0803929e-06
    X[3, [0, 1, 5]] = 1.2048291e-07, 3.1878801e-06, 1.0175767e-04
    model = SparseDeepNMF((7, 10), penalty="R", code_penalty=0.1, feature_penalty=0.1, max_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        check(Case(model, X, None))


def test_smoothed_features_have_unit_norm_below_an_activation_too():
    """Found by generated fits: a row of norm 2e-15 was scaled to unit norm, and its smoothed part became infinite."""
    X = np.array([[1e-3, 0, 1.9806663e-05, 0, 0, 0, 0]], np.float32).T
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        check(Case(MultilayerNMF((1, 5, 6), activation="square", theta=0.1, max_iter=2, random_state=0), X, None))


def test_codes_of_a_negligible_feature_do_not_change():
    """Found by generated fits: they were divided by a curvature of 1e-45, the smallest positive number."""
    X = np.array([[np.nan, 0, 2850.7422, 0, np.nan, 10183.476, 23392.957, 12639.959]], np.float32).T
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        check(Case(SparseDeepNMF((8, 8), max_iter=1, pretrain_max_iter=20, random_state=0), X, None))


ROW_BY_ROW = [model for model in VARIANTS if not isinstance(model, DeepNMFNetwork)]


@given(st.sampled_from(ROW_BY_ROW), st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None, suppress_health_check=SHARED, derandomize=True)
def test_permuting_new_samples_permutes_their_codes(model, seed):
    rng = np.random.default_rng(seed)
    case = Case(clone(model).set_params(max_iter=5), rng.gamma(1.0, size=(30, 14)), None)
    fitted, order = case.fitted(), rng.permutation(30)
    assert np.allclose(fitted.transform(case.X[order]), fitted.transform(case.X)[order], rtol=1e-6, atol=1e-8)


CHAINS = [model for model in ROW_BY_ROW if hasattr(model, "project") and is_linear(model)]
WEIGHTS = ("alpha_W", "penalty", "graph_weights", "within_weight", "between_weight")
UNPENALIZED = [model for model in CHAINS if not any(getattr(model, name, None) for name in WEIGHTS)]
SETTINGS = settings(max_examples=30, deadline=None, suppress_health_check=SHARED, derandomize=True)


@dataclass(frozen=True)
class FitFromStart:
    """A model, data and labels, and a custom start."""

    model: Any
    X: Any
    y: Any
    codes: Any
    factors: Any

    @classmethod
    def of(cls, model, seed):
        rng = np.random.default_rng(seed)
        case = Case(clone(model).set_params(max_iter=3), rng.gamma(1.0, size=(30, 14)), rng.integers(0, 3, 30))
        learned = case.fitted()
        return cls(case.model, case.X, case.y, learned.codes_[-1], learned.factors_)

    def fitted(self, rows=slice(None), columns=slice(None), scale=1.0):
        """Fit permuted and scaled data from a start that is permuted and scaled in the same way."""
        lowest, *upper = self.factors
        start = {"factors": [lowest[:, columns], *upper]}
        model = clone(self.model)
        if isinstance(model, NMF):  # with the names of scikit-learn
            model.set_params(init="custom")
            start = {"W": scale * self.codes[rows], "H": lowest[:, columns]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(scale * self.X[rows][:, columns], self.y[rows], **start)


def near(found, expected, model):
    # Under divergences early steps are made in single precision, by which codes next to 0 move or not.
    rtol, atol = (1e-5, 1e-7) if beta_of(model) == 2 else (1e-2, 5e-3)
    return np.allclose(found, expected, rtol=rtol, atol=atol * np.abs(expected).max())


@given(st.sampled_from(CHAINS), st.integers(0, 2**32 - 1))
@SETTINGS
def test_permuting_samples_permutes_the_codes_of_a_fit(model, seed):
    case, order = FitFromStart.of(model, seed), np.random.default_rng(seed).permutation(30)
    plain, permuted = case.fitted(), case.fitted(rows=order)
    assert near(permuted.codes_[-1], plain.codes_[-1][order], model)
    assert near(permuted.components_, plain.components_, model)


@given(st.sampled_from(CHAINS), st.integers(0, 2**32 - 1))
@SETTINGS
def test_permuting_columns_permutes_the_features(model, seed):
    case, order = FitFromStart.of(model, seed), np.random.default_rng(seed).permutation(14)
    plain, permuted = case.fitted(), case.fitted(columns=order)
    assert near(permuted.components_, plain.components_[:, order], model)
    assert near(permuted.codes_[-1], plain.codes_[-1], model)


@given(st.sampled_from(UNPENALIZED), st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
@SETTINGS
def test_scaling_the_data_scales_the_codes(model, seed, scale):
    case = FitFromStart.of(model, seed)
    plain, scaled = case.fitted(), case.fitted(scale=scale)
    of_codes, of_features = (1, scale) if getattr(model, "code_scale", "norm") == "rms" else (scale, 1)
    assert near(scaled.codes_[-1], of_codes * plain.codes_[-1], model)
    assert near(scaled.components_ / of_features, plain.components_, model)
