"""Where a descent under a divergence is, and what its two ways of sweeping share."""

import math
from dataclasses import dataclass, replace

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.objective import Chain
from deepnmf.solvers.descent import LIFT, Momentum

MOST_PASSES = 2
LIFT_OF_LEARNED = 1e-6
STEADY = Momentum()
ROUGH = 1e-4  # a relative violation that single precision can still tell
FARTHEST = 4.0  # times what it was, up or down, is an entry extrapolated to by its ratio


@dataclass(frozen=True)
class DivergenceState:
    """Codes and factors at which the loss was measured, and where the next sweep sets out from."""

    codes: Array
    chain: Chain
    loss: float = math.inf
    optimality: float = math.inf
    exhausted: bool = False  # not even a plain sweep descends: what is left is rounding
    plain_codes: Array | None = None  # the codes before they were extrapolated; None: set out plainly
    plain: Chain | None = None  # the factors of a plain next sweep, where it does not begin with those measured
    ahead: Chain | None = None  # the same, extrapolated
    momentum: Momentum = STEADY
    n_passes: int = 1  # over the coordinates, in the next sweep
    bold: bool = False  # whether steps are made that are quicker, and not certain to descend

    @property
    def departure(self) -> Chain:
        """The factors of the next sweep."""
        if self.ahead is not None:
            return self.ahead
        return self.chain if self.plain is None else self.plain

    def taken_back(self) -> "DivergenceState":
        """Forget a sweep that rose; where it had set out plainly, only rounding is left to gain."""
        n_passes = self.more_passes
        if self.ahead is None and self.plain_codes is None:
            return replace(self, exhausted=not self.bold, bold=False, n_passes=n_passes)
        return replace(self, plain_codes=None, ahead=None, momentum=self.momentum.after_rise(), n_passes=n_passes)

    @property
    def more_passes(self) -> int:
        """From a raw start more each sweep: the best codes of factors that are still wrong end in poorer minima."""
        return min(self.n_passes + 1, MOST_PASSES)


def raised(codes: Array, chain: Chain, engine: Engine, refined: bool) -> tuple[Array, Chain]:
    """Raise zeros, which multiplicative steps never leave, to a part of the mean: a tiny one of what was learned."""
    share = LIFT_OF_LEARNED if refined else LIFT
    factors = tuple(np.maximum(Z, share * Z.mean()) for Z in chain.factors)
    return np.maximum(codes, share * engine.mean_over_rows(codes)), replace(chain, factors=factors)


def repeated(new: Array, old: Array, beta: float) -> Array:
    """Z (Z/Z_old)^β: steps that multiply are repeated by multiplying, and 0, which they never leave, is not reached.

    The power is that of a fraction that agrees with it up to the second order, and takes less time.
    """
    ratio = np.divide(new, old, out=np.ones_like(new), where=(old > 0) & (new > 0))
    np.clip(ratio, 1 / FARTHEST, FARTHEST, out=ratio)
    return np.asarray(new * ((1 + beta) * ratio + (1 - beta)) / ((1 - beta) * ratio + (1 + beta)))
