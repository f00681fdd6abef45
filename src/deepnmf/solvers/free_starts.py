"""Initial codes >= 0 and a factor of any sign of one layer, and the factors that fit given codes best."""

import numpy as np
from scipy import linalg

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.objective import Chain, CodePenalty
from deepnmf.solvers.encoding import encode_rows
from deepnmf.solvers.kmeans import kmeans_centers
from deepnmf.solvers.least_squares import least_change
from deepnmf.solvers.starts import random_codes, within_rank
from deepnmf.solvers.statistics import statistics
from deepnmf.solvers.svd import truncated_svd

LARGEST_SHIFT = 1e6  # a larger shift of singular vectors makes all code columns parallel in double precision

# Smaller values are rounding errors and become 0.
NO_CODE = 1e-14  # of the largest code of a column: activations may have roots
NO_WEIGHT = 1e-13  # of the largest entry of a factor, and of the largest eigenvalue of HᵀH


def free_start(engine: Engine, rank: int, init: str, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Return codes >= 0 and a factor of any sign: random, with the error of the truncated SVD, or cluster centers."""
    if init == "kmeans":
        return _kmeans_start(engine, rank, rng)
    codes = random_codes(engine, rank, rng) if init == "random" else _svd_codes(engine, rank, rng)
    codes = np.asarray(codes, dtype=engine.dtype)
    return codes, regress(engine, codes)


def _kmeans_start(engine: Engine, rank: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Return cluster centers as features, and the best nonnegative codes (Ding, Li & Jordan, 2010)."""
    centers = kmeans_centers(engine, rank, rng)
    return encode_rows(engine, centers, CodePenalty.none(rank)), centers


def _svd_codes(engine: Engine, rank: int, rng: np.random.RandomState) -> Array:
    """Return nonnegative codes that span the leading left singular vectors (Gillis & Kumar, 2015).

    The leading left vector of a connected nonnegative X is positive, and adding enough of it makes the other vectors
    nonnegative within the same span. For other X, the constant column is added, at the cost of one rank.
    """
    U, _, _ = within_rank(*truncated_svd(engine, rank, rng))
    size = engine.total_weight**-0.5  # of a column of ones with unit norm
    codes = _lifted(U.astype(np.float64, copy=False), engine.counting_rows, size)
    if codes.shape[1] == rank:
        return codes
    return np.hstack([codes, size * random_codes(engine, rank - codes.shape[1], rng)])


def _lifted(U: Array, counting: Array, size: float) -> Array:
    """Return nonnegative columns in the span of U; rows without weight are only clipped at 0."""
    lead = U[:, 0] if U[counting, 0].sum() >= 0 else -U[:, 0]
    positive = (lead > 0) & counting
    others = U[:, 1:]
    if (others[~positive & counting] < 0).any() or (lead[counting] < 0).any():
        return _above_minima(U, counting, size)
    shifts = np.maximum(0, (-others[positive] / lead[positive, None]).max(axis=0, initial=0))
    if (shifts > LARGEST_SHIFT).any():
        return _above_minima(U, counting, size)
    raised = others + shifts * lead[:, None]
    raised = np.where(raised > NO_CODE * raised[counting].max(axis=0, initial=0), raised, 0)
    return np.hstack([np.maximum(lead, 0)[:, None], raised])


def _above_minima(U: Array, counting: Array, size: float) -> Array:
    kept = U[:, :-1] if U.shape[1] > 1 else U[:, :0]
    raised = np.maximum(kept - kept[counting].min(axis=0, initial=0), 0)
    return np.hstack([raised, np.full((len(U), 1), size)])


def regress(engine: Engine, codes: Array) -> Array:
    """Return the best factor for given codes, lstsq(H, X).

    If other features fit X exactly, the remaining ones are rounding errors, by which codes must not be divided.
    """
    stats = statistics(engine, codes)
    Z = linalg.lstsq(stats.K, stats.M, NO_WEIGHT, lapack_driver="gelsy", check_finite=False)[0]
    return np.where(np.abs(Z) > NO_WEIGHT * np.abs(Z).max(initial=0), Z, 0)


def refitted(engine: Engine, codes: Array, chain: Chain) -> Chain:
    """Return the best chain without sign constraint for given codes that is nearest to the given one.

    A sweep begins with the codes, so that factors that do not match the codes would destroy them.
    """
    stats = statistics(engine, codes)
    for layer in range(chain.depth):
        chain = chain.with_factor(layer, least_change(chain, layer, stats)[0])
    return chain
