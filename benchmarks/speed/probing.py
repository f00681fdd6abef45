"""Contenders that may take hours or crash are first tried in a separate process."""

import multiprocessing
from dataclasses import replace

from benchmarks.speed.problems import Problem
from benchmarks.speed.solvers import SOLVERS, Solver

TO_START = 30.0  # seconds in which a process starts and imports its modules


class UnfitError(RuntimeError):
    """The reason why a contender cannot be measured here."""


def attempt(solver: Solver, problem: Problem, n_iter: int, limit: float) -> None:
    """Run a contender in another process; raise an error if it crashes or takes too long."""
    alone = replace(problem)  # without the dense copy of sparse data: creating it again is cheaper than sending it
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(solver.name, alone, n_iter))
    process.start()
    process.join(TO_START + limit)
    if process.is_alive():
        process.kill()
        process.join()
        raise UnfitError(f"needs more than {limit:.0f} s for {_counted(n_iter)}")
    if process.exitcode:
        raise UnfitError(f"crashes within {_counted(n_iter)} (exit code {process.exitcode})")


def _run(name: str, problem: Problem, n_iter: int) -> None:
    solver = next(solver for solver in SOLVERS if solver.name == name)
    solver.run(solver.given(problem), problem.W, problem.H, n_iter)


def _counted(n_iter: int) -> str:
    return f"{n_iter} iteration{'s'[: n_iter > 1]}"
