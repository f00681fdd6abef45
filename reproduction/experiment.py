"""The parts of an experiment: a plan, trials that run in any order, their result rows, and a page made of all rows."""

import contextlib
import csv
import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from deepnmf.datasets import load
from reproduction.comparisons import Claim, Comparison, Protocol

__all__ = [
    "Array",
    "Data",
    "Experiment",
    "Matrix",
    "Plan",
    "Protocol",
    "Results",
    "Row",
    "Trial",
    "Value",
    "mean_and_deviation",
    "results_path",
    "rounded",
    "written_rows",
]

Array = NDArray[Any]
Matrix = Any  # an array or a sparse matrix
Value = str | int | float
Row = dict[str, Value]
DIGITS = 5  # significant digits of numbers in files
FEWEST_FOR_A_DEVIATION = 3


@dataclass(frozen=True)
class Results:
    """Results of trials, as flat rows.

    Examples
    --------
    >>> results = Results([{"k": 2, "accuracy": 0.5}, {"k": 2, "accuracy": 0.7}, {"k": 3, "accuracy": 0.4}])
    >>> results.where(k=2).mean("accuracy")
    0.6
    >>> results.where(k=2).spread("accuracy", digits=1)
    '0.6'
    >>> results.spread("accuracy", digits=1)
    '0.5 ± 0.1'
    >>> results.distinct("k")
    [2, 3]
    """

    rows: Sequence[Row]

    def __bool__(self) -> bool:
        """Return whether there are any rows."""
        return bool(self.rows)

    @property
    def protocols(self) -> list[Protocol]:
        """Protocols with at least one measure; `paper_accuracy`, for example, is a measure of `paper`."""
        names = {name for row in self.rows for name in row}
        return [p for p in get_args(Protocol) if any(name.startswith(f"{p}_") for name in names)]

    def only(self, protocol: Protocol) -> "Results":
        """Return the rows without the measures of the other protocol."""
        others = tuple(f"{p}_" for p in get_args(Protocol) if p != protocol)
        return Results([{name: row[name] for name in row if not name.startswith(others)} for row in self.rows])

    def where(self, **values: Value) -> "Results":
        """Return the rows with these values."""
        return Results([row for row in self.rows if all(row[name] == value for name, value in values.items())])

    def distinct(self, column: str) -> list[Value]:
        """Return the distinct values of a column, in order of appearance."""
        return list(dict.fromkeys(row[column] for row in self.rows))

    def column(self, name: str) -> list[float]:
        """Return the values of a measure, as numbers."""
        return [float(row[name]) for row in self.rows]

    def mean(self, measure: str) -> float:
        """Return the mean of a measure."""
        return float(np.nanmean(self.column(measure))) if self.rows else float("nan")

    def spread(self, measure: str, digits: int = 3, scale: float = 1.0) -> str:
        """Return the mean and deviation of a measure for a table cell; only the mean of fewer than three values."""
        return mean_and_deviation(scale * np.array(self.column(measure)), digits)

    def best(self, choice: str, measure: str) -> "Results":
        """Return the rows with the value of `choice` that has the highest mean of a measure."""
        return max(
            (self.where(**{choice: value}) for value in self.distinct(choice)), key=lambda some: some.mean(measure)
        )

    def write_csv(self, path: Path) -> None:
        """Write all rows as compressed CSV, with a column for every name that occurs, and numbers of five digits.

        The same rows give the same bytes.
        """
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        with gzip.GzipFile(path, "wb", mtime=0) as packed, TextIOWrapper(packed, "utf-8", newline="") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: rounded(value) for name, value in row.items()} for row in self.rows)

    @classmethod
    def read_csv(cls, path: Path) -> "Results":
        """Return the rows of a file that `write_csv` wrote."""
        return cls([{name: _parsed(cell) for name, cell in row.items() if cell} for row in written_rows(path)])


def results_path(folder: Path, name: str) -> Path:
    """Return the file with the results of an experiment."""
    return folder / f"{name}.csv.gz"


def written_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a file that `Results.write_csv` wrote, as text."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def mean_and_deviation(values: Array, digits: int = 3, sign: str = "") -> str:
    """Return the mean and deviation of the values that are not NaN; only the mean if there are fewer than three.

    Examples
    --------
    >>> mean_and_deviation(np.array([0.1, 0.2, 0.3])), mean_and_deviation(np.array([0.1, 0.2]))
    ('0.200 ± 0.082', '0.150')
    """
    found = values[~np.isnan(values)]
    if not len(found):
        return ""
    deviation = f" ± {found.std():.{digits}f}" if len(found) >= FEWEST_FOR_A_DEVIATION else ""
    return f"{found.mean():{sign}.{digits}f}{deviation}"


def rounded(value: Value) -> Value:
    """Round numbers to five digits: one sample of a data set changes the fourth digit, and pages show at most four."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _parsed(cell: str) -> Value:
    """Return the number in a cell, or its text if it is not a number."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(cell)
    return cell


Trial = Mapping[str, Value]
T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """Options that decide how much of an experiment is run.

    `repetitions` replaces the paper's number of repetitions; `quick` runs one repetition of the smallest size, to check
    that everything works; `protocol` restricts the run to one of the two protocols.
    """

    repetitions: int | None = None
    quick: bool = False
    protocol: Protocol | None = None

    def repeats(self, published: int) -> range:
        """Return the repetitions to run if the paper has `published` repetitions."""
        if self.quick:
            return range(1)
        return range(published if self.repetitions is None else self.repetitions)

    def some(self, values: Iterable[T]) -> list[T]:
        """Return all values of a parameter, or the first two in a quick run."""
        return list(values)[:2] if self.quick else list(values)

    def tried(self, settings: Iterable[T]) -> list[T]:
        """Return the settings of a model to try; for the protocol `blind`, this is the default, which comes first."""
        return list(settings)[:1] if self.protocol == "blind" else self.some(settings)

    def size(self, published: int, quick: int) -> int:
        """Return the published size, or the smaller one in a quick run."""
        return quick if self.quick else published


@dataclass(frozen=True)
class Data:
    """The data sets, each loaded on its first use."""

    folder: str | None = None

    def __getitem__(self, name: str) -> Bunch:
        """Return a data set by its name."""
        return _loaded(name, self.folder)


@cache
def _loaded(name: str, folder: str | None) -> Bunch:
    return load(name, folder)


Drawing = Callable[[Results, Data, Plan, Path], list[str]]


def _nothing(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    return []


def _no_numbers(results: Results) -> Iterable[Comparison]:
    return ()


def _no_claims(results: Results) -> Iterable[Claim]:
    return ()


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    `run(trial, data, plan)` yields one or more rows of measures; it must depend on nothing else, so that trials can run
    in any order and process. `page(results)` returns the body of the page. `draw(results, data, plan, folder)` writes
    pictures and returns the lines of Markdown that show them. `compared(results)` yields every published number beside
    ours, and `claims(results)` what the paper states about its figures, if there are any. `timed` says that seconds are
    among the measures, so that every fit must do all of its work.
    """

    name: str
    title: str
    data: tuple[str, ...]
    trials: Callable[[Plan], list[Trial]]
    run: Callable[[Trial, Data, Plan], Iterable[Row]]
    page: Callable[[Results], str]
    draw: Drawing = field(default=_nothing)
    compared: Callable[[Results], Iterable[Comparison]] = field(default=_no_numbers)
    claims: Callable[[Results], Iterable[Claim]] = field(default=_no_claims)
    timed: bool = False
