"""The library against the published algorithms of `reference`, from the same start.

The objectives are not convex, so two methods may end in different minima, especially from a start that is far from the
data. Each comparison therefore starts from the published pretraining of balanced random pairs, as in the papers. The
seeds are 0 and 1 and were not selected. This kind of start was chosen because the comparisons failed from random ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from deepnmf import NMF, NSNMF, DeepNSNMF, DeepSemiNMF, SemiNMF, SparseDeepNMF
from oracle_comparison import RANK, Array, assert_gradient, assert_never_rises, balanced_pair, problem
from reference import deep_nsnmf, deep_semi_nmf, lee_seung, sparse_deep_nmf

Start = tuple[Array, list[Array]]
Run = tuple[Array, Sequence[Array], list[float]]

SEEDS = (0, 1)
DEPTHS: dict[int, tuple[int, ...]] = {1: (RANK,), 2: (10, RANK), 3: (12, 8, RANK)}
N_ITER, N_INNER, N_PRETRAIN = 300, 10, 30
MARGIN = 1.001


# ------------------------------------------------------------------------------------------------ comparisons


@dataclass(frozen=True)
class Comparison:
    """An estimator, and the published algorithm for the same objective."""

    name: str
    estimator: Any
    start: Callable[[Array, np.random.Generator], Start]
    oracle: Callable[[Array, Array, list[Array]], Run]
    signed: bool = False
    settings: Callable[[Array, Array, list[Array]], dict[str, Any]] | None = None  # that hang on the start

    def library_losses(self, X: Array, H: Array, factors: list[Array]) -> Array:
        model = self.estimator.set_params(init="custom", max_iter=N_ITER, tol=0)
        if self.settings is not None:
            model.set_params(**self.settings(X, H, factors))
        if isinstance(model, NMF):
            return model.fit(X, W=H, H=factors[0]).loss_curve_
        return model.fit(X, factors=factors, codes=H).loss_curve_


def multiplicative() -> Comparison:
    def start(X: Array, rng: np.random.Generator) -> Start:
        H, Z = balanced_pair(rng, X, RANK)
        H, Z, _ = lee_seung.lee_seung(X, H, Z, N_PRETRAIN)
        return H, [Z]

    def oracle(X: Array, H: Array, factors: list[Array]) -> Run:
        H, Z, losses = lee_seung.lee_seung(X, H, factors[0], N_ITER)
        return H, [Z], losses

    return Comparison("NMF", NMF(RANK), start, oracle)


def smoothed(depth: int, theta: float) -> Comparison:
    sizes, each = DEPTHS[depth], (theta,) * depth

    def start(X: Array, rng: np.random.Generator) -> Start:
        return deep_nsnmf.pretrain(X, sizes, each, N_PRETRAIN, N_INNER, lambda Y, rank: balanced_pair(rng, Y, rank))

    def oracle(X: Array, H: Array, factors: list[Array]) -> Run:
        return deep_nsnmf.fine_tune(X, H, factors, each, N_ITER, N_INNER)

    model = NSNMF(RANK, theta=theta) if depth == 1 else DeepNSNMF(sizes, theta=theta)
    return Comparison(f"{type(model).__name__}-{depth}-theta={theta:g}", model, start, oracle)


def sparse(depth: int, penalty: str | None, weight: float) -> Comparison:
    sizes, each = DEPTHS[depth], (weight,) * depth

    def start(X: Array, rng: np.random.Generator) -> Start:
        H, factors = sparse_deep_nmf.pretrain(
            X, sizes, penalty, each, each, N_PRETRAIN, N_INNER, lambda Y, rank: balanced_pair(rng, Y, rank)
        )
        return with_unit_features(H, factors)

    def oracle(X: Array, H: Array, factors: list[Array]) -> Run:
        return sparse_deep_nmf.fine_tune(X, H, factors, penalty, each, each, N_ITER, N_INNER)

    def shares(X: Array, H: Array, factors: list[Array]) -> dict[str, Any]:
        """The published weights as the library has them, shares of ½‖X‖² at the start."""
        on_factor, on_codes = sparse_deep_nmf.on_factor(penalty, weight), sparse_deep_nmf.on_codes(penalty, weight)
        terms = [sparse_deep_nmf.term_value(on_factor, Z) for Z in factors]
        whole = 0.5 * np.sum(X**2)
        return {
            "feature_penalty": [term / whole for term in terms],
            "code_penalty": sparse_deep_nmf.term_value(on_codes, H) / whole,
        }

    model = SparseDeepNMF(sizes, penalty=penalty)
    return Comparison(f"SparseDeepNMF-{depth}-{penalty}-{weight:g}", model, start, oracle, settings=shares)


def with_unit_features(H: Array, factors: list[Array]) -> Start:
    """The same chain with rows of unit norm in every C_l."""
    scaled, norms = [], np.ones(factors[0].shape[1])
    for Z in factors:
        below = Z * norms
        norms = np.linalg.norm(sparse_deep_nmf.product([*scaled, below]), axis=1)
        scaled.append(below / norms[:, None])
    return H * norms, scaled


def free(depth: int, signed: bool) -> Comparison:
    sizes = DEPTHS[depth]

    def start(X: Array, rng: np.random.Generator) -> Start:
        return deep_semi_nmf.pretrain(X, sizes, N_PRETRAIN, lambda Y, rank: balanced_pair(rng, Y, rank)[0])

    model = SemiNMF(RANK) if depth == 1 else DeepSemiNMF(sizes)
    name = f"{type(model).__name__}-{depth}-{'mixed signs' if signed else 'nonnegative'}"
    return Comparison(name, model, start, free_oracle, signed)


def free_oracle(X: Array, H: Array, factors: list[Array]) -> Run:
    if len(factors) > 1:
        return deep_semi_nmf.fine_tune(X, H, factors, N_ITER)
    H, Z, losses = deep_semi_nmf.semi_nmf(X, H, N_ITER)
    return H, [Z], losses


COMPARISONS = [
    multiplicative(),
    *(smoothed(depth, theta) for depth in DEPTHS for theta in (0.0, 0.1, 0.5)),
    sparse(2, None, 0.0),
    *(sparse(2, penalty, weight) for penalty in ("RL1", "RL2") for weight in (0.01, 0.1)),
    *(free(depth, signed) for depth in DEPTHS for signed in (False, True)),
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.name)
def test_the_published_algorithm_never_ends_lower_than_the_library(comparison: Comparison, seed: int) -> None:
    X = problem(seed, comparison.signed)
    H, factors = comparison.start(X, np.random.default_rng(seed))
    _, _, oracle_losses = comparison.oracle(X, H, factors)
    assert comparison.library_losses(X, H, factors)[-1] <= MARGIN * oracle_losses[-1]


# -------------------------------------------------------------------------------------- the published algorithms


@pytest.mark.parametrize("seed", SEEDS)
def test_loss_of_lee_and_seung_never_rises(seed: int) -> None:
    X = problem(seed)
    H, Z = balanced_pair(np.random.default_rng(seed), X, RANK)
    _, _, losses = lee_seung.lee_seung(X, H, Z, N_ITER)
    assert_never_rises(losses)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_loss_of_semi_nmf_never_rises(depth: int, seed: int, signed: bool) -> None:
    X = problem(seed, signed)
    H, factors = free(depth, signed).start(X, np.random.default_rng(seed))
    _, _, losses = free_oracle(X, H, factors)
    assert_never_rises(losses)


@pytest.mark.parametrize("penalty", [None, "L", "R", "RL1", "RL2"])
def test_every_published_variant_of_sparse_deep_nmf_descends_to_nonnegative_factors(penalty: str | None) -> None:
    X, each = problem(0), (0.1, 0.1)
    rng = np.random.default_rng(0)
    H, factors = sparse_deep_nmf.pretrain(
        X, DEPTHS[2], penalty, each, each, N_PRETRAIN, N_INNER, lambda Y, rank: balanced_pair(rng, Y, rank)
    )
    before = sparse_deep_nmf.loss(X, H, factors, penalty, each, each)
    H, factors, losses = sparse_deep_nmf.fine_tune(X, H, factors, penalty, each, each, N_PRETRAIN, N_INNER)
    assert losses[-1] < before
    assert min(H.min(), *(Z.min() for Z in factors)) >= 0


# ---------------------------------------------------------------------------------------------- gradients


def small_chain(signed: bool = False) -> tuple[Array, Array, list[Array]]:
    rng = np.random.default_rng(0)
    draw = rng.standard_normal if signed else rng.random
    return draw((7, 6)), rng.random((7, 3)), [draw((5, 6)), draw((4, 5)), draw((3, 4))]


def replaced(factors: list[Array], layer: int, Z: Array) -> list[Array]:
    return [*factors[:layer], Z, *factors[layer + 1 :]]


def test_gradients_of_lee_and_seung_are_those_of_its_loss() -> None:
    X, _, (Z, *_) = small_chain()
    H = np.random.default_rng(1).random((7, 5))
    assert_gradient(lee_seung.codes_gradient(X, H, Z), lambda V: lee_seung.loss(X, V, Z), H)
    assert_gradient(lee_seung.factor_gradient(X, H, Z), lambda V: lee_seung.loss(X, H, V), Z)


def test_gradients_of_deep_nsnmf_are_those_of_its_loss() -> None:
    X, H, factors = small_chain()
    theta = (0.1, 0.3, 0.5)

    def loss(H: Array, factors: list[Array]) -> float:
        return deep_nsnmf.loss(X, H, factors, theta)

    A = deep_nsnmf.below(factors, theta, 3)
    assert_gradient(deep_nsnmf.codes_gradient(H, A @ A.T, X @ A.T), lambda V: loss(V, factors), H)
    B = deep_nsnmf.above(H, factors, theta, 0)
    gradient = deep_nsnmf.first_factor_gradient(factors[0], B.T @ B, B.T @ X)
    assert_gradient(gradient, lambda V: loss(H, replaced(factors, 0, V)), factors[0])
    for i in (1, 2):
        A, B = deep_nsnmf.below(factors, theta, i), deep_nsnmf.above(H, factors, theta, i)
        gradient = deep_nsnmf.factor_gradient(factors[i], B.T @ B, A @ A.T, B.T @ X @ A.T)
        assert_gradient(gradient, lambda V, i=i: loss(H, replaced(factors, i, V)), factors[i])


@pytest.mark.parametrize("penalty", [None, "L", "R", "RL1", "RL2"])
def test_gradients_of_sparse_deep_nmf_are_those_of_its_loss(penalty: str | None) -> None:
    X, H, factors = small_chain()
    mu, lam = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    terms = [sparse_deep_nmf.on_factor(penalty, weight) for weight in mu]

    def loss(H: Array, factors: list[Array]) -> float:
        return sparse_deep_nmf.loss(X, H, factors, penalty, mu, lam)

    C = sparse_deep_nmf.product(factors)
    gradient = sparse_deep_nmf.codes_gradient(H, C @ C.T, X @ C.T, sparse_deep_nmf.on_codes(penalty, lam[-1]))
    assert_gradient(gradient, lambda V: loss(V, factors), H)
    G = sparse_deep_nmf.reconstructed_codes(H, factors, 0)
    gradient = sparse_deep_nmf.first_factor_gradient(factors[0], G.T @ G, G.T @ X, terms[0])
    assert_gradient(gradient, lambda V: loss(H, replaced(factors, 0, V)), factors[0])
    for i in (1, 2):
        G, C = sparse_deep_nmf.reconstructed_codes(H, factors, i), sparse_deep_nmf.product(factors[:i])
        gradient = sparse_deep_nmf.factor_gradient(factors[i], G.T @ G, C @ C.T, G.T @ X @ C.T, terms[i])
        assert_gradient(gradient, lambda V, i=i: loss(H, replaced(factors, i, V)), factors[i])


def lower_features(factors: list[Array], layer: int) -> Array:
    return deep_semi_nmf.product(factors[:layer]) if layer else np.eye(factors[0].shape[1])


def test_gradients_of_deep_semi_nmf_are_those_of_its_loss() -> None:
    X, H, factors = small_chain(signed=True)
    C = deep_semi_nmf.product(factors)
    assert_gradient(deep_semi_nmf.codes_gradient(X, H, C), lambda V: deep_semi_nmf.loss(X, V, factors), H)
    for i, Z in enumerate(factors):
        codes, C = deep_semi_nmf.reconstructed_codes(H, factors, i), lower_features(factors, i)
        gradient = deep_semi_nmf.factor_gradient(X, Z, codes, C)
        assert_gradient(gradient, lambda V, i=i: deep_semi_nmf.loss(X, H, replaced(factors, i, V)), Z)


def test_factor_updates_of_deep_semi_nmf_make_the_gradient_vanish() -> None:
    X, H, factors = small_chain(signed=True)
    codes = deep_semi_nmf.reconstructed_codes(H, factors, 0)
    Z = deep_semi_nmf.update_first_factor(X, codes)
    np.testing.assert_allclose(deep_semi_nmf.factor_gradient(X, Z, codes, np.eye(6)), 0, atol=1e-9)
    for i in (1, 2):
        codes, C = deep_semi_nmf.reconstructed_codes(H, factors, i), lower_features(factors, i)
        Z = deep_semi_nmf.update_factor(X, codes, C)
        np.testing.assert_allclose(deep_semi_nmf.factor_gradient(X, Z, codes, C), 0, atol=1e-9)


def test_codes_of_deep_semi_nmf_do_not_change_where_the_gradient_vanishes() -> None:
    _, H, factors = small_chain(signed=True)
    C = deep_semi_nmf.product(factors)
    np.testing.assert_allclose(deep_semi_nmf.update_codes(H @ C, H, C), H, rtol=1e-12)
