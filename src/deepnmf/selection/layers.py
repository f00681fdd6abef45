"""The choice of layer sizes, as users call it."""

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
    """Choose the number of features, and for deep models the number of layers, by predictions of hidden entries.

    The size of the first layer: a tenth of the entries of X is hidden, models of one layer are fitted to the others,
    and the smallest size is chosen whose error at the hidden entries exceeds the smallest error by at most one standard
    error of the difference. The same entries are hidden from all sizes, and with squared error these fits
    are made in single precision.

    The size of a layer above is chosen in the same way from the codes of the layer below, with the Kullback-Leibler
    divergence and columns at unit root mean square, as in the loss of `DeepNMF`. Errors in X cannot tell it: a linear
    chain predicts X best with as many features on top as in the first layer. A layer above is added as long as its
    best size is above 1, below the size of the layer below, and better than 1 by more than a standard error. Then a
    layer in between is looked for, which must predict the codes better, together with the layer above it.

    Parameters
    ----------
    model : estimator
        One of this package that can leave out entries of X; its own sizes are ignored. With ``verbose=1`` a line is
        printed for each size.
    X : array-like, sparse matrix, file or dask array of shape (n_samples, n_features)
        NaN or a mask marks an entry that was not observed. Absent entries of a sparse X are zeros, which are hidden
        too, or with ``entry_weight="stored"`` not observed. Of a file or a dask array, evenly spaced rows are read, at
        most 2^24 entries, and the choice is made from these; the chosen model is then fitted to all rows.
    y : labels, optional
        Passed to `fit`.
    sizes : list of int, list of tuples, or None
        Candidates. For a deep model, numbers are sizes of the first layer, and layers above are chosen from the data.
        Tuples are sizes of all layers: the first size is chosen first, then the others together among the tuples that
        begin with it. If None, a coarse grid is tried, then sizes around the best one.
    n_splits : int, default=3
        How many times entries are hidden. A size that is far worse than another one in the first split, by more than
        three standard errors of the difference, is not fitted to the others.
    hide : {"entries", "counts"} or None, default=None
        What is hidden of the data: whole entries, or single counts of all entries (binomial thinning), for counts and
        ``beta_loss="kullback-leibler"``. None is "counts" if X consists of counts and the model has this loss, else
        "entries".
    consensus : bool, default=False
        Whether ten fits of the chosen first layer from random starts are combined, as cNMF does it: features that no
        other fit has are left out, the others are clustered, and the medians of the clusters are `consensus_`, with
        codes of their own. The fit of `best_estimator_` then starts from them.
    max_passes : float or None, default=None
        The search for the first layer ends when its fits have taken so many passes over the rows, and the choice is
        made among the sizes that have been tried. A pass with k > 10 features counts as k / 10 passes. Layers above
        need no passes over X. Passes are counted instead of seconds so that the choice is the same on any machine.
    random_state : int, RandomState or None, default=None
        Decides which entries are hidden, and about the starts if the model has no `random_state`.
    n_jobs : int or None, default=None
        How many fits are made at the same time, in processes of their own.
    checkpoint : path or None, default=None
        A file that keeps what has been measured. The same call goes on from it, and removes it when it is done. It
        needs an integer as `random_state`.
    refit : bool, default=True
        Whether the chosen model is fitted to all of X. If not, `best_estimator_` is not fitted.
    **fit_params
        Passed to `fit`, such as `entry_weight`.

    Returns
    -------
    Selection
        The sizes, the model fitted with them, and a table of all that was tried. If the search is interrupted by
        Ctrl-C, the choice is made among the sizes that have been tried.

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
        warnings.warn("Interrupted: the choice is made among the sizes that have been tried.", stacklevel=2)
    best = clone(model).set_params(random_state=searched.random_state, **size_params(model, search.sizes()))
    agreed = None
    if consensus:
        agreed = consensus_of(search.one_layer(search.sizes()[:1]), X, y, fit_params, n_jobs)
        best, fit_params = starting_from(agreed, best, fit_params)
    if refit:
        best.fit(X, y, **fit_params)
    return Selection(search.sizes(), best, search.table(), ended_by, agreed)


def starting_from(start: Consensus, model: Any, fit_params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The model and what its `fit` gets, to start from features of the first layer."""
    features = start.features.astype(start.codes.dtype)
    if isinstance(model, NMF):
        return model.set_params(init="custom"), {**fit_params, "W": start.codes, "H": features}
    return model, {**fit_params, "factors": [features]}


def seeded(model: Factorization, rng: np.random.RandomState) -> Any:
    """A copy for the fits of the search: silent, and with a seed."""
    seed = drawn_seeds(rng, 1)[0] if model.random_state is None else model.random_state
    return clone(model).set_params(random_state=seed, verbose=0)


def check_selectable(model: Any, fit_params: dict[str, Any]) -> None:
    """Refuse a model whose layers cannot be chosen, and arguments of `fit` that belong to one choice of them."""
    if not isinstance(model, Factorization):
        raise TypeError(f"model is {model!r}: expected an estimator of deepnmf.")
    whom = type(model).__name__
    model._validate_params()
    if not model._problem().masks_nan:
        raise ValueError(f"{whom} as it is set cannot leave out entries of X, and its sizes are judged by hidden ones.")
    for name in OF_ONE_SIZE:
        if fit_params.get(name) is not None:
            raise ValueError(f"{name} was given, but it belongs to one choice of sizes: call fit with it afterwards.")
    if not is_deep(model):
        return
    for name, value in model.get_params(deep=False).items():
        if name != "layer_sizes" and isinstance(value, list | tuple | np.ndarray):
            raise ValueError(
                f"{whom} has {name}={value!r}, one value a layer, but the number of layers is to be chosen: pass one "
                "value for all, or the default."
            )


def check_settings(n_splits: Any, hide: Any, max_passes: Any, random_state: Any, checkpoint: Any) -> None:
    """Refuse settings of the search that mean nothing."""
    if not isinstance(n_splits, Integral) or n_splits < 1:
        raise ValueError(f"n_splits is {n_splits!r}: expected a positive integer.")
    if hide not in (None, "entries", "counts"):
        raise ValueError(f"hide is {hide!r}: expected 'entries', 'counts' or None.")
    if max_passes is not None and not (isinstance(max_passes, Real) and float(max_passes) > 0):
        raise ValueError(f"max_passes is {max_passes!r}: expected a positive number or None.")
    if checkpoint is not None and not isinstance(random_state, Integral):
        raise ValueError(f"checkpoint needs an integer as random_state, got {random_state!r}.")
