"""Sweeps of NMF on small data, each in one compiled call."""

from dataclasses import dataclass

from deepnmf.arrays import Array
from deepnmf.kernels import sweep_at_once
from deepnmf.objective import Chain
from deepnmf.objective.gram import NEGLIGIBLE_NORM
from deepnmf.solvers.descent import ChainDescent, State, Sweep, inner_steps, relative
from deepnmf.solvers.steps import HALS


@dataclass
class SmallDescent(ChainDescent):
    """The sweeps of `ChainDescent`, compiled for few rows and one layer without penalties, smoothing or fixed entries.

    Other chains are delegated to it.
    """

    def _sweep(self, state: State, departure: Chain) -> Sweep:
        X = self.engine.one_array
        if X is None or not self._is_simple(departure):
            return super()._sweep(state, departure)
        return self._sweep_at_once(X, state, departure)

    def _is_simple(self, chain: Chain) -> bool:
        """Whether the problem is only the squared error of one nonnegative layer, solved by coordinate descent."""
        is_one_layer = chain.depth == 1 and chain.nonnegative and chain.fixed is None and not any(chain.theta)
        return is_one_layer and isinstance(self.solver, HALS) and not self.objective.penalties

    def _sweep_at_once(self, X: Array, state: State, departure: Chain) -> Sweep:
        Z, plain = departure.factors[0], state.plain_codes
        limits = inner_steps(*Z.shape), self._steps_on_factor(departure, 0)
        n_inner = min(limits[0], state.most_inner), min(limits[1], state.most_inner)
        beta = 0.0 if plain is None else state.momentum.beta
        ahead, codes, Z, value, *measured = sweep_at_once(
            X, state.codes, state.codes if plain is None else plain, Z, n_inner, beta, NEGLIGIBLE_NORM**2
        )
        optimality = max(relative(*measured[:2]), relative(*measured[2:]))
        loss = 0.5 * (self.engine.sqnorm + value)
        return Sweep((ahead, codes), departure.with_factor(0, Z), loss, optimality, self.engine.sqnorm)
