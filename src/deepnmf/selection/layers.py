"""`select_layers`, the choice of layer sizes."""

import os
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from deepnmf.arrays import Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.models.nmf import NMF
from deepnmf.models.parameters import RandomStateLike
from deepnmf.models.run_control import RunControl
from deepnmf.selection.candidate_sizes import CandidateSizes
from deepnmf.selection.consensus import Consensus, consensus_of
from deepnmf.selection.layer_search import LayerSearch, drawn_seeds, is_deep, size_params
from deepnmf.selection.result import Selection
from deepnmf.selection.search import Budget
from deepnmf.selection.split_choice import in_memory, splits_of
from deepnmf.solvers.divergence_loss import loss_of

OF_ONE_SIZE = ("factors", "codes", "W", "H")  # arguments of fit that belong to one choice of sizes


def select_layers(
    model: Factorization,
    X: Matrix,
    y: Any = None,
    *,
    sizes: Sequence[int] | Sequence[tuple[int, ...]] | None = None,
    n_splits: int = 3,
    hide: Literal["entries", "counts"] | None = None,
    consensus: bool = False,
    max_passes: float | None = None,
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    refit: bool = True,
    **fit_params: Any,
) -> Selection:
    """Choose the number of features, and for deep models also the number of layers, by predictions of hidden entries.

    For the first layer, a tenth of the entries of X is hidden, and models with one layer are fitted to the other
    entries. The smallest size is chosen whose error at the hidden entries exceeds the smallest error by at most one
    standard error of the difference. The same entries are hidden for all sizes. With squared error these fits use
    single precision.

    The size of an upper layer is chosen in the same way from the codes of the layer below, with the Kullback-Leibler
    divergence and columns of unit root mean square, as in the loss of `DeepNMF`. Errors in X cannot decide it, because
    a linear chain predicts X best with as many features on top as in the first layer. A layer is added as long as its
    best size is larger than 1, smaller than the layer below, and better than size 1 by more than one standard error.
    Then an intermediate layer is added if it predicts the codes better, together with the layer above it.

    Parameters
    ----------
    model : estimator
        A model of this package that supports missing entries in X; its sizes are ignored. With ``verbose=1`` a line
        is printed for each size.
    X : array-like, sparse matrix, file or dask array of shape (n_samples, n_features)
        NaN or a mask marks an entry that was not observed. Absent entries of a sparse X are zeros, some of which are
        hidden, too; with ``entry_weight="stored"`` they are unobserved. For a file or a dask array, the sizes are
        chosen from evenly spaced rows with at most 2^24 entries, and the chosen model is fitted to all rows.
    y : labels, optional
        Passed to `fit`.
    sizes : list of int, list of tuples, or None
        Candidates. For a deep model, integers are sizes of the first layer, and the layers above are chosen from the
        data. Tuples are sizes of all layers: the first size is chosen first, then the others together among the tuples
        that begin with it. None tries a coarse grid, then sizes around the best one.
    n_splits : int, default=3
        Number of random choices of hidden entries. A size that is worse than another one by more than three standard
        errors of the difference in the first split is not fitted to the other splits.
    hide : {"entries", "counts"} or None, default=None
        What is hidden: whole entries, or single counts of all entries (binomial thinning). "counts" needs counts and
        ``beta_loss="kullback-leibler"``; None is "counts" if both are given, and "entries" otherwise.
    consensus : bool, default=False
        Whether ten fits of the chosen first layer from random starts are combined, as in cNMF: features that occur in
        one fit only are discarded, the others are clustered, and the medians of the clusters are the features of
        `consensus_`. The fit of `best_estimator_` then starts from them.
    max_passes : float or None, default=None
        Maximum number of passes over the rows in the search for the first layer; the choice is then made among the
        sizes tried so far. A pass with k > 10 features counts as k / 10 passes. Upper layers need no passes over X.
        Passes are counted instead of seconds so that the choice is the same on any machine.
    random_state : int, RandomState or None, default=None
        Determines the hidden entries, and the initializations if the model has no `random_state`.
    n_jobs : int or None, default=None
        Number of fits that run at the same time, in separate processes.
    checkpoint : path or None, default=None
        A file in which the results of the fits are saved. The same call continues from it, and removes it at the end.
        It needs an integer as `random_state`.
    refit : bool, default=True
        Whether the chosen model is fitted to all of X. If not, `best_estimator_` is not fitted.
    **fit_params
        Passed to `fit`, such as `entry_weight`.

    Returns
    -------
    Selection
        The sizes, the model fitted with them, and a table of all candidates. If the search is interrupted by Ctrl-C,
        the choice is made among the sizes tried so far.

    See Also
    --------
    DeepNMF : the model whose layers explain the codes below.

    Examples
    --------
    >>> from deepnmf import DeepNMF, select_layers
    >>> from deepnmf.datasets import make_hierarchy
    >>> planted = make_hierarchy(500, (12, 4), image_shape=(16, 16), random_state=0)
    >>> selection = select_layers(DeepNMF(), planted.data, sizes=[8, 12, 16], random_state=0)
    >>> selection.best_sizes_
    (12, 4)
    """
    check_selectable(model, fit_params)
    check_settings(n_splits, hide, max_passes, random_state, checkpoint)
    rng, rows = check_random_state(random_state), in_memory(X)
    divergence = loss_of(model.get_params().get("beta_loss", "frobenius")).divergence
    splits = splits_of(rows, drawn_seeds(rng, n_splits), fit_params.get("entry_weight"), divergence, hide)
    allowed = CandidateSizes.of(sizes, splits.shape, deep=is_deep(model))
    searched = seeded(model, rng)
    settings = np.array(repr((splits.seeds, allowed, hide)))
    run = RunControl(None, checkpoint, 0, (rows, y, settings, *fit_params.values())).run(searched)
    budget = Budget(max_passes, run.checkpoints)
    search = LayerSearch(searched, allowed, rng, n_splits, n_jobs, model.verbose, budget)
    ended_by: Literal["interrupt", "max_passes"] | None = None
    try:
        search.run(splits, rows, y, fit_params)
        ended_by = "max_passes" if search.is_cut else None
        if run.checkpoints is not None:
            run.checkpoints.finish()
    except KeyboardInterrupt:
        if not search.sizes():
            raise
        ended_by = "interrupt"
        warnings.warn("Interrupted: the choice is made among the sizes tried so far.", stacklevel=2)
    best = clone(model).set_params(random_state=searched.random_state, **size_params(model, search.sizes()))
    agreed = None
    if consensus:
        agreed = consensus_of(search.one_layer(search.sizes()[:1]), X, y, fit_params, n_jobs)
        best, fit_params = starting_from(agreed, best, fit_params)
    if refit:
        best.fit(X, y, **fit_params)
    return Selection(search.sizes(), best, search.table(), ended_by, agreed)


def starting_from(start: Consensus, model: Any, fit_params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the model and its `fit` parameters for a start from given features of the first layer."""
    features = start.features.astype(start.codes.dtype)
    if isinstance(model, NMF):
        return model.set_params(init="custom"), {**fit_params, "W": start.codes, "H": features}
    return model, {**fit_params, "factors": [features]}


def seeded(model: Factorization, rng: np.random.RandomState) -> Any:
    """Return a silent copy with a seed, for the fits of the search."""
    seed = drawn_seeds(rng, 1)[0] if model.random_state is None else model.random_state
    return clone(model).set_params(random_state=seed, verbose=0)


def check_selectable(model: Any, fit_params: dict[str, Any]) -> None:
    """Refuse a model whose layers cannot be chosen, and arguments of `fit` that are valid for one size only."""
    if not isinstance(model, Factorization):
        raise TypeError(f"model is {model!r}: expected an estimator of deepnmf.")
    whom = type(model).__name__
    model._validate_params()
    if not model._problem().masks_nan:
        raise ValueError(
            f"{whom} with these parameters cannot skip hidden entries of X, which are needed to choose its sizes."
        )
    for name in OF_ONE_SIZE:
        if fit_params.get(name) is not None:
            raise ValueError(f"{name} was given, but its shape depends on the sizes: pass it to fit afterwards.")
    if not is_deep(model):
        return
    for name, value in model.get_params(deep=False).items():
        if name != "layer_sizes" and isinstance(value, list | tuple | np.ndarray):
            raise ValueError(
                f"{whom} has {name}={value!r}, one value per layer, but the number of layers is to be chosen: expected "
                "one value for all layers, or the default."
            )


def check_settings(n_splits: Any, hide: Any, max_passes: Any, random_state: Any, checkpoint: Any) -> None:
    """Refuse invalid settings of the search."""
    if not isinstance(n_splits, Integral) or n_splits < 1:
        raise ValueError(f"n_splits is {n_splits!r}: expected a positive integer.")
    if hide not in (None, "entries", "counts"):
        raise ValueError(f"hide is {hide!r}: expected 'entries', 'counts' or None.")
    if max_passes is not None and not (isinstance(max_passes, Real) and float(max_passes) > 0):
        raise ValueError(f"max_passes is {max_passes!r}: expected a positive number or None.")
    if checkpoint is not None and not isinstance(random_state, Integral):
        raise ValueError(f"checkpoint needs an integer as random_state, got {random_state!r}.")
