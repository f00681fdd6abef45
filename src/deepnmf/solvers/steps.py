"""Solvers, which improve a feasible Z for the quadratic problem of a block by a step.

They depend on the quadratic only, not on X, and never raise its value.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels import descend_rows
from deepnmf.objective import FormedGram, Quadratic
from deepnmf.objective.quadratic import inner

ROWS_AT_ONCE = 48
LARGEST_PENALTY_RATIO = 1e150  # largest ratio of the penalty of a row sum to the curvature; beyond, the row is zero
SMALLEST_RELATIVE_STEP = 0.1  # gradient steps end when a step is shorter than this fraction of the first one


class Moved(NamedTuple):
    """The new Z, and the squared projected gradient at the old one."""

    Z: Array
    violation: float


class Solver(Protocol):
    """One way to lower a nonnegative quadratic."""

    extrapolates: bool
    """Whether extrapolation across sweeps is valid and useful."""

    needs_positive_start: bool
    """Whether entries can never leave zero."""

    def step(self, Z: Array, problem: Quadratic, n_inner: int) -> Moved:
        """Lower the problem from Z with at most `n_inner` inner steps; Z itself is not changed."""
        ...


@dataclass(frozen=True)
class HALS:
    """Coordinate descent, row by row (Cichocki & Zdunek); gradient steps if the columns are coupled."""

    extrapolates = True
    needs_positive_start = False

    def step(self, Z: Array, problem: Quadratic, n_inner: int) -> Moved:
        if problem.right is not None or problem.kronecker:
            return AcceleratedGradient().step(Z, problem, n_inner)
        if problem.row_sums is not None or not isinstance(problem.left, FormedGram):
            return Moved(*_descend_by_blocks(Z, problem, n_inner))
        gram = _with_ridge(problem.left.matrix, problem.ridge) if problem.ridge else problem.left.matrix
        columns, violation = descend_rows(Z.T, gram, problem.linear.T, n_inner)  # each column of Z independently
        return Moved(columns.T, violation)


def _descend_by_blocks(Z: Array, problem: Quadratic, n_passes: int) -> tuple[Array, float]:
    """Make passes over the rows; return the new Z, and the squared violation of optimality in the first pass.

    Rows are visited in blocks, because the contribution of all other rows to a block is a single small product.
    """
    Z = Z.copy()
    running = problem.left.running_product(Z)
    blocks = [slice(start, min(start + ROWS_AT_ONCE, len(Z))) for start in range(0, len(Z), ROWS_AT_ONCE)]
    grams = [problem.left.block(rows) for rows in blocks]
    own_grams = [_with_ridge(gram, problem.ridge) for gram in grams] if problem.ridge else grams
    violation = 0.0
    for number in range(n_passes):
        for rows, gram, own_gram in zip(blocks, grams, own_grams, strict=True):
            target = problem.linear[rows] - running.rows(rows) + gram @ Z[rows]
            new, move = _visit_block(Z[rows], own_gram, target, problem, rows)
            change = new - Z[rows]
            Z[rows] = new
            running.update(rows, change)
            violation += 0.0 if number else move
    return Z, violation


def _visit_block(Z: Array, gram: Array, target: Array, problem: Quadratic, rows: slice) -> tuple[Array, float]:
    if problem.row_sums is None:
        columns, violation = descend_rows(Z.T, gram, target.T, n_passes=1)
        return columns.T, violation
    Z = Z.copy()
    return Z, visit_rows(Z, gram, target, problem.row_sums[rows])


def visit_rows(V: Array, G: Array, F: Array, row_sums: Array | None = None) -> float:
    """Minimize ½<G V, V> + ½ Σ_k ρ_k (Σ_j V_kj)² - <F, V> over each row of V >= 0 in turn, in place.

    Returns Σ_k G_kk² ‖change of row k‖², which vanishes exactly at the optimum.
    """
    moved = 0.0
    for k, curvature in enumerate(np.diag(G)):
        if curvature <= 0:
            if row_sums is not None:  # the row has no effect on the fit, but is penalized
                V[k] = 0
            continue
        new = V[k] + (F[k] - G[k] @ V) / curvature
        new = np.maximum(new, 0) if row_sums is None else shrink_by_sum(new, row_sums[k] / curvature)
        moved += float(curvature) ** 2 * float(np.sum((new - V[k]) ** 2))
        V[k] = new
    return moved


def shrink_by_sum(target: Array, weight: float) -> Array:
    """Minimize ½‖z - target‖² + ½ weight (Σ z)² over z >= 0, exactly.

    The solution is max(target - weight s, 0) with s its own sum: sort, and find the number of positive entries.
    """
    weight = min(weight, LARGEST_PENALTY_RATIO)
    largest = np.sort(target)[::-1]
    totals, counts = np.cumsum(largest), np.arange(1, len(target) + 1)
    # target - weight s, written without cancellation for a large weight.
    staying = np.flatnonzero(largest + weight * (counts * largest - totals) > 0)
    if not staying.size:
        return np.zeros_like(target)
    count = staying[-1] + 1
    mean = totals[count - 1] / count
    return np.where(target >= largest[count - 1], np.maximum(mean / (1 + count * weight) + (target - mean), 0), 0)


def _with_ridge(gram: Array, ridge: float) -> Array:
    return gram + ridge * np.eye(len(gram), dtype=gram.dtype)


@dataclass(frozen=True)
class AcceleratedGradient:
    """Nesterov's projected gradient (NeNMF), with a restart when the value would rise."""

    extrapolates = True
    needs_positive_start = False

    def step(self, Z: Array, problem: Quadratic, n_inner: int) -> Moved:
        lipschitz, F = problem.lipschitz, problem.linear
        if lipschitz == 0:
            return _minimize_without_curvature(Z, F)
        gradient = problem.gradient(Z)
        violation = squared_violation(Z, gradient)
        lowest = 0.5 * inner(gradient - F, Z)
        ahead, ahead_gradient, alpha = Z, gradient, 1.0
        first_move = 0.0
        for _ in range(n_inner):
            new = np.maximum(ahead - ahead_gradient / lipschitz, 0)
            new_gradient = problem.gradient(new)
            value = 0.5 * inner(new_gradient - F, new)
            if value > lowest:
                # From an extrapolated point: restart. From Z itself: the norm was underestimated.
                lipschitz *= 2.0 if ahead is Z else 1.0
                ahead, ahead_gradient, alpha = Z, gradient, 1.0
                continue
            move = float(np.linalg.norm(new - Z))
            next_alpha = (1 + np.sqrt(4 * alpha**2 + 1)) / 2
            beta = (alpha - 1) / next_alpha
            ahead = new + beta * (new - Z)
            ahead_gradient = new_gradient + beta * (new_gradient - gradient)
            Z, gradient, lowest, alpha = new, new_gradient, value, next_alpha
            first_move = first_move or move
            if move <= SMALLEST_RELATIVE_STEP * first_move:
                break
        return Moved(Z, violation)


@dataclass(frozen=True)
class ProjectedGradient:
    """Projected gradient with an Armijo search (PgNMF; Lin, 2007), which starts from the previous step size."""

    extrapolates = False
    needs_positive_start = False

    def step(self, Z: Array, problem: Quadratic, n_inner: int) -> Moved:
        if problem.lipschitz == 0:
            return _minimize_without_curvature(Z, problem.linear)
        rate = 1 / problem.lipschitz
        violation = None
        for _ in range(n_inner):
            gradient = problem.gradient(Z)
            violation = squared_violation(Z, gradient) if violation is None else violation
            grown, shrunk = rate * 2, rate
            if (new := _armijo(Z, gradient, grown, problem)) is not None:
                rate = grown
            else:
                while (new := _armijo(Z, gradient, shrunk, problem)) is None and shrunk > rate * 1e-3:
                    shrunk /= 2
                rate = shrunk
            if new is None:
                break
            Z = new
        return Moved(Z, violation or 0.0)


def _minimize_without_curvature(Z: Array, F: Array) -> Moved:
    """Solve a problem without curvature: penalized entries become 0, the others stay."""
    priced = (F < 0) & (Z > 0)
    return Moved(np.where(priced, 0, Z), float(np.sum(F[priced] ** 2)))


def _armijo(Z: Array, gradient: Array, rate: float, problem: Quadratic) -> Array | None:
    """The projected step, if it lowers the quadratic by enough (Lin's condition, σ = 0.01)."""
    new = np.maximum(Z - rate * gradient, 0)
    move = new - Z
    descends = 0.99 * inner(gradient, move) + 0.5 * inner(move, problem.curvature(move)) <= 0
    return new if descends else None


@dataclass(frozen=True)
class Multiplicative:
    """Lee & Seung's update; with entries of both signs, Ding's square root of the split ratio."""

    extrapolates = False
    needs_positive_start = True

    def step(self, Z: Array, problem: Quadratic, n_inner: int) -> Moved:
        if problem.kronecker:
            raise ValueError('solver="mu" cannot split the gradient of this penalty by sign: use another solver.')
        F = problem.linear
        smallest = np.finfo(Z.dtype).eps * max(float(np.abs(F).max()), np.finfo(Z.dtype).tiny)
        gains, losses = np.maximum(F, 0), np.maximum(-F, 0)
        mixed = _split_signs(problem)
        violation = None
        for _ in range(n_inner):
            if mixed is None:
                up, down = gains, problem.curvature(Z) + losses
            else:
                up, down = gains + mixed.negative @ Z, losses + mixed.positive @ Z
            violation = squared_violation(Z, down - up) if violation is None else violation
            ratio = up / np.maximum(down, smallest)
            Z = Z * (ratio if mixed is None else np.sqrt(ratio))
        return Moved(Z, violation or 0.0)


class _Split(NamedTuple):
    positive: Array
    negative: Array


def _split_signs(problem: Quadratic) -> _Split | None:
    if not isinstance(problem.left, FormedGram) or (problem.left.matrix >= 0).all():
        return None
    if problem.right is not None or problem.ridge or problem.row_sums is not None:
        raise ValueError('solver="mu" supports entries of both signs in one Gram matrix only: use another solver.')
    return _Split(np.maximum(problem.left.matrix, 0), np.maximum(-problem.left.matrix, 0))


def squared_violation(Z: Array, gradient: Array) -> float:
    """The squared norm of the projected gradient."""
    projected = projected_gradient(Z, gradient)
    return inner(projected, projected)


def projected_gradient(Z: Array, gradient: Array) -> Array:
    """Return the gradient without the entries that would push a zero below 0."""
    return np.where(Z > 0, gradient, np.minimum(gradient, 0))


SOLVERS: dict[str, Solver] = {
    "hals": HALS(),
    "apg": AcceleratedGradient(),
    "pg": ProjectedGradient(),
    "mu": Multiplicative(),
}
