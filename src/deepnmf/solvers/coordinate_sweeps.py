"""Descent of a nonnegative chain under the Kullback-Leibler divergence, for X in memory.

A sweep makes coordinate steps on the codes in a pass over the rows, one step of expectation-maximization on the upper
factors, and coordinate steps on Z_1 in a pass over the columns: in X ≈ (H A_1) Z_1, a column of Z_1 has the same role
for a column of X as a code for a row. The second pass also measures the divergence. Codes and factors are extrapolated.
Early steps are made in single precision and measured in double precision.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.objective import Chain, ElasticNet
from deepnmf.objective.divergences import FREE, Divergence, penalty_value
from deepnmf.solvers.descent import ROUNDING, extrapolated
from deepnmf.solvers.divergence_state import MOST_PASSES, ROUGH, DivergenceState, raised, repeated
from deepnmf.solvers.divergence_steps import (
    CoordinateStep,
    RowsProblem,
    constant,
    is_sound_in_single,
    relative,
)
from deepnmf.solvers.expected_counts import Counts, expect

SETTLING_PASSES = 4


class _Codes(NamedTuple):
    """The result of the pass over the rows."""

    codes: Array
    plain: Array  # before the extrapolation
    counts: Counts
    square: float
    optimality: float


@dataclass
class CoordinateSweeps:
    """Sweeps over rows and columns in memory.

    A sweep with extrapolation that raises the loss is undone; the next one starts without extrapolation and always
    descends.
    """

    rows: Engine
    columns: Engine
    divergence: Divergence
    penalty: ElasticNet = FREE
    _constant: float = 0.0  # Σ x log x - x, computed by `start`

    def start(self, codes: Array, chain: Chain, refined: bool = False) -> DivergenceState:
        """Begin at codes and factors; zeros are raised a little, because steps have no length where x̂ is 0.

        If the codes and factors are learned, only zeros of upper factors are raised, which steps would never leave.
        """
        above_zero, chain_above_zero = raised(codes, chain, self.rows, refined)
        if refined:
            chain = replace(chain, factors=(chain.factors[0], *chain_above_zero.factors[1:]))
        else:
            codes, chain = above_zero, chain_above_zero
        self._constant = constant(self.rows, self.divergence)
        n_passes = MOST_PASSES if refined else 1
        return DivergenceState(self.rows.as_rows(codes), chain, n_passes=n_passes, bold=is_sound_in_single(self.rows))

    def advance(self, state: DivergenceState) -> DivergenceState:
        """Make one sweep; a sweep that raises the loss is undone."""
        chain = state.departure
        moved = self._move_codes(state, chain)
        chain, upper_optimality = expect(chain, moved.counts, self.penalty, lowest=1)
        chain, fit, lowest_optimality = self._move_lowest(chain, moved, state)
        loss = fit + penalty_value(self.penalty, chain, float(moved.counts.code_sums.sum()), moved.square)
        if not loss <= state.loss + ROUNDING[self.rows.dtype] * (abs(self._constant) + abs(loss)):
            return state.taken_back()
        optimality = max(moved.optimality, upper_optimality, lowest_optimality)
        return DivergenceState(
            codes=moved.codes,
            chain=chain,
            loss=loss,
            optimality=optimality,
            plain_codes=moved.plain,
            ahead=self._ahead(chain, state),
            momentum=state.momentum.after_descent(),
            n_passes=state.more_passes,
            bold=state.bold and optimality > ROUGH,
        )

    def settled(self, state: DivergenceState) -> DivergenceState:
        """Return the same factors with nearly optimal codes: those of a sweep precede the update of the factors."""
        problem = self._codes_problem(state.chain)
        steps = problem.in_single if state.bold else None
        step = CoordinateStep(problem, SETTLING_PASSES, measured=True, steps=steps)
        (codes,), (code_sums, (_, fit, square)) = self.rows.sweep((state.codes,), step)
        loss = float(fit) + self._constant + penalty_value(self.penalty, state.chain, float(code_sums.sum()), square)
        if not loss < state.loss < math.inf:
            return state
        return replace(state, codes=codes, loss=loss, plain_codes=None, ahead=None)

    @staticmethod
    def _ahead(chain: Chain, state: DivergenceState) -> Chain:
        beta = state.momentum.beta if math.isfinite(state.loss) else 0.0
        lowest = extrapolated(chain.factors[0], state.chain.factors[0], beta, nonnegative=True)
        pairs = zip(chain.factors[1:], state.chain.factors[1:], strict=True)
        return replace(chain, factors=(lowest, *(repeated(new, old, beta) for new, old in pairs)))

    def _move_codes(self, state: DivergenceState, chain: Chain) -> _Codes:
        problem = self._codes_problem(chain)
        plainly = state.plain_codes is None
        step = CoordinateStep(
            problem,
            state.n_passes,
            beta=0.0 if plainly else state.momentum.beta,
            with_counts=chain.depth > 1,
            steps=problem.in_single if state.bold else None,
        )
        before = state.codes if state.plain_codes is None else state.plain_codes
        (codes, plain), (sums, (violation, _, square), *M_and_T) = self.rows.sweep((state.codes, before), step)
        counts = Counts.of(sums, *M_and_T)
        return _Codes(codes, plain, counts, float(square), relative(violation, self.rows, problem))

    def _codes_problem(self, chain: Chain) -> RowsProblem:
        prices = self.penalty.codes_l1, self.penalty.codes_l2
        return RowsProblem.of(chain.decoder(), self.divergence, *prices, self.rows.dtype)

    def _move_lowest(self, chain: Chain, moved: _Codes, state: DivergenceState) -> tuple[Chain, float, float]:
        """Update Z_1 column by column, and measure the divergence."""
        A, features, sums = chain.above(0), moved.codes, moved.counts.code_sums
        if A is not None:
            features, sums = features @ A.astype(features.dtype), sums @ A
        prices = self.penalty.factor_l1, self.penalty.factor_l2
        problem = RowsProblem.in_precision(features, sums, self.divergence, *prices, self.rows.dtype)
        Z = np.ascontiguousarray(chain.factors[0].T, dtype=self.rows.dtype)
        still = () if chain.fixed is None else (np.ascontiguousarray(chain.fixed.mask(len(chain.factors[0])).T),)
        steps = problem.in_single if state.bold else None
        step = CoordinateStep(problem, state.n_passes, measured=True, steps=steps, has_still=bool(still))
        (new,), (_, (violation, fit, _)) = self.columns.sweep((Z, *still), step)
        chain = chain.with_factor(0, new.T.astype(np.float64, copy=False))
        return chain, float(fit) + self._constant, relative(violation, self.columns, problem)
