"""Large fits: early sweeps in single precision, the last ones in the precision of the data."""

import numpy as np
import pytest
from scipy import sparse

from deepnmf import NMF, DeepNSNMF
from deepnmf.engines import RowsInMemory, Workers
from deepnmf.engines.blocks import block_of
from deepnmf.engines.memory import WORTH_ROUNDING
from deepnmf.kernels.whole_sweeps import _products
from deepnmf.objective import Chain, Objective
from deepnmf.solvers.losses import FROBENIUS
from deepnmf.solvers.statistics import block_statistics
from deepnmf.solvers.steps import HALS
from deepnmf.solvers.two_precisions import TwoPrecisions


def large(rank=8, noise=0.1):
    rng = np.random.default_rng(0)
    X = rng.gamma(1, size=(1000, rank)) @ rng.gamma(0.5, size=(rank, 540)) + noise * rng.random((1000, 540))
    assert X.nbytes > WORTH_ROUNDING
    return X


def sweeps(X, n_sweeps):
    rng = np.random.default_rng(1)
    with Workers() as workers:
        descent = FROBENIUS.descent(RowsInMemory(X, workers), Objective(), HALS())
        state = descent.start(rng.random((1000, 6)), Chain.of([rng.random((6, 540))], [0.0], True))
        for _ in range(n_sweeps):
            state = descent.advance(state)
            yield descent, state


def test_only_large_data_in_double_precision_have_rough_sweeps():
    for X, kind in ((large(), True), (large().astype(np.float32), False), (large()[:100], False)):
        with Workers() as workers:
            descent = FROBENIUS.descent(RowsInMemory(X, workers), Objective(), HALS())
            assert isinstance(descent, TwoPrecisions) is kind


def test_sparse_data_have_rough_sweeps_too_and_end_where_exact_ones_end(monkeypatch):
    X = sparse.csr_array(np.where(np.random.default_rng(1).random((1000, 540)) < 0.2, large(), 0))
    model = NMF(6, tol=1e-9, max_iter=1000, random_state=0)
    rough = model.fit(X).loss_curve_[-1]
    monkeypatch.setattr("deepnmf.engines.memory.WORTH_ROUNDING", np.inf)
    assert rough == pytest.approx(model.fit(X).loss_curve_[-1], rel=1e-6)


def test_sweeps_become_exact_where_a_good_fit_leaves_few_digits_of_the_loss():
    precisions = [state.codes.dtype for _, state in sweeps(large(rank=6, noise=1e-3), 40)]
    assert precisions[0] == np.float32
    assert precisions[-1] == np.float64


def test_a_finer_state_continues_from_the_same_codes_and_is_measured_again():
    for number, (descent, rough) in enumerate(sweeps(large(), 10)):
        if number == 9:
            fine = descent.finer(rough)
            assert np.array_equal(fine.codes, rough.codes.astype(np.float64))
            assert descent.finer(fine) is fine
            assert descent.advance(fine).loss < rough.loss


@pytest.mark.parametrize("model", [NMF(6, random_state=0), DeepNSNMF((12, 6), random_state=0, theta=0.1)])
def test_the_loss_never_rises_and_the_result_is_exact(model):
    X = large()
    model.fit(X)
    assert (np.diff(model.loss_curve_) <= 0).all()
    assert model.codes_[-1].dtype == np.float64
    residual = X - model.decode(model.codes_[-1])
    assert model.loss_curve_[-1] == pytest.approx(0.5 * np.sum(residual**2), rel=1e-9)


def test_rows_of_a_large_file_give_the_same_bits_as_rows_in_memory(tmp_path):
    X = large()
    np.save(tmp_path / "X.npy", X)
    in_memory, streamed = (NMF(6, random_state=0).fit(form) for form in (X, np.load(tmp_path / "X.npy", mmap_mode="r")))
    assert np.array_equal(in_memory.components_, streamed.components_)
    assert np.array_equal(in_memory.loss_curve_, streamed.loss_curve_)


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
def test_a_fit_that_ends_among_rough_sweeps_has_codes_in_the_precision_of_the_data():
    model = NMF(6, max_iter=3, random_state=0).fit(large())
    assert model.codes_[-1].dtype == np.float64
    assert model.n_iter_ == 3


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_in_single_precision_end_at_the_loss_of_double_precision(seed):
    rng = np.random.default_rng(seed)
    X = rng.gamma(1, size=(300, 3)) @ rng.gamma(0.5, size=(3, 20)) * rng.gamma(16, 1 / 16, (300, 20))
    model = NMF(3, tol=0, max_iter=1000, random_state=0)
    exact = model.fit(X).loss_curve_[-1]
    assert model.fit(X.astype(np.float32)).loss_curve_[-1] == pytest.approx(exact, rel=1e-6)


def test_the_gram_matrix_of_codes_in_single_precision_has_the_digits_of_double_precision():
    H = np.random.default_rng(0).random((5000, 3)).astype(np.float32)
    X, exact = np.ones((5000, 2), np.float32), H.astype(np.float64)
    for gram in (block_statistics(block_of(X), H)[1], _products(H, X, False)[1]):
        np.testing.assert_allclose(gram, exact.T @ exact, rtol=1e-12)
