"""The fit of a first layer to the rows of an engine, complete or with missing entries."""

from dataclasses import dataclass

from deepnmf.arrays import Array
from deepnmf.engines import Engine, Holed, Sums
from deepnmf.objective.network_energy import Input
from deepnmf.objective.terms import GramFit, Pulls, Term
from deepnmf.solvers.encoding import residual_norm
from deepnmf.solvers.statistics import statistics


def rows_input(engine: Engine) -> Input:
    """½‖W∘(X - H Z)‖² with the mask W of observed entries."""
    return CompleteRows(engine) if engine.is_complete else HoledRows(engine)


@dataclass(frozen=True)
class CompleteRows:
    """½‖X - H Z‖² in Gram form: one pass over X for each side."""

    engine: Engine

    def on_codes(self, Z: Array) -> Term:
        gram = (Z @ Z.T).astype(self.engine.dtype, copy=False)
        return GramFit(self.engine.project(Z), gram, self.engine.sqnorm)

    def on_factor(self, H: Array) -> Term:
        stats = statistics(self.engine, H)
        return GramFit(stats.M.T, stats.K, self.engine.sqnorm)


@dataclass(frozen=True)
class HoledRows:
    """½‖W∘(X - H Z)‖², with a pass over X for each value and each gradient, in which H Z is formed block by block."""

    engine: Engine

    def on_codes(self, Z: Array) -> Term:
        return _HoledCodes(self.engine, Z.astype(self.engine.dtype, copy=False))

    def on_factor(self, H: Array) -> Term:
        return _HoledFactor(self.engine, H)


@dataclass(frozen=True)
class _HoledCodes:
    engine: Engine
    Z: Array

    def value(self, V: Array) -> float:
        return _holed_fit(self.engine, V, self.Z)

    def pulls(self, V: Array) -> Pulls:
        def step(X_b: Holed, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
            return tuple(part @ self.Z.T for part in X_b.observed(rows[0], self.Z)), ()

        (up, down), _ = self.engine.sweep((V,), step)
        return Pulls(up, down)


@dataclass(frozen=True)
class _HoledFactor:
    engine: Engine
    H: Array

    def value(self, V: Array) -> float:
        return _holed_fit(self.engine, self.H, V.T.astype(self.H.dtype, copy=False))

    def pulls(self, V: Array) -> Pulls:
        Z = V.T.astype(self.H.dtype, copy=False)

        def step(X_b: Holed, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
            return (), tuple((rows[0].T @ part).T for part in X_b.observed(rows[0], Z))

        _, (up, down) = self.engine.sweep((self.H,), step)
        return Pulls(up, down)


def _holed_fit(engine: Engine, H: Array, Z: Array) -> float:
    return 0.5 * residual_norm(engine, H, Z) ** 2
