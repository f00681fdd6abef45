"""X ≈ f(··· f(H Z_m) ···) Z_1: values and gradients by the chain rule.

With the factors fixed, the problem of the rows depends on the data only through F = X Z_1ᵀ and Z_1 Z_1ᵀ, so that no
array here is as wide as X.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.activations import Activation
from deepnmf.objective.chain import Chain, Statistics
from deepnmf.objective.gram import FormedGram
from deepnmf.objective.graph_penalties import GraphPenalty, Graphs
from deepnmf.objective.layer_stack import AtLevels, Backward, LayerStack, Trace
from deepnmf.objective.penalties import CodePenalty, Penalized, Penalty
from deepnmf.objective.quadratic import FactorTerms, Quadratic, inner

NEGLIGIBLE_NORM = 1e-24  # of the largest squared norm: rows below it are not updated


class Slope(NamedTuple):
    """The gradient in a factor, and a measure of curvature for each of its entries (Gauss-Newton, diagonal)."""

    gradient: Array
    curvature: Array

    def step(self) -> Array:
        """The gradient divided by the curvature; 0 where the curvature is 0 or the gradient is not finite."""
        moving = (self.curvature > 0) & np.isfinite(self.gradient)
        return np.divide(self.gradient, self.curvature, out=np.zeros_like(self.gradient), where=moving)


@dataclass(frozen=True)
class Pull:
    """The majorizer of a graph on the values v of a level: ½ d ‖v‖² - g·v, entries weighted by their squared scale."""

    level: int  # from 0 at the top
    d: Array
    g: Array
    scale: Array

    def value(self, V: Array) -> Array:
        """The value for each row."""
        return _row_sums(V * self.scale, 0.5 * self.d[:, None] * V - self.g)

    def gradient(self, V: Array) -> Array:
        """The gradient in the values."""
        return self.scale * (self.d[:, None] * V - self.g)

    @property
    def curvature(self) -> Array:
        """The second derivative of each entry."""
        return self.d[:, None] * self.scale


@dataclass(frozen=True)
class ActivatedRows:
    """The problem of each row's codes h with the factors fixed: ½‖x - v Z_1‖² - ½‖x‖² + penalty.

    v = f(··· f(h Z_m) ··· Z_2) is the row's code on the lowest layer.
    """

    lowest_gram: Array  # Z_1 Z_1ᵀ
    upper: LayerStack  # of Z_2..Z_m
    penalty: CodePenalty
    pulls: tuple[Pull, ...] = ()

    @property
    def row_arrays(self) -> tuple[Array, ...]:
        """The arrays with one row per sample: d and g of each graph."""
        return tuple(array for pull in self.pulls for array in (pull.d, pull.g))

    def of_rows(self, row_arrays: Sequence[Array]) -> "ActivatedRows":
        """The problem of some rows, with their own part of the row arrays."""
        pairs = zip(self.pulls, row_arrays[::2], row_arrays[1::2], strict=True)
        return replace(self, pulls=tuple(replace(pull, d=d, g=g) for pull, d, g in pairs))

    def values_below(self, H: Array) -> list[Array]:
        """V_1..V_m, the codes of every layer, from those of the top one."""
        return self.upper.trace(H).values[::-1]

    def evaluate(self, H: Array, F: Array) -> tuple[Array, Array]:
        """The value of each row, and its gradient in the codes."""
        trace = self.upper.trace(H)
        V = trace.bottom
        VG = V @ self.lowest_gram
        HP = H @ self.penalty.gram
        loss = _row_sums(V, 0.5 * VG - F) + _row_sums(H, 0.5 * HP + self.penalty.l1)
        loss = loss + sum(pull.value(trace.values[pull.level]) for pull in self.pulls)
        return loss, self.upper.backward(trace, VG - F, self._pulled(trace)).top + HP + self.penalty.l1

    def slopes(self, H: Array, F: Array) -> list[Slope]:
        """The slope of the fit in Z_2..Z_m, summed over the rows."""
        trace = self.upper.trace(H)
        found = self.upper.backward(trace, trace.bottom @ self.lowest_gram - F, self._pulled(trace))
        gradients = self.upper.factor_gradients(trace, found)
        bent = self._curvature(trace)
        above = reversed(trace.values[:-1])
        curvatures = [np.square(V).T @ curvature for V, curvature in zip(above, bent.arguments, strict=True)]
        return [Slope(*pair) for pair in zip(gradients, curvatures, strict=True)]

    def curvature(self, H: Array) -> Array:
        """The curvature for each entry of the codes, as in `Slope`."""
        return self._curvature(self.upper.trace(H)).top + np.diag(self.penalty.gram)

    def _curvature(self, trace: Trace) -> Backward:
        at_levels = {pull.level: pull.curvature for pull in self.pulls}
        return self.upper.curvature(trace, np.diag(self.lowest_gram), at_levels)

    def _pulled(self, trace: Trace) -> AtLevels:
        return {pull.level: pull.gradient(trace.values[pull.level]) for pull in self.pulls}


@dataclass(frozen=True)
class ActivatedObjective(Penalized):
    """½‖X - V_1 Z_1‖² + penalties.

    Penalties must not depend on the scale that codes and Z_m can exchange; other scales cannot be exchanged. Graphs may
    be on the values of any layer, ½ λ Σ_k s_l[k] (V_lᵀLV_l)_kk with s_l[k] = ‖Z_l[k, :]‖², because otherwise V_l could
    shrink while Z_l grows. If f(a u) = a^q f(u), layers can exchange scale, too, and the penalty is evaluated as with
    unit rows in every factor from Z_1 to Z_l: s_l[k] = Σ_j Z_l[k, j]² s_{l-1}[j]^(1/q).
    """

    activation: Activation
    penalties: tuple[Penalty, ...] = ()

    @cached_property
    def graphs(self) -> Graphs:
        """The penalties that join samples, each on the values of its layer."""
        return Graphs(tuple(one for one in self.penalties if isinstance(one, GraphPenalty)))

    @cached_property
    def _others(self) -> tuple[Penalty, ...]:
        return tuple(one for one in self.penalties if not one.joins_samples)

    def rows(self, chain: Chain, dtype: np.dtype[np.floating]) -> ActivatedRows:
        """The rows' problem at given factors."""
        factors = [Z.astype(dtype, copy=False) for Z in chain.factors]
        penalty = self.code_penalty(chain)
        return ActivatedRows(
            lowest_gram=factors[0] @ factors[0].T,
            upper=LayerStack(tuple(factors[1:]), self.activation),
            penalty=CodePenalty(penalty.gram.astype(dtype), penalty.l1),
        )

    def pulls(self, chain: Chain, values: Sequence[Array], products: Sequence[Array]) -> tuple[Pull, ...]:
        """The majorizers of the graphs at values V_l, with their products L V_l, for all rows."""
        found, scales = [], self._square_scales(chain)
        for penalty, V, LV in zip(self.graphs.penalties, values, products, strict=True):
            d = penalty.graph.curvature.astype(V.dtype)
            scale = penalty.weight * scales[penalty.layer]
            found.append(Pull(chain.depth - 1 - penalty.layer, d, d[:, None] * V - LV, scale.astype(V.dtype)))
        return tuple(found)

    def value(self, chain: Chain, lowest: Statistics, top: Statistics, roughness: Sequence[Array] = ()) -> float:
        """The objective, from the statistics of V_1 and those of the top codes.

        `roughness` contains the diagonal of V_lᵀLV_l for each graph.
        """
        Z = chain.factors[0]
        fit = 0.5 * lowest.sqnorm - inner(lowest.M, Z) + 0.5 * inner(lowest.K, Z @ Z.T)
        priced = sum(penalty.value(chain, top) for penalty in self._others)
        scales, pairs = self._square_scales(chain), zip(self.graphs.penalties, roughness, strict=True)
        return fit + priced + sum(0.5 * one.weight * float(rough @ scales[one.layer]) for one, rough in pairs)

    def gram_with_graphs(self, chain: Chain, lowest: Statistics, roughness: Sequence[Array]) -> Statistics:
        """The statistics of V_1 for the problem of Z_1, with the penalties of the graphs on its row norms.

        The penalties are concave in the squared norms of the rows, so that their tangent majorizes them.
        """
        if not self.graphs:
            return lowest
        return replace(lowest, K=lowest.K + np.diag(self._prices(chain, roughness)[0]))

    def _square_scales(self, chain: Chain) -> list[Array]:
        """s_1..s_m."""
        scales: list[Array] = []
        for Z in chain.factors:
            scales.append(np.square(Z) @ (self._passed(scales[-1]) if scales else np.ones(Z.shape[1])))
        return scales

    def _passed(self, scales: Array) -> Array:
        """The squared scales of a layer as they multiply the columns of the factor above."""
        q = self.activation.degree
        return np.ones_like(scales) if q is None else scales ** (1 / q)

    def _prices(self, chain: Chain, roughness: Sequence[Array]) -> list[Array]:
        """Twice the derivatives of the graphs in s_1..s_m, by the chain rule from the top down."""
        prices = [np.zeros(len(Z)) for Z in chain.factors]
        for penalty, rough in zip(self.graphs.penalties, roughness, strict=True):
            prices[penalty.layer] += penalty.weight * rough
        q, scales = self.activation.degree, self._square_scales(chain)
        if q is None:
            return prices
        for layer in range(chain.depth - 1, 0, -1):
            s = np.maximum(scales[layer - 1], NEGLIGIBLE_NORM * scales[layer - 1].max() or 1.0)  # zeros have no effect
            prices[layer - 1] += s ** (1 / q - 1) / q * (np.square(chain.factors[layer]).T @ prices[layer])
        return prices

    def lowest_block(self, chain: Chain, lowest: Statistics, top: Statistics) -> Quadratic:
        """The problem of Z_1, which is quadratic because X̂ = V_1 Z_1 is linear in Z_1."""
        terms = self.factor_terms(chain, 0, top)
        return Quadratic(
            FormedGram(lowest.K),
            lowest.M - terms.l1,
            ridge=terms.ridge,
            row_sums=terms.row_sums,
            kronecker=terms.kronecker,
        )

    def factor_terms(self, chain: Chain, layer: int, top: Statistics) -> FactorTerms:
        """The terms that penalties other than graphs add to the problem of a factor.

        A penalty on features in input space is refused, because an activation lies between them and the top codes.
        """
        terms = FactorTerms.sum_of([penalty.on_factor(chain, layer, top) for penalty in self._others])
        if terms.top_gram is not None or terms.gram is not None:
            names = ", ".join(type(one).__name__ for one in self._others)
            raise ValueError(f"{names} depends on features in input space and needs a linear chain.")
        return terms

    def with_penalties(
        self, chain: Chain, top: Statistics, slopes: Sequence[Slope], roughness: Sequence[Array] = ()
    ) -> Iterator[Slope]:
        """The slopes of the objective with penalties in Z_2..Z_m, from the slopes of the fit."""
        prices, scales = self._prices(chain, roughness), self._square_scales(chain)
        for layer, slope in enumerate(slopes, start=1):
            terms, Z = self.factor_terms(chain, layer, top), chain.factors[layer]
            of_graphs = np.outer(prices[layer], self._passed(scales[layer - 1]))
            price = terms.applied(Z) + terms.l1 + of_graphs * Z
            curvature = terms.diagonal(Z.shape) + of_graphs
            yield Slope(slope.gradient + price, slope.curvature + curvature)


def _row_sums(first: Array, second: Array) -> Array:
    return np.einsum("ij,ij->i", first, second, dtype=np.float64)
