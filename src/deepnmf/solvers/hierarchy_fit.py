"""The fit of a hierarchy: layer by layer, then all layers together, and the final scale."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import Chain, FixedEntries, Objective
from deepnmf.objective.chain import inverse_norms
from deepnmf.solvers.descent import ROUNDING
from deepnmf.solvers.divergence_loss import BetaDivergence, loss_of
from deepnmf.solvers.known_components import KnownComponents, balanced_norm
from deepnmf.solvers.layered_certificate import layered_residuals
from deepnmf.solvers.layered_chain import LayeredChain, layered_loss, learned_chain
from deepnmf.solvers.layered_descent import (
    LayeredDescent,
    LayeredLoss,
    LayeredState,
    Stacked,
    encoded,
    learn_layered_batch,
)
from deepnmf.solvers.layered_memory import LayeredMemory
from deepnmf.solvers.loop import History, Run, minimize
from deepnmf.solvers.losses import Loss
from deepnmf.solvers.pretraining import LayerwisePlan
from deepnmf.solvers.problem import BoundProblem, Fit, Start
from deepnmf.solvers.starts import BalancedStart

if TYPE_CHECKING:
    from deepnmf.solvers.hierarchy_problem import HierarchyProblem

LEAST_CODE = 1e-6  # smallest code as data of the next layer, whose root mean square is one
LEAST_SCALE = 1e-3  # of the mean contribution of the features of a layer, so that rounding errors are not a part
NEGLIGIBLE_SHARE = 0.002  # of ½‖X‖²: for smaller losses, the stopping test uses this value instead of the loss
LEAST_UNIT, LEAST_GAIN = 0.05, 0.01  # bounds of the unit: of what parts explain beyond wholes, and of the data loss


@dataclass(frozen=True)
class BoundHierarchy(BoundProblem):
    """A hierarchy for given data."""

    problem: "HierarchyProblem"
    sizes: tuple[int, ...]
    given: Array | None = None  # fixed components; NaN marks learned entries

    def fit(self, engine: Engine, start: Start, run: Run) -> Fit:
        """Fit layer by layer, then all layers together."""
        problem = self.problem
        codes, factors, loss = self.continued(engine, start) if start.warm else self.begin(engine, start, run)
        descent = LayeredDescent(engine, loss)
        state, history = minimize(
            descent.advance,
            descent.start(codes, factors),
            max_iter=problem.max_iter,
            tol=problem.tol,
            run=run,
            negligible=self.negligible(engine),
            on_sweep=run.on_sweep,
        )
        state = descent.settled(state)
        certificate = max(layered_residuals(descent, state.codes, state.factors))
        return replace(self.handed_out(engine, state, loss.weights, history), certificate=certificate)

    def learn_batch(self, engine: Engine, before: LayeredChain, codes: Array, memory: LayeredMemory | None) -> Fit:
        """Continue learning from the rows of an engine; `codes` are those of the last batch."""
        factors, weights = before.optimized(engine.unit)
        factors = self.with_fixed(factors)
        if memory is None:
            handed_out = np.linalg.norm(Chain.of(factors).decoder(), axis=1)
            top = np.asarray(codes, dtype=np.float64) / engine.unit / np.where(handed_out > 0, handed_out, 1)
            memory = self.problem.memory.of_codes(top, factors)
        state, memory = learn_layered_batch(engine, self.loss(engine, weights, factors[0]), factors, memory)
        fit = self.handed_out(engine, state, weights, History((state.loss,), "batch"))
        return replace(fit, memory=memory)

    def loss(self, engine: Engine, weights: tuple[float, ...], Z: Array) -> LayeredLoss:
        """Return the loss with these λ, and with the fixed entries of a Z_1."""
        known = self.components(Z)
        fixed = None if known is None else known.entries
        return layered_loss(self.problem.loss, self.problem.layer_losses(), weights, engine, fixed)

    def components(self, Z: Array) -> KnownComponents | None:
        """The fixed components, in the scale of a Z_1."""
        return None if self.given is None else KnownComponents.at_norms_of(self.given, Z)

    def with_fixed(self, factors: list[Array]) -> list[Array]:
        """Insert the fixed entries into given factors."""
        known = self.components(factors[0])
        return factors if known is None else [known.entries.put_into(factors[0]), *factors[1:]]

    def continued(self, engine: Engine, start: Start) -> tuple[Array, list[Array], LayeredLoss]:
        """Return codes, factors and loss of the previous fit."""
        factors, weights = start.before.optimized(engine.unit)
        factors = self.with_fixed(factors)
        loss = self.loss(engine, weights, factors[0])
        return encoded(engine, loss, factors), factors, loss

    def begin(self, engine: Engine, start: Start, run: Run) -> tuple[Array, list[Array], LayeredLoss]:
        """Return pre-trained codes and factors, and the loss with weights in units of the losses of the layers."""
        codes, factors = self.pretrained(engine, start, run)
        loss = self.loss(engine, self.problem.relative_weights(len(self.sizes)), factors[0])
        return codes, factors, replace(loss, weights=self.weights(engine, loss, codes, factors))

    def pretrained(self, engine: Engine, start: Start, run: Run) -> tuple[Array, list[Array]]:
        """Return the codes of all layers side by side, and the factors: given ones, and pre-trained ones above.

        Codes are scaled to unit root mean square in each column, and are the data of the next layer in that scale.
        """
        rows, codes, factors, scales = engine, [], [], [np.ones(1)]
        given, fed = self.given_factors(start), np.empty((0, 0))  # codes below, for layers above the first
        losses = (self.problem.loss, *map(loss_of, self.problem.layer_losses()))
        for layer, (size, loss) in enumerate(zip(self.sizes, losses, strict=True)):
            plan = self.plan(run, loss)
            if layer < len(given):
                Z = np.asarray(given[layer], dtype=np.float64) / scales[-1]
                H = plan.encoded(rows, Z, 0.0, Objective())
            elif layer == 0:
                plan, fixed = replace(plan, negligible=self.negligible(engine)), self.fixed_in_pretraining(engine)
                H, Z, _ = plan.fit_layer(rows, size, 0.0, Objective(), 1, fixed=fixed)
            else:
                if isinstance(loss, BetaDivergence):
                    plan = plan.from_best_of((plan.start, BalancedStart(plan.start, fed)), rows, size, layer + 1)
                H, Z, _ = plan.fit_layer(rows, size, 0.0, Objective(), layer + 1)
            if layer + 1 == len(self.sizes) and start.codes is not None:
                H = rows.as_rows(np.asarray(start.codes) / engine.unit)
            Z = _revived(Z)
            scale = code_scales(rows, H, Z)
            codes.append(H)
            scales.append(scale)
            factors.append(Z * scale[:, None])
            if layer + 1 < len(self.sizes):
                (fed,), _ = rows.sweep((H,), _Scaled(scale))
                rows = engine.for_codes(fed)
        (stacked,), _ = engine.sweep(codes, Stacked(tuple(scales[1:])))
        return stacked, factors

    def given_factors(self, start: Start) -> Sequence[Array]:
        """The factors that are not pre-trained, including a completely fixed Z_1."""
        if self.given is None:
            return start.factors
        fixed = FixedEntries(self.given)
        if start.factors:
            return [fixed.put_into(np.asarray(start.factors[0], dtype=np.float64)), *start.factors[1:]]
        return [self.given] if fixed.fills(self.sizes[0]) else ()

    def fixed_in_pretraining(self, engine: Engine) -> FixedEntries | None:
        """The fixed entries of Z_1, in about the scale of an initialization."""
        if self.given is None:
            return None
        return KnownComponents.at_norm(self.given, balanced_norm(engine, self.sizes[0]), smoothed=False).entries

    def plan(self, run: Run, loss: Loss) -> LayerwisePlan:
        """The common settings of the layers of the pre-training."""
        problem, layerwise = self.problem, self.problem.pretraining
        init = "nndsvd" if problem.init in (None, "custom") else str(problem.init)
        rng = check_random_state(problem.random_state)
        plan = LayerwisePlan.of_nonnegative_layers(init, rng, layerwise.max_iter, layerwise.tol, run)
        return replace(plan, loss=loss)

    def negligible(self, engine: Engine) -> float:
        """The smallest loss for the stopping test; 0 for counts."""
        return 0.0 if isinstance(self.problem.loss, BetaDivergence) else NEGLIGIBLE_SHARE * engine.sqnorm / 2

    def weights(self, engine: Engine, loss: LayeredLoss, codes: Array, factors: Sequence[Array]) -> tuple[float, ...]:
        """Return λ for relative weights, which are in units of the losses of the layers.

        The unit of the data is d_1 = d(X | H_1 Z_1), limited to between 0.05 and 1 times what the parts explain beyond
        their wholes, d(X | H_2 Z_2 Z_1) - d_1. Without these limits, parts of very noisy data would follow the wholes
        instead of the data, and wholes of data with almost no noise would have no effect.
        """
        descent = LayeredDescent(engine, loss)
        fit, *upper = descent.values(codes, factors)
        (predicted,), _ = engine.sweep((codes,), _PredictedParts(factors[1]))
        gain = descent.values(predicted, factors)[0] - fit
        unit = float(np.clip(fit, LEAST_UNIT * gain, max(gain, LEAST_GAIN * fit)))
        unit = max(unit, ROUNDING[engine.dtype] * engine.sqnorm) or 1.0  # for exact fits, and for data of zeros
        return tuple(weight * unit / (value or unit) for weight, value in zip(loss.weights, upper, strict=True))

    def handed_out(self, engine: Engine, state: LayeredState, weights: tuple[float, ...], history: History) -> Fit:
        """Return the result in the units of the data, with features of unit norm."""
        problem, unit = self.problem, engine.unit
        norms = [1 / inverse_norms(Z) for Z in state.factors]
        norms[0] = norms[0] * unit
        scales = [inverse_norms(D) for D in Chain.of(state.factors).features()]
        known = self.components(state.factors[0])
        if known is not None:
            scales[0] = known.given_scales(known.exempt(scales[0]))
        chain = Chain.of(state.factors).rescaled(scales)
        chain = chain if known is None else known.put_into(chain)
        factors = [np.ascontiguousarray(Z, engine.dtype) for Z in chain.factors]
        in_units = tuple(weight * unit**problem.degree for weight in weights)
        learned = learned_chain(factors, norms, in_units, problem.loss, problem.layer_losses(), unit)
        learned = learned if known is None else replace(learned, fixed=known.mask)
        codes = learned.split(state.codes, state.factors)
        error = learned.residual(engine, codes[-1], learned.top) * unit ** (problem.degree / 2)
        kept = codes if problem.keep_codes == "all" else codes[-1:]
        return Fit(learned, [H if unit == 1 else H * unit for H in kept], error, history)


def code_scales(engine: Engine, codes: Array, Z: Array) -> Array:
    """Return the divisors of codes: their root mean square, or more if the contribution of a feature is tiny."""
    _, (squares,) = engine.sweep((codes,), _squares)
    norms = np.linalg.norm(Z, axis=1)
    added = np.sqrt(squares / engine.total_weight) * norms
    return np.asarray(np.maximum(added, LEAST_SCALE * added.mean()) / norms if added.any() else np.ones_like(added))


def _revived(Z: Array) -> Array:
    """Set rows of zeros to equal entries, so that they can learn."""
    return np.where(Z.any(axis=1, keepdims=True), Z, 1 / np.sqrt(Z.shape[1]))


def _squares(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    return (), (X_b.weighed(np.square(rows[0], dtype=np.float64)).sum(axis=0),)


@dataclass(frozen=True)
class _PredictedParts:
    """Replaces the codes of the first layer by their predictions from the second layer."""

    Z: Array

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        n_wholes, n_parts = self.Z.shape
        codes = rows[0].copy()
        codes[:, :n_parts] = codes[:, n_parts : n_parts + n_wholes] @ self.Z
        return (codes,), ()


@dataclass(frozen=True)
class _Scaled:
    """Scales codes as data of the next layer."""

    scale: Array

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        return ((rows[0] / self.scale + LEAST_CODE).astype(rows[0].dtype),), ()
