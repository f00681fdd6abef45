"""The models with a graph or classes against the published algorithms of `reference`, from the same start.

The published algorithms hold no scale, so that they can shrink their penalty for nothing. Both ends are therefore
measured by what the library minimizes: the objective with features at unit norm, in which scale has no say.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from deepnmf import GNMF, WSF, WSFMA, DeepWSF, DiscriminantNMF
from oracle_comparison import RANK, Array, balanced_pair, problem
from reference import deep_wsf, graph_nmf, wsf
from reference.deep_semi_nmf import product, reconstructed_codes

SEEDS = (0, 1)
SIZES = (10, RANK)
N_ITER, N_PRETRAIN = 300, 30
MARGIN = 1.001


def labels(seed: int) -> Array:
    """Labels of two attributes with three classes each; a quarter is unknown."""
    return np.random.default_rng(seed + 100).integers(-1, 3, (40, 2))


def graphs_of(X: Array, Y: Array) -> list[Array]:
    return [wsf.label_graph(X, y) for y in Y.T]


def objective(X: Array, H: Array, factors: Sequence[Array], graphs: Sequence[Array], lams: Sequence[float]) -> float:
    """½‖X - H_m C_m‖² + ½ Σ_l λ_l Σ_k ‖C_l[k]‖² (H̃_lᵀ L_l H̃_l)_kk, one graph per layer."""
    value = 0.5 * float(np.sum((X - H @ product(factors)) ** 2))
    for layer, (W, lam) in enumerate(zip(graphs, lams, strict=True)):
        codes, C = reconstructed_codes(H, factors, layer), product(factors[: layer + 1])
        roughness = np.sum(codes * (graph_nmf.laplacian(W) @ codes), axis=0)
        value += 0.5 * lam * float(np.sum(np.sum(C**2, axis=1) * roughness))
    return value


def fitted(model: Any, X: Array, H: Array, factors: list[Array], y: Array | None = None, **fit: Any) -> Any:
    return model.set_params(init="custom", max_iter=N_ITER, tol=0).fit(X, y, factors=factors, codes=H, **fit)


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_gnmf_ends_no_higher_than_the_published_updates(seed: int, lam: float) -> None:
    X = problem(seed)
    W = graph_nmf.neighbor_graph(X)
    H, Z = balanced_pair(np.random.default_rng(seed), X, RANK)
    H, Z, _ = graph_nmf.gnmf(X, H, Z, W, lam, N_PRETRAIN)
    model = fitted(GNMF(RANK, graph_weights=lam), X, H, [Z], graph=sparse.csr_array(W))
    oracle_H, oracle_Z, _ = graph_nmf.gnmf(X, H, Z, W, lam, N_ITER)
    ends = [objective(X, *end, [W], [lam]) for end in ((model.codes_[-1], model.factors_), (oracle_H, [oracle_Z]))]
    assert ends[0] <= MARGIN * ends[1]


def test_the_neighbor_graph_of_gnmf_is_the_published_one() -> None:
    X = problem(0)
    H, Z = balanced_pair(np.random.default_rng(0), X, RANK)
    own = fitted(GNMF(RANK), X, H, [Z])
    given = fitted(GNMF(RANK), X, H, [Z], graph=sparse.csr_array(graph_nmf.neighbor_graph(X)))
    np.testing.assert_allclose(own.loss_curve_[-1], given.loss_curve_[-1], rtol=1e-6)


def test_discriminant_nmf_ends_lower_than_its_multiplicative_updates() -> None:
    """On most starts and on average: the reward for scatter between classes leads to several distant minima."""
    ends = np.array([ends_of_discriminant_nmf(seed) for seed in range(6)])
    ours, theirs = ends.T
    assert np.sum(ours < theirs) >= 5
    assert ours.mean() < theirs.mean()


def ends_of_discriminant_nmf(seed: int) -> tuple[float, float]:
    X, y, weights = problem(seed), labels(seed)[:, 0], (0.1, 0.05)
    H, Z = balanced_pair(np.random.default_rng(seed), X, RANK)
    H, Z, _ = graph_nmf.discriminant_nmf(X, H, Z, y, *weights, N_PRETRAIN)
    model = fitted(DiscriminantNMF(RANK, within_weight=weights[0], between_weight=weights[1]), X, H, [Z], y)
    end = graph_nmf.unit_features(model.codes_[-1], model.factors_[0])
    *_, losses = graph_nmf.discriminant_nmf(X, H, Z, y, *weights, N_ITER)
    return graph_nmf.discriminant_loss(X, *end, y, *weights), losses[-1]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("lams", [(1e-3,), (0.01,), (0.01, 1e-3)])
@pytest.mark.parametrize("seed", SEEDS)
def test_wsf_ends_no_higher_than_the_published_updates(seed: int, lams: tuple[float, ...], signed: bool) -> None:
    X, Y = problem(seed, signed), labels(seed)[:, : len(lams)]
    graphs = graphs_of(X, Y)
    H, _ = balanced_pair(np.random.default_rng(seed), X, RANK)
    H, Z, _ = wsf.wsf(X, H, graphs, lams, N_PRETRAIN)
    one = len(lams) == 1
    model = WSF(RANK, graph_weights=lams[0]) if one else WSFMA(RANK, graph_weights=lams)
    model = fitted(model, X, H, [Z], Y[:, 0] if one else Y)
    oracle_H, oracle_Z, _ = wsf.wsf(X, H, graphs, lams, N_ITER)
    W = wsf.combined(graphs, lams)
    ends = [objective(X, *end, [W], [1]) for end in ((model.codes_[-1], model.factors_), (oracle_H, [oracle_Z]))]
    assert ends[0] <= MARGIN * ends[1]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("lams", [(1e-3, 1e-3), (0.01, 1e-3)])
@pytest.mark.parametrize("seed", SEEDS)
def test_deep_wsf_ends_no_higher_than_algorithm_2(seed: int, lams: tuple[float, float], signed: bool) -> None:
    X, Y, rng = problem(seed, signed), labels(seed), np.random.default_rng(seed)
    graphs = graphs_of(X, Y)
    codes, factors = deep_wsf.pretrain(X, SIZES, graphs, lams, N_PRETRAIN, lambda V, r: balanced_pair(rng, V, r)[0])
    model = fitted(DeepWSF(SIZES, graph_weights=lams), X, codes[-1], factors, Y)
    oracle_codes, oracle_factors, _ = deep_wsf.fine_tune(X, codes, factors, graphs, lams, N_ITER)
    library, oracle = (model.codes_[-1], model.factors_), (oracle_codes[-1], oracle_factors)
    assert objective(X, *library, graphs, lams) <= MARGIN * objective(X, *oracle, graphs, lams)
