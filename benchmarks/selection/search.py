"""One search, and the format of its results."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks import parts
from sklearn.base import clone

from deepnmf import Selection, select_layers

SELECT_LAYERS = "`select_layers`"
QUICK_SIZES = [1, 2, 3]


def only_select_layers() -> list[str]:
    """Return the contenders of parts that compare `select_layers` with no other rule."""
    return [SELECT_LAYERS]


def searched(model, X, seed, limits, **options) -> tuple[Selection, float]:
    """Return a search and its processor seconds."""
    short = {name: value for name, value in limits.params.items() if name in model.get_params()}
    if limits.sweeps is not None:
        options = {"sizes": QUICK_SIZES, **options}
    began = time.process_time()
    selection = select_layers(clone(model).set_params(**short), X, random_state=seed, **options)
    return selection, time.process_time() - began


def percent(hits) -> str:
    """Return the share of hits in percent, as text."""
    hits = list(hits)
    return f"{100 * sum(hits) / len(hits):.0f}" if hits else ""


@dataclass(frozen=True)
class Part(parts.Part):
    """One part, with a function that creates the tables from its records."""

    tables: Callable[[Sequence[parts.Record]], str]

    def rendered(self, records: Sequence[parts.Record]) -> str:
        """Return the tables of all results."""
        return self.tables(records)
