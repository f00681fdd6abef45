"""Descent on a linear chain whose samples are coupled by graphs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import Chain, CodePenalty, FormedGram, Graphs, Objective, Quadratic, Statistics
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.descent import ChainDescent, State, inner_steps, relative
from deepnmf.solvers.statistics import coupled_statistics
from deepnmf.solvers.steps import HALS

FEWEST_PASSES = 2
MOST_PASSES, AT_REST = 3000, 1e-9


@dataclass(frozen=True)
class Point:
    """Codes, the products of the graphs with them, and the value of their problem."""

    codes: Array
    products: tuple[Array, ...]
    value: float = np.inf

    def beyond(self, before: "Point", beta: float) -> "Point":
        """Extrapolate codes and products, which are linear in the codes."""
        pairs = zip(self.products, before.products, strict=True)
        products = tuple(new + beta * (new - old) for new, old in pairs)
        return Point(self.codes + beta * (self.codes - before.codes), products)


@dataclass(frozen=True)
class _RowsStep:
    """A pass of coordinate descent over one block of rows, with the other rows fixed."""

    grams: tuple[FormedGram, ...]  # one per group of rows

    def __call__(self, _: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        H, target, groups = rows
        new, violation = np.empty_like(H), 0.0
        for group in np.unique(groups):
            who = groups == group
            moved = HALS().step(H[who].T, Quadratic(self.grams[group], target[who].T), 1)
            new[who], violation = moved.Z.T, violation + moved.violation
        return (new,), (np.asarray(violation),)


@dataclass(frozen=True)
class CodesProblem:
    """½<H G, H> - <F, H> + graphs, for H >= 0 and fixed factors, with G = D Dᵀ and F = X Dᵀ plus penalties."""

    engine: Engine
    data: Engine  # the rows with missing entries filled in
    objective: Objective
    chain: Chain

    @property
    def graphs(self) -> Graphs:
        """The graphs of the objective."""
        return self.objective.graphs

    @cached_property
    def penalty(self) -> CodePenalty:
        """The terms that the other penalties add to a row."""
        return self.objective.code_penalty(self.chain)

    @cached_property
    def gram(self) -> Array:
        """G."""
        D = self.chain.decoder()
        return np.asarray(D @ D.T + self.penalty.gram)

    @cached_property
    def linear(self) -> Array:
        """F, by one pass over X."""
        return np.asarray(self.data.project(self.chain.decoder()) - self.penalty.l1)

    @cached_property
    def metrics(self) -> list[Array]:
        """λ S of each graph."""
        return self.graphs.metrics(self.chain)

    def at(self, codes: Array) -> Point:
        """Evaluate the problem at codes."""
        products = self.graphs.products(codes)
        value = inner(codes, 0.5 * (codes @ self.gram.astype(codes.dtype)) - self.linear)
        for S, LH in zip(self.metrics, products, strict=True):
            value += 0.5 * inner(codes @ S.astype(codes.dtype), LH)
        return Point(codes, products, value)

    def stepped(self, point: Point) -> tuple[Point, float]:
        """Make a step of every row, and return how far from optimal they were."""
        coupling = self.graphs.coupling(self.metrics, point.codes, point.products)
        grams = tuple(FormedGram((self.gram + extra).astype(point.codes.dtype)) for extra in coupling.grams)
        rows = (point.codes, self.linear + coupling.pull, coupling.groups)
        (codes,), (violation,) = self.engine.sweep(rows, _RowsStep(grams))
        return self.at(codes), relative(float(violation), self._size)

    @cached_property
    def _size(self) -> float:
        return float(np.vdot(self.linear, self.linear))


@dataclass
class CoupledDescent(ChainDescent):
    """Sweeps of a model with graphs: X is read twice per sweep, with many passes over the codes in between.

    Connected samples can only move together, a little in each pass, so that many passes are needed. With X Dᵀ they are
    cheap, and Nesterov's extrapolation makes them faster; a pass that raises the objective is undone.
    """

    def settled(self, codes: Array, chain: Chain) -> Array:
        """Return converged codes for fixed factors."""
        data = self.engine.completed(codes, chain.decoder())
        return self._passes(data, codes, chain, MOST_PASSES)[0].codes

    def _update_codes(self, state: State, chain: Chain) -> tuple[tuple[Array, ...], Statistics, float]:
        D = chain.decoder()
        data = self.engine.completed(state.codes, D)
        point, optimality = self._passes(data, state.codes, chain, max(FEWEST_PASSES, inner_steps(*D.shape)))
        plain = point.codes
        before = state.codes if state.plain_codes is None else state.plain_codes
        beta = state.momentum.beta if state.plain_codes is not None else 0.0
        ahead = np.maximum(plain + beta * (plain - before), 0)
        return (ahead, plain), coupled_statistics(data, ahead, self.objective.graphs), optimality

    def codes_residual(self, codes: Array, chain: Chain, pulls: Sequence[Array] = ()) -> tuple[Statistics, float]:
        """Return the statistics of the codes, and how far they are from optimal."""
        graphs = self.objective.graphs
        products = graphs.products(codes)
        pulls = [LH @ S.astype(LH.dtype) for LH, S in zip(products, graphs.metrics(chain), strict=True)]
        stats, residual = super().codes_residual(codes, chain, pulls)
        return replace(stats, joint=graphs.joint([codes.T @ LH for LH in products])), residual

    def _passes(self, data: Engine, codes: Array, chain: Chain, most: int) -> tuple[Point, float]:
        """Improve the codes with the factors fixed; return the result, and how far from optimal the start was."""
        problem = CodesProblem(self.engine, data, self.objective, chain)
        point = before = problem.at(codes)
        first, look_ahead = None, 1.0
        for _ in range(most):
            further = (1 + math.sqrt(1 + 4 * look_ahead**2)) / 2
            beta = (look_ahead - 1) / further
            new, violation = problem.stepped(point.beyond(before, beta))
            first = violation if first is None else first
            if new.value <= point.value:
                point, before, look_ahead = new, point, further
            elif beta > 0:  # a step without extrapolation always descends
                before, look_ahead = point, 1.0
            else:
                break
            if violation <= AT_REST:
                break
        return point, first or 0.0
