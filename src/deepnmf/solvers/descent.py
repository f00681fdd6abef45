"""Block coordinate descent on a linear chain, with one pass over X per sweep at any depth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums, Workers
from deepnmf.objective import Chain, FormedGram, Objective, Quadratic, Statistics
from deepnmf.objective.fixed_entries import FixedEntries
from deepnmf.objective.gram import left_cost, right_costs
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.least_squares import free_factor
from deepnmf.solvers.loop import Descent
from deepnmf.solvers.statistics import GradientStep, block_statistics
from deepnmf.solvers.steps import Moved, Solver

MOST_INNER = 12
PLAIN_SWEEPS, SPARSE_SPREAD = 5, 0.1
SHARE_OF_A_LAYER = 0.5
CHEAP = 1e7  # multiplications, about a millisecond; less is not counted
ROUNDING = {np.dtype(np.float64): 1e-14, np.dtype(np.float32): 1e-9}
COLUMNS_AT_ONCE, WORTH_A_THREAD = 512, 8e6  # WORTH_A_THREAD in multiplications
LIFT = 1e-3  # zeros are raised to this fraction of the mean


@dataclass(frozen=True)
class Momentum:
    """The length of the extrapolation (Ang & Gillis, 2019): it grows while the objective falls, and else shrinks."""

    beta: float = 0.5
    ceiling: float = 1.0

    def after_descent(self) -> "Momentum":
        """Increase the extrapolation."""
        return Momentum(min(self.ceiling, 1.05 * self.beta), min(1.0, 1.02 * self.ceiling))

    def after_rise(self) -> "Momentum":
        """Reduce the extrapolation and its limit."""
        return Momentum(self.beta / 1.5, self.beta)


@dataclass(frozen=True)
class State:
    """Codes and factors of one objective, and the starting point of the next sweep."""

    codes: Array
    chain: Chain
    loss: float = np.inf
    optimality: float = np.inf
    most_inner: int = 1  # steps on a block in the next sweep
    n_plain: int = 0  # number of the next sweeps with one inner step and without extrapolation
    exhausted: bool = False  # no further sweep descends measurably, because of rounding
    plain_codes: Array | None = None  # the codes before the extrapolation; None: the next sweep does not extrapolate
    ahead: Chain | None = None
    momentum: Momentum = Momentum()


@dataclass(frozen=True)
class CodesStep:
    """The pass over one block of rows: it updates the codes, then computes the statistics of the block."""

    features: Array  # Dᵀ
    gram: FormedGram
    l1: float
    solver: Solver
    n_inner: int
    beta: float
    gram_dtype: type[np.floating[Any]]  # of HᵀH

    @np.errstate(over="ignore", invalid="ignore")  # a sweep that overflows is undone
    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        target = X_b @ self.features
        weighed = X_b.by_roots(target)
        size = inner(weighed, weighed)
        if self.l1:
            target -= self.l1
        # The problem of a block has the samples as columns, by transposed views without copies. A row multiplied by
        # the root of its weight has the same problem, and the measured squares are multiplied by its weight.
        departure, target = X_b.by_roots(rows[0]), X_b.by_roots(target)
        moved = self.solver.step(departure.T, Quadratic(self.gram, target.T), self.n_inner)
        H = np.ascontiguousarray(X_b.without_roots(moved.Z.T))
        new: tuple[Array, ...] = (H,)
        if len(rows) > 1:
            ahead = extrapolated(H, rows[1], self.beta, nonnegative=True)
            new = (ahead, H)
            H = ahead
        return new, (*block_statistics(X_b, H, self.gram_dtype), np.array([moved.violation, size], np.float64))


class Sweep(NamedTuple):
    """The result of a sweep, whose loss may be higher than before."""

    rows: tuple[Array, ...]  # the codes and, if they were extrapolated, the codes before the extrapolation
    chain: Chain
    loss: float
    optimality: float
    sqnorm: float  # of the fitted rows


@dataclass
class ChainDescent(Descent[State]):
    """Sweeps of one model on one engine.

    A sweep updates the codes block by block in one pass over X, then every factor from the statistics, the lowest
    first. From an initialization that was not learned, the first sweep makes one inner step, the second two, and so on:
    optimal codes for wrong factors lead to a poorer minimum. On data that are mostly zeros, like text, which have many
    minima, a few sweeps of one inner step without extrapolation come first (decision 11). A sweep with extrapolation
    that raises the objective is undone; the next one starts without extrapolation and always descends.
    """

    engine: Engine
    objective: Objective
    solver: Solver
    factor_dtype: type[np.floating[Any]] = np.float64  # the precision of HᵀH and of steps on factors
    least_loss: float = 0.0  # smaller losses have too few accurate digits for further sweeps
    _spare: tuple[Array, ...] | None = field(default=None, init=False)  # row arrays that a sweep may write into

    def start(self, codes: Array, chain: Chain, refined: bool = False) -> State:
        """Begin at codes and factors; zeros are raised a little if the solver could never leave them."""
        if self.solver.needs_positive_start:
            codes, chain = lifted(codes, chain, self.engine)
        rows = self.engine.as_rows(codes)
        if refined:
            return State(rows, chain, most_inner=MOST_INNER)
        is_sparse = chain.nonnegative and self.engine.spread < SPARSE_SPREAD
        return State(rows, chain, n_plain=PLAIN_SWEEPS if is_sparse else 0)

    def advance(self, state: State) -> State:
        """Make one sweep."""
        sweep = self._sweep(state, state.chain if state.ahead is None else state.ahead)
        if not sweep.loss <= state.loss + rounding(self.engine, sweep.sqnorm, state.loss):
            return self._take_back(state, sweep.rows)
        reached = State(
            codes=sweep.rows[0],
            chain=sweep.chain,
            loss=sweep.loss,
            optimality=sweep.optimality,
            most_inner=state.most_inner if state.n_plain else state.most_inner + 1,
            n_plain=max(state.n_plain - 1, 0),
            exhausted=sweep.loss < self.least_loss,
            momentum=state.momentum,
        )
        if self.solver.extrapolates:
            return reached if state.n_plain else self._look_ahead(state, reached, sweep.rows[1])
        if np.isfinite(state.loss):  # the row arrays of the first state belong to the caller
            self._spare = (state.codes,)
        return reached

    @np.errstate(over="ignore", invalid="ignore")
    def _sweep(self, state: State, departure: Chain) -> Sweep:
        """Update codes and factors, starting from the given factors."""
        rows, stats, codes_optimality = self._update_codes(state, departure)
        chain, factors_optimality = self.update_factors(departure, stats, state.most_inner)
        loss = self.value(chain, stats)
        return Sweep(rows, chain, loss, max(codes_optimality, factors_optimality), stats.sqnorm)

    def value(self, chain: Chain, stats: Any) -> float:
        """The objective at the codes of the statistics."""
        return self.objective.value(chain, stats)

    def _look_ahead(self, state: State, reached: State, plain_codes: Array) -> State:
        """Extrapolate from the previous state, whose row arrays the next sweep may overwrite."""
        if state.plain_codes is not None:
            self._spare = (state.codes, state.plain_codes)
        beta = state.momentum.beta if np.isfinite(state.loss) else 0.0
        pairs = zip(reached.chain.factors, state.chain.factors, strict=True)
        factors = [extrapolated(new, old, beta, reached.chain.nonnegative) for new, old in pairs]
        return replace(
            reached,
            plain_codes=plain_codes,
            ahead=replace(reached.chain, factors=tuple(factors)),
            momentum=state.momentum.after_descent(),
        )

    def _take_back(self, state: State, rows: tuple[Array, ...]) -> State:
        """Undo a sweep that raised the objective; if it did not extrapolate, only rounding errors are left."""
        self._spare = rows
        state = replace(state, most_inner=state.most_inner + 1)
        if state.ahead is None:
            return replace(state, exhausted=True)
        return replace(state, plain_codes=None, ahead=None, momentum=state.momentum.after_rise())

    def _update_codes(self, state: State, chain: Chain) -> tuple[tuple[Array, ...], Any, float]:
        D = chain.decoder()
        data = self.engine.completed(state.codes, D)
        out, self._spare = self._spare, None
        new_rows, (M, K, sums, (violation, size)) = data.sweep(self._rows(state), self.codes_step(state, chain), out)
        return new_rows, Statistics(M, K, sums, data.sqnorm), relative(violation, size)

    def codes_step(self, state: State, chain: Chain) -> CodesStep:
        """The pass that updates the codes of a chain."""
        dtype, D, penalty = self.engine.dtype, chain.decoder(), self.objective.code_penalty(chain)
        return CodesStep(
            features=np.ascontiguousarray(D.T, dtype=dtype),
            gram=FormedGram((D @ D.T + penalty.gram).astype(dtype, copy=False)),
            l1=penalty.l1,
            solver=self.solver,
            n_inner=min(inner_steps(*D.shape), state.most_inner),
            beta=state.momentum.beta if state.plain_codes is not None else 0.0,
            gram_dtype=self.factor_dtype,
        )

    def _rows(self, state: State) -> list[Array]:
        """The codes and, if the solver extrapolates, the codes before the extrapolation."""
        if not self.solver.extrapolates:
            return [state.codes]
        return [state.codes, state.codes if state.plain_codes is None else state.plain_codes]

    def update_factors(self, chain: Chain, stats: Statistics, most_inner: int, lowest: int = 0) -> tuple[Chain, float]:
        """Update the factors from layer `lowest` on, the lowest first, from the statistics."""
        optimality = 0.0
        for layer in range(lowest, chain.depth):
            if chain.nonnegative:
                n_inner = min(self._steps_on_factor(chain, layer), most_inner)
                problem = self.objective.block(chain, layer, stats, n_inner)
                Z = chain.factors[layer].astype(self.factor_dtype, copy=False)
                fixed, workers = chain.fixed_of(layer), self.engine.workers
                moved = over_learned(workers, self.solver, Z, problem, n_inner, fixed)
                target = problem.linear
            else:
                moved, target = self.free_factor(chain, layer, stats), stats.M
            chain = chain.with_factor(layer, moved.Z.astype(np.float64, copy=False))
            optimality = max(optimality, relative(moved.violation, inner(target, target)))
        return chain, optimality

    def codes_residual(self, codes: Array, chain: Chain, pulls: Sequence[Array] = ()) -> tuple[Statistics, float]:
        """Return the statistics of the codes, and how far they are from optimal; `pulls` are added to the gradient."""
        engine, D = self.engine, chain.decoder()
        penalty = self.objective.code_penalty(chain)
        step = GradientStep(D.astype(engine.dtype), (D @ D.T + penalty.gram).astype(engine.dtype), penalty.l1)
        _, (M, K, code_sums, (violation, size)) = engine.completed(codes, D).sweep((codes, *pulls), step)
        return Statistics(M, K, code_sums, engine.sqnorm), relative(violation, size)

    def free_factor(self, chain: Chain, layer: int, stats: Statistics) -> Moved:
        """Return the best factor without sign constraint, and the squared gradient before."""
        return Moved(*free_factor(chain, layer, stats, self.objective.factor_terms(chain, layer, stats)))

    def _steps_on_factor(self, chain: Chain, layer: int) -> int:
        """The number of steps that cost half as many multiplications as the two products with X.

        Zeros of X are counted, so that sparse and dense data make the same steps.
        """
        order, width = chain.factors[layer].shape
        top = len(chain.factors[-1])
        budget = max(SHARE_OF_A_LAYER * 2 * self.engine.total_weight * self.engine.n_features * top, CHEAP)
        step = width * left_cost(top, order)
        n_steps = budget / step
        if layer > 0:
            right = right_costs(chain.factors[:layer], min(top, order))
            n_steps = max((budget - right.forming) / (step + right.formed), budget / (step + right.factored))
        return min(max(int(n_steps), 1), MOST_INNER)


def extrapolated(new: Array, old: Array, beta: float, nonnegative: bool) -> Array:
    """Z + β (Z - Z_old), made feasible, with one temporary array."""
    ahead = new - old
    ahead *= beta
    ahead += new
    return np.maximum(ahead, 0, out=ahead) if nonnegative else ahead


def over_columns(workers: Workers, solver: Solver, Z: Array, problem: Quadratic, n_inner: int) -> Moved:
    """Make a step of the solver, on blocks of columns in parallel if columns are independent."""
    order, n_columns = Z.shape
    at_once = max(COLUMNS_AT_ONCE, int(WORTH_A_THREAD / (order**2 * n_inner)))
    if not problem.columns_are_free or n_columns <= at_once:
        return solver.step(Z, problem, n_inner)
    starts = range(0, n_columns, at_once)
    blocks = [slice(start, min(start + at_once, n_columns)) for start in starts]
    parts = list(workers.map(lambda block: solver.step(Z[:, block], problem.columns(block), n_inner), blocks))
    return Moved(np.hstack([part.Z for part in parts]), sum(part.violation for part in parts))


def over_learned(
    workers: Workers, solver: Solver, Z: Array, problem: Quadratic, n_inner: int, fixed: FixedEntries | None
) -> Moved:
    """Make a step of the solver on the learned entries of Z, each block of which is a quadratic problem."""
    if fixed is None:
        return over_columns(workers, solver, Z, problem, n_inner)
    Z, violation = Z.copy(), 0.0
    for block in fixed.free_blocks(len(Z)):
        own = problem.of_block(block, Z, fixed)
        Z[block.entries], moved = over_columns(workers, solver, Z[block.entries], own, n_inner)
        violation += moved
    return Moved(Z, violation)


def inner_steps(order: int, n_features: int) -> int:
    """The number of passes over the codes that cost about a quarter of the two products with X."""
    return min(int(1 + 0.5 * n_features / order), MOST_INNER)


def rounding(engine: Engine, sqnorm: float, loss: float) -> float:
    """The rounding error of the loss, which is a difference of numbers as large as ‖X‖²."""
    scale = sqnorm if np.isinf(loss) else max(sqnorm, loss)
    return ROUNDING[engine.dtype] * scale


def relative(violation: float, size: float) -> float:
    """√(violation/size); 0 if there is nothing to fit, or if the violation is below 0 by rounding."""
    return math.sqrt(max(float(violation), 0.0) / float(size)) if size > 0 else 0.0


def lifted(codes: Array, chain: Chain, engine: Engine) -> tuple[Array, Chain]:
    """Raise the zeros of all nonnegative arrays."""
    if chain.nonnegative:
        chain = replace(chain, factors=tuple(without_zeros(Z) for Z in chain.factors))
    return without_zeros(codes, engine.mean_over_rows(codes)), chain


def without_zeros(array: Array, mean: float | None = None) -> Array:
    """Raise zeros to a small fraction of the mean, for steps that could never leave them."""
    return np.maximum(array, LIFT * (array.mean() if mean is None else mean))
