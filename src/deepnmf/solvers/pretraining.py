"""Layer by layer: each a shallow fit of the codes below, with unit features in input space."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine, RowsInMemory
from deepnmf.objective import Activation, Chain, Objective
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.smoothing import smooth
from deepnmf.solvers.descent import ChainDescent
from deepnmf.solvers.encoding import encode_rows
from deepnmf.solvers.loop import History, OnSweep, Run, minimise
from deepnmf.solvers.steps import Solver

Start = Callable[[Engine, int], tuple[Array, Array]]
"""``start(engine, rank) -> (codes, factor)`` for one layer."""


@dataclass(frozen=True)
class LayerwisePlan:
    """What the layers of a pre-training share."""

    start: Start
    solver: Solver
    max_iter: int
    tol: float
    nonnegative: bool
    run: Run
    on_sweep: OnSweep | None = None

    def fit_layer(
        self, engine: Engine, rank: int, theta: float, objective: Objective, number: int
    ) -> tuple[Array, Array, History]:
        """Fit one layer: its codes, its factor and how it went."""
        codes, Z = self.start(engine, rank)
        descent = ChainDescent(engine, objective, self.solver)
        state, history = minimise(
            descent.advance,
            descent.start(codes, Chain.of([Z], [theta], self.nonnegative)),
            max_iter=self.max_iter,
            tol=self.tol,
            run=self.run,
            stage=f"layer {number}",
            on_sweep=self.on_sweep,
        )
        return state.codes, state.chain.factors[0], history


@dataclass(frozen=True)
class Stack:
    """Layers fitted one upon the other: factors Z_1..Z_k, codes on top, and how the last layer went."""

    factors: tuple[Array, ...]
    codes: Array
    history: History


def pretrain(
    engine: Engine,
    sizes: Sequence[int],
    theta: Sequence[float],
    objectives: Sequence[Objective],
    plan: LayerwisePlan,
    *,
    given: Sequence[Array] = (),
    activation: Activation | None = None,
) -> Stack:
    """Fit the layers in turn; those whose factor is given are not trained.

    What feeds a layer is the codes below, through f⁻¹ where an activation lies in between. Features have
    unit norm in input space, or, beyond an activation, in the space of the codes below.
    """
    rows, factors, features = engine, list(given), None
    history = History((), "given")
    for layer, size in enumerate(sizes):
        if layer < len(given):
            Z = given[layer]
            chain = Chain.of([Z], [theta[layer]], plan.nonnegative)
            codes = encode_rows(rows, chain.decoder(), objectives[layer].code_penalty(chain))
            features = Z if features is None else Z @ smooth(features, theta[layer - 1])
        else:
            codes, Z, history = plan.fit_layer(rows, size, theta[layer], objectives[layer], layer + 1)
            features = Z if features is None else Z @ smooth(features, theta[layer - 1])
            scale = inverse_norms(features if activation is None else Z)
            features = scale[:, None] * features
            factors.append(scale[:, None] * Z)
            codes = np.ascontiguousarray((codes / scale).astype(codes.dtype, copy=False))
        if layer + 1 < len(sizes):
            rows = RowsInMemory(codes if activation is None else activation.inverse(codes), engine.workers)
    return Stack(tuple(factors), codes, history)
