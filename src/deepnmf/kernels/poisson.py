"""Coordinate steps on the Kullback-Leibler divergence: codes of rows, over the entries that are above 0.

A row's problem is min over h >= 0 of Σ_k s_k h_k - Σ_t x_t log x̂_t + l1 Σ h + ½ l2 ‖h‖², x̂ = Σ_k h_k f_k, with s the
sums of the features: zeros of the row count through these alone. In one coordinate the slope is
g = s + l1 + l2 h - Σ x f/x̂ and the curvature b = l2 + Σ x f²/x̂². Both steps

    g <= 0:  h ← h - g/b            g > 0:  h ← h · hb/(g + hb)

stop short of the minimum: g is concave in h, and convex in 1/h, so that the tangent in h (in 1/h) meets 0 before the
curve does. A row looks at all coordinates with x̂ as it is, and steps along those that are above 0 or want to be.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels.poisson_loops import LANES, NEGLIGIBLE, descend_dense, descend_stored


class Entries(NamedTuple):
    """Rows as in a CSR matrix; where there are weights, what is not stored was not observed."""

    indptr: Array
    columns: Array
    values: Array
    weights: Array | None = None


@dataclass(frozen=True)
class CodesProblem:
    """What all rows share: features with a row for each column of X, their sums, the prices of a code, and ε."""

    features: Array
    sums: Array
    l1: float
    l2: float
    epsilon: float  # x̂ is at least this where it is divided by, or its logarithm taken

    @cached_property
    def by_feature(self) -> Array:
        """The features with a row each, filled up by zeros; dense rows of all blocks share this copy."""
        p, r = self.features.shape
        rows = np.zeros((r, p + -p % LANES), self.features.dtype)
        rows[:, :p] = self.features.T
        return rows


class Descended(NamedTuple):
    """Sums over the rows that have moved, in double precision."""

    violation: float  # of the optimality conditions, squared, before the first step
    fit: float  # Σ w x̂ - w x log x̂ after the last


def descend_counts(
    entries: Entries,
    problem: CodesProblem,
    H: Array,
    n_passes: int,
    *,
    rounds: int = 1,
    tol: float = 0.0,
    M: Array | None = None,
    measured: bool = True,
    still: Array | None = None,
) -> Descended:
    """Lower each row's problem by passes over its coordinates, in place.

    A round looks for the coordinates that may move, and makes `n_passes` passes over them; a row rests once its
    violation is at most `tol` of ‖s + l1‖ at the beginning of a round. `M`, p x r, receives Σ_i (w x/x̂)_ij h_i as
    (X/X̂)ᵀH, with the codes reached; without rounds codes stay, and only this and the fit are found. The fit is measured
    where it is asked for: logarithms take time. Coordinates that are `still`, an array of the shape of H, do not move.
    """
    kind = H.dtype.type
    weights = np.empty(0, H.dtype) if entries.weights is None else entries.weights
    violation, fit = descend_stored(
        entries.indptr, entries.columns, entries.values, weights, entries.weights is not None, problem.features,
        problem.sums, H, _stillness(still, H), kind(problem.l1), kind(problem.l2), kind(problem.epsilon), n_passes,
        rounds, tol * tol, np.empty((0, H.shape[1])) if M is None else M, measured,
    )  # fmt: skip
    return Descended(violation, fit)


def _stillness(still: Array | None, H: Array) -> Array:
    return np.empty((0, H.shape[1]), bool) if still is None else still


def descend_dense_counts(
    X: Array,
    problem: CodesProblem,
    H: Array,
    n_passes: int,
    *,
    rounds: int = 1,
    tol: float = 0.0,
    M: Array | None = None,
    measured: bool = True,
    still: Array | None = None,
) -> Descended:
    """`descend_counts` for rows of an array: a row's zeros are left out before its steps."""
    kind = H.dtype.type
    violation, fit = descend_dense(
        X, problem.features, problem.by_feature, problem.sums, H, _stillness(still, H), kind(problem.l1),
        kind(problem.l2), kind(problem.epsilon), n_passes, rounds, tol * tol,
        np.empty((0, H.shape[1])) if M is None else M, measured,
    )  # fmt: skip
    return Descended(violation, fit)


def descend_counts_plainly(
    entries: Entries,
    problem: CodesProblem,
    H: Array,
    n_passes: int,
    *,
    rounds: int = 1,
    tol: float = 0.0,
    M: Array | None = None,
    measured: bool = True,
    still: Array | None = None,
) -> Descended:
    """`descend_counts`, row by row and coordinate by coordinate."""
    parts = []
    for i, (begin, end) in enumerate(pairwise(entries.indptr)):
        columns, x = entries.columns[begin:end], entries.values[begin:end]
        price = problem.sums + problem.l1
        if entries.weights is not None:
            weights = entries.weights[begin:end]
            x, price = weights * x, weights @ problem.features[columns] + problem.l1
        moves = np.ones(H.shape[1], bool) if still is None else ~still[i]
        parts.append(_descend_plainly(columns, x, price, problem, H[i], moves, n_passes, rounds, tol, M, measured))
    return Descended(*np.sum(parts, axis=0))


def descend_dense_counts_plainly(
    X: Array,
    problem: CodesProblem,
    H: Array,
    n_passes: int,
    *,
    rounds: int = 1,
    tol: float = 0.0,
    M: Array | None = None,
    measured: bool = True,
    still: Array | None = None,
) -> Descended:
    """`descend_dense_counts`, row by row and coordinate by coordinate."""
    price, parts = problem.sums + problem.l1, []
    moving = np.ones(H.shape, bool) if still is None else ~still
    for h, moves, row in zip(H, moving, X, strict=True):
        columns, one = np.flatnonzero(row > 0), (h, moves, n_passes, rounds, tol, M, measured)
        parts.append(_descend_plainly(columns, row[columns], price, problem, *one))
    return Descended(*np.sum(parts, axis=0))


def _descend_plainly(
    columns: Array,
    x: Array,
    price: Array,
    problem: CodesProblem,
    h: Array,
    moves: Array,
    n_passes: int,
    rounds: int,
    tol: float,
    M: Array | None,
    measured: bool,
) -> tuple[float, float]:
    F, total, first = problem.features[columns], x.sum(), 0.0
    if n_passes and not h.any() and total > 0:
        able = moves & (price > 0)
        h[able] = total / (len(h) * price[able])
    for number in range(rounds):
        slope = price + problem.l2 * h - F.T @ (x / np.maximum(F @ h, problem.epsilon))
        allowed = price * (h * price / total if total > 0 else h > 0)
        own = np.where(slope > 0, np.minimum(slope, allowed), slope)[moves]
        violation = float(np.square(own, dtype=np.float64).sum())
        first = violation if number == 0 else first
        if tol > 0 and violation <= tol**2 * np.square(price, dtype=np.float64).sum():
            break
        active = np.flatnonzero(((slope < 0) | (h > 0)) & moves)
        for k in np.tile(active, n_passes):
            ratio = F[:, k] / np.maximum(F @ h, problem.epsilon)
            h[k] = _stepped(h[k], price[k] - x @ ratio, x @ ratio**2, problem.l2)
            h[k] = 0 if h[k] * price[k] < NEGLIGIBLE * total else h[k]
    model = np.maximum(F @ h, problem.epsilon).astype(np.float64)
    if M is not None:
        np.add.at(M, columns, np.outer(x / model, h))
    return first, float(h @ (price - problem.l1) - x @ np.log(model)) if measured else 0.0


def _stepped(old: float, slope: float, curvature: float, l2: float) -> float:
    """One coordinate, whose slope and curvature are those without L2."""
    slope += l2 * old
    if curvature <= 0:
        return 0.0 if slope > 0 else old
    steep = curvature + l2
    return old - slope / steep if slope <= 0 else old * old * steep / (slope + old * steep)
