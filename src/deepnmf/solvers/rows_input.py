"""The fit of a first layer to rows that an engine passes over, complete or with holes."""

from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, RowsWithHoles, Sums
from deepnmf.objective import CodePenalty
from deepnmf.objective.network import Input
from deepnmf.objective.terms import GramFit, Pulls, Term
from deepnmf.solvers.encoding import encode_rows, residual_norm, solve_rows
from deepnmf.solvers.starts import statistics


def rows_input(engine: Engine) -> Input:
    """½‖W∘(X - H Z)‖², W the mask of what was observed."""
    return HoledRows(engine) if isinstance(engine, RowsWithHoles) else CompleteRows(engine)


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
    """½‖W∘(X - H Z)‖²: a pass over X for each value and each gradient, H Z formed a block at a time."""

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
        def step(X_b: Matrix, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
            return tuple(part @ self.Z.T for part in _observed(X_b, rows[0], self.Z)), ()

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

        def step(X_b: Matrix, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
            return (), tuple(part.T @ rows[0] for part in _observed(X_b, rows[0], Z))

        _, (up, down) = self.engine.sweep((self.H,), step)
        return Pulls(up, down)


def _observed(X_b: Matrix, H: Array, Z: Array) -> tuple[Array, Array]:
    """W∘X and W∘HZ of a block."""
    holes = np.isnan(X_b)
    return np.where(holes, 0, X_b), np.where(holes, 0, H @ Z)


def _holed_fit(engine: Engine, H: Array, Z: Array) -> float:
    def step(X_b: Matrix, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        X_seen, model = _observed(X_b, rows[0], Z)
        return (), (np.asarray(np.sum(np.square(X_seen - model), dtype=np.float64)),)

    _, (square,) = engine.sweep((H,), step)
    return 0.5 * float(square)


def observed_residual_norm(engine: Engine, codes: Array, decoder: Array) -> float:
    """‖W∘(X - H D)‖_F from the residual itself."""
    if not isinstance(engine, RowsWithHoles):
        return residual_norm(engine, codes, decoder)
    return float(np.sqrt(2 * _holed_fit(engine, codes, decoder.astype(engine.dtype, copy=False))))


def encode_observed(engine: Engine, decoder: Array) -> Array:
    """argmin_{H >= 0} ½‖W∘(X - H D)‖², each row on its own: one Gram for all complete rows, one for each pattern."""
    if not isinstance(engine, RowsWithHoles):
        return encode_rows(engine, decoder, CodePenalty(np.zeros((len(decoder), len(decoder)))))
    D = decoder.astype(np.float64, copy=False)
    (codes,), _ = engine.sweep((), lambda X_b, _: ((_solve_patterns(X_b, D).astype(engine.dtype, copy=False),), ()))
    return codes


def _solve_patterns(X_b: Array, D: Array) -> Array:
    patterns, which = np.unique(~np.isnan(X_b), axis=0, return_inverse=True)
    codes = np.empty((len(X_b), len(D)))
    for number, seen in enumerate(patterns):
        rows, D_seen = np.flatnonzero(which.ravel() == number), D[:, seen]
        codes[rows] = solve_rows(D_seen @ D_seen.T, X_b[np.ix_(rows, seen)] @ D_seen.T)
    return codes
