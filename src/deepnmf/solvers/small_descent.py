"""Sweeps of NMF on small data, many in one compiled call."""

from dataclasses import astuple, dataclass, replace

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels import Position, SmallProblem, StoppingRule, sweeps_at_once
from deepnmf.objective import Chain
from deepnmf.objective.gram import NEGLIGIBLE_NORM
from deepnmf.objective.penalties import ElasticNet
from deepnmf.solvers.descent import ROUNDING, ChainDescent, Momentum, State, inner_steps
from deepnmf.solvers.loop import AdvanceFar
from deepnmf.solvers.steps import HALS

SWEEPS_AT_ONCE = 64  # a compiled call cannot be interrupted
NEVER = StoppingRule(tol=0.0)


@dataclass
class SmallDescent(ChainDescent):
    """The sweeps of `ChainDescent`, compiled for few rows and one layer.

    Other chains, and those with smoothing, fixed entries or penalties other than `ElasticNet`, are delegated to it.
    """

    def advance(self, state: State) -> State:
        """Make one sweep."""
        X = self._simple_rows(state.chain)
        return super().advance(state) if X is None else self._swept(X, state, NEVER, [], 0.0, 1)[0]

    @property
    def advance_far(self) -> AdvanceFar[State] | None:
        """Make many sweeps in one call."""
        return self._advance_far

    def _advance_far(
        self, state: State, rule: StoppingRule, losses: list[float], first: float, max_iter: int
    ) -> tuple[State, float]:
        X = self._simple_rows(state.chain)
        if X is not None:
            return self._swept(X, state, rule, losses, first, min(max_iter - len(losses), SWEEPS_AT_ONCE))
        reached = self.advance(state)
        losses.append(reached.loss)
        return reached, reached.optimality if len(losses) == 1 else first

    def _simple_rows(self, chain: Chain) -> Array | None:
        """Return X if the problem is that of scikit-learn's NMF under squared error, solved by coordinate descent."""
        is_one_layer = chain.depth == 1 and chain.nonnegative and chain.fixed is None and not any(chain.theta)
        has_simple_penalties = all(isinstance(penalty, ElasticNet) for penalty in self.objective.penalties)
        is_simple = is_one_layer and has_simple_penalties and isinstance(self.solver, HALS)
        return self.engine.one_array if is_simple else None

    def _swept(
        self, X: Array, state: State, rule: StoppingRule, losses: list[float], first: float, n_most: int
    ) -> tuple[State, float]:
        passes = inner_steps(*state.chain.factors[0].shape), self._steps_on_factor(state.chain, 0)
        sqnorm, rounding = self.engine.sqnorm, ROUNDING[X.dtype]
        weights = [astuple(penalty) for penalty in self.objective.penalties if isinstance(penalty, ElasticNet)]
        sums = (float(sum(one)) for one in zip(*weights, strict=True))
        rounds_gram = self.factor_dtype != np.float64
        problem = SmallProblem(X, sqnorm, rounding, self.least_loss, NEGLIGIBLE_NORM**2, *passes, rounds_gram, *sums)
        all_losses = np.empty(len(losses) + n_most)
        all_losses[: len(losses)] = losses
        position, n_sweeps, first = sweeps_at_once(problem, position_of(state), rule, all_losses, len(losses), first)
        losses += all_losses[len(losses) : n_sweeps].tolist()
        return state_at(position, state.chain), first


def position_of(state: State) -> Position:
    """Return a state in the form that compiled sweeps take."""
    Z = state.chain.factors[0]
    extrapolates = state.ahead is not None
    return Position(
        codes=state.codes,
        plain_codes=state.codes if state.plain_codes is None else state.plain_codes,
        Z=Z,
        ahead=Z if state.ahead is None else state.ahead.factors[0],
        extrapolates=extrapolates,
        loss=state.loss,
        optimality=state.optimality,
        most_inner=state.most_inner,
        n_plain=state.n_plain,
        is_exhausted=state.exhausted,
        beta=state.momentum.beta,
        ceiling=state.momentum.ceiling,
    )


def state_at(position: Position, chain: Chain) -> State:
    """Return a state from the form that compiled sweeps return."""
    return State(
        codes=position.codes,
        chain=replace(chain, factors=(position.Z,)),
        loss=position.loss,
        optimality=position.optimality,
        most_inner=position.most_inner,
        n_plain=position.n_plain,
        exhausted=position.is_exhausted,
        plain_codes=position.plain_codes if position.extrapolates else None,
        ahead=replace(chain, factors=(position.ahead,)) if position.extrapolates else None,
        momentum=Momentum(position.beta, position.ceiling),
    )
