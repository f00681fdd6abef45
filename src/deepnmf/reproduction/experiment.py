"""What a reproduction is: trials that can be run in any order, and a page made of what they gave."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar

from sklearn.utils import Bunch

from deepnmf.datasets import load
from deepnmf.reproduction.results import Protocol, Results, Row, Value

__all__ = ["Data", "Experiment", "Plan", "Trial"]

Trial = Mapping[str, Value]
T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """How much is run.

    `repetitions` replaces the paper's number of repetitions; `quick` runs two of the smallest size, to see that all works; `protocol`
    keeps to one of two, where there are two.
    """

    repetitions: int | None = None
    quick: bool = False
    protocol: Protocol | None = None

    def repeats(self, published: int) -> range:
        """The repetitions to make where the paper made `published`."""
        if self.quick:
            return range(min(2, published))
        return range(published if self.repetitions is None else self.repetitions)

    def some(self, values: Iterable[T]) -> list[T]:
        """All values of a parameter, or the first two."""
        return list(values)[:2] if self.quick else list(values)

    def tried(self, settings: Iterable[T]) -> list[T]:
        """The settings of a model that are tried: without labels to choose by, the default, which comes first."""
        return list(settings)[:1] if self.protocol == "blind" else self.some(settings)

    def size(self, published: int, quick: int) -> int:
        """A size as published, or a quick one."""
        return quick if self.quick else published


@dataclass(frozen=True)
class Data:
    """The data sets, read where they are first asked for."""

    folder: str | None = None

    def __getitem__(self, name: str) -> Bunch:
        """A data set by its name."""
        return _loaded(name, self.folder)


@cache
def _loaded(name: str, folder: str | None) -> Bunch:
    return load(name, folder)


Drawing = Callable[[Results, Data, Plan, Path], list[str]]


def _nothing(results: Results, data: Data, plan: Plan, folder: Path) -> list[str]:
    return []


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    `run(trial, data, plan)` gives one or more rows of measures; it must depend on nothing else, so that trials can be run in any
    order and process. `page(results)` is the body of the page, `draw(results, data, plan, folder)` writes pictures and returns
    lines of Markdown that show them.
    """

    name: str
    title: str
    data: tuple[str, ...]
    trials: Callable[[Plan], list[Trial]]
    run: Callable[[Trial, Data, Plan], Iterable[Row]]
    page: Callable[[Results], str]
    draw: Drawing = field(default=_nothing)
