"""Descent of a chain in which every layer explains the data under a beta divergence, with passes over the rows only.

As in `deepnmf.solvers.weighted_layers`, the statistics of the codes of upper layers are summed from the top down:
pulls for the Kullback-Leibler divergence, ratios for the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import Chain, Guide
from deepnmf.objective.divergences import FREE, Divergence
from deepnmf.solvers.divergence_encoding import encode_by_divergence
from deepnmf.solvers.divergence_state import DivergenceState
from deepnmf.solvers.divergence_steps import CoordinateStep, InDouble, MultiplicativeStep, RowsProblem, relative
from deepnmf.solvers.expected_counts import Counts, Ratios, expected_factor, multiplied, relative_violation
from deepnmf.solvers.pass_sweeps import BOLD, Pass, PassSweeps
from deepnmf.solvers.weighted_layers import Layers, side_by_side, with_rows


class WeightedPasses(PassSweeps):
    """Sweeps over rows of any engine."""

    def __init__(
        self,
        engine: Engine,
        divergence: Divergence,
        layers: Layers,
        multiplies: bool = False,
        guides: Sequence[Guide] = (),
    ) -> None:
        super().__init__(engine, divergence, FREE, multiplies)
        self.layers, self.guides = layers, guides

    def start(self, codes: Array, chain: Chain, refined: bool = False) -> DivergenceState:
        """Begin at codes of the top layer and factors; the codes of lower layers are computed."""
        lower = [
            encode_by_divergence(self.engine, chain.decoder(layer), self.divergence) for layer in self.layers.own[:-1]
        ]
        (stacked,), _ = self.engine.sweep((*lower, self.engine.as_rows(codes)), side_by_side)
        return super().start(stacked, chain, refined)

    def _counting(self, codes: Array, chain: Chain, state: DivergenceState) -> Pass:
        problems = self._problems(chain)
        steps = tuple(
            CoordinateStep(
                one, state.n_passes, with_counts=True, measured=True, steps=one.in_single if state.bold else None
            )
            for one in problems
        )
        (new,), sums = self.engine.sweep((codes,), SideBySide(steps))
        found, loss, optimality = self._counted(sums, problems)
        return Pass(new, None, loss + self._pulled(chain), found, optimality)

    def _counted(self, sums: Sums, problems: Sequence[RowsProblem]) -> tuple[Any, float, float]:
        n_sums = len(sums) // len(problems)
        found, loss, optimality = [], 0.0, 0.0
        for weight, problem, (code_sums, (violation, fit, _), *M_and_T) in zip(
            self.layers.positive, problems, zip(*[iter(sums)] * n_sums, strict=True), strict=True
        ):
            found.append(Counts.of(code_sums, *M_and_T))
            loss += weight * (float(fit) + self._constant)
            optimality = max(optimality, relative(violation, self.engine, problem))
        return found, loss, optimality

    def _multiplying(self, codes: Array, before: Array, chain: Chain, state: DivergenceState) -> Pass:
        beta = 0.0 if state.plain_codes is None or self.multiplies else state.momentum.beta
        exponent = BOLD if state.bold else None
        steps = tuple(MultiplicativeStep(one, exponent=exponent, beta=beta) for one in self._problems(chain))
        (new, plain), sums = self.engine.sweep((codes, before), SideBySide(steps))
        found, loss, optimality = self._ratios(sums)
        return Pass(new, plain, loss + self._pulled(chain), found, optimality)

    def _pulled(self, chain: Chain) -> float:
        return sum(guide.value(chain) for guide in self.guides)

    def _seen(self, chain: Chain, sums: Any) -> list[Any]:
        """Return the statistics of each layer, including the additional rows of guides."""
        seen = self.layers.added_up(chain, sums)
        for guide in self.guides:
            pull, push = guide.powers(chain)
            own = Counts(pull, push[:, 0], push) if isinstance(seen[0], Counts) else Ratios(pull, push)
            seen = with_rows(seen, chain, guide.layer, own)
        return seen

    def _ratios(self, sums: Sums) -> tuple[Any, float, float]:
        found, loss, optimality = [], 0.0, 0.0
        for weight, (P, Q, (violation, size, fit, *_)) in zip(
            self.layers.positive, zip(*[iter(sums)] * 3, strict=True), strict=True
        ):
            found.append(Ratios(P, Q))
            loss += weight * (float(fit) + self._constant)
            optimality = max(optimality, math.sqrt(violation / size) if size > 0 else 0.0)
        return found, loss, optimality

    def _problems(self, chain: Chain) -> list[RowsProblem]:
        return [self._problem(chain.up_to(layer)) for layer in self.layers.own]

    def _moved(self, chain: Chain, layer: int | None, sums: Any, bold: bool) -> tuple[Chain, float]:
        seen, worst = self._seen(chain, sums), 0.0
        if layer is not None:
            below, exponent = chain.up_to(layer), BOLD if bold else None
            moved, worst = multiplied(below, layer, seen[layer], self.divergence, self.penalty, exponent)
            return chain.with_factor(layer, moved.factors[-1]), worst
        pulls = [own.pull(chain.up_to(layer), layer) for layer, own in enumerate(seen)]
        for place, (own, pull) in enumerate(zip(seen, pulls, strict=True)):
            push = own.push(chain.up_to(place), place)
            Z, violation = expected_factor(chain, place, pull, push, self.penalty)
            chain, worst = chain.with_factor(place, Z), max(worst, violation)
        return chain, worst

    def residual(self, codes: Array, chain: Chain) -> float:
        """The largest relative violation of the optimality conditions, with one pass over X."""
        problems = [
            RowsProblem.of(chain.up_to(layer).decoder(), self.divergence, 0.0, 0.0, np.float64)
            for layer in self.layers.own
        ]
        if self.divergence.is_kl:
            steps: Any = tuple(CoordinateStep(problem, 0, with_counts=True, measured=True) for problem in problems)
            found, _, worst = self._counted(self.engine.sweep((codes,), InDouble(SideBySide(steps)))[1], problems)
        else:
            steps = tuple(MultiplicativeStep(problem, moves=False) for problem in problems)
            found, _, worst = self._ratios(self.engine.sweep((codes,), InDouble(SideBySide(steps)))[1])
        for layer, own in enumerate(self._seen(chain, found)):
            below = chain.up_to(layer)
            pull, push = own.pull(below, layer), own.push(below, layer)
            Z = chain.factors[layer]
            totals = (Z * pull).sum(axis=1, keepdims=True)
            slope = chain.at_learned_entries(layer, push - pull)
            worst = max(worst, relative_violation(Z, slope, push, totals))
        return worst


@dataclass(frozen=True)
class SideBySide:
    """The pass over one block of rows, which makes a step on the codes of each layer."""

    steps: tuple[CoordinateStep | MultiplicativeStep, ...]

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        edges = np.cumsum([len(step.problem.sums) for step in self.steps])[:-1]
        by_layer = zip(*(np.split(array, edges, axis=1) for array in rows), strict=True)
        moved = [
            step(X_b, tuple(np.ascontiguousarray(array) for array in own))
            for step, own in zip(self.steps, by_layer, strict=True)
        ]
        new = tuple(np.hstack(parts) for parts in zip(*(rows for rows, _ in moved), strict=True))
        return new, tuple(one for _, sums in moved for one in sums)
