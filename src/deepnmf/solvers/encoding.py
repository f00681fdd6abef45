"""Codes of rows with the factors fixed, by nonnegative least squares for each row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.engines.blocks import DENSE_ROWS, NormalEquations
from deepnmf.kernels import descend_rows, polish_rows
from deepnmf.objective import CodePenalty

MOST_PASSES = 2000
WARM_PASSES = 20
TOLERANCE = 1e-10
SINGULAR = 1e-10  # ratio of the smallest to the largest eigenvalue, for unit features, below which codes are not unique
RIDGE = 1e-5  # of the squared norm of each feature: it hardly changes a reconstruction, and is far above TOLERANCE
LARGEST_DECODER, LARGEST_ROW = 2.0**10, 2.0**200  # larger ones are divided by a power of two


def encode_rows(engine: Engine, decoder: Array, penalty: CodePenalty) -> Array:
    """argmin_{H >= 0} ½‖X - H D‖² + penalty over the observed entries, for each row independently, starting from 0.

    Rows are solved in double precision until no entry of the projected gradient exceeds 1e-10 times the largest
    gradient of the row. The codes of a row do not depend on other rows. If several codes are optimal, as with more
    features than columns, the result has the smallest norm: otherwise rounding would decide, and similar rows would
    get unrelated codes.
    """
    unit = float(powers_of_two(np.abs(decoder).max(initial=0), LARGEST_DECODER))
    if unit != 1:
        own = CodePenalty(penalty.gram / unit / unit, penalty.l1 / unit)
        return encode_rows(engine, decoder / unit, own) / unit
    D = decoder.astype(np.float64, copy=False)
    gram = D @ D.T + penalty.gram
    if _is_singular(gram):  # in single precision, targets would be out of reach of the codes, and the ridge is small
        step = _EncodeStep(np.ascontiguousarray(D.T), _with_ridge(gram), penalty, engine.dtype)
    else:
        step = _EncodeStep(np.ascontiguousarray(decoder.T, dtype=engine.dtype), gram, penalty, engine.dtype)
    (codes,), _ = engine.sweep((), step)
    return codes


def _is_singular(gram: Array) -> bool:
    """Whether the nonzero features are linearly dependent, independent of their scale."""
    alive = gram.diagonal() > 0
    norms = np.sqrt(gram.diagonal()[alive])
    eigenvalues = np.linalg.eigvalsh(gram[np.ix_(alive, alive)] / norms / norms[:, None])
    return len(eigenvalues) > 0 and eigenvalues[0] <= SINGULAR * eigenvalues[-1]


def _with_ridge(gram: Array) -> Array:
    return gram + RIDGE * np.diag(gram.diagonal())


@dataclass(frozen=True)
class _EncodeStep:
    features: Array  # Dᵀ
    gram: Array  # for rows without missing entries
    penalty: CodePenalty
    dtype: np.dtype[Any]

    def __call__(self, X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        codes = np.empty((X_b.shape[0], len(self.gram)))
        for own in X_b.normal_equations(self.features):
            target = own.target.astype(np.float64, copy=False) - self.penalty.l1
            codes[own.rows] = solve_rows(self._gram(own), target)
        return (codes.astype(self.dtype, copy=False),), ()

    def _gram(self, own: NormalEquations) -> Array:
        if own.gram is None:
            return self.gram
        gram = own.gram + self.penalty.gram
        return _with_ridge(gram) if own.n_observed < len(gram) else gram


def solve_rows(gram: Array, F: Array) -> Array:
    """argmin_{H >= 0} ½<H G, H> - <F, H>, row by row.

    A few passes of coordinate descent find the positive entries, for which an active-set method solves exactly; a row
    that it does not finish continues with coordinate descent down to the tolerance.
    """
    units = powers_of_two(np.maximum(F.max(axis=1, initial=0), -F.min(axis=1, initial=0)), LARGEST_ROW)
    if (units != 1).any():
        return units[:, None] * solve_rows(gram, F / units[:, None])
    gram, F = (np.ascontiguousarray(array, dtype=F.dtype) for array in (gram, F))
    H, _ = descend_rows(np.zeros_like(F), gram, F, WARM_PASSES)
    open_rows = ~polish_rows(H, gram, F, TOLERANCE)
    if open_rows.any():
        H[open_rows], _ = descend_rows(H[open_rows], gram, F[open_rows], MOST_PASSES, TOLERANCE)
    return H


def powers_of_two(sizes: Array, ordinary: float) -> Array:
    """Return powers of two near sizes above `ordinary`, by which divisions are exact; 1 for other sizes and for 0."""
    odd = (sizes > 0) & ((sizes > ordinary) | (sizes < 1 / ordinary))
    return np.exp2(np.rint(np.log2(sizes, where=odd, out=np.zeros(np.shape(sizes)))))


def residual_norm(engine: Engine, codes: Array, decoder: Array) -> float:
    """‖X - H D‖_F over the observed entries, from the residual itself, block by block."""
    step = _ResidualStep(decoder.astype(engine.dtype, copy=False))
    _, (square,) = engine.sweep((codes,), step)
    return float(np.sqrt(max(float(square), 0.0)))


def decoded_residual_norm(engine: Engine, codes: Array, decode: Callable[[Array], Array]) -> float:
    """‖X - decode(H)‖_F, computed a few dense rows at a time."""

    def square(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        total = 0.0
        for start in range(0, len(rows[0]), DENSE_ROWS):
            part = slice(start, start + DENSE_ROWS)
            total += float(np.sum(np.square(X_b.dense(part) - decode(rows[0][part])), dtype=np.float64))
        return (), (np.asarray(total),)

    _, (total,) = engine.sweep((codes,), square)
    return float(np.sqrt(total))


@dataclass(frozen=True)
class _ResidualStep:
    decoder: Array

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        return (), (np.asarray(X_b.misfit(rows[0], self.decoder)),)
