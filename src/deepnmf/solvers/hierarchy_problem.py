"""A hierarchy in which every layer explains the codes of the layer below it, as a problem."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import check_output_layer, factor_shapes, layer_sizes, per_layer
from deepnmf.engines import Block, Engine, Sums
from deepnmf.layout import Arrays, Expected, Layout, listed_numbers
from deepnmf.objective import Chain, CodePenalty, FixedEntries, Known, Objective
from deepnmf.objective.chain import inverse_norms
from deepnmf.solvers.descent import ROUNDING
from deepnmf.solvers.divergence_loss import BetaDivergence, loss_of
from deepnmf.solvers.known_components import KnownComponents, balanced_norm, fixed_layout, restored_mask
from deepnmf.solvers.layer_steps import CodesFit, CountedCodes, SquaredCodes
from deepnmf.solvers.layered_descent import (
    LayeredDescent,
    LayeredLoss,
    LayeredState,
    Stacked,
    encoded,
    learn_layered_batch,
)
from deepnmf.solvers.layered_fits import CountsFit, SquaredFit
from deepnmf.solvers.layered_memory import LayeredMemories, LayeredMemory
from deepnmf.solvers.learned import LinearChain
from deepnmf.solvers.loop import History, Run, minimize
from deepnmf.solvers.losses import FROBENIUS, Loss
from deepnmf.solvers.pretraining import LayerwisePlan
from deepnmf.solvers.problem import BoundProblem, Fit, Problem, Start
from deepnmf.solvers.starts import BalancedStart

CODES_FITS: dict[str, CodesFit] = {fit.name: fit for fit in (CountedCodes(), SquaredCodes())}
LEAST_CODE = 1e-6  # beside a root mean square of one, where codes are the data of the next layer
LEAST_SCALE = 1e-3  # of what the features of a layer add on average: what is rounding must not look like a part
NEGLIGIBLE = 1e-5  # a code that is handed out as 0
NEGLIGIBLE_SHARE = 0.002  # of ½‖X‖²: a loss that sweeps need not lower by small parts of it
LEAST_UNIT, LEAST_GAIN = 0.05, 0.01  # of weights: of what parts explain beyond wholes, and of the loss of the data
LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, kw_only=True)
class LayeredChain(LinearChain):
    """X ≈ H_1 Z_1 and H_{l-1} ≈ H_l Z_l: a chain whose codes are found together.

    Parameters
    ----------
    weights : tuple of float
        λ_2..λ_m, in the units of the data.
    layer_loss : tuple of str
        The names of d_2..d_m.
    """

    weights: tuple[float, ...]
    layer_loss: tuple[str, ...]

    def encode(self, engine: Engine, layer: int) -> Array:
        """Codes of a layer, from the problem of all layers."""
        return self.encode_layers(engine)[layer]

    def encode_layers(self, engine: Engine) -> list[Array]:
        """Codes of all layers, in units of what each adds to the data."""
        factors, weights = self.optimized(engine.unit)
        loss = layered_loss(self.loss, self.layer_loss, weights, engine)
        return self.split(encoded(engine, loss, factors), factors)

    def optimized(self, unit: float) -> tuple[list[Array], tuple[float, ...]]:
        """The factors in the scale they were optimized in, and λ, for data divided by `unit`."""
        first, *upper = self.optimized_chain().factors
        return [first / unit, *upper], tuple(weight / unit**self.loss.degree for weight in self.weights)

    def split(self, codes: Array, factors: Sequence[Array]) -> list[Array]:
        """Codes of all layers side by side as a list, in units of what each adds to the data."""
        norms = [1 / inverse_norms(D) for D in Chain.of(factors).features()]
        if self.fixed is not None:  # whose features have another norm than 1
            norms[0] = norms[0] * inverse_norms(self.factors[0])
        edges = np.cumsum([0, *(len(norm) for norm in norms)])
        codes = codes * (codes > NEGLIGIBLE)
        parts = (codes[:, start:stop] for start, stop in pairwise(edges))
        return [part * norm.astype(codes.dtype) for part, norm in zip(parts, norms, strict=True)]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What a file must hold: a description, and lists of arrays."""
        description, arrays = super().state()
        return description | {"layer_weights": list(self.weights)}, arrays


@dataclass(frozen=True, kw_only=True)
class HierarchyProblem(Problem):
    """d(X | H_1 Z_1) + Σ_{l>1} λ_l d_l(H_{l-1} | H_l Z_l + ε), all nonnegative.

    Codes count in units of their root mean square after the pre-training: a part that is small in the data weighs as
    much in its wholes' loss as a large one.

    Parameters
    ----------
    sizes : sequence of int
        r_1..r_m, m > 1.
    loss : Loss
        d, squared error or the Kullback-Leibler divergence.
    layer_weights : sequence of float
        λ_1..λ_m, of which those above the first are in units of λ_1 d/d_l after the pre-training.
    layer_loss : str or sequence of str
        d_l, "kullback-leibler" or "frobenius", one for all layers above the first or one each.
    **others
        See `Problem`.
    """

    sizes: Any
    loss: Loss = FROBENIUS
    layer_weights: Sequence[float]
    layer_loss: str | Sequence[str]

    @property
    def masks_nan(self) -> bool:
        """Entries of X may be missing or weighed."""
        return True

    @property
    def distributes(self) -> bool:
        """Rows of a dask array will do."""
        return True

    @property
    def learns_in_batches(self) -> bool:
        """The factors can be learned from one batch of rows after the other."""
        return True

    @property
    def memory(self) -> LayeredMemories:
        """What later batches need to know of earlier ones."""
        data = CountsFit(self.loss.divergence) if isinstance(self.loss, BetaDivergence) else SquaredFit()
        return LayeredMemories((data, *codes_fits(self.layer_losses())))

    @property
    def fixes_components(self) -> bool:
        """Entries of Z_1 may be fixed."""
        return True

    def n_components(self, n_features: int) -> tuple[int, ...]:
        """The numbers of components of the layers."""
        return layer_sizes(self.sizes)

    @property
    def projects(self) -> bool:
        """Layers are linear maps of the data."""
        return True

    @property
    def degree(self) -> float:
        """That of the loss of the data."""
        return self.loss.degree

    def check(self, X: Matrix, start: Start, whom: str) -> None:
        """Refuse an output layer or a start that does not fit the data."""
        sizes = layer_sizes(self.sizes)
        if self.loss.degree not in (1, 2):
            raise ValueError(
                f"beta_loss={self.loss.name!r} needs explains='data': where layers explain codes, the loss of the data "
                "is 'frobenius' or 'kullback-leibler'."
            )
        self.relative_weights(len(sizes))
        self.layer_losses()
        check_output_layer(self.output_layer, len(sizes))
        start.check(X, sizes, self, whom)

    def relative_weights(self, depth: int) -> tuple[float, ...]:
        """λ_l/λ_1 for l > 1."""
        first, *others = per_layer(self.layer_weights, depth, "layer_weights", 0, np.inf)
        if first == 0 or not all(others):
            raise ValueError(f"layer_weights must be above 0, got {(first, *others)}.")
        return tuple(weight / first for weight in others)

    def layer_losses(self) -> tuple[str, ...]:
        """The names of d_2..d_m."""
        n_upper = len(layer_sizes(self.sizes)) - 1
        names = (self.layer_loss,) * n_upper if isinstance(self.layer_loss, str) else tuple(self.layer_loss)
        if len(names) != n_upper or not set(names) <= set(CODES_FITS):
            raise ValueError(
                f"layer_loss must be one of {sorted(CODES_FITS)}, or {n_upper} of them, one for each layer above the "
                f"first; got {self.layer_loss!r}."
            )
        return names

    def bind(self, engine: Engine, known: Known, start: Start) -> "BoundHierarchy":
        """Nothing is left to resolve but the weights, which the pre-training decides."""
        self.loss.check(engine, Objective())
        return BoundHierarchy(self, layer_sizes(self.sizes), known.fixed)

    def layout(self, n_features: int, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        """What the arrays of a file must be like, which may say anything."""
        sizes = layer_sizes(self.sizes)
        listed_numbers(description, "theta", len(sizes), 0, 0)
        listed_numbers(description, "l1", len(sizes), 0, 0)
        listed_numbers(description, "layer_weights", len(sizes) - 1, 0, LARGEST)
        if "unit" in description:
            listed_numbers(description, "unit", 1, float(np.finfo(np.float64).tiny), LARGEST)
        return {
            "factor": [Expected(shape, 0) for shape in factor_shapes(n_features, sizes)],
            "scale": [Expected((size,), 1, 1) for size in sizes],
            "penalty": [Expected((size, size), 0, 0) for size in sizes],
            "norm": [Expected((size,), low=0) for size in sizes],
            "fixed": fixed_layout(arrays, n_features, sizes[0]),
        }

    def restored(self, description: dict[str, Any], arrays: Arrays, codes: Array) -> LayeredChain:
        """What was learned, from what its `state` gave."""
        (unit,) = description.get("unit", [1.0])
        weights = tuple(description["layer_weights"])
        learned = learned_chain(arrays["factor"], arrays["norm"], weights, self.loss, self.layer_losses(), unit)
        return replace(learned, fixed=restored_mask(arrays))


@dataclass(frozen=True)
class BoundHierarchy(BoundProblem):
    """A hierarchy for given data."""

    problem: HierarchyProblem
    sizes: tuple[int, ...]
    given: Array | None = None  # components that are fixed, NaN where they are learned

    def fit(self, engine: Engine, start: Start, run: Run) -> Fit:
        """Layer upon layer, then all of them together."""
        problem = self.problem
        if start.warm:
            factors, weights = start.before.optimized(engine.unit)
            factors = self.with_fixed(factors)
            codes = encoded(engine, self.loss(engine, weights, factors[0]), factors)
        else:
            codes, factors = self.begin(engine, start, run)
            weights = self.weights(engine, codes, factors)
        descent = LayeredDescent(engine, self.loss(engine, weights, factors[0]))
        state, history = minimize(
            descent.advance,
            descent.start(codes, factors),
            max_iter=problem.max_iter,
            tol=problem.tol,
            run=run,
            negligible=self.negligible(engine),
            on_sweep=run.on_sweep,
        )
        return self.handed_out(engine, descent.settled(state), weights, history)

    def learn_batch(self, engine: Engine, before: LayeredChain, codes: Array, memory: LayeredMemory | None) -> Fit:
        """Learn from the rows of an engine, after what was learned before; `codes` are those of the last batch."""
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
        """What is minimized, with these λ, from a Z_1 whose fixed entries stay."""
        known = self.components(Z)
        fixed = None if known is None else known.entries
        return layered_loss(self.problem.loss, self.problem.layer_losses(), weights, engine, fixed)

    def components(self, Z: Array) -> KnownComponents | None:
        """Components that are fixed, in the scale of a Z_1."""
        return None if self.given is None else KnownComponents.at_norms_of(self.given, Z)

    def with_fixed(self, factors: list[Array]) -> list[Array]:
        """Factors to start from with the fixed entries."""
        known = self.components(factors[0])
        return factors if known is None else [known.entries.put_into(factors[0]), *factors[1:]]

    def begin(self, engine: Engine, start: Start, run: Run) -> tuple[Array, list[Array]]:
        """Codes of all layers side by side, and factors: given ones first, pre-trained ones above them.

        Codes are scaled to a root mean square of one in each column, and feed the next layer in that scale.
        """
        rows, codes, factors, scales = engine, [], [], [np.ones(1)]
        given, fixed = self.given_factors(start), self.fixed_in_pretraining(engine)
        fed: Array | None = None
        losses = (self.problem.loss, *map(loss_of, self.problem.layer_losses()))
        for layer, (size, loss) in enumerate(zip(self.sizes, losses, strict=True)):
            plan = self.plan(run, loss)
            if fed is None:
                plan = replace(plan, negligible=self.negligible(engine))
            elif isinstance(loss, BetaDivergence):
                plan = replace(plan, start=BalancedStart(plan.start, fed))
            if layer < len(given):
                Z = np.asarray(given[layer], dtype=np.float64) / scales[-1]
                H = plan.encoded(rows, Z, 0.0, Objective())
            else:
                own = None if layer else fixed
                H, Z, _ = plan.fit_layer(rows, size, 0.0, Objective(), layer + 1, fixed=own)
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
        """Factors that are not pre-trained; Z_1 is one of them where all of it is fixed."""
        if self.given is None:
            return start.factors
        fixed = FixedEntries(self.given)
        if start.factors:
            return [fixed.put_into(np.asarray(start.factors[0], dtype=np.float64)), *start.factors[1:]]
        return [self.given] if fixed.fills(self.sizes[0]) else ()

    def fixed_in_pretraining(self, engine: Engine) -> FixedEntries | None:
        """The fixed entries of Z_1 in about the scale that a start has."""
        if self.given is None:
            return None
        return KnownComponents.at_norm(self.given, balanced_norm(engine, self.sizes[0]), smoothed=False).entries

    def plan(self, run: Run, loss: Loss) -> LayerwisePlan:
        """What the layers of the pre-training share."""
        problem, layerwise = self.problem, self.problem.pretraining
        init = "nndsvd" if problem.init in (None, "custom") else str(problem.init)
        rng = check_random_state(problem.random_state)
        plan = LayerwisePlan.of_nonnegative_layers(init, rng, layerwise.max_iter, layerwise.tol, run)
        return replace(plan, loss=loss)

    def negligible(self, engine: Engine) -> float:
        """A loss of the data below which decreases are compared with it; of counts there is none."""
        return 0.0 if isinstance(self.problem.loss, BetaDivergence) else NEGLIGIBLE_SHARE * engine.sqnorm / 2

    def weights(self, engine: Engine, codes: Array, factors: Sequence[Array]) -> tuple[float, ...]:
        """λ in units of what the layers cost after the pre-training.

        The unit of the data is d_1 = d(X | H_1 Z_1), brought between 0.05 and 1 times what the parts explain beyond
        their wholes, d(X | H_2 Z_2 Z_1) - d_1. Where most of the data is noise, the parts would otherwise follow the
        wholes and not the data; where there is next to no noise, the wholes would not count.
        """
        relative = self.problem.relative_weights(len(self.sizes))
        descent = LayeredDescent(engine, self.loss(engine, relative, factors[0]))
        fit, *upper = descent.values(codes, factors)
        (predicted,), _ = engine.sweep((codes,), _PredictedParts(factors[1]))
        gain = descent.values(predicted, factors)[0] - fit
        unit = float(np.clip(fit, LEAST_UNIT * gain, max(gain, LEAST_GAIN * fit)))
        unit = max(unit, ROUNDING[engine.dtype] * engine.sqnorm) or 1.0  # an exact fit leaves rounding, zeros nothing
        return tuple(weight * unit / (value or unit) for weight, value in zip(relative, upper, strict=True))

    def handed_out(self, engine: Engine, state: LayeredState, weights: tuple[float, ...], history: History) -> Fit:
        """The result in the units of the data, with features of unit norm."""
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


def learned_chain(
    factors: Sequence[Array],
    norms: Sequence[Array],
    weights: tuple[float, ...],
    loss: Loss,
    layer_loss: tuple[str, ...],
    unit: float,
) -> LayeredChain:
    """What was learned, without penalties and with features of unit norm."""
    ones, none = [np.ones(len(Z)) for Z in factors], [CodePenalty(np.zeros((len(Z), len(Z)))) for Z in factors]
    return LayeredChain(Chain.of(factors), ones, none, norms, loss, unit=unit, weights=weights, layer_loss=layer_loss)


def layered_loss(
    loss: Loss,
    layer_loss: Sequence[str],
    weights: tuple[float, ...],
    engine: Engine,
    fixed: FixedEntries | None = None,
) -> LayeredLoss:
    """What is minimized over the rows of an engine."""
    data = CountsFit.of(loss.divergence, engine, fixed) if isinstance(loss, BetaDivergence) else SquaredFit(fixed)
    return LayeredLoss(data, codes_fits(layer_loss), weights)


def codes_fits(names: Sequence[str]) -> tuple[CodesFit, ...]:
    """d_2..d_m by their names."""
    return tuple(CODES_FITS[name] for name in names)


def code_scales(engine: Engine, codes: Array, Z: Array) -> Array:
    """What codes are divided by: their root mean square, or more where features add next to nothing."""
    _, (squares,) = engine.sweep((codes,), _squares)
    norms = np.linalg.norm(Z, axis=1)
    added = np.sqrt(squares / engine.n_samples) * norms
    return np.asarray(np.maximum(added, LEAST_SCALE * added.mean()) / norms if added.any() else np.ones_like(added))


def _revived(Z: Array) -> Array:
    """Rows that are zero get equal entries, so that they can learn."""
    return np.where(Z.any(axis=1, keepdims=True), Z, 1 / np.sqrt(Z.shape[1]))


def _squares(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:  # noqa: ARG001
    return (), (np.square(rows[0], dtype=np.float64).sum(axis=0),)


@dataclass(frozen=True)
class _PredictedParts:
    """Codes of all layers, with those of the first as the second one predicts them."""

    Z: Array

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        n_wholes, n_parts = self.Z.shape
        codes = rows[0].copy()
        codes[:, :n_parts] = codes[:, n_parts : n_parts + n_wholes] @ self.Z
        return (codes,), ()


@dataclass(frozen=True)
class _Scaled:
    """Codes as data of the next layer."""

    scale: Array

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        return ((rows[0] / self.scale + LEAST_CODE).astype(rows[0].dtype),), ()
