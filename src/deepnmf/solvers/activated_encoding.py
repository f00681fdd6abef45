"""Codes of new rows below an activation, with the factors fixed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, Sums
from deepnmf.objective import ActivatedRows, Activation, CodePenalty
from deepnmf.solvers.encoding import solve_rows
from deepnmf.solvers.row_descent import descend_rows, first_step_sizes

BATCH = 64
STEPS_A_ROUND, MOST_ROUNDS, TOLERANCE = 20, 40, 1e-9


@dataclass(frozen=True)
class ActivatedEncoder:
    """The codes downhill of the best start at hand, each row on its own, in double precision.

    The problem is not convex: where a row starts decides where it ends. It starts layer by layer, as the pre-training
    saw the rows, or from the codes of another row, whichever fits it better.

    Rows are taken in batches of one size, the last one filled up: a product's rounding depends on its shape, and
    where an activation is flat it would decide the codes. So a row's codes do not depend on the rows it is given with.
    """

    decoders: tuple[Array, ...]  # Z_1..Z_m
    activation: Activation
    penalty: CodePenalty
    nonnegative: bool
    others: Array  # codes of other rows

    def encode(self, engine: Engine) -> Array:
        """Codes of the top layer."""
        (codes,), _ = engine.sweep((), self._encode_block)
        return codes

    def values_below(self, H: Array) -> list[Array]:
        """Codes of every layer, from those of the top one."""
        return self._problem.values_below(H)

    @cached_property
    def _problem(self) -> ActivatedRows:
        lowest = self.decoders[0]
        return ActivatedRows(lowest @ lowest.T, self.decoders[1:], self.activation, self.penalty)

    def _encode_block(self, X_b: Matrix, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        codes = np.empty((X_b.shape[0], len(self.decoders[-1])), X_b.dtype)
        for start in range(0, len(codes), BATCH):
            part = slice(start, min(start + BATCH, len(codes)))
            codes[part] = self._encode_batch(_filled_up(X_b[part]))[: part.stop - part.start]
        return (codes,), ()

    def _encode_batch(self, X: Array) -> Array:
        F = X @ self.decoders[0].T
        H = self._best_start(F)
        sizes = first_step_sizes(self._problem, H)
        active = np.ones(BATCH, dtype=bool)
        for _ in range(MOST_ROUNDS):
            rows = descend_rows(self._problem, H, F, sizes, STEPS_A_ROUND)
            H, sizes = np.where(active[:, None], rows.codes, H), np.where(active, rows.sizes, sizes)
            active &= rows.promise > TOLERANCE
            if not active.any():
                break
        return H

    def _best_start(self, F: Array) -> Array:
        greedy = self._layer_by_layer(F)
        greedy_values, _ = self._problem.evaluate(greedy, F)
        V, own_values = self._known
        values = own_values - F @ V.T
        best = values.argmin(axis=1)
        better = values[np.arange(BATCH), best] < greedy_values
        return np.where(better[:, None], self.others[best], greedy)

    @cached_property
    def _known(self) -> tuple[Array, Array]:
        """The other rows' codes on the lowest layer, and their values but for what a row adds."""
        V = self._problem.values_below(self.others)[0]
        values, _ = self._problem.evaluate(self.others, np.zeros_like(V))
        return V, values

    def _layer_by_layer(self, F: Array) -> Array:
        *lower, top = self._grams
        for gram, Z in zip(lower, self.decoders[1:], strict=True):
            F = self.activation.inverse(solve_rows(gram, F), self.nonnegative) @ Z.T
        return solve_rows(top, F - self.penalty.l1)

    @cached_property
    def _grams(self) -> list[Array]:
        """The Gram matrix of every layer's own problem."""
        *lower, top = (Z @ Z.T for Z in self.decoders)
        return [*lower, top + self.penalty.gram]


def _filled_up(X: Matrix) -> Array:
    """A dense batch in double precision, rows of zeros behind the last."""
    filled: Array = np.zeros((BATCH, X.shape[1]))
    dense: Any = X.toarray() if sparse.issparse(X) else X
    filled[: len(dense)] = dense
    return filled
