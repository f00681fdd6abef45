"""Descent of a nonnegative chain under any beta divergence, with passes over the rows only.

It is used for rows in files or on a cluster, and for losses without coordinate steps. A pass updates the codes for
given factors, measures the loss, and computes the sums for the factors. For the Kullback-Leibler divergence these sums
update all factors by one step of expectation-maximization, so that a sweep is one pass at any depth. For other
divergences they update one factor by the multiplicative update, and a sweep makes a pass for each layer. The loss of
the updated factors is known only after the next pass; therefore a state contains the factors at which its loss was
measured, and the factors of the next sweep.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.objective import Chain, ElasticNet
from deepnmf.objective.divergences import FREE, Divergence, penalty_value
from deepnmf.solvers.descent import ROUNDING
from deepnmf.solvers.divergence_state import MOST_PASSES, ROUGH, DivergenceState, raised, repeated
from deepnmf.solvers.divergence_steps import (
    CoordinateStep,
    MultiplicativeStep,
    RowsProblem,
    constant,
    is_sound_in_single,
    relative,
)
from deepnmf.solvers.expected_counts import Counts, Ratios, expect, multiplied

BOLD = 1.0  # below β = 1 and above β = 2, the exponent that always descends is smaller and needs twice as many sweeps


class Pass(NamedTuple):
    """The result of a pass: new codes, their loss, sums for the factors, and how far codes were from optimal."""

    codes: Array
    plain_codes: Array | None  # before the extrapolation, if there was one
    loss: float
    sums: Counts | Ratios
    optimality: float


@dataclass
class PassSweeps:
    """Sweeps over rows of any engine, under any beta divergence.

    Multiplicative steps never leave 0; therefore zeros of the initialization are raised, and extrapolation uses ratios.
    """

    engine: Engine
    divergence: Divergence
    penalty: ElasticNet = FREE
    multiplies: bool = False  # whether counts are also fitted by multiplicative updates, without extrapolation
    _constant: float = 0.0  # the part of the divergence that does not depend on the model, computed by `start`

    def start(self, codes: Array, chain: Chain, refined: bool = False) -> DivergenceState:
        """Begin at codes and factors, whose zeros are raised a little."""
        codes, chain = raised(codes, chain, self.engine, refined)
        self._constant = constant(self.engine, self.divergence)
        n_passes = MOST_PASSES if refined else 1
        bold = is_sound_in_single(self.engine) if self._counts else self.divergence.exponent < 1
        return DivergenceState(self.engine.as_rows(codes), chain, n_passes=n_passes, bold=bold and not self.multiplies)

    def advance(self, state: DivergenceState) -> DivergenceState:
        """Make one sweep; a sweep that raises the loss is undone."""
        chain, codes, before, optimality = state.departure, state.codes, state.plain_codes, 0.0
        layers = [None] if self._counts else list(range(chain.depth))
        for layer in layers:
            measured = chain
            found = self._pass(codes, before, chain, state)
            if not found.loss <= state.loss + self._rounding(found.loss):
                return state.taken_back()
            codes, before = found.codes, found.plain_codes
            chain, factors_optimality = self._moved(chain, layer, found.sums, state.bold)
            optimality = max(optimality, found.optimality, factors_optimality)
        return DivergenceState(
            codes=codes,
            chain=measured,
            loss=found.loss,
            optimality=optimality,
            plain_codes=before,
            plain=chain,
            ahead=self._ahead(chain, state),
            momentum=state.momentum.after_descent(),
            n_passes=state.more_passes,
            bold=state.bold and not (self._counts and optimality <= ROUGH),
        )

    def settled(self, state: DivergenceState) -> DivergenceState:
        """Return the state itself, whose codes match its factors."""
        return state

    @property
    def _counts(self) -> bool:
        """Whether one pass updates all factors, by expected counts."""
        return self.divergence.is_kl and not self.multiplies

    def _ahead(self, chain: Chain, state: DivergenceState) -> Chain | None:
        if state.plain is None or self.multiplies:
            return None
        pairs = zip(chain.factors, state.plain.factors, strict=True)
        return replace(chain, factors=tuple(repeated(new, old, state.momentum.beta) for new, old in pairs))

    def _moved(self, chain: Chain, layer: int | None, sums: Counts | Ratios, bold: bool) -> tuple[Chain, float]:
        if isinstance(sums, Counts):
            return expect(chain, sums, self.penalty)
        lowest = layer or 0
        chain, optimality = multiplied(chain, lowest, sums, self.divergence, self.penalty, BOLD if bold else None)
        if self.multiplies and self.divergence.beta <= 1:  # as in scikit-learn, tiny entries are set to 0
            Z = chain.factors[lowest]
            chain = chain.with_factor(lowest, np.where(np.finfo(np.float64).eps > Z, 0, Z))
        return chain, optimality

    def _pass(self, codes: Array, before: Array | None, chain: Chain, state: DivergenceState) -> Pass:
        if self._counts:
            return self._counting(codes, chain, state)
        return self._multiplying(codes, codes if before is None else before, chain, state)

    def _counting(self, codes: Array, chain: Chain, state: DivergenceState) -> Pass:
        problem = self._problem(chain)
        steps = problem.in_single if state.bold else None
        step = CoordinateStep(problem, state.n_passes, with_counts=True, measured=True, steps=steps)
        (new,), (code_sums, (violation, fit, square), *M_and_T) = self.engine.sweep((codes,), step)
        loss = float(fit) + self._constant + penalty_value(self.penalty, chain, float(code_sums.sum()), float(square))
        return Pass(new, None, loss, Counts.of(code_sums, *M_and_T), relative(violation, self.engine, problem))

    def _multiplying(self, codes: Array, before: Array, chain: Chain, state: DivergenceState) -> Pass:
        beta = 0.0 if state.plain_codes is None or self.multiplies else state.momentum.beta
        step = MultiplicativeStep(self._problem(chain), exponent=BOLD if state.bold else None, beta=beta)
        (new, plain), (P, Q, (violation, size, fit, total, square)) = self.engine.sweep((codes, before), step)
        loss = float(fit) + self._constant + penalty_value(self.penalty, chain, float(total), float(square))
        return Pass(new, plain, loss, Ratios(P, Q), math.sqrt(violation / size) if size > 0 else 0.0)

    def _problem(self, chain: Chain) -> RowsProblem:
        prices = self.penalty.codes_l1, self.penalty.codes_l2
        return RowsProblem.of(chain.decoder(), self.divergence, *prices, self.engine.dtype)

    def _rounding(self, loss: float) -> float:
        return ROUNDING[self.engine.dtype] * (abs(self._constant) + abs(loss))
