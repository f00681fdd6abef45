"""Descent for data with few observed entries: each row, and each column of Z_1, is fitted to its own entries."""

from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine, HoledSparse, Sums
from deepnmf.kernels import descend_observed
from deepnmf.objective import Chain
from deepnmf.solvers.descent import MOST_INNER, ChainDescent, State, Sweep, extrapolated, relative
from deepnmf.solvers.statistics import statistics

PASSES = 3


@dataclass(frozen=True)
class ObservedStep:
    """The pass over one block of rows that fits codes to the observed entries.

    `features` has a row for each column of X. If a second array is given, it marks the entries that stay unchanged.
    """

    features: Array
    nonnegative: bool

    def __call__(self, X_b: HoledSparse, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        """Make passes over the entries of the codes."""
        H, *still = np.array(X_b.by_roots(rows[0]), order="C"), *rows[1:]
        # A row and its codes can be multiplied by the same number without changing the problem.
        X = X_b.by_roots_of_rows()
        sums = descend_observed(X, X_b.weights, self.features, H, PASSES, self.nonnegative, *still)
        return (X_b.without_roots(H),), (np.array(sums),)


@dataclass
class ObservedDescent(ChainDescent):
    """Sweeps over the stored entries of sparse rows with missing entries.

    If missing entries are filled in by the model, they change only a little in each sweep, and with 1 % of the entries
    observed hundreds of sweeps are needed. Here codes and Z_1 are fitted to the observed entries only, and the factors
    above to completed rows.
    """

    def _sweep(self, state: State, departure: Chain) -> Sweep:
        """Update codes and factors, starting from the given factors."""
        D = departure.decoder()
        codes, codes_optimality, _ = self._fitted(self.engine, state.codes, D.T, nonnegative=True)
        rows = self._extrapolated(state, codes)
        chain, optimality, loss = self._update_lowest(departure, rows[0])
        if chain.depth > 1:
            chain, upper_optimality, loss = self._update_upper(chain, rows[0])
            optimality = max(optimality, upper_optimality)
        return Sweep(rows, chain, loss, max(codes_optimality, optimality), self.engine.measured.sqnorm)

    def _extrapolated(self, state: State, codes: Array) -> tuple[Array, ...]:
        if not self.solver.extrapolates:
            return (codes,)
        before = state.codes if state.plain_codes is None else state.plain_codes
        beta = 0.0 if state.plain_codes is None else state.momentum.beta
        return extrapolated(codes, before, beta, nonnegative=True), codes

    def _update_lowest(self, chain: Chain, codes: Array) -> tuple[Chain, float, float]:
        """Update Z_1 column by column, and compute the loss."""
        A = chain.above(0)
        codes = codes if A is None else codes @ A.astype(codes.dtype, copy=False)
        still = () if chain.fixed is None else (np.ascontiguousarray(chain.fixed.mask(len(chain.factors[0])).T),)
        columns, optimality, misfit = self._fitted(
            self.engine.transposed(), chain.factors[0].T, codes, *still, nonnegative=chain.nonnegative
        )
        return chain.with_factor(0, columns.T.astype(np.float64)), optimality, 0.5 * (misfit + self.engine.scatter)

    def _update_upper(self, chain: Chain, codes: Array) -> tuple[Chain, float, float]:
        stats = statistics(self.engine.completed(codes, chain.decoder()), codes)
        chain, optimality = self.update_factors(chain, stats, MOST_INNER, lowest=1)
        return chain, optimality, self.objective.value(chain, stats)

    def _fitted(
        self, engine: Engine, rows: Array, features: Array, *still: Array, nonnegative: bool
    ) -> tuple[Array, float, float]:
        """Return improved rows, how far from optimal they were, and their loss."""
        features = np.ascontiguousarray(features, dtype=engine.dtype)
        step = ObservedStep(features, nonnegative)
        (new,), ((violation, size, misfit),) = engine.sweep((rows.astype(engine.dtype, copy=False), *still), step)
        return new, relative(violation, size), float(misfit)
