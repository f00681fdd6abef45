from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np

from deepnmf.arrays import Matrix
from deepnmf.models.base import RandomStateLike
from deepnmf.models.checks import per_layer
from deepnmf.models.labels import n_attributes, split_attributes
from deepnmf.models.supervision import label_graphs
from deepnmf.models.wsf import WSF
from deepnmf.objective import Penalty


class WSFMA(WSF):
    """`WSF` with several attributes on one layer, a graph and a weight each (Trigeorgis et al., 2017).

    ½‖X - HZ‖² + ½ Σ_a λ_a Tr(HᵀL_aH), H >= 0, features counted at unit norm.

    ``fit(X, y)`` takes labels of shape (n_samples, n_attributes); -1, None and NaN are unknown ones.

    Parameters
    ----------
    n_components : int, default=10
    graph_weights : float or sequence of float, default=1e-3
        λ_a, one for all attributes or one each.
    label_graph : {"binary", "rbf", "dot"}, default="binary"
        Weights of the edges, see `WSF`.
    init : {"svd", "kmeans", "random", "custom"}, default="svd"
        See `SemiNMF`.
    max_iter : int, default=200
    tol : float, default=1e-4
        Stop when the loss falls by less than this part of itself a sweep, on average over five sweeps.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from the factors of the fit before instead of `init`, when there was one.

    Attributes
    ----------
    components_, factors_, features_, codes_, reconstruction_err_, loss_curve_, n_iter_, stop_reason_, kkt_residual_
        See `DeepSemiNMF`; `codes_` are shaped by the labels, `transform` uses none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import WSFMA
    >>> X, digit = load_digits(return_X_y=True)
    >>> bold = (X.mean(axis=1) > 5).astype(int)
    >>> model = WSFMA(16, graph_weights=(1e-3, 1e-4), random_state=0).fit(X / 16, np.column_stack([digit, bold]))
    >>> model.codes_[-1].shape
    (1797, 16)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **WSF._parameter_constraints,
        "graph_weights": [Real, "array-like"],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        graph_weights: float | Sequence[float] = 1e-3,
        label_graph: Literal["binary", "rbf", "dot"] = "binary",
        init: Literal["svd", "kmeans", "random", "custom"] = "svd",
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        super().__init__(
            n_components,
            graph_weights=graph_weights,  # type: ignore[arg-type]
            label_graph=label_graph,
            init=init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
        )

    def _graphs(self, X: Matrix, known: object, depth: int) -> tuple[Penalty, ...]:
        count = np.size(self.graph_weights) if known is None else n_attributes(known)
        weights = per_layer(self.graph_weights, count, "graph_weights", 0, float("inf"), "attribute")
        return label_graphs(self.label_graph, X, split_attributes(known, X.shape[0], count), weights, (0,) * count)
