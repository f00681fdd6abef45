"""The choice of all layers, one after the other from the data upwards."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from deepnmf.arrays import Array, Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.models.nmf import NMF
from deepnmf.models.parameters import RandomStateLike
from deepnmf.selection.candidate_sizes import CandidateSizes
from deepnmf.selection.comparison import best_size, candidates, layer_exists
from deepnmf.selection.hidden_entries import FEWEST_OBSERVED, HiddenEntries, HiddenInArray, hidden_entries
from deepnmf.selection.result import Selection
from deepnmf.selection.search import Judge, fitted
from deepnmf.solvers.hierarchy_problem import LEAST_CODE, LEAST_SCALE

OF_ONE_SIZE = ("factors", "codes", "W", "H", "checkpoint")  # arguments of fit that belong to one choice of sizes
FEWEST_BELOW = 3  # features that a layer can combine into more than one and fewer than all
SEEDS = 2**31


def select_layers(
    model: Factorization,
    X: Matrix,
    y: Any = None,
    *,
    sizes: Sequence[int] | Sequence[tuple[int, ...]] | None = None,
    n_splits: int = 3,
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
    **fit_params: Any,
) -> Selection:
    """Choose the number of features, and for deep models the number of layers, by predictions of hidden entries.

    The size of the first layer: a tenth of the entries of X is hidden, models of one layer are fitted to the others,
    and the smallest size is chosen whose error at the hidden entries exceeds the smallest error by at most one standard
    error of the difference. The same entries are hidden from all sizes.

    The size of a layer above is chosen in the same way from the codes of the layer below, with the Kullback-Leibler
    divergence and columns at unit root mean square, as in the loss of `DeepNMF`. Errors in X cannot tell it: a linear
    chain predicts X best with as many features on top as in the first layer. A layer above is added as long as its
    best size is above 1, below the size of the layer below, and better than 1 by more than a standard error.

    Parameters
    ----------
    model : estimator
        One of this package that can leave out entries of X; its own sizes are ignored. With ``verbose=1`` a line is
        printed for each size.
    X : array-like of shape (n_samples, n_features)
        In memory; NaN or a mask marks an entry that was not observed. A sparse X is taken with
        ``entry_weight="stored"`` only.
    y : labels, optional
        Passed to `fit`.
    sizes : list of int, list of tuples, or None
        Candidates. For a deep model, numbers are sizes of the first layer, and layers above are chosen from the data.
        Tuples are sizes of all layers: the first size is chosen first, then the second one among the tuples that begin
        with it, and so on. If None, a coarse grid is tried, then sizes around the best one.
    n_splits : int, default=3
        How many times entries are hidden.
    random_state : int, RandomState or None, default=None
        Decides which entries are hidden, and about the starts if the model has no `random_state`.
    n_jobs : int or None, default=None
        How many splits are fitted at the same time, in processes of their own.
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
    if not isinstance(n_splits, Integral) or n_splits < 1:
        raise ValueError(f"n_splits is {n_splits!r}: expected a positive integer.")
    rng = check_random_state(random_state)
    entries = hidden_entries(X, drawn_seeds(rng, n_splits), fit_params.get("entry_weight"))
    allowed = CandidateSizes.of(sizes, entries.shape, deep=is_deep(model))
    search = LayerSearch(seeded(model, rng), allowed, rng, n_splits, n_jobs, model.verbose)
    interrupted = False
    try:
        search.run(entries, X, y, fit_params)
    except KeyboardInterrupt:
        if not search.sizes():
            raise
        interrupted = True
        warnings.warn("Interrupted: the choice is made among the sizes that have been tried.", stacklevel=2)
    best = clone(model).set_params(random_state=search.model.random_state, **size_params(model, search.sizes()))
    table = [row for judge in search.judges if judge.trials for row in candidates(judge.trials, judge.layer)]
    return Selection(search.sizes(), best.fit(X, y, **fit_params), table, interrupted)


@dataclass
class LayerSearch:
    """The search for all layers.

    Parameters
    ----------
    model : estimator
        What is fitted to the data.
    allowed : CandidateSizes
    rng, n_splits, n_jobs, verbose
        See `select_layers`.
    judges : list of Judge
        One for each layer that was tried, with what was measured.
    """

    model: Factorization
    allowed: CandidateSizes
    rng: np.random.RandomState
    n_splits: int
    n_jobs: int | None
    verbose: int
    judges: list[Judge] = field(default_factory=list)

    def run(self, entries: HiddenEntries, X: Matrix, y: Any, fit_params: dict[str, Any]) -> None:
        """Try the first layer, then one above the other as long as there are any."""
        others = {name: value for name, value in fit_params.items() if name != "entry_weight"}
        self._try(Judge(entries, self.one_layer, 1, self.n_jobs, self.verbose, y, others))
        if not is_deep(self.model) or not self.goes_on():
            return
        codes = fitted(self.one_layer(self.sizes()[0]), X, y, **fit_params).codes_[-1]
        while self.goes_on():
            codes = scaled_codes(codes)
            hidden = HiddenInArray(codes, drawn_seeds(self.rng, self.n_splits))
            self._try(Judge(hidden, self.code_model, len(self.judges) + 1, self.n_jobs, self.verbose))
            if self.goes_on():
                codes = fitted(self.code_model(self.sizes()[-1]), codes).codes_[-1]

    def one_layer(self, size: int) -> Any:
        """The model with a single layer."""
        return clone(self.model).set_params(**size_params(self.model, (size,)))

    def code_model(self, size: int) -> NMF:
        """What a layer above the first is judged by."""
        return NMF(size, beta_loss="kullback-leibler", random_state=self.model.random_state)

    def _try(self, judge: Judge) -> None:
        below = self.sizes()
        sizes = self.allowed.above(below)
        if sizes is not None and self.is_optional(below):
            sizes = [1, *sizes]  # what the layer must be better than
        self.judges.append(judge)
        judge.search(sizes, min(judge.entries.shape))

    def is_optional(self, below: tuple[int, ...]) -> bool:
        """Whether the layer above given ones must show that it exists."""
        return below != () and self.allowed.may_end(below)

    def sizes(self) -> tuple[int, ...]:
        """The sizes of the layers that exist, by what has been tried so far."""
        sizes: tuple[int, ...] = ()
        for judge in self.judges:
            if not judge.trials or (self.is_optional(sizes) and not layer_exists(judge.trials, sizes[-1])):
                break
            sizes = *sizes, best_size(judge.trials)
        return sizes

    def goes_on(self) -> bool:
        """Whether all layers that have been tried exist, and there may be one above."""
        sizes = self.sizes()
        enough = sizes[-1] >= FEWEST_BELOW and self.judges[0].entries.shape[0] * sizes[-1] >= FEWEST_OBSERVED
        return len(sizes) == len(self.judges) and enough and self.allowed.above(sizes) != []


# --------------------------------------------------------------------------------------------- the model


def is_deep(model: Factorization) -> bool:
    """Whether the model has several layers."""
    return "layer_sizes" in model.get_params(deep=False)


def size_params(model: Factorization, sizes: tuple[int, ...]) -> dict[str, Any]:
    """The parameter that holds the sizes."""
    return {"layer_sizes": sizes} if is_deep(model) else {"n_components": sizes[0]}


def seeded(model: Factorization, rng: np.random.RandomState) -> Any:
    """A copy for the fits of the search: silent, and with a seed."""
    seed = drawn_seeds(rng, 1)[0] if model.random_state is None else model.random_state
    return clone(model).set_params(random_state=seed, verbose=0)


def drawn_seeds(rng: np.random.RandomState, n: int) -> list[int]:
    """So many seeds."""
    return [int(seed) for seed in rng.randint(SEEDS, size=n)]


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


def scaled_codes(codes: Array) -> Array:
    """Codes as data of the next layer, in the units of `DeepNMF`: columns at unit root mean square, or below."""
    scale = np.sqrt(np.mean(np.square(codes, dtype=np.float64), axis=0))
    scale = np.maximum(scale, LEAST_SCALE * scale.mean()) if scale.any() else np.ones_like(scale)
    return np.asarray(codes / scale + LEAST_CODE)
