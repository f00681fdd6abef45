"""Layer-wise pre-training: each layer is a shallow fit of the codes below."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import RandomState

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.objective import Activation, Chain, FixedEntries, Objective
from deepnmf.objective.chain import inverse_norms
from deepnmf.solvers.known_components import start_around
from deepnmf.solvers.loop import History, OnSweep, Run, minimize
from deepnmf.solvers.losses import FROBENIUS, Loss
from deepnmf.solvers.starts import nonnegative_start
from deepnmf.solvers.steps import HALS, Solver

FILLED_SWEEPS, TRIAL_SWEEPS = 5, 10
REACHABLE_SHARE = 0.8  # of the bound of an activation: beyond, it is too flat to learn

Start = Callable[[Engine, int], tuple[Array, Array]]
"""``start(engine, rank) -> (codes, factor)`` for one layer."""


@dataclass(frozen=True)
class LayerwisePlan:
    """The common settings of the layers of a pre-training."""

    start: Start
    solver: Solver
    max_iter: int
    tol: float
    nonnegative: bool
    run: Run
    on_sweep: OnSweep | None = None
    loss: Loss = FROBENIUS
    negligible: float = 0.0  # see `minimize`

    @classmethod
    def of_nonnegative_layers(cls, init: str, rng: RandomState, max_iter: int, tol: float, run: Run) -> "LayerwisePlan":
        """Return the plan of NMF layer by layer."""
        return cls(partial(nonnegative_start, init=init, rng=rng), HALS(), max_iter, tol, True, run)

    def fit_layer(
        self,
        engine: Engine,
        rank: int,
        theta: float,
        objective: Objective,
        number: int,
        begun: Array | None = None,
        fixed: FixedEntries | None = None,
    ) -> tuple[Array, Array, History]:
        """Fit one layer, from the factor `begun` if there is one; return its codes, its factor and its history."""
        descent = self.loss.descent(engine, objective, self.solver)
        if begun is not None:
            chain = Chain.of([begun], [theta], self.nonnegative, fixed)
            codes = self.encoded(engine, chain.factors[0], theta, objective)
        elif engine.is_complete:
            codes, Z = self.started(engine, rank, fixed)
            chain = Chain.of([Z], [theta], self.nonnegative, fixed)
        else:
            codes, chain = self._begun_on_filled_rows(engine.filled(), rank, theta, objective, fixed)
        state, history = minimize(
            descent.advance,
            descent.start(codes, chain, refined=begun is not None),
            max_iter=self.max_iter,
            tol=self.tol,
            run=self.run,
            negligible=self.negligible,
            stage=f"layer {number}",
            on_sweep=self.on_sweep,
            finer=descent.finer,
            advance_far=descent.advance_far,
        )
        state, history = self.loss.settled(descent, state, history)
        return state.codes, state.chain.factors[0], history

    def started(self, engine: Engine, rank: int, fixed: FixedEntries | None) -> tuple[Array, Array]:
        """Return initial codes and factor, with fixed components inserted."""
        codes, Z = self.start(engine, rank)
        return (codes, Z) if fixed is None else start_around(fixed, codes, Z)

    def from_best_of(self, starts: Sequence[Start], engine: Engine, rank: int, number: int) -> "LayerwisePlan":
        """Return the plan for a layer with the start that has the lowest loss after a few sweeps."""
        trial = replace(self, max_iter=TRIAL_SWEEPS)
        ends = [replace(trial, start=start).fit_layer(engine, rank, 0.0, Objective(), number) for start in starts]
        codes, Z, _ = min(ends, key=_last_loss)
        return replace(self, start=lambda *_: (codes, Z))

    def encoded(self, rows: Engine, Z: Array, theta: float, objective: Objective) -> Array:
        """Return the best codes of a layer with a known factor."""
        chain = Chain.of([Z], [theta])
        return self.loss.encode(rows, chain.decoder(), objective.code_penalty(chain))

    def _begun_on_filled_rows(
        self, filled: Engine, rank: int, theta: float, objective: Objective, fixed: FixedEntries | None
    ) -> tuple[Array, Chain]:
        """Return the start for rows with missing entries, after a few sweeps, so that filled-in values can change."""
        codes, Z = self.started(filled, rank, fixed)
        chain = Chain.of([Z], [theta], self.nonnegative, fixed)
        descent = self.loss.descent(filled, objective, self.solver)
        state, _ = minimize(
            descent.advance,
            descent.start(codes, chain),
            max_iter=FILLED_SWEEPS,
            tol=0,
            run=self.run,
            stage="start",
        )
        return state.codes, state.chain


def _last_loss(end: tuple[Array, Array, History]) -> tuple[float, ...]:
    """Return the last loss; an empty tuple if the fit was interrupted before the first sweep."""
    return end[2].losses[-1:]


@dataclass(frozen=True)
class Stack:
    """Layers fitted one after the other: factors Z_1..Z_k, codes of the top layer, the history of the last layer, and
    whether any layer reached its maximum number of sweeps.
    """

    factors: tuple[Array, ...]
    codes: Array
    history: History
    unfinished: bool


def pretrain(
    engine: Engine,
    sizes: Sequence[int],
    theta: Sequence[float],
    objectives: Sequence[Objective],
    plan: LayerwisePlan,
    *,
    given: Sequence[Array] = (),
    begun: Sequence[Array] = (),
    activation: Activation | None = None,
    fixed: FixedEntries | None = None,
) -> Stack:
    """Fit the layers in turn; given factors are not trained, and `begun` factors are the start of their layers.

    The data of a layer are the codes below, each in units of its contribution to the data, so that errors have the same
    weight as in the data; the resulting factor is converted back to the scale of the chain. With an activation f, the
    data of the next layer are f⁻¹ of the codes, after the layer below is scaled so that f⁻¹ exists. Entries of Z_1 may
    be fixed.
    """
    rows, factors = engine, []
    scale = np.ones(1)
    history, unfinished = History((), "given"), False
    for layer, size in enumerate(sizes):
        if layer < len(given):
            codes, Z = plan.encoded(rows, given[layer] / scale, theta[layer], objectives[layer]), given[layer]
        else:
            factor = begun[layer] / scale if begun else None
            own = None if layer else fixed
            codes, Z, history = plan.fit_layer(rows, size, theta[layer], objectives[layer], layer + 1, factor, own)
            Z = Z * scale
            unfinished = unfinished or history.stop_reason == "max_iter"
            if activation is not None and theta[layer] == 0 and layer + 1 < len(sizes):
                codes, Z = _scaled_for(activation, codes, Z)
        factors.append(Z)
        if layer + 1 < len(sizes):
            if activation is None:
                scale = inverse_norms(Chain.of(factors, theta[: layer + 1]).decoder())
                fed = codes / scale
            else:
                fed = activation.inverse(codes, plan.nonnegative)
            rows = engine.for_codes(fed.astype(codes.dtype, copy=False))
    return Stack(tuple(factors), codes, history, unfinished)


def _scaled_for(activation: Activation, codes: Array, Z: Array) -> tuple[Array, Array]:
    """Scale a layer to unit features, or to codes within the bound of the activation."""
    scale = inverse_norms(Z)
    if np.isfinite(activation.ceiling):
        largest = codes.max(axis=0)
        scale = np.where(largest > 0, largest / (REACHABLE_SHARE * activation.ceiling), 1.0)
    return (codes / scale).astype(codes.dtype, copy=False), scale[:, None] * Z
