"""The search for the size of one layer: the sizes to try, their fits, and the budget."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from deepnmf.arrays import Array, Matrix
from deepnmf.models.hierarchy import HierarchyWarning
from deepnmf.selection.comparison import (
    Features,
    LayerSizes,
    Trial,
    Trials,
    best_sizes,
    by_size,
    in_question,
    is_clearly_worse,
    smallest_error,
)
from deepnmf.selection.splits import Splits
from deepnmf.selection.stability import halves, of_rows, stability
from deepnmf.solvers.checkpoints import Checkpoints, Progress
from deepnmf.solvers.loop import INTERRUPTED

CONSECUTIVE_WORSE = 2  # sizes that are clearly worse than the best one, after which larger ones are skipped
FEATURES_OF_A_PASS = 10  # with more features, a pass over the data takes longer and counts as more passes
RESOLUTION = 1e-5  # of the spread of hidden entries: the size of errors of fits to data without noise
MEASURED = "measured"  # stop reason of a stage in a checkpoint


class BudgetSpent(Exception):
    """The fits have used up the allowed number of passes over the data."""


@dataclass
class Budget:
    """The allowed and the used number of passes over the data, and the checkpoint of the results."""

    max_passes: float | None = None
    checkpoints: Checkpoints | None = None
    spent: float = 0.0

    def measured(self, measure: Callable[[], Trial]) -> Trial:
        """Return a trial, from the checkpoint if it contains it."""
        if self.max_passes is not None and self.spent >= self.max_passes:
            raise BudgetSpent
        number, progress = (0, Progress(None)) if self.checkpoints is None else self.checkpoints.enter(None)
        trial = measure() if progress.reason is None else progress.state
        if self.checkpoints is not None and progress.reason is None:
            self.checkpoints.keep(number, Progress(trial, reason=MEASURED))
        self.spent += trial.passes
        return trial


class Measured(NamedTuple):
    """The results of one fit."""

    errors: Array
    weights: Array
    features: Array
    passes: int
    spread: float = 0.0


def single_layer(size: int) -> LayerSizes:
    """Return the sizes of a single layer."""
    return (size,)


@dataclass
class Judge:
    """Fits models to the seen entries, and measures their errors at the hidden entries.

    Parameters
    ----------
    splits : Splits
    model_of : function of sizes
        Returns an unfitted estimator with these layers.
    describe : function of features
        Returns the share that they explain, and the number of copies among them.
    layer : int
        The number of the lowest fitted layer.
    budget : Budget
    n_jobs : int or None
        Number of fits that run at the same time.
    verbose : int
        Whether a line is printed for each size.
    y, fit_params
        Arguments of `fit` other than the data and the weights.
    trials : dict
        The measurements, by sizes.
    """

    splits: Splits
    model_of: Callable[[LayerSizes], Any]
    describe: Callable[[Array], tuple[float, int]]
    layer: int
    budget: Budget
    n_jobs: int | None
    verbose: int
    y: Any = None
    fit_params: dict[str, Any] = field(default_factory=dict)
    trials: dict[LayerSizes, Trial] = field(default_factory=dict)

    def search(self, grid: Sequence[int], layers_of: Callable[[int], LayerSizes] = single_layer) -> None:
        """Try sizes of a coarse grid until larger ones are clearly worse, then sizes around the best one.

        These are sizes of one layer; `layers_of` adds the given sizes of the layers above or below.
        """
        tried: list[int] = []
        n_worse = 0
        for size in grid:
            self._try(layers_of(size), [other for other in grid if other > size])
            tried.append(size)
            n_worse = n_worse + 1 if is_too_large(size, self._compared(tried, layers_of)) else 0
            if n_worse == CONSECUTIVE_WORSE:
                break
        while tried and (sizes := halved_gaps(sorted(tried), best_sizes(self._compared(tried, layers_of))[0])):
            for size in sizes:
                self._try(layers_of(size), [other for other in sizes if other > size])
                tried.append(size)
        self._complete(self.trials)

    def try_all(self, candidates: Sequence[LayerSizes]) -> None:
        """Measure each of the candidates."""
        ordered = sorted(set(candidates), key=by_size)
        for place, sizes in enumerate(ordered, start=1):
            self._try(sizes, [other[0] for other in ordered[place:]])
        self._complete(self.trials)

    def _compared(self, tried: Sequence[int], layers_of: Callable[[int], LayerSizes]) -> dict[LayerSizes, Trial]:
        """Return the trials of some sizes, measured in all splits unless only one of them can still be the best."""
        trials = {layers_of(size): self.trials[layers_of(size)] for size in tried}
        if len(in_question(trials)) > 1:
            self._complete(trials)
        return {(size,): self.trials[layers_of(size)] for size in tried}

    def _try(self, sizes: LayerSizes, later: Sequence[int]) -> None:
        """Measure a candidate in the first split, unless this was done before."""
        if sizes not in self.trials:
            self.trials[sizes] = self.budget.measured(partial(self._measure, sizes))
            if self.verbose:
                self._print(sizes, later)

    def _complete(self, trials: Trials) -> None:
        """Measure all candidates that can still be the best in all splits."""
        for sizes in in_question(trials) if trials else ():
            if self.trials[sizes].n_splits < len(self.splits.seeds):
                others = self.budget.measured(partial(self._measure_others, sizes))
                self.trials[sizes] = self.trials[sizes].with_splits(others)
                if self.verbose:
                    self._print(sizes)

    # -------------------------------------------------------------------------------------- the fits

    def _measure(self, sizes: LayerSizes) -> Trial:
        """Predict the hidden entries of the first split, and fit both halves of the rows."""
        halves = range(2 if len(sizes) == 1 else 0)
        return self._trial(sizes, [partial(self._learn, half=half) for half in halves], range(1))

    def _measure_others(self, sizes: LayerSizes) -> Trial:
        """Predict the hidden entries of the other splits."""
        return self._trial(sizes, [], range(1, len(self.splits.seeds)))

    def _trial(self, sizes: LayerSizes, learn: Sequence[Callable[[Any], Measured]], splits: Sequence[int]) -> Trial:
        began, model = time.perf_counter(), self.model_of(sizes)
        fits = [partial(self._predict, model, split) for split in splits] + [partial(one, model) for one in learn]
        measured = _all(fits, self.n_jobs)
        predicted, learned = measured[: len(splits)], measured[len(splits) :]
        errors, weights = (np.array([getattr(one, name) for one in predicted]) for name in ("errors", "weights"))
        passes = sum(one.passes for one in predicted) + sum(one.passes for one in learned) / 2
        passes *= max(1.0, sizes[0] / FEATURES_OF_A_PASS)
        features = self._described(predicted[0], learned) if 0 in splits else Features()
        seconds = time.perf_counter() - began
        return Trial(errors, weights, features, passes, seconds, RESOLUTION * predicted[0].spread)

    def _described(self, predicted: Measured, learned: Sequence[Measured]) -> Features:
        dead = np.count_nonzero(~predicted.features.any(axis=1))
        explained, copies = self.describe(predicted.features)
        similar = stability([one.features for one in learned]) if learned else (float("nan"), float("nan"))
        return Features(*similar, explained, int(dead), copies)

    def _predict(self, model: Any, split: int) -> Measured:
        """Fit the seen entries of a split, and predict the hidden ones."""
        model = self._fitted_to_seen(model, split)
        spread = self.splits.spread(split, model._learned.divergence) if split == 0 else 0.0
        return Measured(*self.splits.errors(split, model), model.features_[0], model.n_iter_, spread)

    def _fitted_to_seen(self, model: Any, split: int) -> Any:
        X, entry_weight = self.splits.seen(split)
        return fitted(model, X, self.y, **_weights(entry_weight), **self.fit_params)

    def _learn(self, model: Any, half: int) -> Measured:
        """Fit one half of the rows from a random start."""
        n_rows, seed = self.splits.shape[0], self.splits.seeds[0]
        rows = halves(n_rows, seed)[half]
        X, entry_weight = self.splits.some_rows(rows)
        y, *values = (of_rows(value, rows, n_rows) for value in (self.y, *self.fit_params.values()))
        start = {"init": "random"} if "init" in model.get_params() else {}
        model = clone(model).set_params(random_state=seed + half, **start)
        params = dict(zip(self.fit_params, values, strict=True))
        model = fitted(model, X, y, **_weights(entry_weight), **params)
        return Measured(np.empty(0), np.empty(0), model.features_[0], model.n_iter_)

    def _print(self, sizes: LayerSizes, later: Sequence[int] = ()) -> None:
        trial = self.trials[sizes]
        below = f" below {', '.join(map(str, sizes[1:]))}" if sizes[1:] else ""
        splits = f", {trial.n_splits} splits" if trial.n_splits > 1 else ""
        line = f"layer {self.layer}, size {sizes[0]}{below}{splits}: error {trial.error:.4g}"
        line += f" ± {trial.standard_error:.2g}"
        if later:  # a sweep takes time in proportion to the size
            seconds = len(self.splits.seeds) * sum(later) * trial.seconds / sizes[0]
            line += f"; at most about {seconds:.0f} s for sizes up to {max(later)}"
        print(line, flush=True)


def is_too_large(size: int, tried: Mapping[LayerSizes, Trial]) -> bool:
    """Whether a size is clearly worse than a smaller size that has the smallest error."""
    least = smallest_error(tried)
    return size > least[0] and is_clearly_worse(tried[size,], tried[least])


def _all(fits: Sequence[Callable[[], Measured]], n_jobs: int | None) -> list[Measured]:
    if n_jobs in (None, 1):
        return [fit() for fit in fits]
    return Parallel(n_jobs=n_jobs)(delayed(fit)() for fit in fits)


def _weights(entry_weight: Any) -> dict[str, Any]:
    return {} if entry_weight is None else {"entry_weight": entry_weight}


def fitted(model: Any, X: Matrix, y: Any = None, **fit_params: Any) -> Any:
    """Return a fitted copy of a model, without the warnings of single fits.

    An interrupted fit ends early, and its errors cannot be compared; therefore the interrupt is raised again.
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
    """Yield 1, 2, 3, 4, 6, 8, 12, 16, 24 and so on, each about 1.4 times the previous size, and the largest size.

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
    """Return the sizes halfway between the best size and its neighbors among the sizes tried so far.

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
