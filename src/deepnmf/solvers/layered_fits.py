"""How the first layer of a hierarchy fits the data: by squared error, or by the Kullback-Leibler divergence for counts.

Each row of Z_1 keeps its norm (squared error) or its sum (counts): otherwise growing features and shrinking codes would
make what the layers above cost vanish.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.engines.entries import entry_parts, stored_entries
from deepnmf.kernels import descend_layers, descend_layers_of_counts
from deepnmf.kernels.layered_codes import UpperLayers
from deepnmf.kernels.poisson import Entries
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.divergences import Divergence
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.descent import extrapolated
from deepnmf.solvers.divergence_state import LIFT_OF_LEARNED, repeated
from deepnmf.solvers.divergence_steps import CoordinateStep, RowsProblem, constant
from deepnmf.solvers.statistics import block_statistics

ROWS_TOGETHER = 32  # rows of Z_1 whose slopes one product computes
ROOT_STEPS = 60
SMALLEST_SHARE = 1e-12  # of the weights that a shift leaves: less would be lost in rounding


class DataFit(ABC):
    """d(X | H_1 Z_1) for rows of an engine."""

    @abstractmethod
    def rows(self, engine: Engine, codes: Array, Z: Array) -> Engine:
        """The rows that a pass reads, where codes and factor are these."""

    @abstractmethod
    def problem(self, Z: Array, dtype: Any) -> "RowsFit":
        """The part of the codes' problem that belongs to the data."""

    @abstractmethod
    def value(self, engine: Engine, Z: Array, sums: Sequence[Array]) -> float:
        """The loss of the codes that the sums of a pass belong to."""

    @abstractmethod
    def moved(self, Z: Array, sums: Sequence[Array]) -> Array:
        """Z_1 after one step, with norms or sums of rows as before."""

    @abstractmethod
    def remembered(self, Z: Array, sums: Sequence[Array]) -> list[Array]:
        """What batches add up for the step of Z_1, two arrays."""

    @abstractmethod
    def remembered_of_codes(self, Z: Array, H: Array) -> list[Array]:
        """The same as if the data had been H Z."""

    @abstractmethod
    def moved_by_memory(self, Z: Array, remembered: Sequence[Array]) -> Array:
        """Z_1 after one step by what all batches have added up."""

    @abstractmethod
    def extrapolated(self, new: Array, old: Array, beta: float) -> Array:
        """Z_1 beyond `new`, seen from `old`, with norms or sums of rows as they are."""


class RowsFit(ABC):
    """The fit of blocks of rows to the data with Z_1 fixed; picklable, for passes in other processes."""

    @abstractmethod
    def descend(self, X_b: Block, H: Array, upper: UpperLayers, n_passes: int, tol: float = 0.0) -> None:
        """Lower the loss of the rows of a block in all their codes, in place."""

    @abstractmethod
    def sums(self, X_b: Block, H: Array) -> Sums:
        """What value and step of Z_1 need to know of the codes H_1 of a block."""


# ------------------------------------------------------------------------------------------------ squared error


class SquaredFit(DataFit):
    """½‖X - H_1 Z_1‖²; entries that were not observed are filled in by the model, which never raises the loss."""

    def rows(self, engine: Engine, codes: Array, Z: Array) -> Engine:
        return engine.completed(codes, Z)

    def problem(self, Z: Array, dtype: Any) -> "SquaredRows":
        return SquaredRows(np.ascontiguousarray(Z.T, dtype=dtype), Z @ Z.T)

    def value(self, engine: Engine, Z: Array, sums: Sequence[Array]) -> float:
        M, K, _ = sums
        return 0.5 * (engine.sqnorm + inner(K @ Z - 2 * M, Z))

    def moved(self, Z: Array, sums: Sequence[Array]) -> Array:
        """The best row after row, of the norm that it has: for ‖z‖ fixed, z ∝ max(pull, 0)."""
        M, K, *_ = sums
        Z, norms = Z.copy(), np.linalg.norm(Z, axis=1)
        for start in range(0, len(Z), ROWS_TOGETHER):
            rows = slice(start, min(start + ROWS_TOGETHER, len(Z)))
            pulls = M[rows] - K[rows] @ Z
            for k in range(rows.start, rows.stop):
                best = np.maximum(pulls[k - start] + K[k, k] * Z[k], 0)
                size = np.linalg.norm(best)
                if size > 0:
                    change = best * (norms[k] / size) - Z[k]
                    pulls -= np.outer(K[rows, k], change)
                    Z[k] += change
        return Z

    def remembered(self, Z: Array, sums: Sequence[Array]) -> list[Array]:
        return list(sums[:2])

    def remembered_of_codes(self, Z: Array, H: Array) -> list[Array]:
        K = H.T @ H
        return [K @ Z, K]

    def moved_by_memory(self, Z: Array, remembered: Sequence[Array]) -> Array:
        return self.moved(Z, remembered)

    def extrapolated(self, new: Array, old: Array, beta: float) -> Array:
        ahead = extrapolated(new, old, beta, nonnegative=True)
        scale = np.linalg.norm(new, axis=1) * inverse_norms(ahead)
        return scale[:, None] * ahead


@dataclass(frozen=True)
class SquaredRows(RowsFit):
    """Gram matrix and features of Z_1."""

    features: Array  # Z_1ᵀ
    gram: Array

    def descend(self, X_b: Block, H: Array, upper: UpperLayers, n_passes: int, tol: float = 0.0) -> None:
        """By the normal equations of each row, which differ where entries were not observed."""
        for own in X_b.normal_equations(self.features):
            part = np.ascontiguousarray(H[own.rows])
            descend_layers(part, own.target, self.gram if own.gram is None else own.gram, upper, n_passes, tol)
            H[own.rows] = part

    def sums(self, X_b: Block, H: Array) -> Sums:
        return block_statistics(X_b, H)


# ------------------------------------------------------------------------------------------------------- counts


@dataclass(frozen=True)
class CountsFit(DataFit):
    """KL(X | H_1 Z_1) over the observed entries."""

    divergence: Divergence
    constant: float = 0.0  # what sums of a pass lack of the divergence

    @classmethod
    def of(cls, divergence: Divergence, engine: Engine) -> "CountsFit":
        """For the rows of an engine, with one pass over them."""
        return cls(divergence, constant(engine, divergence))

    def rows(self, engine: Engine, codes: Array, Z: Array) -> Engine:
        return engine

    def problem(self, Z: Array, dtype: Any) -> "CountsRows":
        return CountsRows(RowsProblem.of(Z, self.divergence, 0.0, 0.0, dtype))

    def value(self, engine: Engine, Z: Array, sums: Sequence[Array]) -> float:
        return float(sums[1][1]) + self.constant

    def moved(self, Z: Array, sums: Sequence[Array]) -> Array:
        """One step of expectation-maximization."""
        _, _, M, *T = sums
        return expected_rows(Z * M.T, Z.sum(axis=1), T[0].T if T else None)

    def remembered(self, Z: Array, sums: Sequence[Array]) -> list[Array]:
        """Expected counts, and HᵀW."""
        code_sums, _, M, *T = sums
        return [Z * M.T, T[0].T if T else np.repeat(code_sums[:, None], Z.shape[1], axis=1)]

    def remembered_of_codes(self, Z: Array, H: Array) -> list[Array]:
        code_sums = np.repeat(H.sum(axis=0)[:, None], Z.shape[1], axis=1)
        return [Z * code_sums, code_sums]

    def moved_by_memory(self, Z: Array, remembered: Sequence[Array]) -> Array:
        """What had no counts stays a little above 0, for a step could never leave that."""
        N, T = remembered
        new = expected_rows(N, Z.sum(axis=1), T)
        return with_sums(np.maximum(new, LIFT_OF_LEARNED * new.mean()), Z.sum(axis=1))

    def extrapolated(self, new: Array, old: Array, beta: float) -> Array:
        return with_sums(repeated(new, old, beta), new.sum(axis=1))


@dataclass(frozen=True)
class CountsRows(RowsFit):
    """Features of Z_1 and their sums."""

    problem: RowsProblem

    def descend(self, X_b: Block, H: Array, upper: UpperLayers, n_passes: int, tol: float = 0.0) -> None:
        for part, entries in entry_parts(X_b):
            stored = entries if isinstance(entries, Entries) else stored_entries(entries)
            descend_layers_of_counts(H[part], stored, self.problem.counts, upper, n_passes, tol)

    def sums(self, X_b: Block, H: Array) -> Sums:
        """Sums of codes, the fit, (X/X̂)ᵀH, and WᵀH where entries have weights."""
        return CoordinateStep(self.problem, 0, with_counts=True, measured=True)(X_b, (H,))[1]


def expected_rows(N: Array, totals: Array, weights: Array | None = None) -> Array:
    """The Z >= 0 with these sums of rows that minimizes Σ T Z - N log Z: N/(T + μ), without weights N in proportion.

    A row without counts is shared out equally.
    """
    if weights is not None:
        shift = _shifts(N, totals, weights)
        N = np.divide(N, weights + shift[:, None], out=np.zeros_like(N), where=N > 0)
    return with_sums(np.where(N.any(axis=1, keepdims=True), N, 1.0), totals)


def with_sums(Z: Array, totals: Array) -> Array:
    """Rows scaled to these sums."""
    return np.asarray(Z * (totals / Z.sum(axis=1))[:, None])


def _shifts(N: Array, totals: Array, weights: Array) -> Array:
    """μ of Σ_j N_j/(T_j + μ) = total for each row, by Newton steps from below the root, where the sum is convex."""
    counted = N > 0
    least = np.min(np.where(counted, weights, np.inf), axis=1)
    largest = np.argmin(np.where(counted, weights, np.inf), axis=1)
    safe = np.where(np.isfinite(least), least, 0.0)
    first = N[np.arange(len(N)), largest] / totals  # from here on, one term of the sum is the total already
    shift = np.maximum(first, SMALLEST_SHARE * safe) - safe
    for _ in range(ROOT_STEPS):
        terms = np.divide(N, weights + shift[:, None], out=np.zeros_like(N), where=counted)
        slopes = np.divide(terms, weights + shift[:, None], out=np.zeros_like(N), where=counted).sum(axis=1)
        step = np.divide(terms.sum(axis=1) - totals, slopes, out=np.zeros_like(totals), where=slopes > 0)
        shift = shift + np.maximum(step, 0)
        if np.all(step <= 1e-12 * (np.abs(shift) + 1e-300)):
            break
    return shift
