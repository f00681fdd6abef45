"""The initialization of a two-sided model: an NMF of X, then each side layer by layer."""

from collections.abc import Sequence

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine, RowsInMemory, Workers
from deepnmf.objective import ACTIVATIONS, Activation, Objective
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.layer_stack import LayerStack
from deepnmf.objective.two_sided_model import TwoSided
from deepnmf.solvers.encoding import solve_rows
from deepnmf.solvers.pretraining import LayerwisePlan, pretrain

LINEAR = ACTIVATIONS["identity"]
REACHABLE_SHARE = 0.5  # of the bound of a saturating g: initial values are in the range where it is nearly linear


def shallow_start(engine: Engine, rank: int, plan: LayerwisePlan, n_classes: int) -> tuple[Array, TwoSided]:
    """Return G and W from NMF; the deep path has width 0."""
    codes, W = _unit_layer(engine, rank, plan)
    no_features, no_basis = LayerStack((np.zeros((rank, 0)),), LINEAR), LayerStack((), LINEAR)
    F, head = np.zeros((0, engine.n_features)), np.zeros((rank, n_classes))
    return codes, TwoSided(no_features, np.zeros((0, 0)), no_basis, F, W, head)


def deep_start(
    engine: Engine,
    sizes: Sequence[int],
    basis_sizes: Sequence[int],
    activation: Activation,
    plan: LayerwisePlan,
    *,
    shallow: bool,
    n_classes: int,
) -> tuple[Array, TwoSided]:
    """Fit X ≈ G_1 S_1 F_1 by NMF, then G_1 and F_1 by the inverse of g, layer by layer; W and P start at 0."""
    G, Z = _unit_layer(engine, sizes[0], plan)
    F = Z if sizes[0] == basis_sizes[0] else _unit_layer(engine, basis_sizes[0], plan)[1]
    (G, G_scale), (F, F_scale) = _within_reach(G, activation), _within_reach(F, activation)
    S = G_scale * (F_scale * np.eye(len(Z)) if len(Z) == len(F) else solve_rows(F @ F.T, Z @ F.T))
    codes, features = _layers_below(G, sizes[1:], activation, plan, engine.workers)
    top, basis = _layers_below(np.ascontiguousarray(F.T), basis_sizes[1:], activation, plan, engine.workers)
    W = np.zeros((sizes[-1] if shallow else 0, engine.n_features))
    return codes, TwoSided(features, S, basis, np.ascontiguousarray(top.T), W, np.zeros((len(S) + len(W), n_classes)))


def _unit_layer(engine: Engine, rank: int, plan: LayerwisePlan) -> tuple[Array, Array]:
    """NMF with features of unit norm."""
    codes, Z, _ = plan.fit_layer(engine, rank, 0.0, Objective(), 1)
    scale = inverse_norms(Z)
    return (codes / scale).astype(codes.dtype, copy=False), scale[:, None] * Z


def _within_reach(values: Array, activation: Activation) -> tuple[Array, float]:
    """Return values in the range of g, and their divisor."""
    largest = float(values.max(initial=0))
    scale = largest / (REACHABLE_SHARE * activation.ceiling) if np.isfinite(activation.ceiling) and largest > 0 else 1.0
    return (values / scale).astype(values.dtype, copy=False), scale


def _layers_below(
    values: Array, sizes: Sequence[int], activation: Activation, plan: LayerwisePlan, workers: Workers
) -> tuple[Array, LayerStack]:
    """Return the top values and the factors of a stack of layers that approximates the given values."""
    if not sizes:
        return values, LayerStack((), activation)
    rows = RowsInMemory(activation.inverse(values), workers)
    depth = len(sizes)
    stack = pretrain(rows, sizes, (0.0,) * depth, [Objective()] * depth, plan, activation=activation)
    return stack.codes, LayerStack(stack.factors, activation)
