from collections.abc import Sequence
from typing import ClassVar, Literal

from deepnmf.models.factorization import Factorization
from deepnmf.models.label_graphs import LabelGraphs
from deepnmf.models.parameters import Constraints, FreeInit, RandomStateLike, one_of
from deepnmf.solvers.chain_problem import ChainProblem


class WSFMA(Factorization, weighs_samples=False):
    """`WSF` with several attributes on one layer, each with its graph and weight (Trigeorgis et al., 2017).

    ½‖X - HZ‖² + ½ Σ_a λ_a Tr(HᵀL_aH) with H >= 0; the penalties are evaluated with features of unit norm.

    ``fit(X, y)`` takes labels of shape (n_samples, n_attributes); -1, None and NaN mark unknown labels.

    Parameters
    ----------
    {n_components}
    graph_weights : float or sequence of float, default=1e-3
        λ_a, one for all attributes or one per attribute.
    label_graph : {"binary", "rbf", "dot"}, default="binary"
        Weights of the edges, see `WSF`.
    init : {"svd", "kmeans", "random", "custom"}, default="svd"
        See `SemiNMF`.
    {max_iter}
    {tol}
    {run}

    Attributes
    ----------
    components_, factors_, features_, codes_, reconstruction_err_, loss_curve_, n_iter_, stop_reason_, kkt_residual_
        See `DeepSemiNMF`. The labels shape `codes_`; `transform` uses no labels.

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

    _parameter_constraints: ClassVar[Constraints] = {"init": [one_of("svd", "kmeans", "random", "custom")]}

    def __init__(
        self,
        n_components: int = 10,
        *,
        graph_weights: float | Sequence[float] = 1e-3,
        label_graph: Literal["binary", "rbf", "dot"] = "binary",
        init: FreeInit = "svd",
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.graph_weights = graph_weights
        self.label_graph = label_graph
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> ChainProblem:
        return ChainProblem(
            sizes=self.n_components,
            nonnegative=False,
            penalties=(LabelGraphs(self.label_graph, self.graph_weights, on="first layer"),),
            init=self.init,
            default_init="svd",
            random_state=self.random_state,
            max_iter=self.max_iter,
            tol=self.tol,
        )
