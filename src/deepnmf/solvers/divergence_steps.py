"""Steps of passes under a divergence: updates of a block of rows, and the sums for the factors."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Block, Dense, Engine, Step, Sums
from deepnmf.engines.blocks import entry_rows
from deepnmf.engines.entries import dense_parts, entry_parts, stored_rows
from deepnmf.kernels import sampled_products
from deepnmf.kernels.beta_steps import descend_beta
from deepnmf.kernels.poisson import CodesProblem, Descended, Entries, descend_counts, descend_dense_counts
from deepnmf.objective.divergences import Divergence
from deepnmf.row_weights import by_roots, by_weights
from deepnmf.solvers.descent import extrapolated
from deepnmf.solvers.divergence_state import repeated
from deepnmf.solvers.expected_counts import square_violation

LARGEST_SUM = 2.0**30  # bound on sums of features and their inverses, so that squares are accurate in single precision
WORTH_SINGLE = 2**16  # entries of X; steps on fewer entries take milliseconds in any precision
ENTRIES_AT_ONCE, FEWEST_ROWS = 2**15, 16  # of X̂, which is formed a few rows at a time


@dataclass(frozen=True)
class RowsProblem:
    """The problem of each row of codes: features with a row for each column of X, their sums, and L1 and L2."""

    features: Array
    sums: Array
    divergence: Divergence
    l1: float = 0.0
    l2: float = 0.0

    @classmethod
    def of(cls, decoder: Array, divergence: Divergence, l1: float, l2: float, dtype: Any) -> "RowsProblem":
        """Return the problem for a decoder of shape (r, p)."""
        return cls.in_precision(decoder.T, decoder.sum(axis=1), divergence, l1, l2, dtype)

    @classmethod
    def in_precision(
        cls, features: Array, sums: Array, divergence: Divergence, l1: float, l2: float, dtype: Any
    ) -> "RowsProblem":
        """Return the problem with features and sums in the precision of the steps."""
        return cls(np.ascontiguousarray(features, dtype=dtype), sums.astype(dtype), divergence, l1, l2)

    @property
    def in_single(self) -> "RowsProblem | None":
        """Return the problem in single precision; None if that is impossible or already the case."""
        largest, smallest = self.sums.max(initial=0), self.sums.min(where=self.sums > 0, initial=np.inf)
        if self.features.dtype == np.float32 or not 1 / LARGEST_SUM <= smallest <= largest <= LARGEST_SUM:
            return None
        return replace(self, features=self.features.astype(np.float32), sums=self.sums.astype(np.float32))

    @cached_property
    def counts(self) -> CodesProblem:
        """The problem in the form of the kernel."""
        return CodesProblem(self.features, self.sums, self.l1, self.l2, self.divergence.epsilon)

    @property
    def decoder(self) -> Array:
        """D, of shape (r, p)."""
        return np.ascontiguousarray(self.features.T)


def descend_block(
    X_b: Block, problem: RowsProblem, H: Array, n_passes: int, M: Array | None = None, measured: bool = False,
    rounds: int = 1, tol: float = 0.0, still: Array | None = None,
) -> Descended:  # fmt: skip
    """Make coordinate steps on the codes of a block, in place; `still` codes of counts are not updated."""
    if not problem.divergence.is_kl:
        return _descend_block_by_beta(X_b, problem, H, rounds * n_passes, measured, tol)
    parts = []
    for part, entries in entry_parts(X_b):
        own_still = None if still is None else still[part]
        weights = X_b.weights_of(part)
        if isinstance(entries, Entries):
            own = descend_counts(
                entries, problem.counts, H[part], n_passes, rounds=rounds, tol=tol, M=M, measured=measured,
                row_weights=weights, still=own_still,
            )  # fmt: skip
        elif rounds == 0:
            own = _look_at_dense(entries, problem, H[part], M, measured, weights)
        else:
            own = descend_dense_counts(
                entries, problem.counts, H[part], n_passes, rounds=rounds, tol=tol, M=M, measured=measured,
                row_weights=weights, still=own_still,
            )  # fmt: skip
        parts.append(own)
    return Descended(*(sum(values) for values in zip(*parts, strict=True)))


def _look_at_dense(
    X: Array, problem: RowsProblem, H: Array, M: Array | None, measured: bool, row_weights: Array | None
) -> Descended:
    """Compute the sums for dense counts without steps, by products of a few rows at a time."""
    D, fit, weighed = problem.features.T, 0.0, by_weights(H, row_weights)
    for part, x, _ in few_rows(Dense(X)):
        model = H[part] @ D
        total = float(weighed[part].sum(axis=0, dtype=np.float64) @ problem.sums) if measured else 0.0
        np.maximum(model, problem.divergence.epsilon, out=model)
        if M is not None:
            M += (x / model).T @ weighed[part]
        if measured:
            x = x if row_weights is None else by_weights(x, row_weights[part])
            fit += total - float(np.vdot(x, np.log(model, out=model)))
    return Descended(0.0, fit)


def _descend_block_by_beta(
    X_b: Block, problem: RowsProblem, H: Array, n_passes: int, measured: bool, tol: float
) -> Descended:
    D, loss = problem.decoder, problem.divergence
    violation = fit = 0.0
    for part, x, weights in few_rows(X_b):
        violation += descend_beta(
            x, weights, D, H[part], loss.beta, (problem.l1, problem.l2), loss.epsilon, n_passes, tol
        )
        fit += loss.value(x, H[part] @ D, weights) if measured else 0.0
    return Descended(violation, fit)


@dataclass(frozen=True)
class CoordinateStep:
    """Coordinate steps on some rows of codes, extrapolated if there are previous codes; and sums.

    The sums are those of the codes, [violation, fit, squares], optionally M = (X/X̂)ᵀH, and WᵀH if entries have weights.
    """

    problem: RowsProblem
    n_passes: int
    beta: float = 0.0
    with_counts: bool = False
    measured: bool = False
    steps: RowsProblem | None = None  # the problem of the steps, if their precision is lower
    has_still: bool = False  # whether the second array marks fixed coordinates, instead of being previous codes

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        """Update one block."""
        steps = self.steps
        if isinstance(X_b, Dense):
            contiguous = Dense(np.ascontiguousarray(X_b.X))  # columns are read twice, by steps and by measurements
            contiguous.row_weights, X_b = X_b.row_weights, contiguous
        elif self.with_counts:  # for dense rows they come from products; for others a second pass would be slower
            steps = None
        in_lower_precision, steps = steps is not None, steps or self.problem
        H = np.array(rows[0], dtype=steps.features.dtype, order="C")
        M = np.zeros(self.problem.features.shape) if self.with_counts else None
        rows, still = (rows[:1], rows[1]) if self.has_still else (rows, None)
        extrapolates = len(rows) > 1 and self.beta > 0
        apart = extrapolates or in_lower_precision  # the measured codes are not the result of the steps
        measured_by_steps = self.measured and not apart
        moved = descend_block(X_b, steps, H, self.n_passes, None if apart else M, measured_by_steps, still=still)
        H = H.astype(rows[0].dtype, copy=False)
        if still is not None:  # exactly, even if steps were made in lower precision
            H = np.where(still, rows[0], H)
        new: tuple[Array, ...] = (H,)
        if len(rows) > 1:
            ahead = extrapolated(H, rows[1], self.beta, nonnegative=True) if extrapolates else H
            new, H = (ahead, H), ahead
        fit = moved.fit
        if apart and (self.with_counts or self.measured):
            fit = descend_block(X_b, self.problem, np.array(H), 0, M, self.measured, rounds=0).fit
        weighed = X_b.weighed(H)
        sums = np.array([moved.violation, fit, np.vdot(weighed, H)], np.float64)
        return new, (weighed.sum(axis=0, dtype=np.float64), sums, *self._counts(X_b, weighed, M))

    @staticmethod
    def _counts(X_b: Any, H: Array, M: Array | None) -> Sums:
        if M is None:
            return ()
        return (M,) if X_b.is_complete else (M, np.asarray(X_b.weighted()[1].T @ H))


@dataclass(frozen=True)
class MultiplicativeStep:
    """Multiplicative updates of some rows of codes, if `moves` is true; and sums.

    The sums are P = Hᵀ(W∘X∘X̂^(β-2)), Q = Hᵀ(W∘X̂^(β-1)) and [violation, its size, fit, Σh, Σh²].
    """

    problem: RowsProblem
    moves: bool = True
    exponent: float | None = None  # of the ratio, if it is not the one that always descends
    beta: float = 0.0  # the length of the extrapolation, if there are previous codes

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # a sweep that overflows is undone
    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        """Update one block."""
        if self.problem.divergence.is_kl and (stored := stored_rows(X_b)) is not None:
            return self._on_stored_counts(stored, rows, X_b.row_weights)
        H, D, loss = np.array(rows[0], order="C"), self.problem.decoder, self.problem.divergence
        plain = np.empty_like(H) if len(rows) > 1 else H
        P, Q, sums = np.zeros(D.shape), np.zeros(D.shape), np.zeros(5)
        for part, x, weights in few_rows(X_b):
            row_weights = X_b.weights_of(part)
            h, violation, size = self._moved(H[part], D, x, weights, row_weights)
            plain[part] = h
            if len(rows) > 1:
                h = repeated(h, rows[1][part], self.beta) if self.beta else h
            H[part] = h
            model = h @ D
            np.maximum(model, loss.epsilon, out=model)
            weights, weighed = _joined(weights, row_weights, x), by_weights(h, row_weights)
            pull, push = loss.powers(x, model, weights)
            P += h.T @ pull
            Q += h.T @ push
            fit = loss.fit(x, model, weights, pull, push)
            sums += np.array([violation, size, fit, weighed.sum(dtype=np.float64), np.vdot(weighed, h)], np.float64)
        return (H, plain)[: len(rows)], (P, Q, sums)

    def _on_stored_counts(
        self, X: Matrix, rows: tuple[Array, ...], row_weights: Array | None
    ) -> tuple[tuple[Array, ...], Sums]:
        """The same for sparse counts, where X̂ is needed at stored entries only."""
        H, D, loss = rows[0], self.problem.decoder, self.problem.divergence
        l1, l2, ones = self.problem.l1, self.problem.l2, np.ones(D.shape[1])
        pull = stored_ratios(X, H, self.problem)[0] @ D.T
        price = np.broadcast_to(self.problem.sums, H.shape) + l1
        measured = price + l2 * H - pull, price, (H * pull).sum(axis=1, keepdims=True)
        slope, own_price, totals = (by_roots(each, row_weights) for each in measured)
        violation = square_violation(H, slope, own_price, totals)
        if self.moves:
            H = (H * loss.ratio(pull, price - l1, H, l1, l2, self.exponent)).astype(H.dtype, copy=False)
        ratios, model = stored_ratios(X, H, self.problem)
        weighed, counts = by_weights(H, row_weights), X.data
        counts = counts if row_weights is None else counts * row_weights[entry_rows(X)]
        code_sums, size = weighed.sum(axis=0, dtype=np.float64), np.vdot(own_price, own_price)
        fit = float(code_sums @ self.problem.sums) - float(counts @ np.log(model))
        sums = np.array([violation, size, fit, code_sums.sum(), np.vdot(weighed, H)], np.float64)
        P, Q = np.asarray((ratios.T @ weighed).T, dtype=np.float64), np.outer(code_sums, ones)
        return (H, H)[: len(rows)], (P, Q, sums)

    def _moved(
        self, h: Array, D: Array, x: Array, weights: Array | None, row_weights: Array | None
    ) -> tuple[Array, float, float]:
        loss, l1, l2 = self.problem.divergence, self.problem.l1, self.problem.l2
        model = h @ D
        np.maximum(model, loss.epsilon, out=model)
        pull, push = (part @ D.T for part in loss.powers(x, model, weights))
        price, totals = push + l1, (h * pull).sum(axis=1, keepdims=True)
        slope, price, totals = (by_roots(each, row_weights) for each in (price + l2 * h - pull, price, totals))
        violation = square_violation(h, slope, price, totals)
        if self.moves:
            h = (h * loss.ratio(pull, push, h, l1, l2, self.exponent)).astype(h.dtype, copy=False)
        return h, violation, float(np.vdot(price, price))


def stored_ratios(X: Matrix, H: Array, problem: RowsProblem) -> tuple[Matrix, Array]:
    """X/X̂ and X̂ at the stored entries of X."""
    model = np.maximum(sampled_products(X, H, problem.decoder), problem.divergence.epsilon)
    return sparse.csr_array((X.data / model, X.indices, X.indptr), shape=X.shape), model


@dataclass(frozen=True)
class ValueStep:
    """The divergence at given codes, with X̂ formed a few rows at a time."""

    problem: RowsProblem

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        """Measure one block."""
        D, loss, total = self.problem.decoder, self.problem.divergence, 0.0
        for part, x, weights in few_rows(X_b):
            total += loss.value(x, rows[0][part] @ D, _joined(weights, X_b.weights_of(part), x))
        return (), (np.asarray(total),)


@dataclass(frozen=True)
class InDouble:
    """The sums of a step without updates, for codes in double precision."""

    step: Step

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        """Measure one block."""
        _, sums = self.step(X_b, tuple(array.astype(np.float64, copy=False) for array in rows))
        return (), sums


@dataclass(frozen=True)
class _Constant:
    divergence: Divergence

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        total = 0.0
        for part, entries in entry_parts(X_b):
            values, weights = (entries.values, entries.weights) if isinstance(entries, Entries) else (entries, None)
            of_rows = X_b.weights_of(part)
            if of_rows is not None and isinstance(entries, Entries):
                of_rows = np.repeat(of_rows, np.diff(entries.indptr))
            total += self.divergence.constant(values, _joined(weights, of_rows, values))
        return (), (np.asarray(total),)


def _joined(weights: Array | None, row_weights: Array | None, x: Array) -> Array | None:
    """Weights of entries times those of their rows."""
    return weights if row_weights is None else by_weights(np.ones_like(x) if weights is None else weights, row_weights)


def constant(engine: Engine, divergence: Divergence) -> float:
    """The part of the divergence that does not depend on X̂, over all rows."""
    return 0.0 if divergence.beta in (0, 2) else float(engine.sweep((), _Constant(divergence))[1][0])


def relative(violation: float, engine: Engine, problem: RowsProblem) -> float:
    """The relative violation of coordinate steps; for counts it is relative to the sums of the features, row by row."""
    if not problem.divergence.is_kl:
        return math.sqrt(float(violation) / (engine.total_weight or 1.0))
    price = problem.sums.astype(np.float64) + problem.l1
    size = engine.total_weight * float(price @ price)
    return math.sqrt(float(violation) / size) if size > 0 else 0.0


def is_sound_in_single(engine: Engine) -> bool:
    """Whether steps on rows in double precision can be made in single precision, and are faster."""
    size = math.sqrt(engine.measured.sqnorm / (engine.measured.n_entries or 1.0))
    is_large = engine.total_weight * engine.n_features >= WORTH_SINGLE
    return is_large and engine.dtype == np.float64 and 1 / LARGEST_SUM <= size <= LARGEST_SUM


def few_rows(X_b: Block) -> Iterator[tuple[slice, Array, Array | None]]:
    """Yield rows and weights as arrays, a few rows at a time."""
    return dense_parts(X_b, max(FEWEST_ROWS, ENTRIES_AT_ONCE // X_b.shape[1]))
