"""Nonnegative codes of a problem that is not quadratic, by spectral projected gradient steps for each row."""

from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective import ActivatedRows
from deepnmf.solvers.steps import projected_gradient

SUFFICIENT = 1e-4  # of the decrease predicted by the gradient (Armijo)
NEGLIGIBLE = 1e-12  # of the value of a row: steps with a smaller predicted decrease only drift on a flat activation
SHRINK, LONGEST_STRIDE = 0.25, 10.0


class Rows(NamedTuple):
    """Codes, their next step sizes, and their predicted decrease, one row per sample."""

    codes: Array
    sizes: Array
    promise: Array  # the predicted decrease, relative to the value of the row


@np.errstate(over="ignore", invalid="ignore")  # rows with infinite curvature are not updated
def first_step_sizes(problem: ActivatedRows, H: Array) -> Array:
    """Return one step size per row, of the order of the inverse curvature; only the first steps depend on it."""
    total = problem.curvature(H).sum(axis=1)
    return np.divide(1, total, out=np.ones_like(total), where=total > np.finfo(total.dtype).tiny)


@np.errstate(over="ignore", invalid="ignore")  # a step that is too long is rejected
def descend_rows(problem: ActivatedRows, H: Array, F: Array, sizes: Array, n_steps: int) -> Rows:
    """Lower the value of every row; no row is ever raised.

    A step that does not lower its row enough is rejected, and the next one is shorter; after a successful step, the
    size is that of Barzilai and Borwein, ‖Δh‖²/<Δh, Δg>, which is nearly as fast as acceleration without its memory.
    """
    values, gradient = problem.evaluate(H, F)
    for _ in range(n_steps):
        trial = np.maximum(H - sizes[:, None] * gradient, 0)
        move = trial - H
        promise = -_row_sums(move, gradient)
        trial_values, trial_gradient = problem.evaluate(trial, F)
        worth = promise > NEGLIGIBLE * np.abs(values)
        sound = np.isfinite(trial_gradient).all(axis=1)
        taken = sound & worth & (trial_values <= values - SUFFICIENT * promise)
        spectral = _spectral(move, trial_gradient - gradient, sizes)
        sizes = np.where(taken, spectral, np.where(worth, SHRINK * sizes, sizes))
        H = np.where(taken[:, None], trial, H)
        gradient = np.where(taken[:, None], trial_gradient, gradient)
        values = np.where(taken, trial_values, values)
    return Rows(H, sizes, _promise(H, gradient, values))


def _spectral(move: Array, turn: Array, sizes: Array) -> Array:
    length, bend = _row_sums(move, move), _row_sums(move, turn)
    step = np.divide(length, bend, out=LONGEST_STRIDE * sizes, where=bend > 0)
    return np.clip(step, sizes / LONGEST_STRIDE, sizes * LONGEST_STRIDE)


def _promise(H: Array, gradient: Array, values: Array) -> Array:
    """‖h‖ times the projected gradient, relative to the value."""
    free = projected_gradient(H, gradient)
    size = np.linalg.norm(free, axis=1) * np.linalg.norm(H, axis=1)
    return np.divide(size, np.abs(values), out=np.zeros_like(size), where=values != 0)


def _row_sums(first: Array, second: Array) -> Array:
    return np.einsum("ij,ij->i", first, second)
