"""Coordinate descent on a nonnegative quadratic whose rows of Z are visited block by block."""

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels import descend_rows
from deepnmf.objective import Quadratic

ROWS_AT_ONCE = 48
DEAREST = 1e150  # a row that curves this much less than its sum costs is zero, and more would overflow


def descend_by_blocks(Z: Array, problem: Quadratic, n_passes: int) -> tuple[Array, float]:
    """Make passes over the rows: the new Z, and the squared violation of optimality that the first one saw.

    A block of rows is visited at a time: what the others contribute is one product with few rows.
    """
    Z = Z.copy()
    running = problem.left.running_product(Z)
    blocks = [slice(start, min(start + ROWS_AT_ONCE, len(Z))) for start in range(0, len(Z), ROWS_AT_ONCE)]
    grams = [problem.left.block(rows) for rows in blocks]
    violation = 0.0
    for number in range(n_passes):
        for rows, gram in zip(blocks, grams, strict=True):
            target = problem.linear[rows] - running.rows(rows) + gram @ Z[rows]
            new, move = _visit_block(Z[rows], with_ridge(gram, problem.ridge), target, problem, rows)
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
    """Minimise ½<G V, V> + ½ Σ_k ρ_k (Σ_j V_kj)² - <F, V> over each row of V >= 0 in turn, in place.

    Returns Σ_k G_kk² ‖change of row k‖², which vanishes exactly at the optimum.
    """
    moved = 0.0
    for k, curvature in enumerate(np.diag(G)):
        if curvature <= 0:
            if row_sums is not None:  # it adds nothing and still has its price
                V[k] = 0
            continue
        new = V[k] + (F[k] - G[k] @ V) / curvature
        new = np.maximum(new, 0) if row_sums is None else shrink_by_sum(new, row_sums[k] / curvature)
        moved += float(curvature) ** 2 * float(np.sum((new - V[k]) ** 2))
        V[k] = new
    return moved


def shrink_by_sum(target: Array, weight: float) -> Array:
    """Minimise ½‖z - target‖² + ½ weight (Σ z)² over z >= 0, exactly.

    The solution is max(target - weight s, 0) with s its own sum: sort, and find how many stay.
    """
    weight = min(weight, DEAREST)
    largest = np.sort(target)[::-1]
    totals, counts = np.cumsum(largest), np.arange(1, len(target) + 1)
    # target - weight s, written so that nothing large cancels where the weight is large.
    staying = np.flatnonzero(largest + weight * (counts * largest - totals) > 0)
    if not staying.size:
        return np.zeros_like(target)
    count = staying[-1] + 1
    mean = totals[count - 1] / count
    return np.where(target >= largest[count - 1], np.maximum(mean / (1 + count * weight) + (target - mean), 0), 0)


def with_ridge(gram: Array, ridge: float) -> Array:
    """G + ridge I; G itself without a ridge."""
    return gram + ridge * np.eye(len(gram), dtype=gram.dtype) if ridge else gram
