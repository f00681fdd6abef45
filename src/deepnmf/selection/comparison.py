"""Candidates for the size of a layer, compared by their errors at the same hidden entries."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array


@dataclass(frozen=True)
class Candidate:
    """A size of a layer, and how well models of this size predict hidden entries; a row of ``Selection.table_``.

    Parameters
    ----------
    layer : int
        The number of the layer, from 1. Layer 1 is judged by entries of the data, a layer above by entries of the codes
        of the layer below.
    size : int
        The number of features.
    error : float
        The mean loss of a hidden entry: half the squared error, or the divergence that `beta_loss` names; above layer 1
        the Kullback-Leibler divergence. Errors of different layers cannot be compared.
    standard_error : float
        Of `error`.
    excess : float
        How much larger the error is than the smallest one of the layer.
    excess_error : float
        The standard error of `excess`. It is computed from differences at the same entries, so it is much smaller than
        `standard_error`.
    dead : float
        The mean number of features that were not used.
    seconds : float
        The time that all fits of this size took.
    is_smallest_error : bool
        Whether no other size of the layer has a smaller error.
    is_within_standard_error : bool
        Whether it is the smallest size whose error is at most the smallest one plus its `standard_error`: the usual
        rule, for comparison.
    is_best : bool
        Whether it is the smallest size whose `excess` is at most `excess_error`: the size that is chosen, if the layer
        exists.

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
    error: float
    standard_error: float
    excess: float
    excess_error: float
    dead: float
    seconds: float
    is_smallest_error: bool
    is_within_standard_error: bool
    is_best: bool


@dataclass(frozen=True)
class Trial:
    """What was measured of one size: sums over the hidden entries of each row in each split, and their weights."""

    errors: Array
    weights: Array
    dead: float
    seconds: float

    @property
    def error(self) -> float:
        """The mean over the hidden entries of all splits."""
        return float(self.errors.sum() / self.weights.sum())

    @property
    def standard_error(self) -> float:
        """Of the mean, where entries of different rows are independent."""
        return _standard_error(self.errors - self.error * self.weights, self.weights)

    def excess(self, other: "Trial") -> tuple[float, float]:
        """How much larger the error is than another's at the same entries, and the standard error of that."""
        differences = self.errors - other.errors
        return float(differences.sum() / self.weights.sum()), _standard_error(differences, self.weights)


def _standard_error(deviations: Array, weights: Array) -> float:
    return float(deviations.std() * np.sqrt(deviations.size) / weights.sum())


Trials = Mapping[int, Trial]
"""Trials of one layer by size."""


def smallest_error(trials: Trials) -> int:
    """The size with the smallest error."""
    return min((trial.error, size) for size, trial in trials.items())[1]


def is_clearly_worse(one: Trial, other: Trial) -> bool:
    """Whether the error is larger than another's by more than one standard error of the difference."""
    excess, standard_error = one.excess(other)
    return excess > standard_error


def best_size(trials: Trials) -> int:
    """The smallest size that is not clearly worse than the one with the smallest error."""
    least = trials[smallest_error(trials)]
    return min(size for size, trial in trials.items() if not is_clearly_worse(trial, least))


def layer_exists(trials: Trials, below: int) -> bool:
    """Whether the best size combines features of the layer below, and does so better than a single feature."""
    best = best_size(trials)
    return 1 < best < below and is_clearly_worse(trials[1], trials[best])


def candidates(trials: Trials, layer: int) -> list[Candidate]:
    """The rows of the table for one layer, by size."""
    least, best = smallest_error(trials), best_size(trials)
    bound = trials[least].error + trials[least].standard_error
    plain = min(size for size, trial in trials.items() if trial.error <= bound)
    rows = []
    for size, trial in sorted(trials.items()):
        excess, excess_error = trial.excess(trials[least])
        rows.append(
            Candidate(
                layer=layer,
                size=size,
                error=trial.error,
                standard_error=trial.standard_error,
                excess=excess,
                excess_error=excess_error,
                dead=trial.dead,
                seconds=trial.seconds,
                is_smallest_error=size == least,
                is_within_standard_error=size == plain,
                is_best=size == best,
            )
        )
    return rows
