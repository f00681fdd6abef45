"""The fit of a chain: layer-wise pre-training, descent on all factors, and the final scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_random_state

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.objective import (
    Activation,
    Chain,
    CodePenalty,
    FixedEntries,
    Guide,
    LayerPenalty,
    Objective,
)
from deepnmf.objective.chain import inverse_norms
from deepnmf.solvers.code_scales import rms_scales
from deepnmf.solvers.free_starts import free_start, refitted
from deepnmf.solvers.guided_start import in_order_of, with_targets
from deepnmf.solvers.known_components import KnownComponents, balanced_norm
from deepnmf.solvers.learned import (
    LinearChain,
)
from deepnmf.solvers.loop import History, Run, minimize
from deepnmf.solvers.pretraining import LayerwisePlan, Stack, pretrain
from deepnmf.solvers.problem import BoundProblem, Fit, Layerwise, Start
from deepnmf.solvers.starts import nonnegative_start
from deepnmf.solvers.statistics import statistics
from deepnmf.solvers.steps import Solver
from deepnmf.solvers.weighted_layers import Layers

if TYPE_CHECKING:
    from deepnmf.solvers.chain_problem import ChainProblem


@dataclass(frozen=True, kw_only=True)
class BoundChain(BoundProblem):
    """A linear chain with the sizes, weights and graphs for given data."""

    problem: "ChainProblem"
    sizes: tuple[int, ...]
    theta: tuple[float, ...]
    objective: Objective
    layer_objectives: Sequence[Objective]  # of the pre-training
    lower_code_penalties: Sequence[LayerPenalty]
    activation: Activation | None
    solver: Solver
    layers: Layers | None  # that explain the data; None if only the top layer does
    labels: Any
    components: KnownComponents | None = None  # that are fixed
    guides: Sequence[Guide] = ()  # penalties if only the top layer explains the data by squared error
    penalty_units: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of measured weights

    # ------------------------------------------------------------------------- weights of penalties

    @property
    def measures(self) -> bool:
        """Whether weights of penalties have yet to be measured, at a start without penalties."""
        return any(one.is_relative for one in self.objective.penalties) and not self.penalty_units

    def begun(self, engine: Engine, start: Start, run: Run) -> tuple[Self, Array, Chain]:
        """Return the problem with the weights measured at the start, and the codes and the chain of the start."""
        codes, chain = self.begin(engine, start, run)
        if not self.measures:
            return self, codes, chain
        chain, scales = self.exempted(*self.scaled(chain))
        codes, chain = codes / scales[-1].astype(codes.dtype), chain.rescaled(scales)
        stats = statistics(engine.completed(codes, chain.decoder()), codes)
        units = {type(one).__name__: one.units(chain, stats) for one in self.objective.penalties if one.is_relative}
        return self.weighed(units), codes, chain

    def weighed(self, units: Mapping[str, tuple[float, ...]]) -> Self:
        """Return the problem with weights in these units, if they belong to its penalties."""
        if {type(one).__name__ for one in self.objective.penalties if one.is_relative} != set(units):
            return self
        objective = Objective(tuple(one.with_units(units) for one in self.objective.penalties))
        lower = [one.with_units(units) for one in self.lower_code_penalties]
        return replace(self, objective=objective, lower_code_penalties=lower, penalty_units=units)

    # -------------------------------------------------------------------------------------- fitting

    def fit(self, engine: Engine, start: Start, run: Run) -> Fit:
        """Pre-train, fine-tune, and convert the result to its final scale."""
        bound, state, history, certificate = self.optimized(engine, start, run)
        return bound.handed_out(engine, state, history, certificate)

    def optimized(self, engine: Engine, start: Start, run: Run) -> tuple[Self, Any, History, float | None]:
        """Pre-train and fine-tune.

        Return the problem with its measured weights, the last state, the history and the certificate.
        """
        start = self.in_units(start, engine.unit)
        bound, codes, chain = self.begun(engine, start, run)
        loss = self.problem.loss
        if self.layers is not None:
            return self, *self.weighted(engine, self.layers, codes, chain, run)
        descent = loss.descent(engine, bound.objective, self.solver)
        first = descent.start(codes, chain, refined=start.warm or self.is_pretrained)
        options = {"finer": descent.finer, "advance_far": descent.advance_far}
        state, history = loss.settled(descent, *self.tuned(descent.advance, first, run, **options))
        if len(self.sizes) == 1 and self.fills_lowest:  # only codes are unknown
            state = replace(state, codes=bound.solved_codes(engine, state.chain, start))
        return bound, state, history, loss.certificate(descent, state.codes, state.chain)

    def weighted(
        self, engine: Engine, layers: Layers, codes: Array, chain: Chain, run: Run
    ) -> tuple[Any, History, float | None]:
        """Fine-tune a chain in which several layers explain the data; the state has the codes of the top layer."""
        descent = self.problem.loss.weighted_descent(engine, self.solver, layers, self.guides)
        state, history = self.tuned(descent.advance, descent.start(codes, chain, refined=True), run)
        certificate = descent.residual(state.codes, state.chain)
        return replace(state, codes=layers.top(state.codes, state.chain)), history, certificate

    def tuned(self, advance: Any, state: Any, run: Run, **options: Any) -> tuple[Any, History]:
        """Run the sweeps of the fine-tuning."""
        max_iter, tol, drop = self.problem.max_iter, self.problem.tol, self.problem.gradient_drop
        return minimize(
            advance, state, max_iter=max_iter, tol=tol, drop=drop, run=run, on_sweep=run.on_sweep, **options
        )

    def begin(self, engine: Engine, start: Start, run: Run) -> tuple[Array, Chain]:
        """Return the start: given factors, and pre-trained factors above them."""
        stack = self.pretrained(engine, start, run) if len(start.factors) < len(self.sizes) else None
        factors = start.factors if stack is None else stack.factors
        chain = Chain.of(factors, self.theta, self.problem.nonnegative, self.fixed)
        if start.codes is None and stack is not None:
            return self.guided(stack.codes, chain)
        if start.codes is None:
            return self.solved_codes(engine, chain, start), chain
        codes = np.array(start.codes, dtype=engine.dtype, order="C")
        return codes, chain if self.problem.nonnegative else refitted(engine.filled(), codes, chain)

    def guided(self, codes: Array, chain: Chain) -> tuple[Array, Chain]:
        """Return the start with features in the order of their guides."""
        for guide in self.guides:
            codes, chain = in_order_of(guide, codes, chain)
        return codes, chain

    def in_units(self, start: Start, unit: float) -> Start:
        """Return the start for data divided by `unit`, in the precision of the factors."""
        factors = start.before.optimized_chain().factors if start.warm else start.factors
        factors = [np.asarray(Z, dtype=np.float64) for Z in factors]
        if unit != 1:
            own = self.factor_unit(unit)
            codes = None if start.codes is None else np.asarray(start.codes) / (unit / own)
            start, factors = replace(start, codes=codes), [Z / own for Z in factors]
        return replace(start, factors=self.with_fixed(factors))

    def with_fixed(self, factors: list[Array]) -> list[Array]:
        """Insert the fixed entries into given factors; a completely fixed Z_1 is a given factor."""
        if self.fixed is None or not (factors or self.fills_lowest):
            return factors
        first, *others = factors or [self.fixed.values]
        return [self.fixed.put_into(first), *others]

    def factor_unit(self, unit: float) -> float:
        """The divisor of factors if data are divided by `unit`; 1 if the codes carry the scale."""
        return float(np.sqrt(unit)) if self.problem.keeps_scale else 1.0

    def solved_codes(self, engine: Engine, chain: Chain, start: Start) -> Array:
        """Return the best codes for given factors, so that the start has the lowest loss for these factors."""
        return self.problem.loss.best_codes(engine, Objective() if self.measures else self.objective, chain)

    # ------------------------------------------------------------------------------ fixed components

    @cached_property
    def fixed(self) -> FixedEntries | None:
        """The fixed entries of Z_1 in the scale of the optimization."""
        return None if self.components is None else self.components.entries

    @property
    def fills_lowest(self) -> bool:
        """Whether all of Z_1 is fixed."""
        return self.fixed is not None and self.fixed.fills(self.sizes[0])

    def exempted(self, chain: Chain, scales: list[Array]) -> tuple[Chain, list[Array]]:
        """Return the final scales of codes; fixed components keep their own scale."""
        return chain, scales if self.components is None else [self.components.exempt(scales[0]), *scales[1:]]

    # ---------------------------------------------------------------------------------- pre-training

    @property
    def is_pretrained(self) -> bool:
        """Whether layers are fitted separately before the complete objective is minimized."""
        return len(self.sizes) > 1 or self.measures or bool(self.guides)

    def pretrained(self, engine: Engine, start: Start, run: Run) -> Stack:
        """Fit the layers above the given ones in turn, each with its own penalties."""
        layerwise = self.problem.pretraining
        if len(self.sizes) == 1 and self.guides:
            layerwise = Layerwise(self.problem.max_iter, self.problem.tol)
        plan = self.plan(run, layerwise.max_iter if self.is_pretrained else 0, layerwise.tol)
        if len(self.sizes) > 1 and not start.factors and not engine.is_complete:
            engine = self.completed(engine, plan)
        return self.stacked(engine, plan, given=start.factors)

    def completed(self, engine: Engine, plan: LayerwisePlan) -> Engine:
        """Return rows with missing entries filled in, because a wide layer would overfit the observed entries."""
        codes, Z, _ = plan.fit_layer(engine, self.sizes[-1], 0.0, Objective(), 0)
        return engine.completed(codes, Z)

    def stacked(self, engine: Engine, plan: LayerwisePlan, **start: Sequence[Array]) -> Stack:
        """Fit layers one after the other, each to the codes below."""
        return pretrain(
            engine,
            self.sizes,
            self.theta,
            self.layer_objectives,
            plan,
            activation=self.activation,
            fixed=with_targets(self.fixed, self.guides, balanced_norm(engine, self.sizes[0])),
            **start,
        )

    def plan(self, run: Run, max_iter: int, tol: float) -> LayerwisePlan:
        """The common settings of the layers of the pre-training."""
        problem = self.problem
        init = problem.default_init if problem.init in (None, "custom") else problem.init
        start = nonnegative_start if problem.nonnegative else free_start
        return LayerwisePlan(
            start=partial(start, init=init, rng=check_random_state(problem.random_state)),
            solver=self.solver,
            max_iter=max_iter,
            tol=tol,
            nonnegative=problem.nonnegative,
            run=run,
            loss=problem.loss,
        )

    # ------------------------------------------------------------------------------------- the result

    def handed_out(self, engine: Engine, state: Any, history: History, certificate: float | None = None) -> Fit:
        """Convert the result to its final scale and the units of the data."""
        chain, codes, penalties = self.in_given_scale(state.chain, state.codes)
        chain, scales = self.scaled(chain)
        if self.problem.code_scale == "rms":
            scales = self.rms_scales(engine, codes, chain, scales)
        chain, scales = self.exempted(chain, scales)
        codes /= scales[-1].astype(codes.dtype)
        penalties = [_rescaled(penalty, scale) for penalty, scale in zip(penalties, scales, strict=True)]
        if not any(chain.theta):  # without smoothing, the factors can take the scale
            chain, scales = chain.rescaled(scales), [np.ones_like(scale) for scale in scales]
        chain = replace(chain, factors=tuple(np.ascontiguousarray(Z, engine.dtype) for Z in chain.factors))
        norms, problem = state.chain.row_norms(), self.problem
        learned = self.learned(codes, chain, scales, penalties, norms, problem.loss, problem.root_codes)
        learned = replace(learned, penalty_units=self.penalty_units)
        top = learned.handed_out(codes, learned.top)
        error = learned.residual(engine, top, learned.top)
        lower = learned.lower_codes(engine, codes) if self.problem.keep_codes == "all" else []
        fit = Fit(learned, [*lower, top], error, history, certificate)
        fit = fit if engine.unit == 1 else self._in_units_of_data(fit, engine.unit)
        return replace(fit, learned=self.with_given_components(fit.learned))

    def _in_units_of_data(self, fit: Fit, unit: float) -> Fit:
        own = self.factor_unit(unit)
        codes = [H * unit if own == 1 else H * unit / own for H in fit.codes]
        learned = fit.learned if own == 1 else fit.learned.in_units(unit, own)
        error = fit.error * unit ** (self.problem.degree / 2)
        return replace(fit, learned=replace(learned, unit=unit), codes=codes, error=error)

    def in_given_scale(self, chain: Chain, codes: Array) -> tuple[Chain, Array, list[CodePenalty]]:
        """Return chain, codes and penalties with fixed components in the scale in which they were given."""
        penalties = self.code_penalties(chain)
        if self.components is None or self.problem.keeps_scale:
            return chain, codes, penalties
        scales = self.components.chain_scales(chain)
        penalties = [_rescaled(penalty, scale) for penalty, scale in zip(penalties, scales, strict=True)]
        return chain.rescaled(scales), codes / scales[-1].astype(codes.dtype), penalties

    def with_given_components(self, learned: LinearChain) -> LinearChain:
        """Return the learned chain with the exact values of the given fixed components."""
        if self.components is None:
            return learned
        return replace(learned, chain=self.components.put_into(learned.chain), fixed=self.components.mask)

    def learned(self, codes: Array, *parts: Any) -> LinearChain:
        """Return the learned chain from its parts."""
        return LinearChain(*parts)

    def scaled(self, chain: Chain) -> tuple[Chain, list[Array]]:
        """Return the chain in its final scale, and the divisors of the codes of each layer.

        The unit of a code is the norm of its contribution to the data.
        """
        if self.problem.keeps_scale:
            return chain, [np.ones(len(Z)) for Z in chain.factors]
        return chain, [inverse_norms(chain.decoder(layer)) for layer in range(chain.depth)]

    def rms_scales(self, engine: Engine, codes: Array, chain: Chain, scales: Sequence[Array]) -> list[Array]:
        """The divisors with which codes of each layer have unit root mean square over the rows of the fit."""
        return rms_scales(codes, chain, scales, engine.row_weights)

    def code_penalties(self, chain: Chain) -> list[CodePenalty]:
        """The penalties of the codes of every layer, in the scale of the optimization."""
        lower = []
        for layer in range(chain.depth - 1):
            own = Objective(tuple(one.on_lower_codes(layer) for one in self.lower_code_penalties))
            lower.append(own.code_penalty(Chain.of(chain.factors[: layer + 1])))
        return [*lower, self.objective.code_penalty(chain)]

    # -------------------------------------------------------------------------------------- batches

    def learn_batch(self, engine: Engine, before: LinearChain, codes: Array, memory: Any) -> Fit:
        """Continue learning from the rows of an engine; `codes` are those of the last batch."""
        own = self.factor_unit(engine.unit)
        chain = before.optimized_chain()
        chain = replace(chain, factors=tuple(Z / own for Z in chain.factors), fixed=self.fixed)
        memory = memory or self.problem.memory.of_codes(_as_optimized(codes, before, chain) / engine.unit, chain)
        state, memory = self.problem.loss.learn_batch(engine, self.objective, self.solver, chain, memory)
        fit = self.handed_out(engine, state, History((state.loss,), "batch"))
        return replace(fit, memory=memory)


def _rescaled(penalty: CodePenalty, scale: Array) -> CodePenalty:
    """The penalty for codes divided by `scale`: its matrix is multiplied by it on both sides."""
    return CodePenalty(scale[:, None] * penalty.gram * scale, penalty.l1)


def _as_optimized(codes: Array, before: LinearChain, chain: Chain) -> Array:
    """Convert codes from the final scale to the scale of the optimization."""
    handed_out, own = (np.linalg.norm(D, axis=1) for D in (before.decoder(before.top), chain.decoder()))
    return np.asarray(codes) * np.where(own > 0, handed_out / np.where(own > 0, own, 1), 1)
