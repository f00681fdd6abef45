"""Steps of one factor of a hierarchy, from sums over the rows.

Each row of a factor keeps its norm (squared error) or its sum (counts). Otherwise factors would grow and codes shrink
until the losses of the layers above vanish.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.layered_loss import Slopes, counted_fit, counted_slopes, squared_fit, squared_slopes
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.descent import extrapolated
from deepnmf.solvers.divergence_state import LIFT_OF_LEARNED, repeated
from deepnmf.solvers.expected_counts import square_violation
from deepnmf.solvers.steps import squared_violation

ROWS_TOGETHER = 32  # rows of a factor whose slopes one product computes
ROOT_STEPS = 60
SMALLEST_SHARE = 1e-12  # of the weights after a shift: smaller values would be lost in rounding


class FactorSteps(ABC):
    """Steps of the factor Z of one layer, which fits the data or the codes below."""

    @abstractmethod
    def moved(self, Z: Array, sums: Sequence[Array]) -> Array:
        """Return Z after one step, with unchanged norms or sums of rows."""

    @abstractmethod
    def extrapolated(self, new: Array, old: Array, beta: float) -> Array:
        """Extrapolate Z from `old` beyond `new`, with unchanged norms or sums of rows."""

    @abstractmethod
    def violation(self, Z: Array, sums: Sequence[Array]) -> tuple[float, float]:
        """Return the squared norms of the projected gradient of Z, and of the part that is its scale."""

    @abstractmethod
    def remembered(self, Z: Array, sums: Sequence[Array]) -> tuple[Array, ...]:
        """Return the statistics that are summed over batches for the step of Z."""

    @abstractmethod
    def remembered_of_codes(self, Z: Array, H: Array) -> tuple[Array, ...]:
        """Return these statistics for data equal to H Z."""

    @abstractmethod
    def moved_by_memory(self, Z: Array, remembered: Sequence[Array]) -> Array:
        """Return Z after one step from the statistics of all batches."""

    def settled(self, Z: Array) -> Array:
        """Return the final Z, without the entries that were raised for steps."""
        return Z

    def remembered_shapes(self, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The shapes of these statistics for a Z of this shape."""
        return [array.shape for array in self.remembered_of_codes(np.zeros(shape), np.zeros((0, shape[0])))]


class CodesFit(FactorSteps):
    """d(H_{l-1} | H_l Z_l + ε), the loss of a layer that explains the codes below it."""

    name: str
    squared: bool
    n_sums: int

    @abstractmethod
    def measured(self, V: Array, H: Array, Z: Array, weights: Array | None) -> tuple[float, tuple[Array, ...]]:
        """Return the weighted loss of a block of rows, and the sums for a step of Z."""

    @abstractmethod
    def slopes(self, V: Array, H: Array, Z: Array) -> Slopes:
        """Return the gradient of the loss in V and H, row by row."""


# ------------------------------------------------------------------------------------------------ squared error


class SquaredSteps(FactorSteps):
    """Steps for ½‖X - H Z‖², from M = HᵀX and K = HᵀH."""

    def moved(self, Z: Array, sums: Sequence[Array]) -> Array:
        """Update row after row to the best row of the same norm: for fixed ‖z‖, z ∝ max(pull, 0)."""
        M, K, *_ = sums
        Z = Z.copy()
        for start in range(0, len(Z), ROWS_TOGETHER):
            rows = slice(start, min(start + ROWS_TOGETHER, len(Z)))
            pulls = M[rows] - K[rows] @ Z
            for k in range(rows.start, rows.stop):
                change = self.best_row(k, pulls[k - start] + K[k, k] * Z[k], K[k, k], Z[k]) - Z[k]
                if change.any():
                    pulls -= np.outer(K[rows, k], change)
                    Z[k] += change
        return Z

    def best_row(self, number: int, pull: Array, curvature: float, row: Array) -> Array:
        """Return the best row of the same norm, with all other rows fixed."""
        best = np.maximum(pull, 0)
        size = np.linalg.norm(best)
        return best * (np.linalg.norm(row) / size) if size > 0 else row

    def extrapolated(self, new: Array, old: Array, beta: float) -> Array:
        ahead = extrapolated(new, old, beta, nonnegative=True)
        scale = np.linalg.norm(new, axis=1) * inverse_norms(ahead)
        return scale[:, None] * ahead

    def violation(self, Z: Array, sums: Sequence[Array]) -> tuple[float, float]:
        M, K, *_ = sums
        return squared_violation(Z, self.free_gradient(Z, K @ Z - M)), inner(M, M)

    def free_gradient(self, Z: Array, gradient: Array) -> Array:
        """Return the gradient for rows of constant norm: the part that is orthogonal to each row."""
        along = np.sum(gradient * Z, axis=1) * inverse_norms(Z) ** 2
        return np.asarray(gradient - along[:, None] * Z)

    def remembered(self, Z: Array, sums: Sequence[Array]) -> tuple[Array, ...]:
        return tuple(sums[:2])

    def remembered_of_codes(self, Z: Array, H: Array) -> tuple[Array, ...]:
        K = H.T @ H
        return K @ Z, K

    def moved_by_memory(self, Z: Array, remembered: Sequence[Array]) -> Array:
        return self.moved(Z, remembered)


class SquaredCodes(SquaredSteps, CodesFit):
    """½‖H_{l-1} - H_l Z_l - ε‖²."""

    name, squared, n_sums = "frobenius", True, 2

    def measured(self, V: Array, H: Array, Z: Array, weights: Array | None) -> tuple[float, tuple[Array, ...]]:
        return squared_fit(V, H, Z, weights)

    def slopes(self, V: Array, H: Array, Z: Array) -> Slopes:
        return squared_slopes(V, H, Z)

    def remembered(self, Z: Array, sums: Sequence[Array]) -> tuple[Array, ...]:
        """Return the statistics without the contribution of ε."""
        return tuple(np.maximum(one, 0) for one in sums)


# ------------------------------------------------------------------------------------------------------- counts


class CountedCodes(CodesFit):
    """KL(H_{l-1} | H_l Z_l + ε), minimized by steps of expectation-maximization."""

    name, squared, n_sums = "kullback-leibler", False, 1

    def measured(self, V: Array, H: Array, Z: Array, weights: Array | None) -> tuple[float, tuple[Array, ...]]:
        return counted_fit(V, H, Z, weights)

    def slopes(self, V: Array, H: Array, Z: Array) -> Slopes:
        return counted_slopes(V, H, Z)

    def violation(self, Z: Array, sums: Sequence[Array]) -> tuple[float, float]:
        return violation_of_counts(Z, sums[0], bound_pushes(Z, sums[0], np.zeros_like(Z)))

    def moved(self, Z: Array, sums: Sequence[Array]) -> Array:
        return self.moved_by_memory(Z, self.remembered(Z, sums))

    def settled(self, Z: Array) -> Array:
        return without_lift(Z)

    def extrapolated(self, new: Array, old: Array, beta: float) -> Array:
        return with_sums(repeated(new, old, beta), new.sum(axis=1))

    def remembered(self, Z: Array, sums: Sequence[Array]) -> tuple[Array, ...]:
        """Return expected counts."""
        return (Z * sums[0],)

    def remembered_of_codes(self, Z: Array, H: Array) -> tuple[Array, ...]:
        return (Z * H.sum(axis=0)[:, None],)

    def moved_by_memory(self, Z: Array, remembered: Sequence[Array]) -> Array:
        return lifted(expected_rows(remembered[0], Z.sum(axis=1)))


def bound_pushes(Z: Array, pulls: Array, pushes: Array) -> Array:
    """Return T + μ for Σ T Z - N log Z with constant sums of rows, with `pulls` N/Z and `pushes` T.

    μ is the Lagrange multiplier of the sum of a row, for which the slope T + μ - N/Z along the row itself is 0.
    """
    return np.asarray(pushes + np.sum(Z * (pulls - pushes), axis=1, keepdims=True) / Z.sum(axis=1, keepdims=True))


def violation_of_counts(Z: Array, pulls: Array, pushes: Array) -> tuple[float, float]:
    """Return the squared violation of optimality for slopes `pushes` - `pulls`, and the squared norm of the pushes."""
    totals = np.sum(Z * pulls, axis=1, keepdims=True)
    return square_violation(Z, pushes - pulls, pushes, totals), inner(pushes, pushes)


def lifted(Z: Array) -> Array:
    """Raise zeros a little, because a step could never leave 0; sums of rows stay unchanged."""
    return with_sums(np.maximum(Z, LIFT_OF_LEARNED * Z.mean(axis=1, keepdims=True)), Z.sum(axis=1))


def without_lift(Z: Array) -> Array:
    """Set raised zeros to 0 again; sums of rows stay unchanged."""
    return with_sums(np.where(2 * LIFT_OF_LEARNED * Z.mean(axis=1, keepdims=True) < Z, Z, 0), Z.sum(axis=1))


def expected_rows(N: Array, totals: Array, weights: Array | None = None) -> Array:
    """Return the Z >= 0 with given sums of rows that minimizes Σ T Z - N log Z: N/(T + μ); without weights, Z ∝ N.

    A row without counts gets equal entries.
    """
    if weights is not None:
        shift = _shifts(N, totals, weights)
        N = np.divide(N, weights + shift[:, None], out=np.zeros_like(N), where=N > 0)
    return with_sums(np.where(N.any(axis=1, keepdims=True), N, 1.0), totals)


def with_sums(Z: Array, totals: Array) -> Array:
    """Scale rows to given sums."""
    return np.asarray(Z * (totals / Z.sum(axis=1))[:, None])


def _shifts(N: Array, totals: Array, weights: Array) -> Array:
    """Return μ with Σ_j N_j/(T_j + μ) = total for each row, by Newton steps from below the root (the sum is convex)."""
    counted = N > 0
    least = np.min(np.where(counted, weights, np.inf), axis=1)
    largest = np.argmin(np.where(counted, weights, np.inf), axis=1)
    safe = np.where(np.isfinite(least), least, 0.0)
    first = N[np.arange(len(N)), largest] / totals  # at this shift, one term of the sum equals the total
    shift = np.maximum(first, SMALLEST_SHARE * safe) - safe
    for _ in range(ROOT_STEPS):
        terms = np.divide(N, weights + shift[:, None], out=np.zeros_like(N), where=counted)
        slopes = np.divide(terms, weights + shift[:, None], out=np.zeros_like(N), where=counted).sum(axis=1)
        step = np.divide(terms.sum(axis=1) - totals, slopes, out=np.zeros_like(totals), where=slopes > 0)
        shift = shift + np.maximum(step, 0)
        if np.all(step <= 1e-12 * (np.abs(shift) + 1e-300)):
            break
    return shift
