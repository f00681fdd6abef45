"""Exact updates of factors without sign constraint."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy import linalg

from deepnmf.arrays import Array
from deepnmf.objective import Chain, FactorTerms, KroneckerTerm, Statistics
from deepnmf.objective.linear import block_target
from deepnmf.objective.quadratic import inner

ALREADY_OPTIMAL = 1e-12
MOST_STEPS, CLOSE = 50, 1e-8  # of conjugate gradients: largest number of steps, and final relative residual


def least_change(chain: Chain, layer: int, stats: Statistics, smallest: float = 0.0) -> tuple[Array, float]:
    """Z_l + Δ with the smallest Δ that solves AᵀKA (Z + Δ) BBᵀ = AᵀMBᵀ, and the squared gradient before.

    The pseudo-inverse solution of the papers starts from zero at each sweep and loses features that the upper layers do
    not use at the moment; the smallest change keeps them, with the same objective. Directions with eigenvalues of K
    below `smallest` times the largest one, which the codes hardly determine, are not changed.
    """
    Z = chain.factors[layer]
    A, below = chain.above(layer), chain.below(layer)
    missing = stats.M - stats.K @ chain.decoder()  # r_m x p
    negligible = ALREADY_OPTIMAL**2 * inner(stats.M, stats.M)
    if (left := inner(missing, missing)) <= negligible:
        return Z, left
    for factor in below:
        missing = missing @ factor.T
    if chain.fixed_of(layer) is not None:
        return _least_change_of_learned(chain, stats.K, missing, smallest)
    violation = inner(missing, missing if A is None else A @ A.T @ missing)  # ‖Aᵀ missing‖² without a large array
    if violation <= negligible:
        return Z, violation
    change = _solve_left(A, stats.K, missing, smallest)
    if below:
        B = np.linalg.multi_dot([*reversed(below)]) if len(below) > 1 else below[0]
        change = linalg.lstsq(B @ B.T, change.T, lapack_driver="gelsy", check_finite=False)[0].T
    return Z + change, violation


def _least_change_of_learned(chain: Chain, K: Array, missing: Array, smallest: float) -> tuple[Array, float]:
    """The same for a Z_1 with fixed entries, for each block of learned entries separately."""
    Z, A = chain.factors[0].copy(), chain.above(0)
    A = np.eye(len(Z)) if A is None else A
    gradient = chain.at_learned_entries(0, A.T @ missing)
    fixed = chain.fixed_of(0)
    for rows, columns in () if fixed is None else fixed.free_blocks(len(Z)):
        Z[np.ix_(rows, columns)] += _solve_left(A[:, rows], K, missing[:, columns], smallest)
    return Z, inner(gradient, gradient)


def _solve_left(A: Array | None, K: Array, missing: Array, smallest: float) -> Array:
    """(AᵀKA)⁺ Aᵀ missing, through a square root of K so that only r_m x r_l matrices are inverted."""
    values, vectors = linalg.eigh(K, check_finite=False)
    kept = values > values[-1] * max(smallest, len(K) * np.finfo(K.dtype).eps)
    root, vectors = np.sqrt(values[kept]), vectors[:, kept]
    whitened = (vectors.T @ missing) / root[:, None]
    if A is None:
        return vectors @ (whitened / root[:, None])
    return np.linalg.pinv(root[:, None] * (vectors.T @ A)) @ whitened


def free_factor(
    chain: Chain, layer: int, stats: Statistics, terms: FactorTerms, smallest: float = 0.0
) -> tuple[Array, float]:
    """Return the optimal factor with the smallest change, including penalties, and the squared gradient before."""
    if terms.row_sums is not None or terms.l1:
        raise ValueError("A penalty on sums of entries needs a nonnegative factor, but this factor may be negative.")
    if terms.gram is None and not terms.kronecker and not terms.ridge:
        K = stats.K if terms.top_gram is None else stats.K + terms.top_gram
        return least_change(chain, layer, replace(stats, K=K), smallest)
    return least_change_with_penalties(chain, layer, stats, terms)


def least_change_with_penalties(chain: Chain, layer: int, stats: Statistics, terms: FactorTerms) -> tuple[Array, float]:
    """`least_change` with additional terms of penalties.

    One term is solved by its eigenvectors. Several terms have no common eigenvectors; they are solved by conjugate
    gradients in the eigenvectors of the first term, preconditioned by the diagonal of all terms, which lower the
    objective with each step.
    """
    Z = chain.factors[layer]
    A, below = chain.above(layer), chain.below(layer)
    A = np.eye(len(Z)) if A is None else A
    left = A.T @ stats.K @ A + _in_input_space(A, terms)
    right = np.linalg.multi_dot([*reversed(below), *(Z.T for Z in below)]) if below else None
    missing = block_target(A, below, stats.M) - (left @ Z if right is None else left @ Z @ right)
    joined = terms.kronecker
    if terms.ridge:
        joined = (*joined, KroneckerTerm(terms.ridge * np.eye(len(Z))))
    missing -= sum(term.applied(Z) for term in joined)
    if terms.linear is not None:
        missing += terms.linear
    return Z + _solve_sum(left, right, joined, missing), float(np.vdot(missing, missing))


def _in_input_space(A: Array, terms: FactorTerms) -> Array:
    """The matrix that penalties add to AᵀKA."""
    parts = [terms.gram] if terms.gram is not None else []
    if terms.top_gram is not None:
        parts.append(A.T @ (terms.top_gram @ A))
    return sum(parts, start=np.zeros((A.shape[1], A.shape[1])))


def _solve_sum(left: Array, right: Array | None, joined: Sequence[KroneckerTerm], target: Array) -> Array:
    """Δ with left Δ right + Σ terms = target."""
    a, U = linalg.eigh(left, check_finite=False)
    if right is None and not joined:
        return U @ (_inverse(a)[:, None] * (U.T @ target))
    b, V = linalg.eigh(np.eye(target.shape[1]) if right is None else right, check_finite=False)
    terms = [(U.T @ term.left @ U, V.T @ (V if term.right is None else term.right @ V)) for term in joined]
    own = np.outer(np.maximum(a, 0), np.maximum(b, 0))
    diagonal = own + sum(np.outer(np.diag(L), np.diag(R)) for L, R in terms)

    def apply(Y: Array) -> Array:
        return own * Y + sum(L @ Y @ R for L, R in terms)

    return U @ conjugate_gradients(apply, U.T @ target @ V, _inverse(diagonal)) @ V.T


def _inverse(values: Array) -> Array:
    """1/values; 0 for values that are negligible relative to the largest."""
    kept = values > max(float(values.max()), 0.0) * len(values) * np.finfo(np.float64).eps
    return np.divide(1, values, out=np.zeros_like(values), where=kept)


def conjugate_gradients(apply: Callable[[Array], Array], target: Array, inverse: Array) -> Array:
    """Solve apply(Y) = target from Y = 0; `inverse` is that of the diagonal, with 0 where Y stays 0."""
    Y = np.zeros_like(target)
    residual = np.where(inverse > 0, target, 0)
    ready = inverse * residual
    direction, size = ready, float(np.vdot(residual, ready))
    enough = CLOSE**2 * size
    for _ in range(MOST_STEPS):
        if size <= enough:
            break
        bent = np.where(inverse > 0, apply(direction), 0)
        stride = size / float(np.vdot(direction, bent))
        Y, residual = Y + stride * direction, residual - stride * bent
        ready = inverse * residual
        size, last = float(np.vdot(residual, ready)), size
        direction = ready + size / last * direction
    return Y
