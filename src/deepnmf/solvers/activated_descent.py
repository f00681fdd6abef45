"""Descent on a chain with an activation between its layers, with two passes over X per sweep."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import ActivatedObjective, ActivatedRows, Chain, Slope, Statistics
from deepnmf.solvers.descent import lifted, over_columns, rounding
from deepnmf.solvers.least_squares import free_factor
from deepnmf.solvers.row_descent import descend_rows, first_step_sizes
from deepnmf.solvers.steps import Solver

STEPS_ON_CODES = 6
STEPS_ON_LOWEST = 4
GROW, SHRINK = 1.3, 1 / 3
SMALLEST_EIGENVALUE = 1e-8  # codes can be nearly parallel, and a factor that separates them would be huge
MOST_TRIALS = 8
SHORTEST_STRIDE = SHRINK**MOST_TRIALS
ROUNDING_SHARE = 1e-4  # of ‖X‖²; rounding errors are smaller


@dataclass(frozen=True)
class Known:
    """Statistics of the codes for graphs: the values of their layers, and the products with them."""

    values: tuple[Array, ...]
    products: tuple[Array, ...]

    @property
    def roughness(self) -> list[Array]:
        """The diagonal of V_lᵀLV_l for each graph."""
        pairs = zip(self.values, self.products, strict=True)
        return [np.einsum("ij,ij->j", V, LV, dtype=np.float64) for V, LV in pairs]


@dataclass(frozen=True)
class ActivatedState:
    """Codes and factors of one objective, and the lengths of the next steps."""

    codes: Array
    chain: Chain
    step_sizes: Array  # one per row
    known: Known
    stride: float = 0.1  # step length of the factors above the activation, in units of the inverse curvature
    loss: float = np.inf
    optimality: float = np.inf
    exhausted: bool = False


@dataclass(frozen=True)
class _CodesStep:
    """The pass over one block of rows: it updates the codes, then sums the slopes of the upper factors."""

    problem: ActivatedRows
    lowest: Array

    @np.errstate(over="ignore", invalid="ignore")  # slopes that are not finite are ignored
    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        H, sizes, *pulled = rows
        problem = self.problem.of_rows(pulled)
        F = X_b @ self.lowest.T
        H, sizes, _ = descend_rows(problem, H, F, sizes, STEPS_ON_CODES)
        slopes = problem.slopes(H, F)
        sums = (H.T @ H, H.sum(axis=0, dtype=np.float64))
        return (H, sizes), (*sums, *(array for slope in slopes for array in slope))


@dataclass(frozen=True)
class _StatisticsStep:
    """The pass over one block of rows that computes the statistics for the lowest factor, penalties and graphs."""

    problem: ActivatedRows
    layers: tuple[int, ...]

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        H = rows[0]
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is too long is undone
            values = self.problem.values_below(H)
            V = values[0]
            sums = (np.ascontiguousarray(V.T) @ X_b, V.T @ V, H.T @ H, H.sum(axis=0, dtype=np.float64))
        return tuple(values[layer] for layer in self.layers), sums


@dataclass
class ActivatedDescent:
    """Sweeps of one model on one engine.

    The first pass updates the codes and sums the slopes of Z_2..Z_m, which make one gradient step, scaled by their
    curvature. The second pass computes the statistics for an exact update of Z_1, and the objective. If the objective
    would rise, the step of the upper factors is shortened and the second pass is repeated. Without this step a sweep
    always descends.
    """

    engine: Engine
    objective: ActivatedObjective
    solver: Solver

    def start(self, codes: Array, chain: Chain, refined: bool = False) -> ActivatedState:
        """Begin at codes and factors."""
        codes, chain = lifted(codes, chain, self.engine) if self.solver.needs_positive_start else (codes, chain)
        codes = np.ascontiguousarray(codes, dtype=self.engine.dtype)
        problem = self.objective.rows(chain, self.engine.dtype)
        lowest, top, known = self._statistics(codes, chain)
        problem = replace(problem, pulls=self.objective.pulls(chain, known.values, known.products))
        (sizes,), _ = self.engine.sweep(
            (codes, *problem.row_arrays),
            lambda _, rows: ((first_step_sizes(problem.of_rows(rows[1:]), rows[0]),), ()),
        )
        loss = self.objective.value(chain, lowest, top, known.roughness)
        return ActivatedState(codes, chain, sizes, known, loss=loss)

    def advance(self, state: ActivatedState) -> ActivatedState:
        """Make one sweep."""
        pulls = self.objective.pulls(state.chain, state.known.values, state.known.products)
        problem = replace(self.objective.rows(state.chain, self.engine.dtype), pulls=pulls)
        lowest = state.chain.factors[0].astype(self.engine.dtype, copy=False)
        rows = (state.codes, state.step_sizes, *problem.row_arrays)
        (codes, sizes), sums = self.engine.sweep(rows, _CodesStep(problem, lowest))
        K, code_sums, *rest = sums
        slopes = [Slope(*rest[i : i + 2]) for i in range(0, len(rest), 2)]
        top = Statistics(np.empty((len(K), 0)), K, code_sums, self.engine.sqnorm)
        slopes = list(self.objective.with_penalties(state.chain, top, slopes, state.known.roughness))
        moved = replace(state, codes=codes, step_sizes=sizes)
        for stride in (*(state.stride * SHRINK**trial for trial in range(MOST_TRIALS)), 0.0):
            reached = self._with_upper_step(moved, slopes, stride)
            if self._is_descent(state.loss, reached.loss):
                # The remaining residual is rounding error and must not be fitted.
                exact = reached.loss <= rounding(self.engine, self.engine.sqnorm, reached.loss)
                return replace(reached, stride=max(GROW * stride, SHORTEST_STRIDE), exhausted=exact)
        return replace(state, exhausted=True)

    def _is_descent(self, before: float, after: float) -> bool:
        """Whether a loss is not higher, and valid: a loss far below zero is a cancellation error."""
        lowest = -ROUNDING_SHARE * self.engine.sqnorm
        return lowest <= after <= before + rounding(self.engine, self.engine.sqnorm, before)

    @np.errstate(over="ignore", invalid="ignore")  # a step that is too long is undone
    def _with_upper_step(self, state: ActivatedState, slopes: Sequence[Slope], stride: float) -> ActivatedState:
        """Make a step of Z_2..Z_m, update Z_1, and compute the objective."""
        chain = state.chain
        for layer, slope in enumerate(slopes, start=1):
            Z = chain.factors[layer] - stride * slope.step()
            chain = chain.with_factor(layer, np.maximum(Z, 0) if chain.nonnegative else Z)
        lowest, top, known = self._statistics(state.codes, chain)
        if not np.isfinite(lowest.K).all():
            return replace(state, loss=np.inf)
        rough = known.roughness
        chain = chain.with_factor(
            0, self._lowest_factor(chain, self.objective.gram_with_graphs(chain, lowest, rough), top)
        )
        loss = self.objective.value(chain, lowest, top, rough)
        return replace(state, chain=chain, known=known, loss=loss)

    def _statistics(self, codes: Array, chain: Chain) -> tuple[Statistics, Statistics, Known]:
        """Compute the statistics of V_1 for Z_1, of the top codes for penalties, and those for graphs."""
        problem, graphs = self.objective.rows(chain, self.engine.dtype), self.objective.graphs
        step = _StatisticsStep(problem, tuple(penalty.layer for penalty in graphs.penalties))
        values, (M, K_lowest, K, code_sums) = self.engine.sweep((codes,), step)
        products = tuple(one.graph.product(V) for one, V in zip(graphs.penalties, values, strict=True))
        lowest = Statistics(M, K_lowest, code_sums, self.engine.sqnorm)
        top = Statistics(np.empty((len(K), 0)), K, code_sums, self.engine.sqnorm)
        return lowest, top, Known(values, products)

    def _lowest_factor(self, chain: Chain, lowest: Statistics, top: Statistics) -> Array:
        """Update Z_1, whose problem is linear in the codes V_1."""
        Z = chain.factors[0]
        if not chain.nonnegative:
            terms = self.objective.factor_terms(chain, 0, top)
            return free_factor(Chain.of([Z], nonnegative=False), 0, lowest, terms, SMALLEST_EIGENVALUE)[0]
        problem = self.objective.lowest_block(chain, lowest, top)
        return over_columns(self.engine.workers, self.solver, Z, problem, STEPS_ON_LOWEST).Z
