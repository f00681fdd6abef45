"""A part of the benchmark of hierarchies: one table per case, with the mean and the standard deviation over seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks import parts
from benchmarks.page import table

FEWEST_RUNS = 3  # with fewer runs, the standard deviation is not shown


@dataclass(frozen=True)
class Part(parts.Part):
    """One part.

    Parameters
    ----------
    title, text, cases, contenders, measure
        See `benchmarks.parts.Part`; `measure` returns one number, or one number per layer, for each name.
    columns : mapping of a heading to the name of a value
        The cells show the mean and the standard deviation over the seeds, for each layer.
    digits : mapping of a heading to the number of decimals
    """

    columns: Mapping[str, str]
    digits: Mapping[str, int]

    def rendered(self, records: Sequence[parts.Record]) -> str:
        """Return the tables of all measurements, one per case."""
        with_commits = len({one["commit"] for one in records}) > 1
        return "\n\n".join(
            f"### {case}\n\n{self._table([one for one in records if one['case'] == case], with_commits)}"
            for case in self.cases
            if any(one["case"] == case for one in records)
        )

    def _table(self, records, with_commits: bool) -> str:
        """Return a row for each contender, with the commits if the results of the part have different ones."""
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
        """Return the mean and the standard deviation over seeds, layer by layer from the lowest."""
        known = [np.atleast_1d(np.asarray(value, dtype=float)) for value in values if value is not None]
        if not known:
            return ""
        digits = self.digits.get(heading, 3)
        return " / ".join(_spread(layer, digits) for layer in np.transpose(known))


def _spread(values, digits: int) -> str:
    """Return the mean, and the standard deviation if there are at least `FEWEST_RUNS` values."""
    mean, deviation = np.mean(values), np.std(values) if len(values) >= FEWEST_RUNS else 0.0
    if math.isnan(mean):
        return "–"
    return f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if round(deviation, digits) else "")
