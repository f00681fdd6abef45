"""Every loss answers the questions of a chain in the same sense."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from catalogue import data, name_of
from deepnmf import NMF, NSNMF, DeepNSNMF
from deepnmf.engines import RowsInMemory, Workers
from deepnmf.objective import Chain, CodePenalty, Objective
from deepnmf.objective.divergences import Divergence
from deepnmf.solvers.divergence_loss import loss_of
from deepnmf.solvers.losses import FROBENIUS
from deepnmf.solvers.steps import HALS

LOSSES = [FROBENIUS, *(loss_of(beta) for beta in (0.5, 1, 1.5, 3))]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def chain_of(rank: int = 4, p: int = 24) -> Chain:
    return Chain.of([np.random.default_rng(1).random((rank, p)) + 0.1])


@every_loss
def test_a_sweep_never_raises_the_loss(loss):
    with Workers() as workers:
        engine = RowsInMemory(data(), workers)
        descent = loss.descent(engine, Objective(), HALS())
        state = descent.start(np.random.default_rng(2).random((60, 4)), chain_of())
        losses = []
        for _ in range(20):
            state = descent.advance(state)
            losses.append(state.loss)
    assert np.all(np.diff(losses) <= 1e-12 * losses[0])
    assert losses[-1] < 0.5 * losses[0]


@every_loss
def test_the_loss_of_a_sweep_is_half_the_square_of_the_error(loss):
    with Workers() as workers:
        engine = RowsInMemory(data(), workers)
        descent = loss.descent(engine, Objective(), HALS())
        state = descent.advance(descent.start(np.random.default_rng(2).random((60, 4)), chain_of()))
        assert state.loss == pytest.approx(0.5 * loss.error(engine, state.codes, state.chain.decoder()) ** 2, rel=1e-9)


@every_loss
def test_no_codes_are_better_than_the_encoded_ones(loss):
    chain, rng = chain_of(), np.random.default_rng(3)
    with Workers() as workers:
        engine = RowsInMemory(data(), workers)
        codes = loss.encode(engine, chain.decoder(), CodePenalty(np.zeros((4, 4))))
        best = loss.error(engine, codes, chain.decoder())
        for _ in range(20):
            other = np.maximum(codes + 0.01 * rng.standard_normal(codes.shape), 0)
            assert loss.error(engine, other, chain.decoder()) >= best


@every_loss
def test_the_certificate_falls_towards_a_stationary_point(loss):
    with Workers() as workers:
        engine = RowsInMemory(data(), workers)
        descent = loss.descent(engine, Objective(), HALS())
        state = descent.start(np.random.default_rng(2).random((60, 4)), chain_of())
        first = loss.certificate(descent, state.codes, state.chain)
        for _ in range(200):
            state = descent.advance(state)
        assert loss.certificate(descent, state.codes, state.chain) < 1e-2 * first


@every_loss
def test_a_loss_changes_with_the_units_by_its_degree(loss):
    chain, codes = chain_of(), np.random.default_rng(2).random((60, 4))
    with Workers() as workers:
        plain, scaled = (
            loss.error(RowsInMemory(s * data(), workers), s * codes, chain.decoder()) ** 2 for s in (1.0, 8.0)
        )
    assert scaled == pytest.approx(8**loss.degree * plain, rel=1e-9)


@every_loss
def test_a_fitted_model_is_better_than_the_baseline(loss):
    with Workers() as workers:
        engine = RowsInMemory(data(), workers)
        descent = loss.descent(engine, Objective(), HALS())
        state = descent.start(np.random.default_rng(2).random((60, 4)), chain_of())
        for _ in range(30):
            state = descent.advance(state)
        assert 0 < loss.error(engine, state.codes, state.chain.decoder()) ** 2 < 0.8 * loss.baseline(engine)


SAME_START = {"init": "nndsvda", "random_state": 0, "max_iter": 20, "tol": 0}
every_beta = pytest.mark.parametrize("beta", [0.5, 1, 1.5, 3])


@every_beta
def test_one_layer_of_a_deep_model_is_the_shallow_model(beta):
    X = data()
    shallow = NSNMF(4, theta=0.3, beta_loss=beta, **SAME_START).fit(X)
    deep = DeepNSNMF((4,), theta=0.3, beta_loss=beta, **SAME_START).fit(X)
    assert np.array_equal(deep.components_, shallow.components_)
    assert np.array_equal(deep.loss_curve_, shallow.loss_curve_)


@every_beta
def test_without_smoothing_nonsmooth_nmf_is_nmf(beta):
    X = data()
    plain, smoothed = (
        model.fit(X)
        for model in (NMF(4, beta_loss=beta, **SAME_START), NSNMF(4, theta=0, beta_loss=beta, **SAME_START))
    )
    assert np.array_equal(plain.components_, smoothed.components_)


@pytest.mark.parametrize("model", [NMF(4, random_state=0), DeepNSNMF((8, 4), random_state=0, max_iter=20)], ids=name_of)
def test_a_beta_of_2_is_squared_error(model):
    X = data()
    named, numbered = (clone(model).set_params(beta_loss=loss).fit(X) for loss in ("frobenius", 2.0))
    assert np.array_equal(named.components_, numbered.components_)


@every_beta
def test_codes_of_new_rows_are_as_good_as_those_of_another_solver(beta):
    X = data()
    model = NMF(4, beta_loss=beta, random_state=0, max_iter=50, tol=0).fit(X)
    D, loss = model.components_, Divergence(float(beta))
    for row, code in zip(X[:10], model.transform(X[:10]), strict=True):
        found = minimize(
            lambda h, row=row: loss.value(row, np.maximum(h @ D, loss.epsilon)),
            code + 0.1 * code.mean(),
            bounds=[(0, None)] * 4,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "maxiter": 2000},
        )
        assert loss.value(row, code @ D) <= found.fun * (1 + 1e-6) + 1e-9
