"""Coordinate steps on the Kullback-Leibler divergence for codes of rows, over the positive entries.

The problem of a row is min over h >= 0 of Σ_k s_k h_k - Σ_t x_t log x̂_t + l1 Σ h + ½ l2 ‖h‖², x̂ = Σ_k h_k f_k, with the
sums s of the features, through which zeros of the row contribute. In one coordinate the slope is
g = s + l1 + l2 h - Σ x f/x̂, and the curvature is b = l2 + Σ x f²/x̂². Both steps

    g <= 0:  h ← h - g/b            g > 0:  h ← h · hb/(g + hb)

stop before the minimum: g is concave in h, and convex in 1/h, so that the root of the tangent in h (in 1/h) comes
before the root of the curve. First the slopes of all coordinates of a row are computed for the current x̂; then steps
are made for the coordinates that are positive or have a negative slope.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels.poisson_loops import LANES, NEGLIGIBLE, descend_dense, descend_stored


class Entries(NamedTuple):
    """Rows as in a CSR matrix; if there are weights, entries that are not stored were not observed."""

    indptr: Array
    columns: Array
    values: Array
    weights: Array | None = None


@dataclass(frozen=True)
class CodesProblem:
    """The common part of the problems of rows: features with a row for each column of X, their sums, l1, l2 and ε."""

    features: Array
    sums: Array
    l1: float
    l2: float
    epsilon: float  # lower bound of x̂ in quotients and logarithms

    @cached_property
    def by_feature(self) -> Array:
        """The features with one row each, padded with zeros; dense rows of all blocks share this copy."""
        p, r = self.features.shape
        rows = np.zeros((r, p + -p % LANES), self.features.dtype)
        rows[:, :p] = self.features.T
        return rows


class Descended(NamedTuple):
    """Weighted sums over the updated rows, in double precision."""

    violation: float  # of the optimality conditions, squared, before the first step
    fit: float  # Σ w x̂ - w x log x̂ after the last step


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
    row_weights: Array | None = None,
    still: Array | None = None,
) -> Descended:
    """Improve each row by passes over its coordinates, in place.

    A round selects the coordinates that may change, and makes `n_passes` passes over them; a row stops when its
    violation at the beginning of a round is at most `tol` times ‖s + l1‖. `M`, of shape (p, r), receives
    Σ_i (w x/x̂)_ij h_i as (X/X̂)ᵀH, for the new codes; with 0 rounds, codes stay, and only `M` and the fit are computed.
    The fit is computed only if `measured` is true, because logarithms are slow. All sums are weighted by rows. `still`,
    an array of the shape of H, marks coordinates that do not change.
    """
    kind = H.dtype.type
    weights = np.empty(0, H.dtype) if entries.weights is None else entries.weights
    violation, fit = descend_stored(
        entries.indptr, entries.columns, entries.values, weights, entries.weights is not None, problem.features,
        problem.sums, H, _stillness(still, H), kind(problem.l1), kind(problem.l2), kind(problem.epsilon), n_passes,
        rounds, tol * tol, np.empty((0, H.shape[1])) if M is None else M, measured, _given(row_weights, H),
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
    row_weights: Array | None = None,
    still: Array | None = None,
) -> Descended:
    """`descend_counts` for rows of an array; zeros of a row are removed before its steps."""
    kind = H.dtype.type
    violation, fit = descend_dense(
        X, problem.features, problem.by_feature, problem.sums, H, _stillness(still, H), kind(problem.l1),
        kind(problem.l2), kind(problem.epsilon), n_passes, rounds, tol * tol,
        np.empty((0, H.shape[1])) if M is None else M, measured, _given(row_weights, H),
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
    row_weights: Array | None = None,
    still: Array | None = None,
) -> Descended:
    """`descend_counts`, row by row and coordinate by coordinate."""
    parts, own_weights = [], _given(row_weights, H)
    for i, (begin, end) in enumerate(pairwise(entries.indptr)):
        columns, x = entries.columns[begin:end], entries.values[begin:end]
        price = problem.sums + problem.l1
        if entries.weights is not None:
            weights = entries.weights[begin:end]
            x, price = weights * x, weights @ problem.features[columns] + problem.l1
        moves = np.ones(H.shape[1], bool) if still is None else ~still[i]
        one = (H[i], moves, n_passes, rounds, tol, M, measured, own_weights[i])
        parts.append(_descend_plainly(columns, x, price, problem, *one))
    return Descended(*(own_weights @ parts))


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
    row_weights: Array | None = None,
    still: Array | None = None,
) -> Descended:
    """`descend_dense_counts`, row by row and coordinate by coordinate."""
    price, parts, own_weights = problem.sums + problem.l1, [], _given(row_weights, H)
    moving = np.ones(H.shape, bool) if still is None else ~still
    for h, moves, row, weight in zip(H, moving, X, own_weights, strict=True):
        columns, one = np.flatnonzero(row > 0), (h, moves, n_passes, rounds, tol, M, measured, weight)
        parts.append(_descend_plainly(columns, row[columns], price, problem, *one))
    return Descended(*(own_weights @ parts))


def _given(row_weights: Array | None, H: Array) -> Array:
    return np.ones(len(H)) if row_weights is None else row_weights


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
    row_weight: float,
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
        np.add.at(M, columns, np.outer(row_weight * x / model, h))
    return first, float(h @ (price - problem.l1) - x @ np.log(model)) if measured else 0.0


def _stepped(old: float, slope: float, curvature: float, l2: float) -> float:
    """The step of one coordinate, with slope and curvature given without L2."""
    slope += l2 * old
    if curvature <= 0:
        return 0.0 if slope > 0 else old
    steep = curvature + l2
    return old - slope / steep if slope <= 0 else old * old * steep / (slope + old * steep)
