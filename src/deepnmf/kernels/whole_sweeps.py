"""Whole sweeps of NMF in one compiled call, for small data, where calls would cost more than arithmetic."""

from functools import partial
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels.compilation import CompiledLoop, inlined_loop
from deepnmf.kernels.quadratic_descent import COLUMNS, descend_in_place, descend_rows_plainly
from deepnmf.kernels.stopping import CONTINUE, StoppingRule, mean_decrease, stopping_test

# Entries of X in single precision: rounding errors of fewer hardly cancel out, so these are added in double precision.
FEW_ENTRIES = 2**15


class SmallProblem(NamedTuple):
    """The data, and what does not change between sweeps."""

    X: Array
    sqnorm: float  # ‖X‖²
    rounding: float  # the relative rounding error of a loss
    least_loss: float  # smaller losses have too few accurate digits for further sweeps
    negligible: float  # smaller diagonal entries of a Gram matrix, relative to the largest, count as zero
    most_codes_passes: int
    most_factor_passes: int
    rounds_gram: bool  # whether HᵀH is computed in the precision of X instead of double precision
    codes_l1: float = 0.0  # the penalties are those of `deepnmf.objective.ElasticNet`
    codes_l2: float = 0.0
    factor_l1: float = 0.0
    factor_l2: float = 0.0


class Position(NamedTuple):
    """The state between two sweeps, see `deepnmf.solvers.descent.State`.

    The next sweep uses `plain_codes` and `ahead` only if it `extrapolates`.
    """

    codes: Array
    plain_codes: Array
    Z: Array
    ahead: Array
    extrapolates: bool
    loss: float
    optimality: float
    most_inner: int
    n_plain: int
    is_exhausted: bool
    beta: float
    ceiling: float


def sweeps_at_once(
    problem: SmallProblem, position: Position, rule: StoppingRule, losses: Array, n_sweeps: int, first: float
) -> tuple[Position, int, float]:
    """Make sweeps until a stopping test holds or `losses`, of which `n_sweeps` are known, is full.

    `first` is the optimality after the very first sweep. Returns the last position, the number of sweeps, and `first`.
    """
    return _sweeps_at_once(problem, position, rule, losses, n_sweeps, first)


def sweeps_at_once_plainly(
    problem: SmallProblem, position: Position, rule: StoppingRule, losses: Array, n_sweeps: int, first: float
) -> tuple[Position, int, float]:
    """`sweeps_at_once`, one product after the other."""
    test = CONTINUE
    while n_sweeps < len(losses) and test == CONTINUE:
        position = _after.function(problem, position, *_swept_plainly(problem, position))
        losses[n_sweeps] = position.loss
        n_sweeps += 1
        first = position.optimality if n_sweeps == 1 else first
        decrease = mean_decrease.function(losses, n_sweeps, rule.negligible)
        test = stopping_test.function(decrease, n_sweeps, position.optimality, first, position.is_exhausted, rule)
    return position, n_sweeps, first


def _swept_plainly(problem: SmallProblem, position: Position) -> tuple[Array, Array, Array, float, float]:
    X, negligible = problem.X, problem.negligible
    n_codes_passes = min(problem.most_codes_passes, position.most_inner)
    n_factor_passes = min(problem.most_factor_passes, position.most_inner)
    departure = position.ahead if position.extrapolates else position.Z
    target = X @ departure.T.astype(X.dtype)
    ridge = np.eye(len(departure))
    gram = _without_negligible((departure @ departure.T + problem.codes_l2 * ridge).astype(X.dtype), negligible)
    penalized = target - X.dtype.type(problem.codes_l1)
    plain, codes_violation = descend_rows_plainly(position.codes, gram, penalized, n_codes_passes)
    beta = X.dtype.type(position.beta if position.extrapolates else 0)
    codes = np.maximum(plain + beta * (plain - position.plain_codes), 0)
    rows = X.astype(np.float64) if X.size < FEW_ENTRIES else X
    M = (codes.T.astype(rows.dtype) @ rows).astype(np.float64)
    exact = codes.astype(rows.dtype if problem.rounds_gram else np.float64)
    K = (exact.T @ exact).astype(np.float64)
    gram, penalized_M = _without_negligible(K + problem.factor_l2 * ridge, negligible), M - problem.factor_l1
    columns, violation = descend_rows_plainly(departure.T, gram, penalized_M.T, n_factor_passes)
    Z = columns.T
    value = np.vdot(K, Z @ Z.T) - 2 * np.vdot(M, Z)
    value += problem.codes_l2 * np.trace(K) + 2 * problem.codes_l1 * codes.sum(dtype=np.float64)
    value += problem.factor_l2 * np.vdot(Z, Z) + 2 * problem.factor_l1 * Z.sum()
    sizes = np.vdot(target, target), np.vdot(penalized_M, penalized_M)
    optimality = max(_relative.function(codes_violation, sizes[0]), _relative.function(violation, sizes[1]))
    return codes, plain, Z, 0.5 * (problem.sqnorm + value), optimality


def _without_negligible(gram: Array, negligible: float) -> Array:
    diagonal = np.diag(gram)
    return np.asarray(gram - np.diag(np.where(diagonal < negligible * diagonal.max(), diagonal, 0)))


@partial(CompiledLoop, fastmath={"contract"})  # a loss may be infinite or NaN
def _sweeps_at_once(problem, position, rule, losses, n_sweeps, first):
    test = CONTINUE
    while n_sweeps < len(losses) and test == CONTINUE:
        codes, plain, Z, loss, optimality = _swept(problem, position)
        position = _after(problem, position, codes, plain, Z, loss, optimality)
        losses[n_sweeps] = position.loss
        n_sweeps += 1
        first = position.optimality if n_sweeps == 1 else first
        decrease = mean_decrease(losses, n_sweeps, rule.negligible)
        test = stopping_test(decrease, n_sweeps, position.optimality, first, position.is_exhausted, rule)
    return position, n_sweeps, first


@partial(inlined_loop, fastmath={"contract"})
def _after(problem, position, codes, plain_codes, Z, loss, optimality):
    """Return the position after a sweep, as `deepnmf.solvers.descent.ChainDescent.advance` does."""
    before, is_first = position, not np.isfinite(position.loss)
    scale = problem.sqnorm if is_first else max(problem.sqnorm, before.loss)
    if not loss <= before.loss + problem.rounding * scale:  # undone
        beta, ceiling = (before.beta / 1.5, before.beta) if before.extrapolates else (before.beta, before.ceiling)
        return Position(
            before.codes,
            before.plain_codes,
            before.Z,
            before.ahead,
            False,
            before.loss,
            before.optimality,
            before.most_inner + 1,
            before.n_plain,
            not before.extrapolates,
            beta,
            ceiling,
        )
    is_exhausted = loss < problem.least_loss
    if before.n_plain > 0:
        most_inner, n_plain = before.most_inner, before.n_plain - 1
        return Position(
            codes,
            plain_codes,
            Z,
            Z,
            False,
            loss,
            optimality,
            most_inner,
            n_plain,
            is_exhausted,
            before.beta,
            before.ceiling,
        )
    step = 0.0 if is_first else before.beta
    ahead = np.maximum(Z + step * (Z - before.Z), 0)
    beta, ceiling = min(before.ceiling, 1.05 * before.beta), min(1.0, 1.02 * before.ceiling)
    return Position(
        codes, plain_codes, Z, ahead, True, loss, optimality, before.most_inner + 1, 0, is_exhausted, beta, ceiling
    )


@inlined_loop
def _swept(problem, position):
    """Update codes, extrapolate them, and update the factor from the statistics of the extrapolated ones."""
    X, negligible = problem.X, problem.negligible
    n_codes_passes = min(problem.most_codes_passes, position.most_inner)
    n_factor_passes = min(problem.most_factor_passes, position.most_inner)
    Z = (position.ahead if position.extrapolates else position.Z).copy()
    order, n_features = Z.shape
    n_rows = len(X)
    features = np.empty((n_features, order), X.dtype)
    for k in range(order):
        for j in range(n_features):
            features[j, k] = Z[k, j]
    target = X @ features
    size = _square(target)
    if problem.codes_l1 > 0:
        target -= X.dtype.type(problem.codes_l1)
    plain = position.codes.copy()
    gram = _padded(_with_ridge(Z @ Z.T, problem.codes_l2).astype(X.dtype), negligible)
    codes_violation = descend_in_place(
        plain.ravel(), target.ravel(), gram, n_rows, order, order, 1, n_codes_passes, 0.0
    )
    codes, step = np.empty_like(plain), X.dtype.type(position.beta if position.extrapolates else 0.0)
    sum_of_codes = 0.0
    for i in range(n_rows):
        for k in range(order):
            value = plain[i, k] + step * (plain[i, k] - position.plain_codes[i, k])
            codes[i, k] = value if value > 0 else value * 0
            sum_of_codes += codes[i, k]
    if X.itemsize < 8 and X.size < FEW_ENTRIES:
        M, K = _products(codes.astype(np.float64), X.astype(np.float64), False)
    else:
        M, K = _products(codes, X, problem.rounds_gram)
    linear = M - problem.factor_l1 if problem.factor_l1 > 0 else M
    gram_of_codes = _padded(_with_ridge(K, problem.factor_l2), negligible)
    violation = descend_in_place(
        Z.ravel(), linear.ravel(), gram_of_codes, n_features, order, 1, n_features, n_factor_passes, 0.0
    )
    G = Z @ Z.T
    value = 2 * problem.codes_l1 * sum_of_codes
    for k in range(order):
        for other in range(order):
            value += K[k, other] * G[k, other]
        for j in range(n_features):
            value -= 2 * (M[k, j] - problem.factor_l1) * Z[k, j]
        value += problem.codes_l2 * K[k, k] + problem.factor_l2 * G[k, k]
    optimality = max(_relative(codes_violation, size), _relative(violation, _square(linear)))
    return codes, plain, Z, 0.5 * (problem.sqnorm + value), optimality


@inlined_loop
def _products(codes, X, rounds_gram):
    """Return HᵀX and HᵀH."""
    across = np.ascontiguousarray(codes.T)
    M = (across @ X).astype(np.float64)
    if rounds_gram:
        return M, (across @ codes).astype(np.float64)
    return M, across.astype(np.float64) @ codes.astype(np.float64)


@inlined_loop
def _with_ridge(gram, ridge):
    gram = gram.copy()
    for k in range(len(gram)):
        gram[k, k] += ridge
    return gram


@inlined_loop
def _relative(violation, size):
    """√(violation/size); 0 if there is nothing to fit, or if the violation is below 0 by rounding."""
    return np.sqrt(max(violation, 0.0) / size) if size > 0 else 0.0


@inlined_loop
def _padded(gram, negligible):
    order = len(gram)
    padded = np.zeros((order + -order % COLUMNS, order + -order % COLUMNS), gram.dtype)
    largest = 0.0
    for k in range(order):
        largest = max(largest, gram[k, k])
        for j in range(order):
            padded[k, j] = gram[k, j]
    for k in range(order):
        if gram[k, k] < negligible * largest:
            padded[k, k] = 0
    return padded


@inlined_loop
def _square(matrix):
    total = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            total += np.float64(matrix[i, j]) * np.float64(matrix[i, j])
    return total
