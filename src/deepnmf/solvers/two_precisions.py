"""Early sweeps in single precision, in which products with X, the largest part of a sweep, take half the time.

Sums and losses are in double precision, so that rounding errors are far below the decrease of an early sweep. Later
sweeps are in the precision of the data, and only these can end a fit.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective import Chain
from deepnmf.solvers.descent import State
from deepnmf.solvers.loop import AdvanceFar
from deepnmf.solvers.small_descent import SmallDescent

SINGLE = np.dtype(np.float32)
LEAST_LOSS = 1e-3  # of ½‖X‖²: the loss is a difference of such numbers, and smaller losses have too few digits


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
        if state.codes.dtype == self.engine.dtype:
            measured_roughly = np.isinf(state.optimality)
            return super().advance(replace(state, loss=np.inf) if measured_roughly else state)
        self._rough = self._rough or SmallDescent(
            self.engine.in_single_precision(), self.objective, self.solver, factor_dtype=np.float32
        )
        reached = self._rough.advance(state)
        is_close = reached.loss < LEAST_LOSS * 0.5 * self.engine.sqnorm
        return self.finer(reached) if is_close or reached.exhausted else reached

    @property
    def advance_far(self) -> AdvanceFar[State] | None:
        """Make many sweeps in one call; None, because the precision is chosen after every sweep."""
        return None

    def finer(self, state: State) -> State:
        """Return the state in the precision of the data; the next sweep does not extrapolate."""
        if state.codes.dtype == self.engine.dtype:
            return state
        self._rough = None  # and with it the copy of X
        codes = state.codes.astype(self.engine.dtype)
        return replace(state, codes=codes, optimality=np.inf, exhausted=False, plain_codes=None, ahead=None)
