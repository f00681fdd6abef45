"""A published number beside ours, and the verdict on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["Comparison", "Grid", "Verdict"]

Grid = Literal["paper", "widened", "blind"]

Verdict = Literal["at or above", "within two standard errors", "below"]
FEWEST = 3  # runs, for a standard error


@dataclass(frozen=True)
class Comparison:
    """One published number, and one number of ours for each run.

    The runs of `paper` have the settings that were fixed before results were seen, chosen as in the paper. Those of `widened` have a
    larger grid, where settings were added after a look at results, and those of `blind` no choice by labels. `reason` says
    why ours are below, and names the experiment that shows it.

    Examples
    --------
    >>> Comparison("k = 2", 0.9, {"paper": [0.8, 0.9, 0.91]}).verdict
    'within two standard errors'
    >>> Comparison("k = 2", 0.9, {"paper": [0.8, 0.8, 0.8]}).verdict
    'below'
    >>> Comparison("error", 9.1, {"paper": [8.2]}, lower_is_better=True).verdict
    'at or above'
    """

    row: str
    published: float
    runs: Mapping[Grid, Sequence[float]]
    lower_is_better: bool = False
    reason: str = ""

    @property
    def verdict(self) -> Verdict:
        """How the runs by the paper's protocol compare with the published number."""
        return self.of("paper")

    def of(self, grid: Grid) -> Verdict:
        """How the runs of a grid compare with the published number."""
        runs = self.runs[grid]
        ahead = (np.mean(runs) - self.published) * (-1 if self.lower_is_better else 1)
        if ahead >= 0:
            return "at or above"
        if len(runs) >= FEWEST and ahead >= -2 * np.std(runs, ddof=1) / np.sqrt(len(runs)):
            return "within two standard errors"
        return "below"
