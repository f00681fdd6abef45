"""The choice of all layers, from the data upwards.

The first layer is chosen by hidden entries of X. The layers above are chosen by hidden entries of its codes: first the
size of a single layer, then the size of an intermediate layer between it and the codes, and both in turn. Alone, a
layer of the middle level of a hierarchy overfits the codes of a row, for example about twenty numbers with eight
parameters. Together with the layer above, it does not.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Workers
from deepnmf.models.deep_nmf import DeepNMF
from deepnmf.models.factorization import Factorization
from deepnmf.models.hierarchy import n_copies
from deepnmf.models.input_data import observed, rows
from deepnmf.models.nmf import NMF
from deepnmf.selection.candidate_sizes import CandidateSizes
from deepnmf.selection.comparison import Candidate, LayerSizes, best_sizes, candidates, layer_exists
from deepnmf.selection.hidden_entries import HiddenInArray
from deepnmf.selection.search import Budget, BudgetSpent, Judge, coarse_grid, fitted
from deepnmf.selection.splits import FEWEST_OBSERVED, Seen, Splits
from deepnmf.solvers.divergence_loss import loss_of
from deepnmf.solvers.hierarchy_fit import LEAST_CODE, LEAST_SCALE

FEWEST_BELOW = 3  # features, so that the layer above can have more than one and fewer than all
MOST_CODES = 2**16  # of the layer below; these are enough to choose the layers above
MOST_ROWS_EXPLAINED = 500
SEEDS = 2**31


@dataclass
class LayerSearch:
    """The search for all layers.

    Parameters
    ----------
    model : estimator
        The model that is fitted to the data.
    allowed : CandidateSizes
    rng, n_splits, n_jobs, verbose
        See `select_layers`.
    budget : Budget
    judges : list of Judge
        The first one chooses the first layer; each other one chooses layers above those chosen before.
    is_cut : bool
        Whether the search for the first layer was ended by the budget.
    """

    model: Factorization
    allowed: CandidateSizes
    rng: np.random.RandomState
    n_splits: int
    n_jobs: int | None
    verbose: int
    budget: Budget
    judges: list[Judge] = field(default_factory=list)
    is_cut: bool = False

    def run(self, splits: Splits, X: Matrix, y: Any, fit_params: dict[str, Any]) -> None:
        """Choose the first layer, then layers above as long as they exist."""
        others = {name: value for name, value in fit_params.items() if name != "entry_weight"}
        sample = splits.some_rows(np.arange(0, splits.shape[0], -(-splits.shape[0] // MOST_ROWS_EXPLAINED)))
        explained = ShareExplained(self.one_layer((1,)), sample)
        judge = self._judge(splits, self.one_layer, lambda features: (explained(features), 0), y, others)
        try:
            if self.allowed.first is None:
                judge.search(list(coarse_grid(min(splits.shape))))
            else:
                judge.try_all([(size,) for size in self.allowed.first])
        except BudgetSpent:
            self.is_cut = True
        if is_deep(self.model) and self._goes_on():
            below = fitted(self.one_layer(self.sizes()), X, y, **fit_params)
            self._search_above(below.codes_[-1], below.features_[0], explained)

    def _search_above(self, codes: Array, features: Array, explained: Callable[[Array], float]) -> None:
        """Choose layers above the given codes, then layers above these."""
        self.budget = replace(self.budget, max_passes=None)  # codes are small compared with the data
        codes = codes[:: -(-codes.size // MOST_CODES)]
        while self._goes_on():
            (n, size), below = codes.shape, scaled_codes(codes)
            features = below.scale[:, None] * features
            describe = Composition(features, explained)
            splits = HiddenInArray(below.codes, drawn_seeds(self.rng, self.n_splits))
            judge = self._judge(splits, self.code_model, describe)
            given = self.allowed.above(size)
            if given is None:
                judge.search(list(coarse_grid(min(n, size))))
                if layer_exists(judge.trials, size):
                    search_in_between(judge, size)
            else:
                judge.try_all([sizes or (1,) for sizes in given])
            if self._goes_on():
                above = fitted(self.code_model(best_sizes(judge.trials)), below.codes)
                codes, features = above.codes_[-1], above.features_[-1] @ features

    def _judge(self, splits: Splits, model_of: Any, describe: Any, y: Any = None, params: Any = None) -> Judge:
        layer = 1 + len(self.sizes())
        judge = Judge(splits, model_of, describe, layer, self.budget, self.n_jobs, self.verbose, y, params or {})
        self.judges.append(judge)
        return judge

    def one_layer(self, sizes: LayerSizes) -> Any:
        """Return the model with a single layer."""
        return clone(self.model).set_params(**size_params(self.model, sizes))

    def code_model(self, sizes: LayerSizes) -> NMF | DeepNMF:
        """Return the model that is fitted to codes to choose upper layers: it has the loss of `DeepNMF`.

        All layers have the same weight, because an intermediate layer can be distinguished from noise only with a
        strong layer above.
        """
        params = {"beta_loss": "kullback-leibler", "random_state": self.model.random_state}
        if len(sizes) == 1:
            return NMF(*sizes, **params)
        return DeepNMF(sizes, layer_weights=(1.0,) * len(sizes), keep_codes="all", **params)

    # ----------------------------------------------------------------------------------------- the choice

    def sizes(self) -> LayerSizes:
        """Return the sizes of the layers that exist according to the trials so far."""
        return sum(self._chosen(), ())

    def _chosen(self) -> list[LayerSizes]:
        """Return the layers found by each judge, up to the first judge that found none."""
        found: list[LayerSizes] = []
        for judge in self.judges:
            if not judge.trials or not self._exists(judge, sum(found, ())):
                break
            found.append(best_sizes(judge.trials))
        return found

    def table(self) -> list[Candidate]:
        """Return a row for each candidate, sorted by layer."""
        found = [row for judge in self.judges if judge.trials for row in candidates(judge.trials, judge.layer)]
        return sorted(found, key=lambda row: row.layer)

    def _exists(self, judge: Judge, below: LayerSizes) -> bool:
        """Whether layers are prescribed by the user or supported by the trials."""
        is_optional = below != () and () in (self.allowed.above(below[0]) or [()])
        return not is_optional or layer_exists(judge.trials, below[-1])

    def _goes_on(self) -> bool:
        """Whether all layers tried so far exist, and there may be one above."""
        sizes = self.sizes()
        if len(self._chosen()) < len(self.judges):
            return False
        if (given := self.allowed.above(sizes[0])) is not None:
            return len(self.judges) == 1 and given != [()]
        return sizes[-1] >= FEWEST_BELOW and self.judges[0].splits.shape[0] * sizes[-1] >= FEWEST_OBSERVED


def search_in_between(judge: Judge, below: int) -> None:
    """Search for an intermediate layer; if there is one, choose both layers in turn until neither changes.

    A single layer above two levels is a compromise between them, so that it is too large with an intermediate layer.
    """
    best: LayerSizes = ()
    while best != (best := best_sizes(judge.trials)):
        if len(best) > 1:
            judge.search([k for k in coarse_grid(best[0]) if 1 < k < best[0]], above_layer(best[0]))
        top = best_sizes(judge.trials)[-1]
        judge.search([m for m in coarse_grid(below) if top < m < below], below_layer(top))


def above_layer(middle: int) -> Callable[[int], LayerSizes]:
    """Return a function from the size of a layer to both sizes, for a layer above one of a given size."""
    return lambda size: (middle, size)


def below_layer(top: int) -> Callable[[int], LayerSizes]:
    """Return a function from the size of a layer to both sizes, for a layer below one of a given size."""
    return lambda size: (size, top)


# ------------------------------------------------------------------------------------------- properties of features


@dataclass(frozen=True)
class ShareExplained:
    """The share of given rows that features explain with their best codes, by the loss of a model."""

    model: Factorization
    sample: Seen

    def __call__(self, features: Array) -> float:
        """Return the share beyond the baseline of the loss."""
        problem, whom = self.model._problem(), type(self.model).__name__
        data = observed(clone(self.model), problem, *self.sample, reset=True)
        loss = loss_of(self.model.get_params().get("beta_loss", "frobenius"))
        with Workers() as workers:
            engine = rows(problem, data, workers, whom)
            return loss.explained(engine, loss.best_error(engine, features))


@dataclass(frozen=True)
class Composition:
    """Properties of features that are combinations of the features below."""

    below: Array
    explained: Callable[[Array], float]

    def __call__(self, weights: Array) -> tuple[float, int]:
        """Return the share that they explain, and the number of copies."""
        features = weights @ self.below
        return self.explained(features), n_copies(features, self.below)


# --------------------------------------------------------------------------------------------- codes and models


@dataclass(frozen=True)
class ScaledCodes:
    """Codes as data of the next layer, and their divisors."""

    codes: Array
    scale: Array


def scaled_codes(codes: Array) -> ScaledCodes:
    """Return codes as data of the next layer, in the units of `DeepNMF`: the root mean square of a column is <= 1."""
    scale = np.sqrt(np.mean(np.square(codes, dtype=np.float64), axis=0))
    scale = np.maximum(scale, LEAST_SCALE * scale.mean()) if scale.any() else np.ones_like(scale)
    return ScaledCodes(np.asarray(codes / scale + LEAST_CODE), scale)


def is_deep(model: Factorization) -> bool:
    """Whether the model has several layers."""
    return "layer_sizes" in model.get_params(deep=False)


def size_params(model: Factorization, sizes: LayerSizes) -> dict[str, Any]:
    """Return the parameter of the model that sets the sizes."""
    return {"layer_sizes": sizes} if is_deep(model) else {"n_components": sizes[0]}


def drawn_seeds(rng: np.random.RandomState, n: int) -> list[int]:
    """Return n random seeds."""
    return [int(seed) for seed in rng.randint(SEEDS, size=n)]
