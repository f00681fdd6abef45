"""The rules for measuring times.

Contenders run in turn in one process, on all cores, each several times, and the best time counts, because other
programs can only make a run slower. A contender that took `BUDGET` seconds is not repeated. Garbage is collected before
each measurement, and a run during which other programs used the processors is repeated. Calls that are shorter than a
tenth of a second are repeated for that time, because the first call after a pause can take twice as long as the next.
"""

import gc
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

BUDGET = 40.0
DISTURBANCE = 0.04  # share of the seconds of a run that other programs may have used
TICKS = 0.03  # seconds; smaller differences cannot be measured
MOMENT = 0.1
TRIES = 20
STATISTICS = Path("/proc/stat")

Result = TypeVar("Result")


def timed(run: Callable[..., Result], prepare: Callable[[], tuple[Any, ...]] = tuple) -> tuple[Result, float]:
    """Return the result of a call, and its seconds; `prepare` creates its arguments and is not timed."""
    for _ in range(TRIES):
        arguments = prepare()
        _wait_for_quiet()
        gc.collect()
        others = _seconds_of_others()
        result, seconds = _clocked(run, arguments)
        measured = seconds
        while measured < MOMENT:  # a short call
            result, again = _clocked(run, prepare())
            seconds, measured = min(seconds, again), measured + again
        if seconds > BUDGET or _seconds_of_others() - others <= max(TICKS, DISTURBANCE * measured):
            break
    return result, seconds


def _clocked(run: Callable[..., Result], arguments: tuple[Any, ...]) -> tuple[Result, float]:
    began = time.perf_counter()
    return run(*arguments), time.perf_counter() - began


def _wait_for_quiet() -> None:
    """Wait until no other program has used the processors for a moment."""
    while True:
        before = _seconds_of_others()
        time.sleep(MOMENT)
        if _seconds_of_others() - before <= TICKS:
            return


def _seconds_of_others() -> float:
    """Return the processor time of other programs since the machine started, or 0 if it is not available."""
    if not STATISTICS.exists():
        return 0.0
    user, nice, system = (int(ticks) for ticks in STATISTICS.read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def interleaved(runs: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the best seconds of each of several calls, which are made in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            if sum(seconds[name]) <= BUDGET:
                seconds[name].append(timed(run)[1])
    return {name: min(times) for name, times in seconds.items()}


@dataclass
class Watch:
    """A callback for `on_sweep` that records times and losses, and stops at a target or at a time limit."""

    target: float = -np.inf
    limit: float = np.inf
    seconds: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def __call__(self, sweep: int, loss: float) -> bool:
        """Record one sweep."""
        self.seconds.append(time.perf_counter() - self.began)
        self.losses.append(loss)
        return self.reached or self.seconds[-1] > self.limit

    @property
    def reached(self) -> bool:
        """Whether the last loss is at most the target."""
        return bool(self.losses) and self.losses[-1] <= self.target

    @property
    def sweep(self) -> float:
        """The median of the seconds from one sweep to the next."""
        return float(np.median(np.diff(self.seconds)))


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of ratios."""
    return float(np.exp(np.mean(np.log(ratios))))


def in_seconds(seconds: float) -> str:
    """Return a time as text, with three digits."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
