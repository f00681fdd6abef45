"""The fit of the first layer of a hierarchy to the data: by squared error or by the Kullback-Leibler divergence."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.engines.entries import entry_parts, stored_entries, stored_rows
from deepnmf.kernels import descend_layers, descend_layers_of_counts
from deepnmf.kernels.layered_codes import UpperLayers
from deepnmf.kernels.poisson import Entries
from deepnmf.objective import FixedEntries
from deepnmf.objective.divergences import Divergence
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.divergence_state import repeated
from deepnmf.solvers.divergence_steps import CoordinateStep, RowsProblem, constant, few_rows, stored_ratios
from deepnmf.solvers.layer_steps import (
    FactorSteps,
    SquaredSteps,
    bound_pushes,
    expected_rows,
    lifted,
    violation_of_counts,
    with_sums,
    without_lift,
)
from deepnmf.solvers.statistics import block_statistics


class DataFit(FactorSteps):
    """d(X | H_1 Z_1) for rows of an engine; entries of Z_1 may be fixed.

    Rows of Z_1 whose scale is fixed need not keep a norm or sum: their learned entries are unconstrained.
    """

    fixed: FixedEntries | None

    def over(self, engine: Engine) -> "DataFit":
        """Return the fit with the constants of its value for the rows of an engine."""
        return self

    @abstractmethod
    def rows(self, engine: Engine, codes: Array, Z: Array) -> Engine:
        """Return the rows that a pass reads, for given codes and factor."""

    @abstractmethod
    def problem(self, Z: Array, dtype: Any) -> "RowsFit":
        """Return the data term of the problem of the codes."""

    @abstractmethod
    def value(self, engine: Engine, Z: Array, sums: Sequence[Array]) -> float:
        """Return the loss, from the sums of a pass."""


class RowsFit(ABC):
    """The fit of blocks of rows with Z_1 fixed; picklable, for passes in other processes."""

    @abstractmethod
    def descend(self, X_b: Block, H: Array, upper: UpperLayers, n_passes: int, tol: float = 0.0) -> None:
        """Improve the codes of all layers for the rows of a block, in place."""

    @abstractmethod
    def sums(self, X_b: Block, H: Array) -> Sums:
        """Return the sums over the codes H_1 of a block for the value and the step of Z_1."""

    @abstractmethod
    def slopes(self, X_b: Block, H: Array) -> tuple[Array, Array]:
        """Return the gradient of the fit in H_1, row by row, and the part that is its scale."""


# ------------------------------------------------------------------------------------------------ squared error


@dataclass(frozen=True)
class SquaredFit(SquaredSteps, DataFit):
    """½‖X - H_1 Z_1‖²; unobserved entries are filled in by the model, which never raises the loss."""

    fixed: FixedEntries | None = None

    def best_row(self, number: int, pull: Array, curvature: float, row: Array) -> Array:
        if self.fixed is None or number >= len(self.fixed.values):
            return super().best_row(number, pull, curvature, row)
        known = self.fixed.known[number]
        if not self.fixed.have_scale[number]:
            return super().best_row(number, np.where(known, 0, pull), curvature, row)
        return np.where(known, row, np.maximum(pull / curvature, 0)) if curvature > 0 else row

    def extrapolated(self, new: Array, old: Array, beta: float) -> Array:
        return _beside_fixed(self.fixed, super().extrapolated(new, old, beta), new)

    def free_gradient(self, Z: Array, gradient: Array) -> Array:
        free = _with_free_rows(self.fixed, super().free_gradient(Z, gradient), gradient)
        return free if self.fixed is None else self.fixed.at_learned(free)

    def rows(self, engine: Engine, codes: Array, Z: Array) -> Engine:
        return engine.completed(codes, Z)

    def problem(self, Z: Array, dtype: Any) -> "SquaredRows":
        return SquaredRows(np.ascontiguousarray(Z.T, dtype=dtype), Z @ Z.T)

    def value(self, engine: Engine, Z: Array, sums: Sequence[Array]) -> float:
        M, K, _ = sums
        return 0.5 * (engine.sqnorm + inner(K @ Z - 2 * M, Z))


@dataclass(frozen=True)
class SquaredRows(RowsFit):
    """Gram matrix and features of Z_1."""

    features: Array  # Z_1ᵀ
    gram: Array

    def descend(self, X_b: Block, H: Array, upper: UpperLayers, n_passes: int, tol: float = 0.0) -> None:
        """Descend by the normal equations of each row, which differ if entries are unobserved."""
        for own in X_b.normal_equations(self.features):
            part = np.ascontiguousarray(H[own.rows])
            descend_layers(part, own.target, self.gram if own.gram is None else own.gram, upper, n_passes, tol)
            H[own.rows] = part

    def sums(self, X_b: Block, H: Array) -> Sums:
        return block_statistics(X_b, H)

    def slopes(self, X_b: Block, H: Array) -> tuple[Array, Array]:
        target, slopes = np.empty_like(H), np.empty_like(H)
        for own in X_b.normal_equations(self.features):
            target[own.rows] = own.target
            slopes[own.rows] = H[own.rows] @ (self.gram if own.gram is None else own.gram) - own.target
        return slopes, target


# ------------------------------------------------------------------------------------------------------- counts


@dataclass(frozen=True)
class CountsFit(DataFit):
    """KL(X | H_1 Z_1) over the observed entries."""

    divergence: Divergence
    constant: float = 0.0  # the part of the divergence that does not depend on the model
    fixed: FixedEntries | None = None

    def over(self, engine: Engine) -> "CountsFit":
        return replace(self, constant=constant(engine, self.divergence))

    def rows(self, engine: Engine, codes: Array, Z: Array) -> Engine:
        return engine

    def problem(self, Z: Array, dtype: Any) -> "CountsRows":
        return CountsRows(RowsProblem.of(Z, self.divergence, 0.0, 0.0, dtype))

    def value(self, engine: Engine, Z: Array, sums: Sequence[Array]) -> float:
        return float(sums[1][1]) + self.constant

    def moved(self, Z: Array, sums: Sequence[Array]) -> Array:
        """Make one step of expectation-maximization."""
        code_sums, _, M, *T = sums
        N, pushes = Z * M.T, T[0].T if T else None
        new = lifted(expected_rows(N, Z.sum(axis=1), pushes))
        return _beside_fixed(self.fixed, new, _unbound(N, code_sums[:, None] if pushes is None else pushes))

    def settled(self, Z: Array) -> Array:
        return _beside_fixed(self.fixed, without_lift(Z), Z)

    def violation(self, Z: Array, sums: Sequence[Array]) -> tuple[float, float]:
        code_sums, _, M, *T = sums
        pushes = T[0].T if T else np.repeat(code_sums[:, None], Z.shape[1], axis=1)
        bound = _with_free_rows(self.fixed, bound_pushes(Z, M.T, pushes), pushes)
        pulls = M.T if self.fixed is None else np.where(self.fixed.mask(len(Z)), bound, M.T)  # no slope where fixed
        return violation_of_counts(Z, pulls, bound)

    def remembered(self, Z: Array, sums: Sequence[Array]) -> tuple[Array, ...]:
        """Return expected counts, and HᵀW."""
        code_sums, _, M, *T = sums
        return Z * M.T, T[0].T if T else np.repeat(code_sums[:, None], Z.shape[1], axis=1)

    def remembered_of_codes(self, Z: Array, H: Array) -> tuple[Array, ...]:
        code_sums = np.repeat(H.sum(axis=0)[:, None], Z.shape[1], axis=1)
        return Z * code_sums, code_sums

    def moved_by_memory(self, Z: Array, remembered: Sequence[Array]) -> Array:
        N, T = remembered
        return _beside_fixed(self.fixed, lifted(expected_rows(N, Z.sum(axis=1), T)), _unbound(N, T))

    def extrapolated(self, new: Array, old: Array, beta: float) -> Array:
        return _beside_fixed(self.fixed, with_sums(repeated(new, old, beta), new.sum(axis=1)), new)


def _with_free_rows(fixed: FixedEntries | None, bound: Array, unbound: Array) -> Array:
    """Combine the values for rows with a constant norm or sum, and for rows with a fixed scale, which are free."""
    if fixed is None:
        return bound
    bound, free = bound.copy(), np.flatnonzero(fixed.have_scale)
    bound[free] = unbound[free]
    return bound


def _beside_fixed(fixed: FixedEntries | None, Z: Array, unbound: Array) -> Array:
    """Insert the fixed entries into Z; rows with a fixed scale take their learned entries from `unbound`."""
    return Z if fixed is None else fixed.put_into(_with_free_rows(fixed, Z, unbound))


def _unbound(N: Array, pushes: Array) -> Array:
    """Divide expected counts by contributions to Σ X̂: the step of expectation-maximization without constraint."""
    return np.divide(N, pushes, out=np.zeros_like(N), where=(N > 0) & (pushes > 0))


@dataclass(frozen=True)
class CountsRows(RowsFit):
    """Features of Z_1 and their sums."""

    problem: RowsProblem

    def descend(self, X_b: Block, H: Array, upper: UpperLayers, n_passes: int, tol: float = 0.0) -> None:
        for part, entries in entry_parts(X_b):
            stored = entries if isinstance(entries, Entries) else stored_entries(entries)
            descend_layers_of_counts(H[part], stored, self.problem.counts, upper, n_passes, tol)

    def sums(self, X_b: Block, H: Array) -> Sums:
        """Return sums of codes, the fit, (X/X̂)ᵀH, and WᵀH if entries have weights."""
        return CoordinateStep(self.problem, 0, with_counts=True, measured=True)(X_b, (H,))[1]

    def slopes(self, X_b: Block, H: Array) -> tuple[Array, Array]:
        D, loss = self.problem.decoder, self.problem.divergence
        if (stored := stored_rows(X_b)) is not None:
            price = np.broadcast_to(self.problem.sums, H.shape)
            return price - stored_ratios(stored, H, self.problem)[0] @ D.T, price
        slopes, price = np.empty_like(H), np.empty_like(H)
        for part, x, weights in few_rows(X_b):
            pull, push = loss.powers(x, np.maximum(H[part] @ D, loss.epsilon), weights)
            slopes[part], price[part] = (push - pull) @ D.T, push @ D.T
        return slopes, price
