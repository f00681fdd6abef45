"""Exact updates of factors of any sign."""

import numpy as np
from scipy import linalg

from deepnmf.arrays import Array
from deepnmf.objective import Chain, Statistics

ALREADY_OPTIMAL = 1e-12


def least_change(chain: Chain, layer: int, stats: Statistics, smallest: float = 0.0) -> tuple[Array, float]:
    """Z_l + Δ with the smallest Δ that solves AᵀKA (Z + Δ) BBᵀ = AᵀMBᵀ, and the squared gradient before.

    The pseudo-inverse solution of the papers starts from nothing at each sweep and drops what the
    upper layers do not use at the moment; the smallest change keeps it, at the same objective. Nothing moves along
    what the codes hardly show, eigenvalues of K below `smallest` of the largest one.
    """
    Z = chain.factors[layer]
    A, below = chain.above(layer), chain.below(layer)
    missing = stats.M - stats.K @ chain.decoder()  # r_m x p
    for factor in below:
        missing = missing @ factor.T
    gradient = missing if A is None else A.T @ missing
    violation = float(np.vdot(gradient, gradient))
    if violation <= ALREADY_OPTIMAL**2 * float(np.vdot(stats.M, stats.M)):
        return Z, violation
    change = _solve_left(A, stats.K, missing, smallest)
    if below:
        B = np.linalg.multi_dot([*reversed(below)]) if len(below) > 1 else below[0]
        change = linalg.lstsq(B @ B.T, change.T, lapack_driver="gelsy", check_finite=False)[0].T
    return Z + change, violation


def _solve_left(A: Array | None, K: Array, missing: Array, smallest: float) -> Array:
    """(AᵀKA)⁺ Aᵀ missing, through a square root of K so that only r_m x r_l matrices are inverted."""
    values, vectors = linalg.eigh(K, check_finite=False)
    kept = values > values[-1] * max(smallest, len(K) * np.finfo(K.dtype).eps)
    root, vectors = np.sqrt(values[kept]), vectors[:, kept]
    whitened = (vectors.T @ missing) / root[:, None]
    if A is None:
        return vectors @ (whitened / root[:, None])
    return np.linalg.pinv(root[:, None] * (vectors.T @ A)) @ whitened
