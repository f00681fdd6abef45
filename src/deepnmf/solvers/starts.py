"""Initial codes and factors >= 0 of one layer; `deepnmf.solvers.free_starts` has factors of any sign.

Random numbers are drawn for features only; the codes of a row are computed from them and the row, so that a row has the
same initial codes at any position in X.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.solvers.svd import truncated_svd

# Accuracy of the singular vectors for NNDSVD: with less accurate ones, fits of text end in poorer minima.
NNDSVD_POWER_STEPS, STEADY = 7, 0.01
RANK_TOLERANCE = 1e-7  # of the largest singular value: smaller ones are rounding errors of XᵀX

PHASE_RANGE = 20  # radians: the phase range of a random code over the spread of the rows
EQUAL_ROWS = 1e-12  # of the mean square of the rows: rows whose squares differ by less are considered equal


def nonnegative_start(engine: Engine, rank: int, init: str, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Return codes and factor >= 0: random, or NNDSVD (Boutsidis & Gallopoulos, 2008) up to the rank."""
    if init == "random":
        return _random(engine, rank, rng)
    triplets = truncated_svd(engine, rank, rng, power_steps=NNDSVD_POWER_STEPS, steady=STEADY)
    codes, factor = _nndsvd(*within_rank(*triplets), engine.row_weights)
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

    They oscillate so fast that rows that are not nearly equal have unrelated codes, as if codes were drawn row by row.
    """
    directions = rng.standard_normal((rank, engine.n_features))
    phases = 2 * np.pi * rng.random_sample(rank)
    turns = PHASE_RANGE / (_row_spread(engine) or 1.0)
    return np.sqrt(2) * np.abs(np.cos(np.asarray(engine.project(turns * directions), dtype=np.float64) + phases))


def _row_spread(engine: Engine) -> float:
    """The root mean square distance of rows from their mean; 0 if it is only rounding error."""
    sums, weights = engine.column_sums()
    n_rows = weights.max()
    square = engine.measured.sqnorm / n_rows
    return float(np.sqrt(max(square - float(np.square(sums / n_rows).sum()), EQUAL_ROWS * square)))


def within_rank(U: Array, s: Array, Vt: Array) -> tuple[Array, Array, Array]:
    """Singular triplets up to the rank of X; vectors beyond are arbitrary."""
    found = max(1, np.count_nonzero(s > RANK_TOLERANCE * s[0]))
    return U[:, :found], s[:found], Vt[:found]


def _nndsvd(U: Array, s: Array, Vt: Array, row_weights: Array | None) -> tuple[Array, Array]:
    codes, factor = np.zeros_like(U), np.zeros_like(Vt)
    codes[:, 0], factor[0] = np.sqrt(s[0]) * np.abs(U[:, 0]), np.sqrt(s[0]) * np.abs(Vt[0])
    for k in range(1, len(s)):
        sides = [(np.maximum(sign * U[:, k], 0), np.maximum(sign * Vt[k], 0)) for sign in (1, -1)]
        sizes = [(_norm(u, row_weights), np.linalg.norm(v)) for u, v in sides]
        best = int(sizes[1][0] * sizes[1][1] > sizes[0][0] * sizes[0][1])
        (u, v), (u_size, v_size) = sides[best], sizes[best]
        if u_size * v_size > 0:
            scale = np.sqrt(s[k] * u_size * v_size)
            codes[:, k], factor[k] = scale * u / u_size, scale * v / v_size
    return codes, factor


def _norm(u: Array, row_weights: Array | None) -> float:
    return float(np.linalg.norm(u) if row_weights is None else np.sqrt(row_weights @ np.square(u)))


@dataclass(frozen=True)
class BalancedStart:
    """An initialization for the Kullback-Leibler divergence, from rows divided by the root of their sum.

    For this divergence, deviations are proportional to the root of the expected values. In the singular vectors of the
    original rows, rows with large sums would have too much weight.

    Parameters
    ----------
    start : function
        Returns codes and factor for the divided rows.
    rows : array
        The rows to which the layer is fitted.
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
