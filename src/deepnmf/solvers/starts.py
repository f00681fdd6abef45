"""Initial codes and factors of one layer.

Random numbers are drawn for features alone, and a row's codes are made of them and of the row: a row has the same start
wherever it stands among the others.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import Chain, CodePenalty
from deepnmf.solvers.encoding import encode_rows
from deepnmf.solvers.kmeans import kmeans_centers
from deepnmf.solvers.least_squares import least_change
from deepnmf.solvers.statistics import statistics
from deepnmf.solvers.svd import truncated_svd

NNDSVD_POWER_STEPS, STEADY = 7, 0.01  # from rougher vectors, text ends in poorer minima
ROUNDING = 1e-14  # of the largest code: the row that a column is raised by has none, and activations have roots
STEEPEST = 1e6  # a shift beyond this makes all code columns parallel in double precision
BEYOND_THE_RANK = 1e-7  # of the largest singular value: what is smaller is rounding of XᵀX
UNSHOWN = 1e-13  # of the largest eigenvalue of HᵀH, and of the largest entry of a factor: what is smaller is rounding
SAME = 1e-12  # of the mean square of the rows: those that differ by less are taken for equal
TURNS = 20  # radians, of the phase of a random code over the spread of the rows


def nonnegative_start(engine: Engine, rank: int, init: str, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Codes and factor >= 0: random, or NNDSVD (Boutsidis & Gallopoulos, 2008) as far as the rank goes."""
    if init == "random":
        return _random(engine, rank, rng)
    triplets = truncated_svd(engine, rank, rng, power_steps=NNDSVD_POWER_STEPS, steady=STEADY)
    codes, factor = _nndsvd(*_within_rank(*triplets))
    if init == "nndsvda":
        codes[codes == 0] = factor[factor == 0] = engine.mean
    elif init == "nndsvdar":
        factor = np.where(factor == 0, engine.mean / 100 * rng.random_sample(factor.shape), factor)
        codes = np.where(codes == 0, engine.mean / 100 * random_codes(engine, len(factor), rng), codes)
    if len(factor) == rank:
        return codes, factor
    other_codes, other_factor = _random(engine, rank, rng)
    found = len(factor)
    return np.hstack([codes, other_codes[:, found:]]), np.vstack([factor, other_factor[found:]])


def _random(engine: Engine, rank: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    scale = np.sqrt(engine.mean / rank)
    factor = np.abs(scale * rng.standard_normal((rank, engine.n_features)))
    return (scale * random_codes(engine, rank, rng)).astype(engine.dtype, copy=False), factor


def random_codes(engine: Engine, rank: int, rng: np.random.RandomState) -> Array:
    """|cos(x R + φ)| for each row x, of unit root mean square: random features (Rahimi & Recht, 2007).

    They turn so fast that rows which are not all but equal have unrelated codes, as if codes were drawn row by row.
    """
    directions = rng.standard_normal((rank, engine.n_features))
    phases = 2 * np.pi * rng.random_sample(rank)
    turns = TURNS / (_row_spread(engine) or 1.0)
    return np.sqrt(2) * np.abs(np.cos(np.asarray(engine.project(turns * directions), dtype=np.float64) + phases))


def _row_spread(engine: Engine) -> float:
    """The root mean square of how far rows are from their mean, as far as rounding lets it be told."""
    sums, weights = engine.column_sums()
    n_rows = weights.max()
    square = engine.measured.sqnorm / n_rows
    return float(np.sqrt(max(square - float(np.square(sums / n_rows).sum()), SAME * square)))


def _within_rank(U: Array, s: Array, Vt: Array) -> tuple[Array, Array, Array]:
    """Singular triplets as far as the rank of X goes; vectors beyond are arbitrary."""
    found = max(1, np.count_nonzero(s > BEYOND_THE_RANK * s[0]))
    return U[:, :found], s[:found], Vt[:found]


def _nndsvd(U: Array, s: Array, Vt: Array) -> tuple[Array, Array]:
    codes, factor = np.zeros_like(U), np.zeros_like(Vt)
    codes[:, 0], factor[0] = np.sqrt(s[0]) * np.abs(U[:, 0]), np.sqrt(s[0]) * np.abs(Vt[0])
    for k in range(1, len(s)):
        sides = [(np.maximum(sign * U[:, k], 0), np.maximum(sign * Vt[k], 0)) for sign in (1, -1)]
        sizes = [(np.linalg.norm(u), np.linalg.norm(v)) for u, v in sides]
        best = int(sizes[1][0] * sizes[1][1] > sizes[0][0] * sizes[0][1])
        (u, v), (u_size, v_size) = sides[best], sizes[best]
        if u_size * v_size > 0:
            scale = np.sqrt(s[k] * u_size * v_size)
            codes[:, k], factor[k] = scale * u / u_size, scale * v / v_size
    return codes, factor


@dataclass(frozen=True)
class BalancedStart:
    """A start for the Kullback-Leibler divergence, from rows divided by the root of their sum.

    Under this divergence deviations grow with the root of what is expected. In the singular vectors of the rows as they
    are, those with large sums count too much.

    Parameters
    ----------
    start : function
        Makes codes and factor of the divided rows.
    rows : array
        The rows that the layer is fitted to.
    """

    start: Callable[[Engine, int], tuple[Array, Array]]
    rows: Array

    def __call__(self, engine: Engine, rank: int) -> tuple[Array, Array]:
        (divided, roots), _ = engine.sweep((self.rows,), _divided)
        codes, factor = self.start(engine.for_codes(divided), rank)
        (codes,), _ = engine.sweep((codes, roots), _multiplied)
        return codes, factor


def _divided(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:  # noqa: ARG001
    roots = np.sqrt(rows[0].sum(axis=1, keepdims=True))
    return (rows[0] / np.where(roots > 0, roots, 1), roots), ()


def _multiplied(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:  # noqa: ARG001
    return (rows[0] * rows[1],), ()


def free_start(engine: Engine, rank: int, init: str, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Codes >= 0 and a free factor: random, with the truncated-SVD error, or the centers of clusters."""
    if init == "kmeans":
        return _kmeans_start(engine, rank, rng)
    codes = random_codes(engine, rank, rng) if init == "random" else _svd_codes(engine, rank, rng)
    codes = np.asarray(codes, dtype=engine.dtype)
    return codes, regress(engine, codes)


def _kmeans_start(engine: Engine, rank: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Centers of clusters as features, and the nonnegative codes that fit best (Ding, Li & Jordan, 2010)."""
    centers = kmeans_centers(engine, rank, rng)
    return encode_rows(engine, centers, CodePenalty(np.zeros((rank, rank)))), centers


def _svd_codes(engine: Engine, rank: int, rng: np.random.RandomState) -> Array:
    """Nonnegative codes that span the leading left singular vectors (Gillis & Kumar, 2015).

    The leading left vector of a connected nonnegative X is positive, and enough of it makes the others
    nonnegative within the same span. Elsewhere the constant column does it, at the price of one rank.
    """
    U, _, _ = _within_rank(*truncated_svd(engine, rank, rng))
    codes = _lifted(U.astype(np.float64, copy=False))
    if codes.shape[1] == rank:
        return codes
    return np.hstack([codes, random_codes(engine, rank - codes.shape[1], rng) / np.sqrt(len(codes))])


def _lifted(U: Array) -> Array:
    lead = U[:, 0] if U[:, 0].sum() >= 0 else -U[:, 0]
    positive = lead > 0
    others = U[:, 1:]
    if (others[~positive] < 0).any() or (lead < 0).any():
        return _above_minima(U)
    shifts = np.maximum(0, (-others[positive] / lead[positive, None]).max(axis=0, initial=0))
    if (shifts > STEEPEST).any():
        return _above_minima(U)
    raised = others + shifts * lead[:, None]
    return np.hstack([lead[:, None], np.where(raised > ROUNDING * raised.max(axis=0, initial=0), raised, 0)])


def _above_minima(U: Array) -> Array:
    kept = U[:, :-1] if U.shape[1] > 1 else U[:, :0]
    return np.hstack([kept - kept.min(axis=0, initial=0), np.full((len(U), 1), len(U) ** -0.5)])


def regress(engine: Engine, codes: Array) -> Array:
    """The factor that fits best for given codes, lstsq(H, X).

    Where other features fit X exactly, rounding is left of a feature, and codes would be divided by it.
    """
    stats = statistics(engine, codes)
    Z = linalg.lstsq(stats.K, stats.M, UNSHOWN, lapack_driver="gelsy", check_finite=False)[0]
    return np.where(np.abs(Z) > UNSHOWN * np.abs(Z).max(initial=0), Z, 0)


def refitted(engine: Engine, codes: Array, chain: Chain) -> Chain:
    """The free chain nearest to the given one that fits best for given codes.

    A sweep begins with the codes: factors that do not belong to them would undo them.
    """
    stats = statistics(engine, codes)
    for layer in range(chain.depth):
        chain = chain.with_factor(layer, least_change(chain, layer, stats)[0])
    return chain
