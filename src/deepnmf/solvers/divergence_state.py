"""The state of a descent under a divergence, and functions that both kinds of sweeps share."""

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
ROUGH = 1e-4  # a relative violation that single precision can still resolve
FARTHEST = 4.0  # largest factor, up or down, of an extrapolation by ratios


@dataclass(frozen=True)
class DivergenceState:
    """Codes and factors at which the loss was measured, and the starting point of the next sweep."""

    codes: Array
    chain: Chain
    loss: float = math.inf
    optimality: float = math.inf
    exhausted: bool = False  # not even a sweep without extrapolation descends, because of rounding
    plain_codes: Array | None = None  # the codes before the extrapolation; None: the next sweep does not extrapolate
    plain: Chain | None = None  # the factors of a next sweep without extrapolation, if not those of the loss
    ahead: Chain | None = None  # the same, extrapolated
    momentum: Momentum = STEADY
    n_passes: int = 1  # over the coordinates, in the next sweep
    bold: bool = False  # whether steps are faster, but may raise the loss

    @property
    def departure(self) -> Chain:
        """The factors of the next sweep."""
        if self.ahead is not None:
            return self.ahead
        return self.chain if self.plain is None else self.plain

    def taken_back(self) -> "DivergenceState":
        """Undo a sweep that raised the loss; if it did not extrapolate, only rounding errors are left."""
        n_passes = self.more_passes
        if self.ahead is None and self.plain_codes is None:
            return replace(self, exhausted=not self.bold, bold=False, n_passes=n_passes)
        return replace(self, plain_codes=None, ahead=None, momentum=self.momentum.after_rise(), n_passes=n_passes)

    @property
    def more_passes(self) -> int:
        """One pass more in each early sweep, because optimal codes for wrong factors lead to poorer minima."""
        return min(self.n_passes + 1, MOST_PASSES)


def raised(codes: Array, chain: Chain, engine: Engine, refined: bool) -> tuple[Array, Chain]:
    """Raise zeros, which multiplicative steps never leave, to a fraction of the mean, tiny for learned arrays."""
    share = LIFT_OF_LEARNED if refined else LIFT
    factors = tuple(np.maximum(Z, share * Z.mean()) for Z in chain.factors)
    return np.maximum(codes, share * engine.mean_over_rows(codes)), replace(chain, factors=factors)


def repeated(new: Array, old: Array, beta: float) -> Array:
    """Z (Z/Z_old)^β: multiplicative steps are extrapolated by multiplication, which never reaches 0.

    The power is approximated by a fraction that agrees to second order and is faster.
    """
    ratio = np.divide(new, old, out=np.ones_like(new), where=(old > 0) & (new > 0))
    np.clip(ratio, 1 / FARTHEST, FARTHEST, out=ratio)
    return np.asarray(new * ((1 + beta) * ratio + (1 - beta)) / ((1 - beta) * ratio + (1 + beta)))
