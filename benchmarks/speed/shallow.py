"""Every contender against `NMF` on problems of one layer: the times to the objective of the contender."""

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.page import table, versions
from benchmarks.speed.objective import loss
from benchmarks.speed.options import Options
from benchmarks.speed.plots import OURS, Curve, draw
from benchmarks.speed.probing import UnfitError, attempt
from benchmarks.speed.problems import DESCRIPTION, Problem, problems
from benchmarks.speed.solvers import SOLVERS, Solver
from benchmarks.speed.timing import Watch, geometric_mean, in_seconds, timed

from deepnmf import NMF

TITLE = "NMF of one layer against other packages"
LEADING = SOLVERS[0]  # this contender makes every number of iterations, however long they take
AFFORDABLE = 2.0  # seconds that the iterations of any other contender may take
ENOUGH = 3.0  # seconds; a contender that took longer is not repeated
PATIENCE = 3  # times the seconds of the contender, after which a target is not reached
CURVE = (1, 3, 10, 30, 100, 200)
NEVER = 10**6
ROUNDING = 10  # a target is reached within this number of units in its last place


def ours(problem: Problem, watch: Watch | None = None, n_sweeps: int = NEVER) -> NMF:
    """Return a complete fit from the common start, which ends by the watch or after a number of sweeps."""
    model = NMF(problem.rank, init="custom", tol=0, max_iter=n_sweeps)
    return model.fit(problem.X, W=problem.W, H=problem.H, on_sweep=watch)


def attainable(target: float, problem: Problem) -> float:
    """Return a slightly higher target, which allows for rounding errors of the precision of X."""
    return target * (1 + ROUNDING * float(np.finfo(problem.X.dtype).eps))


@dataclass
class Contender:
    """A solver for one problem."""

    solver: Solver
    problem: Problem
    X: Any = field(init=False)
    losses: dict[int, float] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)  # the best so far

    def __post_init__(self) -> None:
        """Convert the data and warm up.

        Solvers that are not risky run on a small corner first, because some of them compile. Then every solver makes
        one iteration on the whole problem.
        """
        self.X = self.solver.given(self.problem)
        if not self.solver.risky:
            corner = self.problem.corner()
            self.solver.run(self.solver.given(corner), corner.W, corner.H.copy(), 2)
        gc.freeze()  # imported modules are not garbage, and scanning them takes longer than many runs
        self.run(1)

    def run(self, n_iter: int) -> float:
        """Make a number of iterations from the start, and return the seconds."""
        if self.solver.risky and n_iter not in self.losses:
            attempt(self.solver, self.problem, n_iter, AFFORDABLE)
        factors, seconds = timed(
            lambda W, H: self.solver.run(self.X, W, H, n_iter),
            lambda: (self.problem.W.copy(), self.problem.H.copy()),
        )
        if n_iter not in self.losses:
            self.losses[n_iter] = loss(self.problem.X, *factors)
        self.seconds[n_iter] = min(seconds, self.seconds.get(n_iter, np.inf))
        return seconds

    def affordable(self, n_iter: int) -> bool:
        """Return whether a number of iterations is affordable, judging by the longest run so far."""
        longest = max(self.seconds)
        return self.solver is LEADING or self.seconds[longest] / longest * n_iter <= AFFORDABLE

    def fewer(self) -> int:
        """Return the affordable number of iterations."""
        return max(1, int(AFFORDABLE / self.seconds[1]))

    def curve(self, longest: int) -> Curve:
        """Return the loss over time, from runs of increasing length."""
        for n_iter in () if self.solver.risky else CURVE:
            if n_iter <= longest and n_iter not in self.seconds and self.affordable(n_iter):
                self.run(n_iter)
        points = sorted(self.seconds)
        return Curve(self.solver.name, [self.seconds[n] for n in points], [self.losses[n] for n in points])


@dataclass
class Duel:
    """A comparison of a contender after a number of iterations with our fit to the same objective."""

    contender: Contender
    n_iter: int
    spent: float = 0.0
    ours: float = np.inf
    sweeps: int = 0
    reached: bool = True
    excess: float = -np.inf

    def round(self) -> None:
        """Run both once, unless the contender has already taken long enough."""
        if self.spent > ENOUGH and self.contender.solver is not LEADING:
            return
        self.spent += self.contender.run(self.n_iter)
        problem = self.contender.problem
        if self.sweeps == 0:
            watch = Watch(attainable(self.target, problem), limit=max(PATIENCE * self.theirs, 0.5))
            self.sweeps, self.reached = ours(problem, watch).n_iter_, watch.reached
        model, seconds = timed(lambda: ours(problem, n_sweeps=self.sweeps))
        self.ours = min(self.ours, seconds)
        found = loss(problem.X, model.codes_[-1], model.components_)
        self.excess = max(self.excess, found / self.target - 1)

    @property
    def target(self) -> float:
        """The objective of the contender, which we must reach."""
        return self.contender.losses[self.n_iter]

    @property
    def theirs(self) -> float:
        """The seconds of the contender."""
        return self.contender.seconds[self.n_iter]

    @property
    def ratio(self) -> float:
        """Our speedup."""
        return self.theirs / self.ours

    def row(self) -> list[str]:
        """Return the row of the table."""
        ratio = f"{self.ratio:.1f}" if self.reached else f"not reached ({self.ratio:.2f})"
        times = in_seconds(self.theirs), in_seconds(self.ours)
        name = f"`{self.contender.problem.name}`"
        return [name, self.contender.solver.name, self.n_iter, f"{self.target:.6g}", *times, self.sweeps, ratio]


HEAD = ["problem", "contender", "iterations", "½‖X - WH‖²", "its time", "our time", "our sweeps", "speedup"]


def meet(problem: Problem, options: Options, words: list[str]) -> list[Duel]:
    """Return all comparisons on one problem; the reasons why contenders are left out are added to `words`."""
    ours(problem.corner(), Watch(limit=0))
    duels: list[Duel] = []
    for solver in SOLVERS:
        reason = solver.refusal(problem)
        if not reason:
            try:
                _first_round(Contender(solver, problem), options, duels)
            except UnfitError as error:
                reason = str(error)
            except Exception as error:  # every failure of a contender is a result
                reason = f"fails with {type(error).__name__}"
        if reason:
            words.append(f"{solver.name} on `{problem.name}` in {problem.X.dtype.name}: {reason}.")
    for _ in range(options.repeats - 1):
        for duel in duels:
            duel.round()
    return duels


def _first_round(contender: Contender, options: Options, duels: list[Duel]) -> None:
    """Add one comparison for each affordable number of iterations, or one with fewer iterations if there is none."""
    before = len(duels)
    for n_iter in options.iterations:
        if contender.affordable(n_iter):
            duels.append(_begun(contender, n_iter))
    if len(duels) == before:
        duels.append(_begun(contender, contender.fewer()))


def _begun(contender: Contender, n_iter: int) -> Duel:
    duel = Duel(contender, n_iter)
    duel.round()
    return duel


def curves(duels: Sequence[Duel], longest: int) -> list[Curve]:
    """Return the loss over time of all contenders on one problem; we run as long as the longest contender."""
    contenders = {id(duel.contender): duel.contender for duel in duels}.values()
    theirs = [contender.curve(longest) for contender in contenders]
    watch = Watch(limit=min(max(curve.seconds[-1] for curve in theirs), AFFORDABLE))
    ours(duels[0].contender.problem, watch)
    return [*theirs, Curve(OURS, watch.seconds, watch.losses)]


def verdict(duels: Sequence[Duel]) -> str:
    """Return the mean and the smallest of some speedups as text."""
    worst = min(duels, key=lambda duel: duel.ratio)
    missed = sum(not duel.reached for duel in duels)
    mean = geometric_mean([duel.ratio for duel in duels])
    return (
        f"The geometric mean of the speedups is {mean:.1f}, and the smallest is {worst.ratio:.1f} (`{worst.contender.problem.name}`). "
        f"Targets not reached: {missed} of {len(duels)}."
    )


def by_contender(duels: Sequence[Duel]) -> str:
    """Return a table with the result for each contender, over all numbers of iterations."""
    rows = []
    for solver in SOLVERS:
        if some := [duel for duel in duels if duel.contender.solver is solver]:
            ratios = [duel.ratio for duel in some]
            missed = sum(not duel.reached for duel in some)
            cells = [f"{geometric_mean(ratios):.1f}", f"{min(ratios):.1f}", f"{max(ratios):.1f}", missed]
            rows.append([solver.name, len(some), *cells])
    return table(["contender", "comparisons", "geometric mean", "smallest", "largest", "targets not reached"], rows)


def section(dtype: str, duels: Sequence[Duel]) -> str:
    """Return the section of one precision."""
    main = [d for d in duels if d.contender.solver is LEADING and d.n_iter == max(e.n_iter for e in duels)]
    return "\n\n".join(
        [
            f"## {dtype}",
            f"### Against {LEADING.name}, {main[0].n_iter} iterations",
            table(HEAD, [duel.row() for duel in main]),
            verdict(main),
            "### Against all contenders",
            by_contender(duels),
            "### All comparisons",
            table(HEAD, [duel.row() for duel in duels]),
            "Computed from the factors that the fits return, our objective exceeds its target by at most "
            f"{max(duel.excess for duel in duels if duel.reached):.1e} of the target.",
        ]
    )


METHOD = f"""\
A contender makes a number of iterations without tolerances; its final objective is the target. A first fit, whose sweeps are
observed, finds the number of sweeps after which our loss is at most the target, apart from {ROUNDING} units in its last place; our time is
that of a complete `NMF(k, init="custom", max_iter=sweeps).fit(X, W=W, H=H)`. All contenders start from the
same factors (scikit-learn's NNDSVDA, whose time is not included) in the same precision, with as many threads as there are cores unless
stated otherwise. They run in turn in one process, and the best of several runs counts. If we do not reach a target within {PATIENCE} times the contender's time, the table says
"not reached". Numbers of iterations that would take a contender more than {AFFORDABLE:.0f} s are omitted, or reduced to as many
as this time allows, and a contender that took {ENOUGH:.0f} s is not repeated; {LEADING.name} makes all iterations and repetitions."""

CONTENDERS = """\
- torchnmf: `NMF.fit` with beta = 2; features are updated first. A sparse X is passed as a sparse tensor.
- nmf-torch: its batch algorithms `hals`, `bpp` and `mu`. It has no parameter for a start, so its initialization method is
  replaced. It does not support sparse data: X is passed as a dense array. Its `bpp`, which works on very small
  matrices one after the other, uses one thread.
- tensorly: `non_negative_parafac_hals` on X as a tensor with two axes, with the default number of inner sweeps per
  update. It does not support sparse data: X is passed as a dense array.
- pyplanc: `nmf` with `hals` and `anlsbpp`, double precision only; features are updated first. Its `hals` scales codes
  to unit norm without changing the features, so that the objective of the returned factors is slightly higher than that of its updates. Its
  built-in BLAS is limited to one thread, because its own threads call it.
- Lee & Seung: the multiplicative updates as published, from `tests/reference`, without the loss that is computed after each
  iteration; double precision only."""


def page(options: Options) -> str:
    """Measure, draw the plots, and return the page."""
    words: list[str] = []
    missing: set[str] = set()
    sections, described, pictures = [], {}, {}
    for dtype in options.dtypes:
        duels: list[Duel] = []
        for problem in problems(options.problems, dtype, missing):
            described[problem.name] = problem.described
            met = meet(problem, options, words)
            if dtype == options.dtypes[0]:
                pictures[problem.name] = curves(met, max(options.iterations))
            duels += met
        sections.append(section(dtype, duels))
    draw(pictures, options.folder / "speed_shallow.svg")
    notes = words + [f"The data of `{name}` are missing." for name in sorted(missing)]
    return "\n\n".join(
        [
            METHOD,
            f"Problems: {', '.join(described.values())}. {DESCRIPTION}",
            CONTENDERS,
            f"Contenders: {versions(dict.fromkeys(s.package for s in SOLVERS if s.package))}.",
            f"![Loss above the lowest loss, over seconds, {options.dtypes[0]}](speed_shallow.svg)",
            *sections,
            *(["## Left out", "\n".join(f"- {note}" for note in notes)] if notes else []),
        ]
    )
