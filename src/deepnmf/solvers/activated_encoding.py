"""Codes of new rows for a chain with an activation, with the factors fixed."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import ActivatedRows, Activation, CodePenalty
from deepnmf.objective.layer_stack import LayerStack
from deepnmf.solvers.encoding import solve_rows
from deepnmf.solvers.row_descent import descend_rows, first_step_sizes

BATCH_ENTRIES, SMALLEST_BATCH, LARGEST_BATCH = 2**18, 64, 256
STEPS_A_ROUND, MOST_ROUNDS, TOLERANCE = 20, 40, 1e-9


@dataclass(frozen=True)
class ActivatedEncoder:
    """Finds codes by descent from the best available start, for each row independently, in double precision.

    The problem is not convex, so that the result depends on the start. A row starts from codes found layer by layer, as
    in the pre-training, or from the codes of another row, whichever fits better.

    Rows are processed in batches of a fixed size, padded with zeros, because the rounding of a product depends on its
    shape and could change the codes where an activation is flat. Thus the codes of a row do not depend on other rows.
    """

    decoders: tuple[Array, ...]  # Z_1..Z_m
    activation: Activation
    penalty: CodePenalty
    nonnegative: bool
    others: Array  # codes of other rows, if there are any

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
        return ActivatedRows(lowest @ lowest.T, LayerStack(self.decoders[1:], self.activation), self.penalty)

    @cached_property
    def _batch(self) -> int:
        """The number of rows per batch, which depends on the model only, not on the number of rows."""
        widest = max(self.decoders[0].shape)
        return int(np.clip(BATCH_ENTRIES // widest, SMALLEST_BATCH, LARGEST_BATCH))

    def _encode_block(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        n = X_b.shape[0]
        F, H, sizes = np.empty((n, len(self.decoders[0]))), np.empty((n, len(self.decoders[-1]))), np.empty(n)
        for part in self._batches(np.arange(n)):
            F[part] = (self._filled_up(X_b.dense(part)) @ self.decoders[0].T)[: len(part)]
            start = self._best_start(self._filled_up(F[part]))
            H[part], sizes[part] = start[: len(part)], first_step_sizes(self._problem, start)[: len(part)]
        unfinished = np.arange(n)
        for _ in range(MOST_ROUNDS):
            unfinished = np.concatenate([self._descend(part, H, F, sizes) for part in self._batches(unfinished)])
            if not len(unfinished):
                break
        return (H.astype(X_b.dtype, copy=False),), ()

    def _descend(self, part: Array, H: Array, F: Array, sizes: Array) -> Array:
        """Improve some rows in place, and return those that have not converged."""
        H_part, F_part, sizes_part = (self._filled_up(array[part]) for array in (H, F, sizes))
        rows = descend_rows(self._problem, H_part, F_part, sizes_part, STEPS_A_ROUND)
        H[part], sizes[part] = rows.codes[: len(part)], rows.sizes[: len(part)]
        return part[rows.promise[: len(part)] > TOLERANCE]

    def _batches(self, rows: Array) -> list[Array]:
        return [rows[start : start + self._batch] for start in range(0, len(rows), self._batch)]

    def _filled_up(self, rows: Array) -> Array:
        """Pad a batch with rows of zeros."""
        filled: Array = np.zeros((self._batch, *rows.shape[1:]))
        filled[: len(rows)] = rows
        return filled

    def _best_start(self, F: Array) -> Array:
        greedy = self._layer_by_layer(F)
        if not len(self.others):
            return greedy
        greedy_values, _ = self._problem.evaluate(greedy, F)
        V, own_values = self._known
        values = own_values - F @ V.T
        best = values.argmin(axis=1)
        better = values[np.arange(len(F)), best] < greedy_values
        return np.where(better[:, None], self.others[best], greedy)

    @cached_property
    def _known(self) -> tuple[Array, Array]:
        """The codes of the other rows on the lowest layer, and their values up to a term of the new row."""
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
        """The Gram matrix of the problem of every layer."""
        *lower, top = (Z @ Z.T for Z in self.decoders)
        return [*lower, top + self.penalty.gram]
