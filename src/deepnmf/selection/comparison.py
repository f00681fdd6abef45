"""Comparison of candidate sizes by their errors at the same hidden entries."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from deepnmf.arrays import Array

FAR = 3  # standard errors: a candidate that is worse by more in the first split is not fitted to the other splits

LayerSizes = tuple[int, ...]
"""The sizes of the layers of a candidate, the lowest first."""


@dataclass(frozen=True)
class Candidate:
    """A size of a layer, and how well models of this size predict hidden entries; a row of ``Selection.table_``.

    Parameters
    ----------
    layer : int
        The number of the layer, from 1. Layer 1 is evaluated at entries of the data, an upper layer at entries of the
        codes of the layer below.
    size : int
        The number of features.
    above : tuple of int
        The sizes of the layers above it in the fitted models. Usually there are none; only an intermediate layer is
        evaluated together with the layer above it.
    splits : int
        Number of splits that the candidate was fitted to. A candidate that is worse than another one by more than three
        standard errors of the difference in the first split is not fitted to the other splits.
    error : float
        The mean loss of a hidden entry, or of a hidden count: half the squared error or the divergence of `beta_loss`;
        above layer 1, the Kullback-Leibler divergence. Errors of different layers cannot be compared. The error is the
        smallest error plus `excess`, so that candidates with one split and with several splits can be compared.
    standard_error : float
        The standard error of the error, over the splits that the candidate was fitted to.
    excess : float
        The error minus the smallest error of the layer.
    excess_error : float
        The standard error of `excess`. It is computed from differences at the same entries, so it is much smaller than
        `standard_error`.
    stability : float
        The mean cosine of matched features of two fits, from random starts on different halves of the rows. NaN for an
        intermediate layer.
    silhouette : float
        The mean silhouette of matched features of the two fits by cosine distance, as in NMFk and cNMF: how well they
        are separated from all other features. NaN for size 1 and for an intermediate layer.
    explained : float
        The share of the data that the features explain, as in `hierarchy_`.
    dead : int
        The number of unused features.
    copies : int
        The number of features that are copies of one feature below; 0 for layer 1.
    passes : float
        The number of passes over all rows that the fits took; a pass with k > 10 features counts as k / 10.
    seconds : float
        The time that all fits of this size took.
    is_smallest_error : bool
        Whether no other candidate for the layer has a smaller error.
    is_within_standard_error : bool
        Whether it is the smallest candidate whose error is at most the smallest error plus its `standard_error`. This
        is the usual rule, given for comparison.
    is_best : bool
        Whether it is the smallest candidate whose `excess` is at most `excess_error` plus 1e-5 times the spread of the
        hidden entries. This size is chosen, if the layer exists. If all candidates have layers above, it is the one
        with the smallest error, and the layer above it is marked, too.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnmf import NMF, select_layers
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 3)) @ rng.random((3, 20))
    >>> selection = select_layers(NMF(), X, sizes=[2, 3, 4], random_state=0)
    >>> [candidate.size for candidate in selection.table_ if candidate.is_best]
    [3]
    """

    layer: int
    size: int
    above: LayerSizes
    splits: int
    error: float
    standard_error: float
    excess: float
    excess_error: float
    stability: float
    silhouette: float
    explained: float
    dead: int
    copies: int
    passes: float
    seconds: float
    is_smallest_error: bool
    is_within_standard_error: bool
    is_best: bool


@dataclass(frozen=True)
class Features:
    """Properties of the features of a candidate; see `Candidate`."""

    stability: float = float("nan")
    silhouette: float = float("nan")
    explained: float = float("nan")
    dead: int = 0
    copies: int = 0


@dataclass(frozen=True)
class Trial:
    """The measurements of one candidate: sums over the hidden entries of each row in each split, and their weights.

    A candidate may be measured only in the first splits.
    """

    errors: Array
    weights: Array
    features: Features
    passes: float
    seconds: float
    resolution: float = 0.0  # smaller differences of errors come from the stopping of the fits

    @property
    def error(self) -> float:
        """The mean error over the hidden entries of all splits."""
        return float(self.errors.sum() / self.weights.sum())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean, with independent rows."""
        return _standard_error(self.errors - self.error * self.weights, self.weights)

    @property
    def n_splits(self) -> int:
        """The number of splits in which the candidate was measured."""
        return len(self.errors)

    def in_first(self, n_splits: int) -> "Trial":
        """Return the measurements in the first splits."""
        return replace(self, errors=self.errors[:n_splits], weights=self.weights[:n_splits])

    def with_splits(self, others: "Trial") -> "Trial":
        """Return these measurements together with those of other splits."""
        return replace(
            self,
            errors=np.concatenate([self.errors, others.errors]),
            weights=np.concatenate([self.weights, others.weights]),
            passes=self.passes + others.passes,
            seconds=self.seconds + others.seconds,
        )

    def excess(self, other: "Trial") -> tuple[float, float]:
        """Return the difference from the error of another trial at the same entries, and its standard error."""
        n = min(self.n_splits, other.n_splits)
        differences, weights = self.errors[:n] - other.errors[:n], self.weights[:n]
        return float(differences.sum() / weights.sum()), _standard_error(differences, weights)


def _standard_error(deviations: Array, weights: Array) -> float:
    return float(deviations.std() * np.sqrt(deviations.size) / weights.sum())


Trials = Mapping[LayerSizes, Trial]
"""Trials at the same hidden entries, by the sizes of their layers."""


def by_size(sizes: LayerSizes) -> tuple[int, LayerSizes]:
    """Return a sort key: by number of layers, then by number of features."""
    return len(sizes), sizes


def in_question(trials: Trials) -> dict[LayerSizes, Trial]:
    """Return the trials that are not far worse than the best in the first split, reduced to their common splits."""
    first = {sizes: trial.in_first(1) for sizes, trial in trials.items()}
    least = first[_least(first)]
    near = {sizes: trials[sizes] for sizes, trial in first.items() if not is_clearly_worse(trial, least, FAR)}
    n_splits = min(trial.n_splits for trial in near.values())
    return {sizes: trial.in_first(n_splits) for sizes, trial in near.items()}


def smallest_error(trials: Trials) -> LayerSizes:
    """The sizes with the smallest error."""
    return _least(in_question(trials))


def _least(trials: Trials) -> LayerSizes:
    return min((trial.error, by_size(sizes)) for sizes, trial in trials.items())[1][1]


def is_clearly_worse(one: Trial, other: Trial, margin: float = 1) -> bool:
    """Whether the error exceeds another error by more than `margin` standard errors of the difference."""
    excess, standard_error = one.excess(other)
    return excess > margin * standard_error + one.resolution


def best_sizes(trials: Trials) -> LayerSizes:
    """Return the best sizes among all that are not clearly worse than those with the smallest error.

    If single layers are among them, it is the smallest one. Otherwise intermediate layers are needed, and among the
    candidates with the fewest layers it is the one with the smallest error, because a smaller layer above another one
    is not a simpler model.
    """
    possible = in_question(trials)
    least = possible[_least(possible)]
    close = {sizes: trial for sizes, trial in possible.items() if not is_clearly_worse(trial, least)}
    fewest = min(len(sizes) for sizes in close)
    shallow = {sizes: trial for sizes, trial in close.items() if len(sizes) == fewest}
    return min(shallow) if fewest == 1 else smallest_error(shallow)


def layer_exists(trials: Trials, below: int) -> bool:
    """Whether the best size combines features of the layer below, and does so better than a single feature."""
    best = best_sizes(trials)
    return 1 < best[0] < below and is_clearly_worse(trials[1,], trials[best])


def candidates(trials: Trials, layer: int) -> list[Candidate]:
    """Return the rows of the table, sorted by size; `layer` is the number of the lowest layer of the candidates."""
    least, best = smallest_error(trials), best_sizes(trials)
    excesses = {sizes: trial.excess(trials[least]) for sizes, trial in trials.items()}
    bound = trials[least].standard_error
    plain = min((sizes for sizes, (excess, _) in excesses.items() if excess <= bound), key=by_size)
    rows = []
    for sizes, trial in sorted(trials.items(), key=lambda item: by_size(item[0])):
        excess, excess_error = excesses[sizes]
        rows.append(
            Candidate(
                layer=layer + max(len(best) - len(sizes), 0),
                size=sizes[0],
                above=sizes[1:],
                splits=trial.n_splits,
                error=trials[least].error + excess,
                standard_error=trial.standard_error,
                excess=excess,
                excess_error=excess_error,
                stability=trial.features.stability,
                silhouette=trial.features.silhouette,
                explained=trial.features.explained,
                dead=trial.features.dead,
                copies=trial.features.copies,
                passes=trial.passes,
                seconds=trial.seconds,
                is_smallest_error=sizes == least,
                is_within_standard_error=sizes == plain,
                is_best=sizes == best[-len(sizes) :],
            )
        )
    return rows
