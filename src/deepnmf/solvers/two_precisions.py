"""Early sweeps in single precision, in which products with X, the largest part of a sweep, take half the time.

Sums and losses are in double precision, so that rounding errors are far below the decrease of an early sweep. Later
sweeps are in the precision of the data, and only these can end a fit.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels import StoppingRule
from deepnmf.objective import Chain
from deepnmf.solvers.descent import State
from deepnmf.solvers.loop import AdvanceFar, rough_rule
from deepnmf.solvers.small_descent import SmallDescent

SINGLE = np.dtype(np.float32)
LEAST_LOSS = 1e-5  # of ½‖X‖²: the loss is a difference of such numbers, and smaller losses have too few digits


@dataclass
class TwoPrecisions(SmallDescent):
    """Sweeps on X in single precision while they gain much, then in the precision of X."""

    _rough: SmallDescent | None = field(default=None, init=False)

    def start(self, codes: Array, chain: Chain, refined: bool = False) -> State:
        """Begin at codes and factors, in single precision."""
        state = super().start(codes, chain, refined)
        return replace(state, codes=state.codes.astype(SINGLE))

    def advance(self, state: State) -> State:
        """Make one sweep, in the precision of the state."""
        if self._is_fine(state):
            return super().advance(_measured_anew(state))
        return self._after_rough(self._in_single_precision().advance(state))

    @property
    def advance_far(self) -> AdvanceFar[State] | None:
        """Make many sweeps in one call, in the precision of the state."""
        return self._advance_in_one_precision

    def _advance_in_one_precision(
        self, state: State, rule: StoppingRule, losses: list[float], first: float, max_iter: int
    ) -> tuple[State, float]:
        if self._is_fine(state):
            return self._advance_far(_measured_anew(state), rule, losses, first, max_iter)
        rough = self._in_single_precision()
        state, first = rough._advance_far(state, rough_rule(rule), losses, first, max_iter)
        return self._after_rough(state), first

    def finer(self, state: State) -> State:
        """Return the state in the precision of the data; the next sweep does not extrapolate."""
        if self._is_fine(state):
            return state
        self._rough = None  # and with it the copy of X
        codes = state.codes.astype(self.engine.dtype)
        return replace(state, codes=codes, optimality=np.inf, exhausted=False, plain_codes=None, ahead=None)

    def _is_fine(self, state: State) -> bool:
        return state.codes.dtype == self.engine.dtype

    def _in_single_precision(self) -> SmallDescent:
        self._rough = self._rough or SmallDescent(
            self.engine.in_single_precision(),
            self.objective,
            self.solver,
            factor_dtype=np.float32,
            least_loss=LEAST_LOSS * 0.5 * self.engine.sqnorm,
        )
        return self._rough

    def _after_rough(self, state: State) -> State:
        return self.finer(state) if state.exhausted else state


def _measured_anew(state: State) -> State:
    """Forget a loss that was measured in single precision."""
    return replace(state, loss=np.inf) if np.isinf(state.optimality) else state
