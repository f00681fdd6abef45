"""What can be chosen on the command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.speed.problems import PROBLEMS


@dataclass(frozen=True)
class Options:
    """The choices; the defaults are those of the published pages."""

    repeats: int = 5
    problems: Sequence[str] = tuple(PROBLEMS)
    dtypes: Sequence[str] = ("float64", "float32")
    iterations: Sequence[int] = (200,)  # of the contenders in `shallow`
    published_pretraining: int = 30  # iterations a layer, in `deep`
    published_fine_tuning: Sequence[int] = (1000, 100, 100)  # iterations at most, one for each model in `deep`
    folder: Path = Path("docs/benchmarks")
