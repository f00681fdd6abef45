"""Descent on a hierarchy in which every layer explains the codes of the layer below it, all layers together.

    d(X | H_1 Z_1) + Σ_{l>1} λ_l KL(H_{l-1} | H_l Z_l + ε)

The codes of a row are a convex problem of their own, and factors need sums over the rows alone, so that a sweep is one
pass over X wherever its rows are: the pass moves the codes of all layers, measures the loss there and sums up what the
factors need. These then make one step each. The loss of factors that have just moved is known after the next pass only:
a state has the factors that its loss belongs to, and beside them those that the next sweep sets out from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.kernels.layered_codes import UpperLayers
from deepnmf.kernels.layered_loops import SMALLEST
from deepnmf.objective.layered_loss import fit_to_codes
from deepnmf.solvers.batch_learning import ROUNDS, UPDATES
from deepnmf.solvers.descent import ROUNDING, Momentum
from deepnmf.solvers.divergence_state import STEADY, repeated
from deepnmf.solvers.layered_fits import DataFit, RowsFit, expected_rows, with_sums
from deepnmf.solvers.layered_memory import LayeredMemory

PASSES, SETTLING_PASSES = 2, 10  # over the coordinates, in a sweep and after the last one
TOLERANCE, MOST_PASSES = 1e-7, 2000  # of codes of new rows


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
    fit: DataFit
    weights: tuple[float, ...]  # λ_2..λ_m

    def start(self, codes: Array, factors: Sequence[Array]) -> LayeredState:
        """Begin at codes and factors."""
        return LayeredState(codes, tuple(factors), plain=tuple(factors))

    def advance(self, state: LayeredState) -> LayeredState:
        """Make one sweep; one that rose is taken back, and the next one sets out plainly, which never rises."""
        factors = state.plain if state.ahead is None else state.ahead
        codes, values, counts, sums = self._pass(state.codes, factors, PASSES)
        loss = values[0] + float(np.dot(self.weights, values[1:]))
        if not loss <= state.loss + ROUNDING[self.engine.dtype] * max(self.engine.sqnorm, abs(loss)):
            if state.ahead is None:
                return replace(state, exhausted=True)
            return replace(state, ahead=None, momentum=state.momentum.after_rise())
        upper = [expected_rows(Z * N, Z.sum(axis=1)) for Z, N in zip(factors[1:], counts, strict=True)]
        moved = (self.fit.moved(factors[0], sums), *upper)
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
        (first, *upper), (old_first, *old_upper) = new, old
        pairs = zip(upper, old_upper, strict=True)
        repeats = (with_sums(repeated(Z, Z_old, beta), Z.sum(axis=1)) for Z, Z_old in pairs)
        return (self.fit.extrapolated(first, old_first, beta), *repeats)

    def settled(self, state: LayeredState) -> LayeredState:
        """The state with codes that belong to its factors: extrapolated factors are some passes ahead of them."""
        codes, *_ = self._pass(state.codes, state.factors, SETTLING_PASSES)
        return replace(state, codes=codes)

    def memory(self, codes: Array, factors: Sequence[Array]) -> LayeredMemory:
        """What a later batch needs to know of these rows."""
        _, _, counts, sums = self._pass(codes, factors, 0)
        upper = tuple(Z * N for Z, N in zip(factors[1:], counts, strict=True))
        return LayeredMemory(tuple(self.fit.remembered(factors[0], sums)), upper, self.engine.n_samples)

    def values(self, codes: Array, factors: Sequence[Array]) -> list[float]:
        """The loss of the data, and those of the layers above the first without their weights."""
        return self._pass(codes, factors, 0)[1]

    def _pass(
        self, codes: Array, factors: Sequence[Array], n_passes: int
    ) -> tuple[Array, list[float], Sequence[Array], Sequence[Array]]:
        """New codes, the losses of all layers, counts/Z_l of the upper ones, and the sums of the data."""
        dtype, Z = self.engine.dtype, factors[0]
        upper = UpperLayers.of(list(factors), self.weights, dtype)
        step = LayeredStep(self.fit.problem(Z, dtype), upper, n_passes)
        rows = self.fit.rows(self.engine, codes[:, : len(Z)], Z)
        (codes,), (values, *sums) = rows.sweep((codes,), step)
        counts, own = sums[: len(factors) - 1], sums[len(factors) - 1 :]
        return codes, [self.fit.value(rows, Z, own), *(float(value) for value in values)], counts, own


@dataclass(frozen=True)
class LayeredStep:
    """One block of rows: the codes of all layers, then the losses of the upper ones and what all factors need."""

    fit: RowsFit
    upper: UpperLayers
    n_passes: int

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        H = np.maximum(rows[0], SMALLEST, dtype=rows[0].dtype)
        if self.n_passes:
            self.fit.descend(X_b, H, self.upper, self.n_passes)
        first, *others = np.split(H, np.cumsum(self.upper.sizes)[:-1], axis=1)
        values, counts, below = [], [], first
        for own, Z in zip(others, self.upper.matrices(), strict=True):
            value, pull = fit_to_codes(below, own, Z)
            values.append(value)
            counts.append(pull)
            below = own
        return (H,), (np.array(values), *counts, *self.fit.sums(X_b, np.ascontiguousarray(first)))


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


def encoded(engine: Engine, fit: DataFit, factors: Sequence[Array], weights: tuple[float, ...]) -> Array:
    """The codes of all layers with the factors fixed, side by side.

    Coordinate steps go on until a pass changes no code by more than 1e-7 of the largest one of the row and the layer.
    """
    upper = UpperLayers.of(list(factors), weights, np.dtype(np.float64))
    (codes,), _ = engine.sweep((), EncodeStep(fit.problem(factors[0], np.float64), upper, engine.dtype))
    return codes


@dataclass(frozen=True)
class Stacked:
    """Codes of several layers side by side, each column divided by a scale, and none below what can be left."""

    scales: tuple[Array, ...]

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        parts = [H / scale for H, scale in zip(rows, self.scales, strict=True)]
        return (np.maximum(np.hstack(parts), SMALLEST).astype(rows[0].dtype),), ()


def learn_layered_batch(
    engine: Engine, fit: DataFit, factors: Sequence[Array], weights: tuple[float, ...], memory: LayeredMemory
) -> tuple[LayeredState, LayeredMemory]:
    """Solve for the batch's codes and update the factors in turn; the state's loss is that of the batch alone."""
    descent = LayeredDescent(engine, fit, weights)
    for _ in range(ROUNDS):
        codes = encoded(engine, fit, factors, weights)
        after = memory.joined(descent.memory(codes, factors))
        for _ in range(UPDATES):
            factors = after.moved(fit, factors)
    codes = encoded(engine, fit, factors, weights)
    first, *upper = descent.values(codes, factors)
    return LayeredState(codes, tuple(factors), loss=first + float(np.dot(weights, upper))), after
