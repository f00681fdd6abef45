"""The search for the size of one layer: which sizes are tried, by how many fits, and how it is interrupted."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from deepnmf.arrays import Array, Matrix
from deepnmf.models.hierarchy import HierarchyWarning
from deepnmf.selection.comparison import Trial, best_size, is_clearly_worse, smallest_error
from deepnmf.selection.hidden_entries import HiddenEntries
from deepnmf.solvers.loop import INTERRUPTED

ENOUGH_WORSE = 2  # sizes in a row that are clearly worse than the best one: larger ones are not tried


@dataclass
class Judge:
    """Fits models of one layer to the seen entries, and measures how well they predict the hidden ones.

    Parameters
    ----------
    entries : HiddenEntries
    model_of : function of a size
        Returns an estimator of one layer, not fitted.
    layer : int
        The number of the layer, for the messages.
    n_jobs : int or None
        How many splits are fitted at the same time.
    verbose : int
        Whether a line is printed for each size.
    y, fit_params
        What `fit` gets beside the data and the weights.
    trials : dict
        What was measured, by size.
    """

    entries: HiddenEntries
    model_of: Callable[[int], Any]
    layer: int
    n_jobs: int | None
    verbose: int
    y: Any = None
    fit_params: dict[str, Any] = field(default_factory=dict)
    trials: dict[int, Trial] = field(default_factory=dict)

    def search(self, sizes: Sequence[int] | None, largest: int) -> None:
        """Try the given sizes; if they are None, a coarse grid up to the largest, then sizes around the best one."""
        if sizes is None:
            self._try_coarsely(largest)
            self._try_finely()
        else:
            self._try_all(sizes)

    def _try_all(self, sizes: Sequence[int]) -> None:
        for size in sorted(set(sizes)):
            self._try(size, [other for other in sizes if other > size])

    def _try_coarsely(self, largest: int) -> None:
        grid, n_worse = list(coarse_grid(largest)), 0
        for size in grid:
            self._try(size, [other for other in grid if other > size])
            n_worse = n_worse + 1 if self._is_too_large(size) else 0
            if n_worse == ENOUGH_WORSE:
                return

    def _is_too_large(self, size: int) -> bool:
        least = smallest_error(self.trials)
        return size > least and is_clearly_worse(self.trials[size], self.trials[least])

    def _try_finely(self) -> None:
        """Halve the gaps on both sides of the best size until its neighbors have been tried."""
        while sizes := halved_gaps(sorted(self.trials), best_size(self.trials)):
            self._try_all(sizes)

    def _try(self, size: int, later: Sequence[int]) -> None:
        began = time.perf_counter()
        model, splits = self.model_of(size), range(len(self.entries.seeds))
        if self.n_jobs in (None, 1):
            results = [self._fit(model, split) for split in splits]
        else:
            results = Parallel(n_jobs=self.n_jobs)(delayed(self._fit)(model, split) for split in splits)
        errors, weights, dead = (np.array(parts) for parts in zip(*results, strict=True))
        self.trials[size] = Trial(errors, weights, float(np.mean(dead)), time.perf_counter() - began)
        if self.verbose:
            self._print(size, later)

    def _fit(self, model: Any, split: int) -> tuple[Array, Array, int]:
        X, entry_weight = self.entries.seen(split)
        weights = {} if entry_weight is None else {"entry_weight": entry_weight}
        model = fitted(model, X, self.y, **weights, **self.fit_params)
        return *self.entries.errors(split, model), sum(model.n_dead_)

    def _print(self, size: int, later: Sequence[int]) -> None:
        trial = self.trials[size]
        line = f"layer {self.layer}, size {size}: error {trial.error:.4g} ± {trial.standard_error:.2g}"
        if later:
            seconds = sum(later) * trial.seconds / size  # a sweep takes time in proportion to the size
            line += f"; at most about {seconds:.0f} s for sizes up to {max(later)}"
        print(line, flush=True)


def fitted(model: Any, X: Matrix, y: Any = None, **fit_params: Any) -> Any:
    """A fitted copy of a model, without the warnings that the fits of a search would give one by one.

    A fit that is interrupted ends early, so that its errors cannot be compared: the interrupt goes on.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", HierarchyWarning)
        warnings.filterwarnings("ignore", message=INTERRUPTED)
        model = clone(model).fit(X, y, **fit_params)
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    return model


def coarse_grid(largest: int) -> Iterator[int]:
    """1, 2, 3, 4, 6, 8, 12, 16, 24 and so on, each about 1.4 times the one before, and the largest.

    Examples
    --------
    >>> list(coarse_grid(20))
    [1, 2, 3, 4, 6, 8, 12, 16, 20]
    """
    power = 1
    while power < largest:
        yield power
        if power > 1 and power + power // 2 < largest:
            yield power + power // 2
        power *= 2
    yield largest


def halved_gaps(tried: Sequence[int], best: int) -> list[int]:
    """The sizes in the middle between the best one and its neighbors among those that have been tried.

    Examples
    --------
    >>> halved_gaps([1, 8, 12, 16], 12)
    [10, 14]
    >>> halved_gaps([1, 11, 12, 13], 12)
    []
    """
    place = list(tried).index(best)
    pairs = zip(tried[max(place - 1, 0) : place + 1], tried[max(place - 1, 0) + 1 : place + 2], strict=False)
    return [(low + high) // 2 for low, high in pairs if high - low > 1]
