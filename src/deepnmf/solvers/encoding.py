"""Codes of rows with everything else fixed: nonnegative least squares, each row to its own optimum."""

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
SINGULAR = 1e-10  # the smallest eigenvalue of features at unit norm beside the largest, where codes are not unique
RIDGE = 1e-5  # of each feature's squared norm: it hardly moves a reconstruction, and is far above TOLERANCE
PLAIN, SOUND = 2.0**10, 2.0**200  # sizes of a decoder, and of what a row is to be; others are divided by a power of two


def encode_rows(engine: Engine, decoder: Array, penalty: CodePenalty) -> Array:
    """argmin_{H >= 0} ½‖X - H D‖² + penalty, each row on its own, from 0; holes do not count.

    Solved in double precision until no gradient points down by more than 1e-10 of the row's largest. A row's
    codes do not depend on the rows it is given with. Where several codes are equally good, as with more features than
    columns, the smallest one is taken: otherwise rounding would choose, and similar rows would get unrelated codes.
    """
    unit = float(powers_of_two(np.abs(decoder).max(initial=0), PLAIN))
    if unit != 1:
        own = CodePenalty(penalty.gram / unit / unit, penalty.l1 / unit)
        return encode_rows(engine, decoder / unit, own) / unit
    D = decoder.astype(np.float64, copy=False)
    gram = D @ D.T + penalty.gram
    if _is_singular(gram):  # single precision would move targets to where no code reaches, and the ridge is small
        step = _EncodeStep(np.ascontiguousarray(D.T), _with_ridge(gram), penalty, engine.dtype)
    else:
        step = _EncodeStep(np.ascontiguousarray(decoder.T, dtype=engine.dtype), gram, penalty, engine.dtype)
    (codes,), _ = engine.sweep((), step)
    return codes


def _is_singular(gram: Array) -> bool:
    """Whether some code of the living features changes nothing; how large features are does not matter."""
    alive = gram.diagonal() > 0
    norms = np.sqrt(gram.diagonal()[alive])
    eigenvalues = np.linalg.eigvalsh(gram[np.ix_(alive, alive)] / norms / norms[:, None])
    return len(eigenvalues) > 0 and eigenvalues[0] <= SINGULAR * eigenvalues[-1]


def _with_ridge(gram: Array) -> Array:
    return gram + RIDGE * np.diag(gram.diagonal())


@dataclass(frozen=True)
class _EncodeStep:
    features: Array  # Dᵀ
    gram: Array  # that of rows without holes
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

    A few passes of coordinate descent find which entries are positive, an active-set method solves for them;
    should it not finish a row, that descends to the tolerance.
    """
    units = powers_of_two(np.maximum(F.max(axis=1, initial=0), -F.min(axis=1, initial=0)), SOUND)
    if (units != 1).any():
        return units[:, None] * solve_rows(gram, F / units[:, None])
    gram, F = (np.ascontiguousarray(array, dtype=F.dtype) for array in (gram, F))
    H, _ = descend_rows(np.zeros_like(F), gram, F, WARM_PASSES)
    open_rows = ~polish_rows(H, gram, F, TOLERANCE)
    if open_rows.any():
        H[open_rows], _ = descend_rows(H[open_rows], gram, F[open_rows], MOST_PASSES, TOLERANCE)
    return H


def powers_of_two(sizes: Array, ordinary: float) -> Array:
    """Powers of two next to sizes beyond what is ordinary; 1 for the others and for 0: dividing by one is exact."""
    odd = (sizes > 0) & ((sizes > ordinary) | (sizes < 1 / ordinary))
    return np.exp2(np.rint(np.log2(sizes, where=odd, out=np.zeros(np.shape(sizes)))))


def residual_norm(engine: Engine, codes: Array, decoder: Array) -> float:
    """‖X - H D‖_F over the observed entries from the residual itself, block by block."""
    step = _ResidualStep(decoder.astype(engine.dtype, copy=False))
    _, (square,) = engine.sweep((codes,), step)
    return float(np.sqrt(max(float(square), 0.0)))


def decoded_residual_norm(engine: Engine, codes: Array, decode: Callable[[Array], Array]) -> float:
    """‖X - decode(H)‖_F, a few dense rows at a time."""

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
