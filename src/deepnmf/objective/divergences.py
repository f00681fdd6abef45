"""The beta divergences between X and X̂, with the names, values and conventions of scikit-learn.

d_β(x|y) = (x^β + (β-1) y^β - β x y^(β-1)) / (β(β-1)), and its limits: x log(x/y) - x + y at β = 1 (Kullback-Leibler),
x/y - log(x/y) - 1 at β = 0 (Itakura-Saito). At β = 2 it is half the squared error.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain
from deepnmf.objective.penalties import ElasticNet
from deepnmf.objective.quadratic import inner

NAMES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}
TITLES = {2.0: "squared error", 1.0: "Kullback-Leibler divergence", 0.0: "Itakura-Saito divergence"}
EPSILON = float(np.finfo(np.float32).eps)  # that of scikit-learn, for every precision
FREE = ElasticNet(0.0, 0.0, 0.0, 0.0)
ROOT_STEPS = 60  # largest number of Newton steps; usually about five are enough
ROUNDING = 1e-12  # of the magnitude of a divergence: smaller values count as 0
PERFECT = 1e-6  # of this magnitude: smaller divergences are a perfect fit of data that equal their baseline


class RowsAndColumns(NamedTuple):
    """A baseline of one component: x̂_ij = rows_i columns_j, or columns_j if there are no rows."""

    rows: Array | None
    columns: Array


@dataclass(frozen=True)
class Divergence:
    """Σ w d_β(x|x̂) over the observed entries.

    `epsilon` belongs to the loss: if x is above it, x̂ is taken as at least `epsilon`, so that the divergence is finite;
    a smaller x is taken as 0 if zeros are allowed.

    Examples
    --------
    >>> kl = Divergence.of("kullback-leibler")
    >>> round(kl.value(np.array([2.0, 0.0]), np.array([1.0, 0.5])), 4)
    0.8863
    """

    beta: float
    epsilon: float = EPSILON

    @classmethod
    def of(cls, beta_loss: str | float) -> "Divergence":
        """Return the divergence for scikit-learn's `beta_loss`."""
        if isinstance(beta_loss, str):
            if beta_loss not in NAMES:
                raise ValueError(f"beta_loss must be one of {', '.join(NAMES)} or a number, got {beta_loss!r}.")
            return cls(NAMES[beta_loss])
        if not math.isfinite(beta_loss):
            raise ValueError(f"beta_loss must be one of {', '.join(NAMES)} or a finite number, got {beta_loss!r}.")
        return cls(float(beta_loss))

    @property
    def name(self) -> str:
        """scikit-learn's name, or the number if there is none."""
        return next((name for name, beta in NAMES.items() if beta == self.beta), f"{self.beta:g}")

    @property
    def title(self) -> str:
        """The name in a sentence."""
        return TITLES.get(self.beta, f"beta divergence with β = {self.beta:g}")

    @property
    def error_text(self) -> str:
        """A description of the reconstruction error."""
        if self.is_squared_error:
            return "Frobenius norm of the data minus the reconstruction"
        return f"√(2d), d is the {self.title} of the data from the reconstruction"

    @property
    def baseline_text(self) -> str:
        """A description of the baseline of explained shares."""
        return "row totals times column shares" if self.is_kl else "the column means"

    @property
    def is_squared_error(self) -> bool:
        """Whether it is ½‖X - X̂‖²."""
        return self.beta == NAMES["frobenius"]

    @property
    def is_kl(self) -> bool:
        """Whether it is the Kullback-Leibler divergence, to which zeros of X contribute only sums of X̂."""
        return self.beta == 1

    @property
    def needs_positive_data(self) -> bool:
        """Whether the divergence is infinite for zeros of X."""
        return self.beta <= 0

    @property
    def degree(self) -> float:
        """d(sx|sy) = s^degree d(x|y)."""
        return self.beta

    @property
    def exponent(self) -> float:
        """The exponent with which multiplicative updates never raise the divergence (Févotte & Idier, 2011)."""
        if self.beta < 1:
            return 1 / (2 - self.beta)
        return 1 / (self.beta - 1) if self.beta > 2 else 1.0

    def value(self, x: Array, y: Array, weights: Array | None = None) -> float:
        """The sum over entries, in double precision."""
        values = self.each(x, y)
        return float(np.sum(values if weights is None else weights * values, dtype=np.float64))

    def each(self, x: Array, y: Array) -> Array:
        """d(x|y), entry by entry."""
        x, y = (np.asarray(array, dtype=np.float64) for array in (x, y))
        beta, counted = self.beta, x > (self.epsilon if self.beta > 0 else 0)
        y_there = np.where(counted, np.maximum(y, self.epsilon), 1.0)
        x_there = np.where(counted, x, 1.0)
        if beta == 1:
            return np.where(counted, x_there * np.log(x_there / y_there) - x_there, 0.0) + y
        if beta == 0:
            ratio = x_there / y_there
            return np.where(counted, ratio - np.log(ratio) - 1, 0.0)
        if beta == 2:
            return 0.5 * np.square(x - y)
        own = np.where(counted, x_there**beta - beta * x_there * y_there ** (beta - 1), 0.0)
        floored = np.maximum(y, self.epsilon) if beta < 1 else y
        return (own + (beta - 1) * floored**beta) / (beta * (beta - 1))

    def of_rows(self, X: Array, Y: Array) -> Array:
        """Σ d(x|y) of each row over the observed entries; NaN is unobserved."""
        observed = ~np.isnan(X)
        if self.is_squared_error:
            return 0.5 * np.asarray(np.nansum(np.square(X - Y), axis=1))
        if self.is_kl:  # logarithms of positive counts only
            rows, columns = np.nonzero(X > 0)
            x, y = X[rows, columns], np.asarray(Y, dtype=np.float64)[rows, columns]
            above = np.bincount(rows, self.each(x, y) - y, minlength=len(X))
            return np.asarray(above + np.sum(Y, axis=1, where=observed, dtype=np.float64))
        return np.asarray(np.sum(self.each(X, Y), axis=1, where=observed))

    def constant(self, x: Array, weights: Array | None = None) -> float:
        """The part of the divergence that does not depend on X̂: d(x|x̂) = fit(x, x̂) + constant(x)."""
        if self.beta in (0, 2):
            return 0.0
        x = np.asarray(x, dtype=np.float64)
        if self.is_kl:
            values = np.where(x > self.epsilon, x * np.log(np.maximum(x, self.epsilon)) - x, 0.0)
        else:
            values = x**self.beta / (self.beta * (self.beta - 1))
        return float(np.sum(values if weights is None else weights * values))

    def fit(self, x: Array, model: Array, weights: Array | None, pull: Array, push: Array) -> float:
        """The part of the divergence that depends on X̂, from the powers of a multiplicative step (see `powers`)."""
        if self.beta == 2:
            values = 0.5 * np.square(x - model)
        elif self.is_kl:
            values = model - x * np.log(model)
        elif self.beta == 0:
            ratio = x * (1 / model if weights is not None else push)
            values = ratio - np.log(ratio) - 1
        else:  # the powers include the weights
            return inner(model, push) / self.beta - inner(model, pull) / (self.beta - 1)
        return float(np.sum(values if weights is None else weights * values, dtype=np.float64))

    def powers(self, x: Array, model: Array, weights: Array | None) -> tuple[Array, Array]:
        """W∘X∘X̂^(β-2) and W∘X̂^(β-1), by roots and products if possible, because powers and divisions are slow."""
        if self.beta == 2:
            pull, push = x, model
        elif self.beta == 3:
            pull, push = x * model, np.square(model)
        elif self.beta == 1.5:
            push = np.sqrt(model)
            pull = x / push
        elif self.beta == 0.5:
            push = 1 / np.sqrt(model)
            pull = x * push / model
        elif self.beta == 0:
            push = 1 / model
            pull = x * np.square(push)
        else:
            push = model ** (self.beta - 1)
            pull = x * push / model
        return (pull, push) if weights is None else (weights * pull, weights * push)

    def reconstruction_error(self, divergence: float) -> float:
        """scikit-learn's `reconstruction_err_`, √(2d); a divergence below 0, by rounding, counts as 0."""
        return math.sqrt(2 * max(divergence, 0.0))

    def magnitude(self, sqnorm: float, n_entries: float) -> float:
        """The scale of a divergence: the number of entries times their root mean square to the power β."""
        return float(n_entries * (sqnorm / n_entries) ** (self.beta / 2)) if sqnorm > 0 else 0.0

    def baseline(self, row_totals: Array, column_totals: Array, column_weights: Array) -> RowsAndColumns:
        """The baseline of explained shares, given Σ_j w x, Σ_i w x and Σ_i w.

        For counts it is row total times column share, the model of words that do not depend on documents; otherwise it
        is the column means, the best constants for every β.
        """
        if self.is_kl:
            total = float(np.sum(column_totals)) or 1.0
            return RowsAndColumns(row_totals, column_totals / total)
        return RowsAndColumns(None, column_totals / np.where(column_weights > 0, column_weights, 1))

    def ratio(
        self, pull: Array, push: Array, size: Array, l1: float, l2: float, exponent: float | None = None
    ) -> Array:
        """The factor of the multiplicative update of a nonnegative variable, which never raises the objective.

        `pull` and `push` are Σ w x x̂^(β-2) f and Σ w x̂^(β-1) f, `size` is the variable itself. At ρ times the variable,
        the slope of the majorizer is (push + l1) ρ^a + l2 size ρ^(3-β) - pull up to a power of ρ, with a = 1/exponent.
        From β = 2 on, L2 is part of the first term. With an exponent other than that of the divergence, the objective
        may rise.
        """
        exponent = self.exponent if exponent is None else exponent
        push = push + l1
        if l2 and self.beta >= 2:
            push = push + l2 * size
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.where(push > 0, pull / push, np.where(pull > 0, 1.0, 0.0))
        ratio = ratio if exponent == 1 else ratio**exponent
        return self._with_l2(ratio, pull, push, l2 * size, 1 / exponent) if l2 and self.beta < 2 else ratio

    def _with_l2(self, ratio: Array, pull: Array, push: Array, price: Array, a: float) -> Array:
        """The root with L2, by Newton steps from the root without L2; the function is convex, so they descend to it."""
        b = 3 - self.beta
        for _ in range(ROOT_STEPS):
            slope = a * push * ratio ** (a - 1) + b * price * ratio ** (b - 1)
            excess = push * ratio**a + price * ratio**b - pull
            step = np.divide(excess, slope, out=np.zeros_like(ratio), where=slope > 0)
            ratio = np.maximum(ratio - step, 0)
            if np.all(step <= 1e-14 * ratio):
                break
        return ratio


SQUARED_ERROR = Divergence(NAMES["frobenius"])


def explained_share(divergence: float, baseline: float, magnitude: float) -> float:
    """1 - d(X, X̂) / d(X, baseline), the share that X̂ explains beyond the baseline: R² for squared error.

    If the data equal their baseline up to rounding, there is nothing to explain: the share is 1 if the divergence of X̂
    is at most a millionth of their magnitude, and 0 otherwise.

    Examples
    --------
    >>> explained_share(1.0, 4.0, 10.0)
    0.75
    >>> explained_share(0.0, 0.0, 10.0), explained_share(1.0, 0.0, 10.0)
    (1.0, 0.0)
    """
    if baseline > ROUNDING * magnitude:
        return float(1 - divergence / baseline)
    return float(divergence <= PERFECT * magnitude)


def expected_root(counts: Array, push: Array, l1: float, l2: float) -> Array:
    """The M step of a nonnegative variable: the root of l2 z² + (push + l1) z - counts, which is 0 without counts."""
    push = push + l1
    below = push + np.sqrt(push * push + 4 * l2 * counts) if l2 else 2 * push
    return np.divide(2 * counts, below, out=np.zeros_like(counts), where=(counts > 0) & (below > 0))


def penalty_value(penalty: ElasticNet, chain: Chain, code_sum: float, code_square: float) -> float:
    """L1 and L2 of codes, given Σh and Σh², and of all factors."""
    total = penalty.codes_l1 * code_sum + 0.5 * penalty.codes_l2 * code_square
    if penalty.factor_l1 or penalty.factor_l2:
        for layer in range(chain.depth):
            Z = chain.learned_part(layer)
            total += penalty.factor_l1 * float(Z.sum()) + 0.5 * penalty.factor_l2 * float(np.vdot(Z, Z))
    return total
