"""The fit of other chains: with an activation, layer by layer, or with shared codes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.labels import Groups
from deepnmf.objective import ActivatedObjective, Activation, Chain, Objective
from deepnmf.solvers.activated_descent import ActivatedDescent
from deepnmf.solvers.chain_fit import BoundChain
from deepnmf.solvers.code_scales import roots, scaled_below
from deepnmf.solvers.descent import State
from deepnmf.solvers.learned import (
    ActivatedChain,
    GreedyChain,
    GreedyNonlinearChain,
    LinearChain,
    TiedChain,
    activated_encoder,
    some_rows,
)
from deepnmf.solvers.loop import History, Run
from deepnmf.solvers.problem import Fit, Start


class BoundActivatedChain(BoundChain):
    """X ≈ f(··· f(H_m Z_m) ···) Z_1, for given data."""

    activation: Activation

    def optimized(self, engine: Engine, start: Start, run: Run) -> tuple[Self, Any, History, float | None]:
        """Pre-train and fine-tune; there is no certificate with an activation."""
        start = self.in_units(start, engine.unit)
        bound, codes, chain = self.begun(engine, start, run)
        objective = ActivatedObjective(self.activation, bound.objective.penalties)
        descent = ActivatedDescent(engine, objective, self.solver)
        state, history = self.tuned(descent.advance, descent.start(codes, chain), run)
        return bound, state, history, None

    def solved_codes(self, engine: Engine, chain: Chain, start: Start) -> Array:
        """Return codes found by descent from the best available start, including those of the previous fit."""
        penalty = (Objective() if self.measures else self.objective).code_penalty(chain)
        decoders = [chain.smoothed(layer) for layer in range(chain.depth)]
        goes_on = isinstance(start.before, ActivatedChain)
        others = start.before.optimized_others() if goes_on else np.empty((0, len(decoders[-1])))
        return activated_encoder(decoders, self.activation, penalty, chain.nonnegative, others).encode(engine)

    def scaled(self, chain: Chain) -> tuple[Chain, list[Array]]:
        """Return the chain in its final scale, as far as the activation allows a choice."""
        return scaled_below(chain, self.activation)

    def rms_scales(self, engine: Engine, codes: Array, chain: Chain, scales: Sequence[Array]) -> list[Array]:
        """Scale the top codes only, because the activation determines the scale of the values below."""
        return [*scales[:-1], roots(np.square(codes, dtype=np.float64).mean(axis=0), scales[-1])]

    def learned(self, codes: Array, *parts: Any) -> LinearChain:
        """Return the learned chain, with the codes of some training rows."""
        roots = np.square(np.sqrt(codes)) if self.problem.root_codes else codes  # identical to those from a file
        return ActivatedChain(*parts, activation=self.activation, others=some_rows(roots))


class BoundGreedyChain(BoundChain):
    """Layers fitted one after the other, without fine-tuning."""

    def optimized(self, engine: Engine, start: Start, run: Run) -> tuple[Self, Any, History, float | None]:
        """Fit one layer after the other."""
        if start.codes is not None:
            raise ValueError("codes must be None: MultilayerNMF fits its layers from the data upwards.")
        start = self.in_units(start, engine.unit)
        plan = replace(self.plan(run, self.problem.max_iter, self.problem.tol), on_sweep=run.on_sweep)
        given, begun = ((), start.factors) if start.warm else (start.factors, ())
        stack = self.stacked(engine, plan, given=given, begun=begun)
        history = replace(stack.history, stop_reason="max_iter") if stack.unfinished else stack.history
        return self, State(stack.codes, Chain.of(stack.factors, self.theta, fixed=self.fixed)), history, None

    def scaled(self, chain: Chain) -> tuple[Chain, list[Array]]:
        """Return the chain in its final scale, as if all layers were fitted together."""
        return super().scaled(chain) if self.activation is None else scaled_below(chain, self.activation)

    def learned(self, codes: Array, *parts: Any) -> LinearChain:
        """Return the learned chain."""
        if self.activation is None:
            return GreedyChain(*parts)
        return GreedyNonlinearChain(*parts, activation=self.activation)


class BoundTiedChain(BoundChain):
    """X ≈ A V Z, in which samples of a class share a row of V.

    Up to the scatter within the classes, ½‖X - A V Z‖² is the loss of V Z on the group means with rows weighted by
    √count. This loss is minimized, and A V is returned.
    """

    def fit(self, engine: Engine, start: Start, run: Run) -> Fit:
        """Fit the group means, and return codes of the samples."""
        groups = Groups.of(self.labels, engine.n_samples)
        if not start.factors and not start.warm:
            groups.check_rank(self.problem.init, self.sizes[0], engine.n_features)
        # With ‖X‖² of all samples, the loss on the means includes the scatter within the groups.
        rows = engine.grouped(groups.places, groups.counts) if len(groups.classes) else engine
        _, state, history, certificate = self.optimized(rows, start, run)
        state = replace(state, codes=groups.expanded(state.codes))
        fit = self.handed_out(engine, state, history, certificate)
        return replace(fit, learned=TiedChain(**vars(fit.learned), classes=groups.classes))
