from numbers import Real
from typing import ClassVar, Literal

from deepnmf.models.factorization import Factorization
from deepnmf.models.label_graphs import LabelGraphs
from deepnmf.models.parameters import Constraints, FreeInit, RandomStateLike, one_of
from deepnmf.solvers.chain_problem import ChainProblem


class WSF(Factorization, weighs_samples=False):
    """Semi-NMF with similar codes for samples of the same known class (Trigeorgis et al., 2017).

    ½‖X - HZ‖² + ½ λ Tr(HᵀLH) with H >= 0: L is the Laplacian of a graph with edges between samples of the same class.
    The penalty is evaluated with features of unit norm, because otherwise the codes would only shrink. Labels shape the
    features, and through them the codes of rows without labels. Without labels, or with λ = 0, the model is `SemiNMF`.

    ``fit(X, y)`` takes one label per sample, numbers or text; -1, None and NaN mark unknown labels.

    Parameters
    ----------
    {n_components}
    graph_weights : float, default=1e-3
        λ. A sample is drawn to the mean of its class with weight λ times the number of samples known to be in the
        class, and to its own data with weight 1.
    label_graph : {"binary", "rbf", "dot"}, default="binary"
        Weights of the edges. "binary": 1. "rbf": exp(-‖x_i - x_j‖²/2σ²) with σ² the mean squared distance within
        classes, which needs memory for all pairs of a class. "dot": x_i·x_j, for X >= 0 only.
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
    >>> from deepnmf import WSF
    >>> X, y = load_digits(return_X_y=True)
    >>> y = np.where(np.arange(len(y)) % 2, y, -1)  # half of the labels are unknown
    >>> model = WSF(16, graph_weights=0.01, random_state=0).fit(X / 16, y)
    >>> model.transform(X[:3] / 16).shape
    (3, 16)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "graph_weights": [Real],
        "init": [one_of("svd", "kmeans", "random", "custom")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        graph_weights: float = 1e-3,
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
            penalties=(LabelGraphs(self.label_graph, self.graph_weights),),
            init=self.init,
            default_init="svd",
            random_state=self.random_state,
            max_iter=self.max_iter,
            tol=self.tol,
        )
