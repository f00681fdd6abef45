"""Descent of X ≈ H S_m Z_m ··· S_1 Z_1 under a beta divergence, by the fastest sweeps for loss and data."""

from dataclasses import dataclass

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.engines.entries import rows_and_columns, rows_by_entries
from deepnmf.objective import Chain, ElasticNet
from deepnmf.objective.divergences import FREE, Divergence
from deepnmf.solvers.coordinate_sweeps import CoordinateSweeps
from deepnmf.solvers.divergence_state import DivergenceState
from deepnmf.solvers.loop import Descent
from deepnmf.solvers.pass_sweeps import PassSweeps


@dataclass
class DivergenceDescent(Descent[DivergenceState]):
    """Sweeps of one nonnegative chain on one engine; the loss never rises.

    Parameters
    ----------
    engine : Engine
    divergence : Divergence
        The divergence, in the units of the rows of the engine.
    penalty : ElasticNet
        L1 and L2 of codes and factors.
    by_passes : bool
        Whether sweeps only pass over rows, as they must if these are not in memory.
    multiplies : bool
        Whether all updates are multiplicative, one matrix after the other, without extrapolation.
    """

    engine: Engine
    divergence: Divergence
    penalty: ElasticNet = FREE
    by_passes: bool = False
    multiplies: bool = False

    def __post_init__(self) -> None:
        by_coordinates = self.divergence.is_kl and not self.by_passes and not self.multiplies
        both = rows_and_columns(self.engine) if by_coordinates else None
        self._sweeps: CoordinateSweeps | PassSweeps
        if both is not None:
            self._sweeps = CoordinateSweeps(*both, self.divergence, self.penalty)
        else:
            self._sweeps = PassSweeps(rows_by_entries(self.engine), self.divergence, self.penalty, self.multiplies)

    def start(self, codes: Array, chain: Chain, refined: bool = False) -> DivergenceState:
        """Begin at codes and factors, which are `refined` if they were learned before."""
        return self._sweeps.start(codes, chain, refined)

    def advance(self, state: DivergenceState) -> DivergenceState:
        """Make one sweep."""
        return self._sweeps.advance(state)

    def settled(self, state: DivergenceState) -> DivergenceState:
        """Return the state with codes that match its factors."""
        return self._sweeps.settled(state)
