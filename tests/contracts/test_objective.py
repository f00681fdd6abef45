"""Blocks, penalties and losses in Gram form agree with their formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepnmf.kernels import descend_rows
from deepnmf.objective import (
    Chain,
    ElasticNet,
    Objective,
    RidgeCodes,
    SquaredL1Codes,
    SquaredL1Features,
    Statistics,
    UnitScaleSquaredL1Codes,
    UnitScaleSquaredL1Features,
    smooth,
)
from deepnmf.solvers.least_squares import least_change
from deepnmf.solvers.steps import SOLVERS, shrink_by_sum, visit_rows


def problem(sizes, theta, seed=0, n=15, p=9):
    rng = np.random.default_rng(seed)
    widths = (p, *sizes)
    factors = [rng.random((r, below)) for below, r in zip(widths, sizes, strict=False)]
    H, X = rng.random((n, sizes[-1])), rng.random((n, p))
    chain = Chain.of(factors, theta)
    return X, H, chain, statistics(X, H)


def statistics(X, H):
    return Statistics(H.T @ X, H.T @ H, H.sum(axis=0), float(np.sum(X**2)))


def reconstruction(H, chain):
    """H S_m Z_m ··· S_1 Z_1 with every S formed."""
    for Z, theta in zip(reversed(chain.factors), reversed(chain.theta), strict=True):
        r = len(Z)
        H = H @ ((1 - theta) * np.eye(r) + theta / r) @ Z
    return H


def l1_squares(Z):
    return np.sum(np.abs(Z).sum(axis=1) ** 2)


DEPTH = 3
MU, LAM = (0.3, 0.2, 0.1), 0.4
PENALTIES = {
    "none": ((), lambda H, chain: 0.0),
    "squared L1 of features": (
        (SquaredL1Features(MU),),
        lambda H, chain: 0.5 * sum(m * l1_squares(Z) for m, Z in zip(MU, chain.factors, strict=True)),
    ),
    "the same with codes of unit norm": (
        (UnitScaleSquaredL1Features(MU),),
        lambda H, chain: (
            0.5
            * (
                sum(m * l1_squares(Z) for m, Z in zip(MU[:-1], chain.factors[:-1], strict=True))
                + MU[-1] * l1_squares(np.linalg.norm(H, axis=0)[:, None] * chain.factors[-1])
            )
        ),
    ),
    "squared L1 of codes": ((SquaredL1Codes(LAM),), lambda H, chain: 0.5 * LAM * l1_squares(H)),
    "the same with features of unit norm": (
        (UnitScaleSquaredL1Codes(LAM),),
        lambda H, chain: 0.5 * LAM * l1_squares(H * np.linalg.norm(chain.decoder(), axis=1)),
    ),
    "ridge": ((RidgeCodes(LAM),), lambda H, chain: 0.5 * LAM * np.sum(H**2)),
}


@pytest.mark.parametrize("theta", [(0.0, 0.0, 0.0), (0.1, 0.3, 0.5)])
@pytest.mark.parametrize("name", PENALTIES)
def test_the_loss_from_statistics_is_the_loss_from_the_residual(name, theta):
    X, H, chain, stats = problem((7, 5, 4), theta)
    penalties, value = PENALTIES[name]
    expected = 0.5 * np.sum((X - reconstruction(H, chain)) ** 2) + value(H, chain)
    assert Objective(penalties).value(chain, stats) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("sizes", [(7, 5, 4), (12, 3, 5), (4, 5, 9)])
@pytest.mark.parametrize("layer", range(DEPTH))
@pytest.mark.parametrize("name", PENALTIES)
def test_the_gradient_of_a_block_is_that_of_the_loss(name, layer, sizes):
    X, H, chain, stats = problem(sizes, (0.1, 0.3, 0.5))
    objective = Objective(PENALTIES[name][0])
    block = objective.block(chain, layer, stats, n_steps=3)
    Z = chain.factors[layer]
    gradient = block.curvature(Z) - block.linear
    direction = np.random.default_rng(1).standard_normal(Z.shape)
    step = 1e-6
    above, below = (objective.value(chain.with_factor(layer, Z + s * direction), stats) for s in (step, -step))
    assert np.vdot(gradient, direction) == pytest.approx((above - below) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("name", PENALTIES)
def test_the_gradient_of_the_codes_is_that_of_the_loss(name):
    X, H, chain, _ = problem((7, 5, 4), (0.1, 0.3, 0.5))
    objective = Objective(PENALTIES[name][0])
    D, penalty = chain.decoder(), objective.code_penalty(chain)
    gradient = H @ (D @ D.T + penalty.gram) - X @ D.T + penalty.l1
    direction = np.random.default_rng(1).standard_normal(H.shape)
    above, below = (objective.value(chain, statistics(X, H + s * direction)) for s in (1e-6, -1e-6))
    assert np.vdot(gradient, direction) == pytest.approx((above - below) / 2e-6, rel=1e-6)


def test_elastic_net_is_scikit_learns_penalty():
    X, H, chain, stats = problem((4,), (0.0,))
    (Z,) = chain.factors
    net = ElasticNet(codes_l1=0.1, codes_l2=0.2, factor_l1=0.3, factor_l2=0.4)
    expected = 0.5 * np.sum((X - H @ Z) ** 2) + 0.1 * H.sum() + 0.1 * np.sum(H**2) + 0.3 * Z.sum() + 0.2 * np.sum(Z**2)
    assert Objective((net,)).value(chain, stats) == pytest.approx(expected)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sizes", [(7, 5, 4), (12, 3, 5), (60, 3, 5), (4, 5, 9)])
@pytest.mark.parametrize("name", PENALTIES)
def test_every_solver_lowers_every_block(name, sizes, solver):
    _, _, chain, stats = problem(sizes, (0.1, 0.3, 0.5))
    objective = Objective(PENALTIES[name][0])
    for layer in range(DEPTH):
        before = objective.value(chain, stats)
        block = objective.block(chain, layer, stats, n_steps=5)
        moved = SOLVERS[solver].step(chain.factors[layer], block, 5)
        chain = chain.with_factor(layer, moved.Z)
        assert moved.Z.min() >= 0
        assert moved.violation > 0
        assert objective.value(chain, stats) < before


@pytest.mark.parametrize("layer", range(DEPTH))
@pytest.mark.parametrize("sizes", [(7, 5, 4), (12, 3, 5), (4, 5, 9)])
def test_least_change_is_optimal_and_changes_least(sizes, layer):
    X, H, chain, stats = problem(sizes, (0.0, 0.0, 0.0))
    Z, violation = least_change(chain, layer, stats)
    new = chain.with_factor(layer, Z)
    assert violation > 0
    assert least_change(new, layer, stats)[1] <= 1e-16 * violation
    pseudo_inverse = np.linalg.pinv(H if layer == DEPTH - 1 else H @ chain.above(layer)) @ X
    if layer:
        below = chain.decoder(layer - 1)
        pseudo_inverse = pseudo_inverse @ np.linalg.pinv(below)
    same_error = Objective().value(chain.with_factor(layer, pseudo_inverse), stats)
    assert Objective().value(new, stats) == pytest.approx(same_error, rel=1e-8)
    assert np.linalg.norm(Z - chain.factors[layer]) <= np.linalg.norm(pseudo_inverse - chain.factors[layer]) * (
        1 + 1e-9
    )


@given(
    st.integers(1, 12),
    st.integers(1, 30),
    st.integers(1, 4),
    st.integers(0, 2**31),
    st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=60, deadline=None)
def test_the_compiled_loop_and_its_plain_twin_agree(order, n_columns, n_passes, seed, dtype):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((order, order + 3))
    G, F = (D @ D.T).astype(dtype), rng.standard_normal((order, n_columns)).astype(dtype)
    V = np.maximum(rng.standard_normal((order, n_columns)), 0).astype(dtype)
    plain = V.copy()
    violations = [visit_rows(plain, G, F) for _ in range(n_passes)]
    columns, violation = descend_rows(V.T, G, F.T, n_passes)
    tolerance = 1e-9 if dtype == np.float64 else 1e-2
    scale = 1 + np.abs(plain).max()
    assert np.allclose(columns.T, plain, atol=tolerance * scale)
    assert violation == pytest.approx(violations[0], rel=1e-3, abs=1e-6)


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=30), st.floats(0, 100))
@settings(max_examples=200, deadline=None)
def test_shrinkage_by_the_sum_meets_the_optimality_conditions(target, weight):
    target = np.array(target)
    z = shrink_by_sum(target, weight)
    gradient = z - target + weight * z.sum()
    scale = 1 + np.abs(target).max() * (1 + weight * len(target))
    assert (z >= 0).all()
    assert np.abs(gradient[z > 0]).max(initial=0) <= 1e-12 * scale
    assert gradient[z == 0].min(initial=0) >= -1e-12 * scale


@pytest.mark.parametrize("weight", [1e-8, 1.0, 1e8, 1e16, 1e30])
def test_shrinkage_by_the_sum_does_not_cancel_with_a_large_weight(weight):
    target = np.random.default_rng(0).standard_normal(50)
    z = shrink_by_sum(target, weight)
    value = 0.5 * np.sum(z**2) - target @ z + 0.5 * weight * z.sum() ** 2
    assert (z >= 0).all()
    assert -0.5 * np.sum(target[target > 0] ** 2) <= value <= 0


@given(st.integers(1, 8), st.floats(0, 1))
@settings(deadline=None)
def test_smoothing_is_multiplication_by_s(order, theta):
    Z = np.random.default_rng(order).standard_normal((order, 5))
    S = (1 - theta) * np.eye(order) + theta / order
    assert np.allclose(smooth(Z, theta), S @ Z)
