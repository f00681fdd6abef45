from numbers import Real
from typing import Any, Literal

from sklearn.utils._param_validation import StrOptions

from deepnmf.arrays import Matrix
from deepnmf.models.base import RandomStateLike, without_solver
from deepnmf.models.checks import per_layer
from deepnmf.models.labels import split_attributes
from deepnmf.models.semi_nmf import SemiNMF
from deepnmf.models.supervision import label_graphs
from deepnmf.objective import Penalty


class WSF(SemiNMF):
    """Semi-NMF whose codes are alike within a class, where classes are known (Trigeorgis et al., 2017).

    ½‖X - HZ‖² + ½ λ Tr(HᵀLH), H >= 0: L is the Laplacian of a graph with edges between samples of one class, and
    features count at unit norm, or the codes would only shrink. Labels shape the features, and with them the codes of
    rows that have none. Without labels, or with λ = 0, it is `SemiNMF`.

    ``fit(X, y)`` takes one label a sample, numbers or text; -1, None and NaN are unknown ones.

    Parameters
    ----------
    n_components : int, default=10
    graph_weights : float, default=1e-3
        λ. A sample is drawn to the mean of its class with λ times the number of samples known to be in it, against 1 to
        its own data.
    label_graph : {"binary", "rbf", "dot"}, default="binary"
        Weights of the edges: 1, exp(-‖x_i - x_j‖²/2σ²) with σ² the mean squared distance within classes (memory for all
        pairs of a class), or x_i·x_j (X >= 0 only).
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
    >>> from deepnmf import WSF
    >>> X, y = load_digits(return_X_y=True)
    >>> y = np.where(np.arange(len(y)) % 2, y, -1)  # half of the labels are unknown
    >>> model = WSF(16, graph_weights=0.01, random_state=0).fit(X / 16, y)
    >>> model.transform(X[:3] / 16).shape
    (3, 16)
    """

    _joins_samples = True
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **without_solver(SemiNMF._parameter_constraints),
        "graph_weights": [Real],
        "label_graph": [StrOptions({"binary", "rbf", "dot"})],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        graph_weights: float = 1e-3,
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
            init=init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
        )
        self.graph_weights = graph_weights
        self.label_graph = label_graph

    def _graphs(self, X: Matrix, known: object, depth: int) -> tuple[Penalty, ...]:
        weights = per_layer(self.graph_weights, 1, "graph_weights", 0, float("inf"))
        return label_graphs(self.label_graph, X, split_attributes(known, X.shape[0], 1), weights, (0,))
