"""A published number, or a claim of a paper, beside our results, and the verdict on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

__all__ = ["Claim", "Comparison", "Evidence", "Grid", "Protocol", "Verdict", "evidence_on_most"]

Protocol = Literal["paper", "blind"]
Grid = Literal["paper", "widened", "blind"]

Verdict = Literal["at or above", "within two standard errors", "below"]
FEWEST = 3  # smallest number of runs for a standard error


@dataclass(frozen=True)
class Comparison:
    """A published number, and our number in each run.

    The runs of `paper` choose among settings that were fixed before results were seen, as the paper does. The runs of
    `widened` choose from a larger grid, with settings that were added after results were seen. The runs of `blind`
    choose nothing by labels. `reason` explains why our numbers are below the published one, and names the experiment
    that shows it.

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
        """Verdict on the runs by the paper's protocol."""
        return self.of("paper")

    def of(self, grid: Grid) -> Verdict:
        """Return the verdict on the runs of a grid."""
        runs = self.runs[grid]
        ahead = (np.mean(runs) - self.published) * (-1 if self.lower_is_better else 1)
        if ahead >= 0:
            return "at or above"
        if len(runs) >= FEWEST and ahead >= -2 * np.std(runs, ddof=1) / np.sqrt(len(runs)):
            return "within two standard errors"
        return "below"


class Evidence(NamedTuple):
    """Our numbers on a claim, and whether they support it."""

    numbers: str
    supports: bool


@dataclass(frozen=True)
class Claim:
    """What a paper states about a figure without numbers, and our evidence by each protocol.

    If nothing is chosen by labels, there is evidence by `blind` only. `reason` says why the claim does not hold.

    Examples
    --------
    >>> Claim("deeper is better", {"blind": Evidence("80 % and 85 %", True)}).verdict
    'holds'
    >>> Claim("deeper is better", {"paper": Evidence("+1", True), "blind": Evidence("-1", False)}).verdict
    'holds by `paper` only'
    >>> Claim("deeper is better", {"blind": Evidence("-1", False)}, "the optimum is the same").verdict
    '**does not hold**: the optimum is the same'
    """

    statement: str
    evidence: Mapping[Protocol, Evidence]
    reason: str = "the cause is not found"

    @property
    def verdict(self) -> str:
        """Whether the claim holds here."""
        supporting = [protocol for protocol, found in self.evidence.items() if found.supports]
        if len(supporting) == len(self.evidence):
            return "holds"
        return f"holds by `{supporting[0]}` only" if supporting else f"**does not hold**: {self.reason}"


def evidence_on_most(supporting: int, total: int, noun: str) -> Evidence:
    """Return the evidence on a claim about several cases, which holds if more than half of them support it.

    Examples
    --------
    >>> evidence_on_most(3, 5, "models")
    Evidence(numbers='3 of 5 models', supports=True)
    """
    return Evidence(f"{supporting} of {total} {noun}", 2 * supporting > total)
