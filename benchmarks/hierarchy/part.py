"""What a part of the benchmark is: cases, what is measured of one fit, and a table of all fits."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.page import table

FEWEST_RUNS = 3  # whose deviation means something
Values = Mapping[str, Any]
"""What was measured of one fit, by name: numbers, or one number a layer."""


@dataclass(frozen=True)
class Limits:
    """What `--quick` allows: few rows and few sweeps."""

    rows: int | None = None
    sweeps: int | None = None

    def of(self, X):
        """Return rows that are evenly spaced."""
        return X if self.rows is None else X[:: -(-X.shape[0] // self.rows)]

    @property
    def params(self) -> dict[str, int]:
        """Parameters that shorten a fit."""
        if self.sweeps is None:
            return {}
        return {"max_iter": self.sweeps, "pretrain_max_iter": self.sweeps}


@dataclass(frozen=True)
class Part:
    """One part.

    Parameters
    ----------
    title, text : str
        The heading, and what is measured how.
    cases : mapping
        By name, whatever `measure` needs to know.
    contenders : function of no arguments
        The names of those that are compared.
    measure : function of a case, a contender, a seed and limits
        What is measured of one fit.
    columns : mapping of a heading to the name of a value
        Mean and deviation over the seeds, one number a layer.
    digits : mapping of a heading to the number of decimals
    """

    title: str
    text: str
    cases: Mapping[str, Any]
    contenders: Callable[[], Sequence[str]]
    measure: Callable[[Any, str, int, Limits], Values]
    columns: Mapping[str, str]
    digits: Mapping[str, int]

    def rendered(self, records: Sequence[Mapping[str, Any]]) -> str:
        """Tables of all that was measured, one a case."""
        with_commits = len({one["commit"] for one in records}) > 1
        return "\n\n".join(
            f"### {case}\n\n{self._table([one for one in records if one['case'] == case], with_commits)}"
            for case in self.cases
            if any(one["case"] == case for one in records)
        )

    def _table(self, records, with_commits: bool) -> str:
        """A row for each contender, with the commit where not all of the part were made at the same one."""
        rows = []
        for name in dict.fromkeys(one["contender"] for one in records):
            of_name = [one for one in records if one["contender"] == name]
            cells = [
                self._cell(heading, [one["values"].get(key) for one in of_name])
                for heading, key in self.columns.items()
            ]
            commits = [", ".join(dict.fromkeys(one["commit"] for one in of_name))] if with_commits else []
            rows.append([name, len(of_name), *cells, *commits])
        return table(["model", "seeds", *self.columns, *["commit"] * with_commits], rows)

    def _cell(self, heading, values) -> str:
        """Mean and deviation over seeds, layer by layer from the lowest."""
        known = [np.atleast_1d(np.asarray(value, dtype=float)) for value in values if value is not None]
        if not known:
            return ""
        digits = self.digits.get(heading, 3)
        return " / ".join(_spread(layer, digits) for layer in np.transpose(known))


def _spread(values, digits: int) -> str:
    """The mean, and the deviation of at least `FEWEST_RUNS` values."""
    mean, deviation = np.mean(values), np.std(values) if len(values) >= FEWEST_RUNS else 0.0
    if math.isnan(mean):
        return "–"
    return f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if round(deviation, digits) else "")
