"""Rows of measures, and the few things that pages ask of them."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

__all__ = ["Protocol", "Results", "Row", "Value"]

Value = str | int | float
Row = dict[str, Value]
Protocol = Literal["paper", "blind"]


@dataclass(frozen=True)
class Results:
    """What trials gave, as flat rows.

    Examples
    --------
    >>> results = Results([{"k": 2, "accuracy": 0.5}, {"k": 2, "accuracy": 0.7}, {"k": 3, "accuracy": 0.4}])
    >>> results.where(k=2).mean("accuracy")
    0.6
    >>> results.distinct("k")
    [2, 3]
    """

    rows: Sequence[Row]

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.rows)

    @property
    def protocols(self) -> list[Protocol]:
        """The protocols whose measures are there: `paper_accuracy` is a measure of `paper`."""
        names = {name for row in self.rows for name in row}
        return [p for p in get_args(Protocol) if any(name.startswith(f"{p}_") for name in names)]

    def only(self, protocol: Protocol) -> "Results":
        """Without the measures of the other protocol."""
        others = tuple(f"{p}_" for p in get_args(Protocol) if p != protocol)
        return Results([{name: row[name] for name in row if not name.startswith(others)} for row in self.rows])

    def where(self, **values: Value) -> "Results":
        """The rows with these values."""
        return Results([row for row in self.rows if all(row[name] == value for name, value in values.items())])

    def distinct(self, column: str) -> list[Value]:
        """The values of a column, each once, as they come."""
        return list(dict.fromkeys(row[column] for row in self.rows))

    def column(self, name: str) -> list[float]:
        """A measure, as numbers."""
        return [float(row[name]) for row in self.rows]

    def mean(self, measure: str) -> float:
        """The mean of a measure."""
        return float(np.nanmean(self.column(measure))) if self.rows else float("nan")

    def spread(self, measure: str, digits: int = 3, scale: float = 1.0) -> str:
        """Mean and deviation of a measure, for a cell of a table."""
        if not self.rows or np.isnan(self.column(measure)).all():
            return ""
        values = scale * np.array(self.column(measure))
        return f"{np.nanmean(values):.{digits}f} ± {np.nanstd(values):.{digits}f}"

    def best(self, choice: str, measure: str) -> "Results":
        """The rows of that value of `choice` whose mean of a measure is highest."""
        return max(
            (self.where(**{choice: value}) for value in self.distinct(choice)), key=lambda some: some.mean(measure)
        )

    def write_csv(self, path: Path) -> None:
        """All rows, with a column for every name that occurs."""
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
