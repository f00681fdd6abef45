"""Every loss answers the questions of a chain in the same sense."""

import numpy as np
import pytest

from catalogue import data
from deepnmf.engines import RowsInMemory, Workers
from deepnmf.objective import Chain, CodePenalty, Objective
from deepnmf.solvers.losses import Frobenius
from deepnmf.solvers.steps import HALS

LOSSES = [Frobenius()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


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
def test_a_model_is_better_than_the_baseline(loss):
    chain = chain_of()
    with Workers() as workers:
        engine = RowsInMemory(data(), workers)
        codes = loss.encode(engine, chain.decoder(), CodePenalty(np.zeros((4, 4))))
        assert 0 < loss.error(engine, codes, chain.decoder()) ** 2 < loss.baseline(engine)
