"""The options of the command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.speed.problems import PROBLEMS


@dataclass(frozen=True)
class Options:
    """The options; the defaults are those of the published pages."""

    repeats: int = 5
    problems: Sequence[str] = tuple(PROBLEMS)
    dtypes: Sequence[str] = ("float64", "float32")
    iterations: Sequence[int] = (200,)  # of the contenders in `shallow`
    published_pretraining: int = 30  # iterations per layer, in `deep`
    published_fine_tuning: Sequence[int] = (1000, 100, 100)  # limits of iterations, one for each model in `deep`
    folder: Path = Path("docs/benchmarks")
