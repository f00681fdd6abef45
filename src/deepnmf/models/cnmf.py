import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Workers
from deepnmf.models.base import Init, RandomStateLike, Start, Task
from deepnmf.models.entry_weights import EntryWeight
from deepnmf.models.labels import UNKNOWN, check_two_classes, described_classes, restored_classes, split_labels
from deepnmf.models.nmf import PlainNMF
from deepnmf.models.resuming import Keeping
from deepnmf.solvers import NNDSVD, History, OnSweep, Run


@dataclass(frozen=True)
class Groups:
    """A of X ≈ A V Z: the samples of a class are one group, each unlabelled sample is one of its own."""

    places: Array  # each sample's group
    counts: Array  # each group's samples

    @classmethod
    def of(cls, index: Array, n_classes: int) -> "Groups":
        """Classes first, then unlabelled samples in their order."""
        unknown = index == UNKNOWN
        places = index.copy()
        places[unknown] = n_classes + np.arange(np.count_nonzero(unknown))
        return cls(places, np.bincount(places))

    def expanded(self, weighted_codes: Array) -> Array:
        """A V, one row a sample, from D^½ V."""
        V = weighted_codes / np.sqrt(self.counts)[:, None]
        return V.astype(weighted_codes.dtype, copy=False)[self.places]


class CNMF(PlainNMF):
    """X ≈ A V Z, constrained NMF: labelled samples of one class share one code (Liu & Wu, 2010).

    A is the 0/1 indicator of classes and unlabelled samples, V and Z are nonnegative. ½‖X - A V Z‖² is, but for the
    scatter within the classes, the loss of NMF on the means of the groups with rows weighted by √count, and that is
    what is optimised: a class costs as much as one sample. With holes, means are of what was observed, and weigh as
    much. Without labels it is `NMF`.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        Number of features; "auto" takes it from `factors` given to `fit`, and else, like None, all features.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Start. None is "nndsvda", with random components above min(n_groups, n_features), where n_groups counts classes
        and unlabelled samples.
    solver : {"cd", "hals", "apg", "pg", "mu"}, default="cd"
        As in `NMF`.
    tol : float, default=1e-4
        Stop when the loss falls by less than this part of itself a sweep, on average over five sweeps.
    max_iter : int, default=200
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from the factors of the fit before instead of `init`, when there was one.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels that occur, sorted; empty without labels.
    components_ : array of shape (n_components, n_features)
    n_components_ : int
    factors_, features_ : lists of arrays
        One entry a layer, here one.
    codes_ : list of one array
        A V; rows of one class are equal. `transform` knows no labels and gives each row a code of its own.
    reconstruction_err_ : float
        ‖X - A V Z‖_F.
    loss_curve_ : array of shape (n_iter_,)
        ½‖X - A V Z‖² after each sweep.
    n_iter_ : int
    stop_reason_ : {"decrease", "optimality", "max_iter", "interrupted", "on_sweep"}
    kkt_residual_ : float
        How far from a stationary point V and Z are, as in `NMF`.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import CNMF
    >>> X, digits = load_digits(return_X_y=True)
    >>> y = np.where(np.arange(len(digits)) < 90, digits, -1)  # 5 % of the labels
    >>> model = CNMF(16, random_state=0).fit(X, y)
    >>> sevens = model.codes_[-1][y == 7]
    >>> bool((sevens == sevens[0]).all())
    True
    >>> model.transform(X[:3]).shape
    (3, 16)
    """

    _streams = False  # rows of a class are averaged at once
    _joins_samples = True

    def __init__(
        self,
        n_components: int | Literal["auto"] | None = "auto",
        *,
        init: Init = None,
        solver: Literal["cd", "hals", "apg", "pg", "mu"] = "cd",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(  # type: ignore[override]
        self,
        X: Matrix,
        y: object = None,
        *,
        entry_weight: EntryWeight = None,
        factors: Sequence[Array] | None = None,
        on_sweep: OnSweep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30,
    ) -> Self:
        """Learn the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), nonnegative
            NaN or a mask (`numpy.ma`) in a dense X marks an entry that was not observed.
        y : array-like of shape (n_samples,), optional
            Labels, numbers or text; -1, None and NaN are unknown ones.
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            What each entry counts, from 0 to 1, as in `NMF`.
        factors : sequence of one array, optional
            [Z] to start from whatever `init` says. Required by ``init="custom"``.
        on_sweep : callable, optional
            ``on_sweep(sweep, loss)``, called after each sweep; returning True stops.
        checkpoint : path, optional
            A file that keeps where the fit is, every `checkpoint_seconds` and when it is interrupted. The same call
            goes on from it, to the same bits; it is removed when the fit is over.
        checkpoint_seconds : float, default=30

        Returns
        -------
        self
        """
        keeping = Keeping(checkpoint, checkpoint_seconds, (X, y, entry_weight, factors))
        start = self._start(factors, None)
        with self._fitting(keeping) as run:
            run.history = self._learn_grouped(X, y, entry_weight, start, run, on_sweep)
        return self

    def _learn_grouped(
        self, X: Matrix, y: object, entry_weight: EntryWeight, start: Start, run: Run, on_sweep: OnSweep | None
    ) -> History:
        """Check, optimise on the groups, and keep the result for the samples."""
        data = self._observed(X, entry_weight, reset=True)
        X = data.X
        self.classes_, index = split_labels(y, X.shape[0])
        check_two_classes(self.classes_, "y")
        groups = Groups.of(index, len(self.classes_))
        sizes = self._sizes(X.shape[1], start.factors)
        self._check_start(X, sizes, start)
        if not start.factors:
            self._check_rank_of_groups(sizes[0], (len(groups.counts), X.shape[1]))
        with Workers() as workers:
            engine = self._rows(data, workers)
            run.unit = engine.unit
            task = Task(sizes, self._start_in_units(start, engine.unit), (), run, on_sweep)
            # With ‖X‖² of all samples, the loss on the means counts the scatter within the groups.
            grouped = engine.grouped(groups.places, groups.counts) if len(self.classes_) else engine
            state, history = self._optimise(grouped, task)
            self._keep(engine, replace(state, codes=groups.expanded(state.codes)))
        return history

    def _check_rank_of_groups(self, size: int, shape: tuple[int, int]) -> None:
        if len(self.classes_) and self.init in NNDSVD and size > min(shape):
            raise ValueError(
                f"init = '{self.init}' can only be used when n_components <= min(n_groups, n_features), where a class "
                f"and an unlabelled sample are one group each; got {size} for {shape}."
            )

    def _state(self) -> tuple[dict[str, Any], dict[str, list[Array]]]:
        description, arrays = super()._state()
        return description | described_classes(self.classes_), arrays

    def _restore(self, description: dict[str, Any], arrays: dict[str, list[Array]]) -> None:
        super()._restore(description, arrays)
        self.classes_ = restored_classes(description)
