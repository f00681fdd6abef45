"""Components that are fixed stay as they are given, to the bit, and the others are learned around them."""

import tempfile

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import non_negative_factorization

import deepnmf
from catalogue import SMALL, VARIANTS, beta_of, data, explains_codes, name_of
from deepnmf import (
    GNMF,
    NMF,
    NSNMF,
    WSF,
    DeepNMF,
    DeepNSNMF,
    DeepSemiNMF,
    DeepWSF,
    MultilayerNMF,
    SemiNMF,
    SparseDeepNMF,
)
from deepnmf.models import known_components
from deepnmf.solvers import checkpoints

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::deepnmf.HierarchyWarning"),
]
TAKING = [model for model in VARIANTS if model._problem().fixes_components]
every_taking_model = pytest.mark.parametrize("model", TAKING, ids=name_of)
KL = {"beta_loss": "kullback-leibler", "random_state": 0}
DIFFERENT = [
    NMF(6, random_state=0),
    NMF(6, **KL),
    NMF(6, beta_loss=1.5, random_state=0),
    SemiNMF(6, random_state=0),
    DeepNSNMF((8, 4), random_state=0),
    MultilayerNMF((8, 4), random_state=0),
    SparseDeepNMF((8, 4), penalty="RL1", random_state=0),
    DeepNMF((8, 4), random_state=0),
    DeepNMF((8, 4), **KL),
    DeepNMF((8, 4), explains="data", random_state=0),
]
models_of_all_kinds = pytest.mark.parametrize("model", DIFFERENT, ids=name_of)


def known(dtype=np.float64):
    """Two components in scales of their own, of which one entry is 0."""
    F = np.random.default_rng(3).random((2, 24)) * [[5.0], [0.01]]
    F[1, 3] = 0
    return F.astype(dtype)


def partly_known():
    """The same, of which some entries are free; and a row of which nothing but zeros is known."""
    F = np.vstack([known(), np.full(24, np.nan)])
    F[0, ::2] = F[1, 5] = np.nan
    F[2, :4] = 0
    return F


def short(model):
    return clone(model).set_params(max_iter=8, tol=0)


def assert_kept(model, F):
    """The fixed entries are those that were given, to the bit, wherever a user may look."""
    there = ~np.isnan(F)
    for Z in (model.factors_[0], model.features_[0], model._learned.factors[0]):
        assert np.array_equal(Z[: len(F)][there], F[there].astype(Z.dtype))
    assert np.array_equal(model.fixed_components_, F.astype(model.factors_[0].dtype), equal_nan=True)


def assert_descends(model, tolerance=1e-12):
    losses = model.loss_curve_
    assert np.all(np.diff(losses) <= tolerance * np.abs(losses[0]))


@every_taking_model
@pytest.mark.parametrize("F", [known(), partly_known()], ids=["whole", "partly"])
def test_fixed_entries_stay_and_the_loss_never_rises(model, F):
    found = clone(model).set_params(max_iter=30).fit(data(), fixed_components=F)
    assert_kept(found, F)
    assert_descends(found)


def test_a_refusal_names_the_models_that_take_fixed_components():
    named = known_components.TAKING.replace(" and ", ", ").split(", ")
    assert {type(model).__name__ for model in SMALL if model._problem().fixes_components} == set(named)


@pytest.mark.parametrize("model", [WSF(4), DeepWSF((8, 4)), DeepSemiNMF((8, 4), activation="relu")], ids=name_of)
def test_the_other_models_refuse_them_in_a_sentence(model):
    name = type(model).__name__
    with pytest.raises(ValueError, match=f"{name} with these parameters supports no fixed components. NMF"):
        model.fit(data(), np.arange(60) % 3, fixed_components=known())


def on_disk(X):
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, X)
        file.flush()
        return np.load(file.name, mmap_mode="r")


def without_some(X, share):
    return np.where(np.random.default_rng(0).random(X.shape) < share, np.nan, X)


KINDS = {
    "sparse": (sparse.csr_array(data()), None),
    "with NaN": (without_some(data(), 0.1), None),
    "weighted": (data(), np.random.default_rng(0).random((60, 24))),
    "few observed": (sparse.csr_array(np.nan_to_num(without_some(data(), 0.7))), "stored"),
    "on disk": (on_disk(data()), None),
    "dask": (da.from_array(data(), chunks=(17, -1)), None),
    "single precision": (data().astype(np.float32), None),
}


@models_of_all_kinds
@pytest.mark.parametrize("kind", KINDS)
def test_fixed_entries_stay_in_data_of_every_kind(model, kind, small_blocks):
    X, weight = KINDS[kind]
    found = short(model).fit(X, fixed_components=partly_known(), entry_weight=weight)
    assert_kept(found, partly_known())
    assert_descends(found, 1e-6 if kind == "single precision" else 1e-12)


@pytest.mark.parametrize(
    "model", [one for one in DIFFERENT if beta_of(one) == 2 and not explains_codes(one)], ids=name_of
)
def test_streamed_and_distributed_rows_give_the_factors_of_rows_in_memory(model):
    expected = short(model).fit(data(), fixed_components=partly_known())
    for kind in ("on disk", "dask"):
        found = short(model).fit(KINDS[kind][0], fixed_components=partly_known())
        assert np.allclose(found.components_, expected.components_, atol=1e-7)


@models_of_all_kinds
def test_the_scale_of_fixed_components_only_scales_their_codes(model):
    if isinstance(model, DeepNSNMF):
        pytest.skip("smoothing mixes components in the scale that they have")
    scale = np.array([1e3, 1e-4])
    one, other = (short(model).fit(data(), fixed_components=F) for F in (known(), known() * scale[:, None]))
    assert np.allclose(one.components_[2:], other.components_[2:], rtol=1e-6, atol=1e-9)
    if len(one.factors_) == 1:
        assert np.allclose(one.codes_[-1][:, :2], other.codes_[-1][:, :2] * scale, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("size", [1e-120, 1e120])
@pytest.mark.parametrize("model", [NSNMF(6, theta=0), NSNMF(6), NSNMF(6, **KL)], ids=name_of)
def test_data_and_components_of_any_size_are_the_same_model(model, size):
    plain = short(model).fit(data(), fixed_components=known())
    found = short(model).fit(data() * size, fixed_components=known() * size)
    assert_kept(found, known() * size)
    assert np.allclose(found.codes_[-1][:, :2], plain.codes_[-1][:, :2], rtol=1e-4, atol=1e-4)


ONE_LAYER = [
    NMF(2, random_state=0),
    NMF(2, alpha_W=0.01, alpha_H=0.1, l1_ratio=0.5, random_state=0),
    NMF(2, solver="mu", random_state=0),
    NMF(2, **KL),
    NMF(2, beta_loss=1.5, random_state=0),
    NSNMF(2, random_state=0),
    SemiNMF(2, random_state=0),
    DeepNMF((2,), random_state=0),
]


@pytest.mark.parametrize("model", ONE_LAYER, ids=name_of)
def test_a_fit_with_all_components_fixed_equals_transform(model):
    found = clone(model).fit(data(), fixed_components=known())
    assert_kept(found, known())
    expected = found.transform(data())
    tolerance = 1e-8 if beta_of(model) == 2 else 1e-5  # `transform` solves other losses less exactly
    assert np.allclose(found.codes_[-1], expected, rtol=tolerance, atol=tolerance * expected.max())


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
def test_codes_with_all_components_fixed_are_those_of_scikit_learn(loss):
    X, H = data(), known() * [[1.0], [500.0]]
    how = {"solver": "cd"} if loss == "frobenius" else {"solver": "mu", "init": "random"}
    W, _, _ = non_negative_factorization(
        X, H=H, n_components=2, update_H=False, beta_loss=loss, max_iter=100_000, tol=1e-14, random_state=0, **how
    )
    found = NMF(2, beta_loss=loss).fit(X, fixed_components=H)
    assert np.allclose(found.codes_[0], W, rtol=1e-6, atol=1e-6 * W.max())


def test_unused_fixed_components_do_not_hinder_learned_ones():
    X, useless = data(), np.zeros((1, 24))
    X[:, -1], useless[0, -1] = 0, 7.0
    found, plain = NMF(7, random_state=0).fit(X, fixed_components=useless), NMF(6, random_state=0).fit(X)
    assert not found.codes_[0][:, 0].any()
    assert found.n_dead_ == [0]
    assert found.loss_curve_[-1] <= 1.02 * plain.loss_curve_[-1]


def test_penalties_skip_fixed_entries():
    X, F, parameters = data(), partly_known(), {"alpha_W": 0.01, "alpha_H": 0.1, "l1_ratio": 0.5}
    found = NMF(6, **parameters, tol=1e-8, max_iter=2000).fit(X, fixed_components=F)
    H, Z = found.codes_[0], found.components_
    paid = Z.copy()
    paid[:3][~np.isnan(F)] = 0
    value = 0.5 * np.sum((X - H @ Z) ** 2)
    for price, part in ((0.01 * 24, H), (0.1 * 60, paid)):
        value += price * (0.5 * part.sum() + 0.25 * np.sum(part**2))
    assert found.loss_curve_[-1] == pytest.approx(value, rel=1e-6)


def test_the_certificate_includes_learned_entries_only():
    for model in (NMF(6, tol=1e-9, max_iter=3000), NMF(6, tol=1e-9, max_iter=3000, **KL), SemiNMF(6, tol=1e-9)):
        assert model.fit(data(), fixed_components=partly_known()).kkt_residual_ < 1e-3


@models_of_all_kinds
def test_batches_keep_fixed_components(model):
    if not model._problem().learns_in_batches:
        pytest.skip("it learns from all rows at once")
    found = clone(model).set_params(max_iter=5)
    for number, batch in enumerate(np.array_split(data(), 3)):
        found.partial_fit(batch, **({} if number == 2 else {"fixed_components": partly_known()}))
        assert_kept(found, partly_known())
    with pytest.raises(ValueError, match="fixed_components must be those of the first batch, or None"):
        found.partial_fit(data(), fixed_components=known())


@models_of_all_kinds
def test_a_loaded_model_knows_what_was_fixed(model, tmp_path):
    found = short(model).fit(data(), fixed_components=partly_known())
    found.save(tmp_path / "model")
    loaded = deepnmf.load(tmp_path / "model")
    assert_kept(loaded, partly_known())
    if model._problem().learns_in_batches:
        again = [one.partial_fit(data()).components_ for one in (found, loaded)]
        assert np.array_equal(*again)
        assert_kept(loaded, partly_known())


@pytest.mark.parametrize("model", [NMF(6, random_state=0), DeepNSNMF((8, 4), random_state=0)], ids=name_of)
def test_a_fit_continues_from_its_checkpoint_but_not_with_other_components(model, tmp_path, monkeypatch):
    path, original = tmp_path / "checkpoint", checkpoints.write
    expected = short(model).fit(data(), fixed_components=known())
    written = []

    def write(*arguments):
        original(*arguments)
        written.append(1)
        if len(written) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints, "write", write)
    arguments = {"checkpoint": path, "checkpoint_seconds": 0}
    with pytest.warns(UserWarning, match="Interrupted"):
        short(model).fit(data(), fixed_components=known(), **arguments)
    monkeypatch.setattr(checkpoints, "write", original)
    with pytest.raises(ValueError, match="belongs to a fit with other data or other parameters"):
        short(model).fit(data(), fixed_components=partly_known(), **arguments)
    found = short(model).fit(data(), fixed_components=known(), **arguments)
    assert np.array_equal(found.components_, expected.components_)
    assert_kept(found, known())


def test_components_of_another_model_are_taken_over_in_one_line():
    reference = DeepNSNMF((5, 3), random_state=0).fit(data())
    found = NMF(8, random_state=0).fit(data(seed=1), fixed_components=reference.features_[0])
    assert_kept(found, reference.features_[0])


def test_given_starts_and_warm_starts_respect_fixed_components():
    X, rng = data(), np.random.default_rng(0)
    start = {"W": rng.random((60, 6)), "H": rng.random((6, 24))}
    assert_kept(NMF(6, init="custom").fit(X, fixed_components=known(), **start), known())
    factors = [rng.random((8, 24)), rng.random((4, 8))]
    assert_kept(DeepNSNMF((8, 4), init="custom").fit(X, fixed_components=known(), factors=factors), known())
    model = NMF(6, warm_start=True, random_state=0, max_iter=300).fit(X, fixed_components=known())
    loss = model.loss_curve_[-1]
    assert_kept(model.fit(X, fixed_components=known()), known())
    assert model.loss_curve_[0] <= loss * (1 + 1e-9)
    assert model.fit(X).fixed_components_ is None


def changed(value, row=0, column=0):
    F = known()
    F[row, column] = value
    return F


@pytest.mark.parametrize(
    ("F", "sentence"),
    [
        (known()[:, :20], "fixed_components has 20 columns, but X has 24 features"),
        (np.ones((7, 24)), "fixed_components has 7 rows, but the first layer of the model has 6 components"),
        (changed(-1.0), r"Negative values in data passed to NMF \(fixed_components\)"),
        (changed(np.inf), "Input fixed_components contains infinity"),
        (np.vstack([known(), np.zeros(24)]), "Row 2 of fixed_components is all zeros"),
        (known()[0], "Expected 2D array, got 1D array instead"),
        (np.empty((0, 24)), r"Found array with 0 sample\(s\)"),
    ],
    ids=["columns", "rows", "negative", "infinite", "zeros", "1-D", "empty"],
)
def test_components_that_cannot_be_fixed_are_refused_in_a_sentence(F, sentence):
    model = NMF(6)
    with pytest.raises(ValueError, match=sentence):
        model.fit(data(), fixed_components=F)
    assert not hasattr(model, "components_")


def test_columns_of_a_frame_must_be_those_of_the_data():
    names = [f"band {j}" for j in range(24)]
    X, F = pd.DataFrame(data(), columns=names), pd.DataFrame(known(), columns=names)
    assert_kept(NMF(6).fit(X, fixed_components=F), known())
    with pytest.raises(ValueError, match="fixed_components has the columns of X in a different order"):
        NMF(6).fit(X, fixed_components=F[names[::-1]])
    with pytest.raises(ValueError, match="fixed_components has no column 'band 4'"):
        NMF(6).fit(X, fixed_components=F.rename(columns={"band 4": "band four"}))


def test_free_components_may_have_any_sign_beside_fixed_ones():
    X = data() - 1
    found = SemiNMF(6, random_state=0).fit(X, fixed_components=changed(-2.0))
    assert_kept(found, changed(-2.0))
    assert (found.components_[2:] < 0).any()


def test_a_graph_joins_codes_of_fixed_components_too():
    graph = sparse.random_array((60, 60), density=0.1, rng=np.random.default_rng(0))
    assert_kept(GNMF(6, random_state=0).fit(data(), graph=graph, fixed_components=known()), known())
