"""Descent on a hierarchy in which every layer explains the codes of the layer below it, all layers together.

    d(X | H_1 Z_1) + Σ_{l>1} λ_l d_l(H_{l-1} | H_l Z_l + ε)

The codes of a row are a convex problem of their own, and factors need sums over the rows alone, so that a sweep is one
pass over X wherever its rows are: the pass moves the codes of all layers, measures the loss there and sums up what the
factors need. These then make one step each. The loss of factors that have just moved is known after the next pass only:
a state has the factors that its loss belongs to, and beside them those that the next sweep sets out from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.kernels.layered_codes import UpperLayers
from deepnmf.kernels.layered_loops import SMALLEST
from deepnmf.solvers.batch_learning import ROUNDS, UPDATES
from deepnmf.solvers.descent import ROUNDING, Momentum
from deepnmf.solvers.divergence_state import STEADY
from deepnmf.solvers.layer_steps import CodesFit, FactorSteps
from deepnmf.solvers.layered_fits import DataFit, RowsFit
from deepnmf.solvers.layered_memory import LayeredMemory

PASSES, SETTLING_PASSES = 2, 10  # over the coordinates, in a sweep and after the last one
TOLERANCE, MOST_PASSES = 1e-7, 2000  # of codes of new rows


@dataclass(frozen=True)
class LayeredLoss:
    """d of the data, and d_l and λ_l of the layers above the first."""

    data: DataFit
    codes: tuple[CodesFit, ...]
    weights: tuple[float, ...]

    @property
    def layers(self) -> tuple[FactorSteps, ...]:
        """How the factors of all layers move."""
        return (self.data, *self.codes)

    def total(self, values: Sequence[float]) -> float:
        """The loss, from those of all layers without their weights."""
        return values[0] + float(np.dot(self.weights, values[1:]))

    def upper(self, factors: Sequence[Array], dtype: Any) -> UpperLayers:
        """The layers above the first as the compiled loops need them."""
        return UpperLayers.of(list(factors), self.weights, [fit.squared for fit in self.codes], np.dtype(dtype))


@dataclass(frozen=True)
class LayeredState:
    """Codes of all layers side by side, the factors at which the loss was measured, and those of the next sweep."""

    codes: Array
    factors: tuple[Array, ...]
    loss: float = np.inf
    optimality: float = np.inf
    exhausted: bool = False  # not even a plain sweep descends: what is left is rounding
    plain: tuple[Array, ...] = ()  # the factors of a plain next sweep
    ahead: tuple[Array, ...] | None = None  # the same, extrapolated; None: set out plainly
    momentum: Momentum = STEADY


@dataclass
class LayeredDescent:
    """Sweeps of one hierarchy on one engine; the loss never rises."""

    engine: Engine
    loss: LayeredLoss

    def start(self, codes: Array, factors: Sequence[Array]) -> LayeredState:
        """Begin at codes and factors."""
        return LayeredState(codes, tuple(factors), plain=tuple(factors))

    def advance(self, state: LayeredState) -> LayeredState:
        """Make one sweep; one that rose is taken back, and the next one sets out plainly, which never rises."""
        factors = state.plain if state.ahead is None else state.ahead
        codes, values, sums = self._pass(state.codes, factors, PASSES)
        loss = self.loss.total(values)
        if not loss <= state.loss + ROUNDING[self.engine.dtype] * max(self.engine.sqnorm, abs(loss)):
            if state.ahead is None:
                return replace(state, exhausted=True)
            return replace(state, ahead=None, momentum=state.momentum.after_rise())
        moved = tuple(fit.moved(Z, own) for fit, Z, own in zip(self.loss.layers, factors, sums, strict=True))
        return LayeredState(
            codes,
            factors,
            loss,
            plain=moved,
            ahead=self._ahead(moved, state.plain, state.momentum.beta),
            momentum=state.momentum.after_descent(),
        )

    def _ahead(self, new: Sequence[Array], old: Sequence[Array], beta: float) -> tuple[Array, ...]:
        """Factors extrapolated from those that were last set out from, with norms and sums of rows as they are."""
        layers = zip(self.loss.layers, new, old, strict=True)
        return tuple(fit.extrapolated(Z, Z_old, beta) for fit, Z, Z_old in layers)

    def settled(self, state: LayeredState) -> LayeredState:
        """The state with codes that belong to its factors: extrapolated factors are some passes ahead of them."""
        factors = tuple(fit.settled(Z) for fit, Z in zip(self.loss.layers, state.factors, strict=True))
        codes, *_ = self._pass(state.codes, factors, SETTLING_PASSES)
        return replace(state, codes=codes, factors=factors)

    def memory(self, codes: Array, factors: Sequence[Array]) -> LayeredMemory:
        """What a later batch needs to know of these rows."""
        _, _, sums = self._pass(codes, factors, 0)
        layers = zip(self.loss.layers, factors, sums, strict=True)
        return LayeredMemory(tuple(fit.remembered(Z, own) for fit, Z, own in layers), self.engine.n_samples)

    def values(self, codes: Array, factors: Sequence[Array]) -> list[float]:
        """The loss of the data, and those of the layers above the first without their weights."""
        return self._pass(codes, factors, 0)[1]

    def _pass(
        self, codes: Array, factors: Sequence[Array], n_passes: int
    ) -> tuple[Array, list[float], list[Sequence[Array]]]:
        """New codes, the losses of all layers, and the sums that the step of each factor needs."""
        rows = self.rows(codes, factors)
        (codes,), (values, *sums) = rows.sweep((codes,), self.step(factors, n_passes))
        of_layers = self.by_layer(sums)
        fit = self.loss.data.value(rows, factors[0], of_layers[0])
        return codes, [fit, *(float(value) for value in values)], of_layers

    def rows(self, codes: Array, factors: Sequence[Array]) -> Engine:
        """The rows that a pass reads, where codes and factors are these."""
        return self.loss.data.rows(self.engine, codes[:, : len(factors[0])], factors[0])

    def step(self, factors: Sequence[Array], n_passes: int) -> "LayeredStep":
        """What a pass does to a block of rows."""
        dtype = self.engine.dtype
        return LayeredStep(
            self.loss.data.problem(factors[0], dtype), self.loss.codes, self.loss.upper(factors, dtype), n_passes
        )

    def by_layer(self, sums: Sequence[Array]) -> list[Sequence[Array]]:
        """The sums of a pass, for each factor those that it needs."""
        edges = np.cumsum([0, *(fit.n_sums for fit in self.loss.codes)])
        return [sums[edges[-1] :], *(sums[start:stop] for start, stop in pairwise(edges))]


@dataclass(frozen=True)
class LayeredStep:
    """One block of rows: the codes of all layers, then the losses of the upper ones and what all factors need."""

    fit: RowsFit
    codes_fits: tuple[CodesFit, ...]
    upper: UpperLayers
    n_passes: int

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        H = np.maximum(rows[0], SMALLEST, dtype=rows[0].dtype)
        if self.n_passes:
            self.fit.descend(X_b, H, self.upper, self.n_passes)
        first, *others = self.upper.split(H)
        layers = zip(self.codes_fits, (first, *others), others, self.upper.matrices(), strict=False)
        measured = [fit.measured(below, own, Z, X_b.row_weights) for fit, below, own, Z in layers]
        values, sums = np.array([value for value, _ in measured]), [array for _, own in measured for array in own]
        return (H,), (values, *sums, *self.fit.sums(X_b, np.ascontiguousarray(first)))


@dataclass(frozen=True)
class EncodeStep:
    """The best codes of all layers, each row on its own, in double precision."""

    fit: RowsFit
    upper: UpperLayers
    dtype: Any

    def __call__(self, X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        H = np.ones((X_b.shape[0], int(self.upper.sizes.sum())))
        self.fit.descend(X_b, H, self.upper, MOST_PASSES, TOLERANCE)
        return (H.astype(self.dtype, copy=False),), ()


def encoded(engine: Engine, loss: LayeredLoss, factors: Sequence[Array]) -> Array:
    """The codes of all layers with the factors fixed, side by side.

    Coordinate steps go on until a pass changes no code by more than 1e-7 of the largest one of the row and the layer.
    """
    problem = loss.data.problem(factors[0], np.float64)
    (codes,), _ = engine.sweep((), EncodeStep(problem, loss.upper(factors, np.float64), engine.dtype))
    return codes


@dataclass(frozen=True)
class Stacked:
    """Codes of several layers side by side, each column divided by a scale, and none below what can be left."""

    scales: tuple[Array, ...]

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        parts = [H / scale for H, scale in zip(rows, self.scales, strict=True)]
        return (np.maximum(np.hstack(parts), SMALLEST).astype(rows[0].dtype),), ()


def learn_layered_batch(
    engine: Engine, loss: LayeredLoss, factors: Sequence[Array], memory: LayeredMemory
) -> tuple[LayeredState, LayeredMemory]:
    """Solve for the batch's codes and update the factors in turn; the state's loss is that of the batch alone."""
    descent = LayeredDescent(engine, loss)
    for _ in range(ROUNDS):
        codes = encoded(engine, loss, factors)
        after = memory.joined(descent.memory(codes, factors))
        for _ in range(UPDATES):
            factors = after.moved(loss.layers, factors)
    codes = encoded(engine, loss, factors)
    return LayeredState(codes, tuple(factors), loss=loss.total(descent.values(codes, factors))), after
