"""Descent on a two-sided model, with one pass over X per sweep.

W, S_1 and P, and F if it is the whole basis, are quadratic blocks and are updated by coordinate descent. Variables
behind g are updated by scaled projected gradients, Z - ρ Z∘∇/∇⁺, where ∇⁺ is the part of the gradient that grows with
Z; ρ = 1 is the multiplicative step. Each row of codes, and the basis, has its own ρ and makes no step that raises its
loss. S^R is shared by all rows: it is updated before a pass, by the gradient of the previous pass, and a sweep that
raises the loss is undone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import Quadratic
from deepnmf.objective.layer_stack import LayerStack
from deepnmf.objective.quadratic import inner
from deepnmf.objective.two_sided_model import CodesProblem, Point, Rows, TwoSided, TwoSidedSums
from deepnmf.solvers.descent import ROUNDING, over_columns, relative
from deepnmf.solvers.steps import HALS, projected_gradient

CODE_STEPS = 3
BLOCK_STEPS = 3
BASIS_STEPS = 3
FIRST_RATE = 0.3
LARGEST_RATE = 2.0
SMALLEST_RATE = 1e-8
GROWN, SHRUNK = 1.2, 0.5
LIFT = 1e-3  # of the mean of the row, so that entries can leave 0
SLACK = 1e-13  # of the loss of a row: a smaller rise is a rounding error


@dataclass(frozen=True)
class Labels:
    """One-hot labels Y, with rows of zeros for unknown labels, and the column Q that marks known ones."""

    Y: Array
    known: Array


@dataclass(frozen=True)
class Slopes:
    """Gradients in S^R_2..S^R_m, and their growing parts."""

    gradients: Sequence[Array]
    pulls: Sequence[Array]

    def optimality(self, features: LayerStack) -> float:
        """The largest projected gradient, relative to the gradient at 0."""
        parts = zip(features.factors, self.gradients, self.pulls, strict=True)
        return max((_relative_slope(Z, gradient, pull) for Z, gradient, pull in parts), default=0.0)


@dataclass(frozen=True)
class TwoSidedState:
    """Codes and factors of one objective, and their step lengths."""

    codes: Array
    model: TwoSided
    code_rates: Array
    feature_rate: float = FIRST_RATE
    basis_rate: float = FIRST_RATE
    slopes: Slopes | None = None
    loss: float = np.inf
    optimality: float = np.inf
    exhausted: bool = False


def scaled_step(Z: Array, gradient: Array, pull: Array, rate: Array | float) -> Array:
    """Z - ρ Z∘∇/∇⁺, clipped at 0; entries at 0 are taken as slightly positive."""
    if not Z.size:
        return Z
    lifted = Z + LIFT * Z.mean(axis=1, keepdims=True)
    ratio = np.divide(gradient, pull, out=np.zeros_like(gradient), where=pull > 0)
    return np.maximum(Z - rate * lifted * ratio, 0)


# ------------------------------------------------------------------------------------------ codes


@dataclass(frozen=True)
class CodesMoved:
    """The new codes of a block of rows, and how far from optimal each row was before its last step."""

    point: Point
    rates: Array
    violations: Array
    sizes: Array


def descend_codes(problem: CodesProblem, codes: Array, rates: Array, rows: Rows, n_steps: int) -> CodesMoved:
    """Make scaled gradient steps for each row; a row whose loss would rise stays and shortens its step."""
    moved = CodesMoved(problem.at(codes, rows), rates, np.zeros(len(codes)), np.zeros(len(codes)))
    for _ in range(n_steps):
        moved = _one_step(problem, moved, rows)
    return moved


def _one_step(problem: CodesProblem, moved: CodesMoved, rows: Rows) -> CodesMoved:
    point = moved.point
    pull = problem.backward(point, point.pull).top
    target = problem.backward(point, rows.target).top
    trial = problem.at(scaled_step(point.codes, pull - target, pull, moved.rates), rows)
    lower = trial.values <= point.values + SLACK * np.abs(point.values)
    factor = np.where(lower, GROWN, SHRUNK)[:, None].astype(moved.rates.dtype)
    rates = np.minimum(factor * moved.rates, LARGEST_RATE)
    return CodesMoved(
        trial.where(lower, point), rates, _squares(projected_gradient(point.codes, pull - target)), _squares(target)
    )


def _relative_slope(Z: Array, gradient: Array, pull: Array) -> float:
    return relative(_squares(projected_gradient(Z, gradient)).sum(), _squares(pull - gradient).sum())


def _squares(rows: Array) -> Array:
    return np.einsum("ij,ij->i", rows, rows)


@dataclass(frozen=True)
class CodesPass:
    """The pass over one block of rows: it updates the codes, then computes the sums of the block."""

    problem: CodesProblem

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        codes, rates, Y, known = rows
        seen = self.problem.rows(X_b, Y, known)
        moved = descend_codes(self.problem, codes, rates, seen, CODE_STEPS)
        point, B = moved.point, moved.point.B
        labeled = B[known[:, 0] > 0]
        optimality = np.array([moved.violations.sum(dtype=np.float64), moved.sizes.sum(dtype=np.float64)])
        sums = (B.T @ X_b, B.T @ B, B.T @ Y, labeled.T @ labeled, optimality)
        slopes = (*self._in_features(point, point.pull - seen.target), *self._in_features(point, point.pull))
        return (point.codes, moved.rates), (*sums, *slopes)

    def _in_features(self, point: Point, in_B: Array) -> list[Array]:
        return self.problem.features.factor_gradients(point.trace, self.problem.backward(point, in_B))


# ------------------------------------------------------------------------------------------- sweeps


@dataclass(frozen=True)
class TwoSidedDescent:
    """Sweeps of one model on one engine."""

    engine: Engine
    labels: Labels
    label_weight: float

    def start(self, codes: Array, model: TwoSided) -> TwoSidedState:
        """Begin at codes and factors."""
        codes = np.ascontiguousarray(codes, dtype=self.engine.dtype)
        return TwoSidedState(codes, model, np.full((len(codes), 1), FIRST_RATE, self.engine.dtype))

    def advance(self, state: TwoSidedState) -> TwoSidedState:
        """Make one sweep."""
        model = _features_moved(state)
        codes, rates, sums, slopes, codes_optimality = self._update_codes(state, model)
        model, basis_rate, rest_optimality = self._update_rest(model, sums, state.basis_rate)
        loss = sums.value(model, self.label_weight)
        if not loss <= state.loss + ROUNDING[self.engine.dtype] * self.engine.sqnorm:
            return _taken_back(state)
        return TwoSidedState(
            codes=codes,
            model=model,
            code_rates=rates,
            feature_rate=min(GROWN * state.feature_rate, LARGEST_RATE),
            basis_rate=basis_rate,
            slopes=slopes,
            loss=loss,
            optimality=max(codes_optimality, rest_optimality, slopes.optimality(model.features)),
        )

    def _update_codes(self, state: TwoSidedState, model: TwoSided) -> tuple[Array, Array, TwoSidedSums, Slopes, float]:
        step = CodesPass(CodesProblem.of(model, self.label_weight, self.engine.dtype))
        rows = (state.codes, state.code_rates, self.labels.Y, self.labels.known)
        (codes, rates), (M, K, N, J, (violation, size), *slopes) = self.engine.sweep(rows, step)
        sums = TwoSidedSums(M, K, N, J, self.engine.sqnorm, float(self.labels.Y.sum()))
        depth = len(model.features.factors)
        return codes, rates, sums, Slopes(slopes[:depth], slopes[depth:]), relative(violation, size)

    def _update_rest(self, model: TwoSided, sums: TwoSidedSums, basis_rate: float) -> tuple[TwoSided, float, float]:
        """Update W, S_1, the basis and P in turn, from the sums."""
        W, shallow = self._coordinate_descent(model.W, sums.shallow_block(model), BLOCK_STEPS)
        model = replace(model, W=W)
        S, middle = self._coordinate_descent(model.S, sums.middle_block(model), BLOCK_STEPS)
        model = replace(model, S=S)
        if model.basis.factors:
            model, basis_rate = descend_basis(model, sums.basis_block(model), basis_rate)
        else:
            model = replace(model, F=self._coordinate_descent(model.F, sums.basis_block(model), BLOCK_STEPS)[0])
        head, _ = self._coordinate_descent(model.head, sums.head_block(), BLOCK_STEPS)
        return replace(model, head=head), basis_rate, max(shallow, middle)

    def _coordinate_descent(self, Z: Array, block: Quadratic, n_steps: int) -> tuple[Array, float]:
        if not Z.size:
            return Z, 0.0
        moved = over_columns(self.engine.workers, HALS(), Z, block, n_steps)
        return moved.Z, relative(moved.violation, inner(block.linear, block.linear))


def _features_moved(state: TwoSidedState) -> TwoSided:
    """Return the model with S^R after a step along the gradients of the previous pass."""
    if state.slopes is None:
        return state.model
    steps = zip(state.model.features.factors, state.slopes.gradients, state.slopes.pulls, strict=True)
    factors = tuple(scaled_step(Z, gradient, pull, state.feature_rate) for Z, gradient, pull in steps)
    return replace(state.model, features=replace(state.model.features, factors=factors))


def _taken_back(state: TwoSidedState) -> TwoSidedState:
    """Undo a sweep that raised the loss, and shorten the step; if S^R did not change, only rounding errors are left."""
    rate = SHRUNK * state.feature_rate
    moves = state.slopes is not None and len(state.slopes.gradients) > 0
    return replace(state, feature_rate=rate, exhausted=not moves or rate < SMALLEST_RATE)


@dataclass(frozen=True)
class _BasisPoint:
    """A basis, the growing part of the gradient in F̂_1, and the value of its block."""

    model: TwoSided
    pull: Array
    value: float

    @classmethod
    def of(cls, model: TwoSided, block: Quadratic) -> "_BasisPoint":
        bottom = model.basis_trace.bottom.T
        pull = block.curvature(bottom)
        return cls(model, pull, inner(0.5 * pull - block.linear, bottom))

    def moved(self, block: Quadratic, rate: float) -> "_BasisPoint":
        """Make a step along the gradients in F and S^L."""
        basis, trace = self.model.basis, self.model.basis_trace
        pull, slope = (basis.backward(trace, found.T) for found in (self.pull, self.pull - block.linear))
        parts = zip(
            basis.factors, basis.factor_gradients(trace, slope), basis.factor_gradients(trace, pull), strict=True
        )
        ladder = LayerStack(tuple(scaled_step(*part, rate) for part in parts), basis.activation)
        top = scaled_step(trace.values[0], slope.top, pull.top, rate)
        return _BasisPoint.of(replace(self.model, basis=ladder, F=top.T), block)


def descend_basis(model: TwoSided, block: Quadratic, rate: float) -> tuple[TwoSided, float]:
    """Make scaled gradient steps on F and S^L together, without raising the value of the block."""
    point = _BasisPoint.of(model, block)
    for _ in range(BASIS_STEPS):
        trial = point.moved(block, rate)
        lower = trial.value <= point.value
        point = trial if lower else point
        rate = min(rate * (GROWN if lower else SHRUNK), LARGEST_RATE)
    return point.model, rate
