"""The rules of measuring.

Contenders run in turn in one process, all on every core, each several times, and the best time counts: other
programs can only make a run slower. Whoever has taken `BUDGET` seconds is not run again. Garbage is collected before
the clock starts.
"""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

BUDGET = 40.0

Result = TypeVar("Result")


def timed(run: Callable[[], Result]) -> tuple[Result, float]:
    """What a call gives, and the seconds it takes."""
    gc.collect()
    began = time.perf_counter()
    result = run()
    return result, time.perf_counter() - began


def interleaved(runs: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The best seconds of each of several calls, made in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            if sum(seconds[name]) <= BUDGET:
                seconds[name].append(timed(run)[1])
    return {name: min(times) for name, times in seconds.items()}


@dataclass
class Watch:
    """An `on_sweep` that takes down time and loss, and stops at a target or when time is up."""

    target: float = -np.inf
    limit: float = np.inf
    seconds: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def __call__(self, sweep: int, loss: float) -> bool:
        """Note one sweep."""
        self.seconds.append(time.perf_counter() - self.began)
        self.losses.append(loss)
        return self.reached or self.seconds[-1] > self.limit

    @property
    def reached(self) -> bool:
        """Whether the last loss is at the target or below."""
        return bool(self.losses) and self.losses[-1] <= self.target

    @property
    def sweep(self) -> float:
        """Seconds from one sweep to the next, the median."""
        return float(np.median(np.diff(self.seconds)))


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean of ratios."""
    return float(np.exp(np.mean(np.log(ratios))))


def in_seconds(seconds: float) -> str:
    """Three digits of a time."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
