"""Descent of a chain in which every layer explains the data with its own codes: Σ_l λ_l d(X | H_l S_l C_l).

One pass over X updates the codes of all layers, which are independent problems. A factor belongs to the chains of its
own layer and of all layers above. At its layer, the codes of a layer above are H_j S_j Z_j ··· Z_{l+1}, so that the
statistics can be summed from the top down, and the factor is the top factor of a chain that ends with its layer and has
these sums as statistics.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import Chain, CodePenalty, Guide, Objective, Statistics
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.descent import ChainDescent, CodesStep, State, relative
from deepnmf.solvers.encoding import encode_rows
from deepnmf.solvers.statistics import GradientStep
from deepnmf.solvers.steps import Solver, squared_violation


class SumOverRows(Protocol):
    """The statistics of codes for a factor."""

    def weighted(self, weight: float) -> Self:
        """Return these statistics times a weight."""
        ...

    def seen_below(self, W: Array) -> Self:
        """Return the statistics of the codes H W."""
        ...

    def plus(self, other: Self) -> Self:
        """Return the sum of both statistics, as for different rows."""
        ...


Sum = TypeVar("Sum", bound=SumOverRows)


@dataclass(frozen=True)
class Layers:
    """The layers that explain the data, and their weights; their codes are stored side by side."""

    weights: tuple[float, ...]  # λ_1..λ_m

    @classmethod
    def top_of(cls, depth: int) -> "Layers":
        """Return the top layer only."""
        return cls((0.0,) * (depth - 1) + (1.0,))

    @property
    def own(self) -> list[int]:
        """The indices of these layers."""
        return [layer for layer, weight in enumerate(self.weights) if weight > 0]

    @property
    def positive(self) -> list[float]:
        """Their weights."""
        return [self.weights[layer] for layer in self.own]

    def added_up(self, chain: Chain, each: Sequence[Sum]) -> list[Sum]:
        """Return for each layer of the chain the statistics of its own codes plus those of the codes above."""
        own = dict(zip(self.own, each, strict=True))
        sums: list[Sum] = []
        for layer in reversed(range(chain.depth)):
            parts = [own[layer].weighted(self.weights[layer])] if layer in own else []
            if sums:
                parts.append(sums[-1].seen_below(chain.smoothed(layer + 1)))
            sums.append(parts[0] if len(parts) == 1 else parts[0].plus(parts[1]))
        return sums[::-1]

    def top(self, H: Array, chain: Chain) -> Array:
        """The codes of the top layer."""
        return H[:, H.shape[1] - len(chain.factors[-1]) :]


def with_rows(seen: Sequence[Sum], chain: Chain, layer: int, own: Sum) -> list[Sum]:
    """Add the statistics of rows with known codes at some layer."""
    seen = list(seen)
    for below in range(layer, -1, -1):
        seen[below] = seen[below].plus(own)
        own = own.seen_below(chain.smoothed(below))
    return seen


# --------------------------------------------------------------------------------------------------- squared error


@dataclass(frozen=True)
class WeightedStatistics:
    """The statistics of the codes of each layer that explains the data."""

    each: tuple[Statistics, ...]
    layers: Layers

    @property
    def sqnorm(self) -> float:
        """The constant of the loss."""
        return sum(weight * one.sqnorm for weight, one in zip(self.layers.positive, self.each, strict=True))


class WeightedDescent(ChainDescent):
    """Sweeps under squared error, with one pass over X each."""

    def __init__(self, engine: Engine, solver: Solver, layers: Layers, guides: Sequence[Guide] = ()) -> None:
        super().__init__(engine, Objective(), solver)
        self.layers, self.guides = layers, guides

    def start(self, codes: Array, chain: Chain, refined: bool = False) -> State:
        """Begin at codes of the top layer and factors; the codes of lower layers are computed."""
        lower = [
            encode_rows(self.engine, chain.decoder(layer), CodePenalty.none(len(chain.factors[layer])))
            for layer in self.layers.own[:-1]
        ]
        (stacked,), _ = self.engine.sweep((*lower, self.engine.as_rows(codes)), side_by_side)
        return super().start(stacked, chain, refined)

    def value(self, chain: Chain, stats: WeightedStatistics) -> float:
        chains = (chain.up_to(layer) for layer in self.layers.own)
        values = (self.objective.value(one, own) for one, own in zip(chains, stats.each, strict=True))
        pulled = sum(guide.value(chain, stats.each[-1]) for guide in self.guides)
        return float(np.dot(self.layers.positive, list(values))) + pulled

    def _seen(self, chain: Chain, stats: WeightedStatistics) -> list[Statistics]:
        """Return the statistics of each layer, including the additional rows of guides."""
        seen = self.layers.added_up(chain, stats.each)
        for guide in self.guides:
            seen = with_rows(seen, chain, guide.layer, guide.statistics(chain))
        return seen

    def _update_codes(self, state: State, chain: Chain) -> tuple[tuple[Array, ...], Any, float]:
        chains = [chain.up_to(layer) for layer in self.layers.own]
        steps = tuple(self.codes_step(state, one) for one in chains)
        out, self._spare = self._spare, None
        rows, sums = self.engine.sweep(self._rows(state), WeightedStep.of(steps, chains, self.engine.dtype), out)
        stats, optimality = self._statistics(sums)
        return rows, stats, optimality

    def _statistics(self, sums: Sums) -> tuple[WeightedStatistics, float]:
        each, optimality = [], 0.0
        for M, K, code_sums, (violation, size), sqnorm in zip(*[iter(sums)] * 5, strict=True):
            each.append(Statistics(M, K, code_sums, self.engine.sqnorm if self.engine.is_complete else float(sqnorm)))
            optimality = max(optimality, relative(violation, size))
        return WeightedStatistics(tuple(each), self.layers), optimality

    def update_factors(self, chain: Chain, stats: Any, most_inner: int, lowest: int = 0) -> tuple[Chain, float]:
        """Update the factors, lowest first, each as the top factor of a chain."""
        optimality = 0.0
        for layer, seen in enumerate(self._seen(chain, stats)[lowest:], lowest):
            moved, own = super().update_factors(chain.up_to(layer), seen, most_inner, lowest=layer)
            chain, optimality = chain.with_factor(layer, moved.factors[-1]), max(optimality, own)
        return chain, optimality

    def residual(self, codes: Array, chain: Chain) -> float:
        """The largest relative projected gradient among codes and factors, with one pass over X."""
        dtype = self.engine.dtype
        chains = [chain.up_to(layer) for layer in self.layers.own]
        decoders = [one.decoder() for one in chains]
        steps = tuple(GradientStep(D.astype(dtype), (D @ D.T).astype(dtype), 0.0) for D in decoders)
        _, sums = self.engine.sweep((codes,), WeightedStep.of(steps, chains, dtype))
        stats, worst = self._statistics(sums)
        for layer, seen in enumerate(self._seen(chain, stats)):
            below = chain.up_to(layer)
            problem, Z = self.objective.block(below, layer, seen, 1), chain.factors[layer]
            if chain.nonnegative:
                violation = squared_violation(Z, chain.at_learned_entries(layer, problem.gradient(Z)))
            else:
                violation = self.free_factor(below, layer, seen).violation
            worst = max(worst, relative(violation, inner(problem.linear, problem.linear)))
        return worst


@dataclass(frozen=True)
class WeightedStep:
    """The pass over one block of rows, which makes a step on the codes of each layer."""

    steps: tuple[CodesStep | GradientStep, ...]
    decoders: tuple[Array, ...]  # with which each layer fills in unobserved entries

    @classmethod
    def of(cls, steps: tuple[CodesStep | GradientStep, ...], chains: Sequence[Chain], dtype: Any) -> "WeightedStep":
        """Return the step with the decoders of chains."""
        return cls(steps, tuple(np.ascontiguousarray(chain.decoder(), dtype=dtype) for chain in chains))

    def __call__(self, X_b: Any, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        edges = np.cumsum([len(D) for D in self.decoders])[:-1]
        by_layer = zip(*(np.split(array, edges, axis=1) for array in rows), strict=True)
        new, sums = [], []
        for step, D, own in zip(self.steps, self.decoders, by_layer, strict=True):
            own = tuple(np.ascontiguousarray(array) for array in own)
            block, sqnorm = (X_b, 0.0) if X_b.is_complete else X_b.completed(own[0], D)
            new_rows, own_sums = step(block, own)
            new.append(new_rows)
            sums += [*own_sums, np.asarray(sqnorm)]
        return tuple(np.hstack(parts) for parts in zip(*new, strict=True)), tuple(sums)


def side_by_side(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:  # noqa: ARG001
    """Concatenate the codes of several layers."""
    return (np.hstack(rows),), ()
