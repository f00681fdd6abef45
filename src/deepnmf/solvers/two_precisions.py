"""Early sweeps in single precision: products with X, most of a sweep, then take half the time.

Sums and losses are in double precision all the same, so that rounding is far below what an early sweep gains. The
sweeps after them are in the precision of the data, and only these can end a fit.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective import Chain
from deepnmf.solvers.descent import State
from deepnmf.solvers.small_descent import SmallDescent

SINGLE = np.dtype(np.float32)
LEAST_LOSS = 1e-3  # of ½‖X‖²: the loss is a difference of such numbers, and below this too few digits are left of it


@dataclass
class TwoPrecisions(SmallDescent):
    """Sweeps on X in single precision, as long as they gain much, then on X as it is."""

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

    def finer(self, state: State) -> State:
        """The state in the precision of the data; the next sweep sets out plainly."""
        if state.codes.dtype == self.engine.dtype:
            return state
        self._rough = None  # and with it the copy of X
        codes = state.codes.astype(self.engine.dtype)
        return replace(state, codes=codes, optimality=np.inf, exhausted=False, plain_codes=None, ahead=None)
