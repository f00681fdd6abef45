from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

from sklearn.utils._param_validation import StrOptions

from deepnmf.arrays import Matrix
from deepnmf.models.base import KeepCodes, RandomStateLike, without_solver
from deepnmf.models.checks import per_layer
from deepnmf.models.deep_semi_nmf import DeepSemiNMF
from deepnmf.models.labels import split_attributes
from deepnmf.models.supervision import label_graphs
from deepnmf.objective import Penalty


class DeepWSF(DeepSemiNMF):
    """Deep Semi-NMF with an attribute of the samples on each layer, as far as it is known (Trigeorgis et al., 2017).

    ½‖X - g(··· g(H_m Z_m) ···) Z_1‖² + ½ Σ_l λ_l Tr(H̃_lᵀ L_l H̃_l) with H̃_m = H_m >= 0 and H̃_l = g(H̃_{l+1} Z_{l+1}):
    codes of layer l are alike where its attribute is the same. These are the chain's own codes, so that each layer's
    labels shape the factors; in the paper's Algorithm 2 those of lower layers act in pre-training only. Features count
    at unit norm, or the codes would only shrink. Layers are pre-trained by `WSF`. Without labels, or with λ = 0, it is
    `DeepSemiNMF`.

    ``fit(X, y)`` takes labels of shape (n_samples, n_layers), one attribute a layer from the data upwards; -1, None and
    NaN are unknown ones, a column of them is no graph. A single column belongs to the top layer.

    Parameters
    ----------
    layer_sizes : sequence of int, default=(100, 100)
        r_1..r_m, from the data upwards.
    graph_weights : float or sequence of float, default=1e-3
        λ_l, one for all layers or one each.
    label_graph : {"binary", "rbf", "dot"}, default="binary"
        Weights of the edges, see `WSF`.
    activation : {"identity", "stanh", "square", "sigmoid", "softplus", "relu"}, default="identity"
        g, the map between layers.
    init : {"svd", "kmeans", "random", "custom"}, default="svd"
        Start of each layer, see `DeepSemiNMF`.
    max_iter : int, default=200
        Fine-tuning sweeps.
    tol : float, default=1e-4
        Stop when the loss falls by less than this part of itself a sweep, on average over five sweeps.
    pretrain_max_iter : int, default=50
        Sweeps of pre-training a layer.
    pretrain_tol : float, default=1e-4
        Tolerance of pre-training.
    output_layer : int, default=-1
        The layer whose codes `transform` gives.
    keep_codes : {"top", "all"}, default="top"
        Whether `codes_` holds the top layer's codes or every layer's.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from the factors of the fit before instead of `init`, when there was one.

    Attributes
    ----------
    components_, factors_, features_, codes_, reconstruction_err_, loss_curve_, n_iter_, stop_reason_, kkt_residual_
        See `DeepSemiNMF`; codes of the top layer are shaped by labels, `transform` uses none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import DeepWSF
    >>> X, digit = load_digits(return_X_y=True)
    >>> bold = (X.mean(axis=1) > 5).astype(int)
    >>> model = DeepWSF((32, 16), random_state=0).fit(X / 16, np.column_stack([bold, digit]))
    >>> model.encode(X[:3] / 16, layer=0).shape, model.transform(X[:3] / 16).shape
    ((3, 32), (3, 16))
    """

    _joins_samples = True
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **without_solver(DeepSemiNMF._parameter_constraints),
        "graph_weights": [Real, "array-like"],
        "label_graph": [StrOptions({"binary", "rbf", "dot"})],
    }

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (100, 100),
        *,
        graph_weights: float | Sequence[float] = 1e-3,
        label_graph: Literal["binary", "rbf", "dot"] = "binary",
        activation: Literal["identity", "stanh", "square", "sigmoid", "softplus", "relu"] = "identity",
        init: Literal["svd", "kmeans", "random", "custom"] = "svd",
        max_iter: int = 200,
        tol: float = 1e-4,
        pretrain_max_iter: int = 50,
        pretrain_tol: float = 1e-4,
        output_layer: int = -1,
        keep_codes: KeepCodes = "top",
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        super().__init__(
            layer_sizes,
            activation=activation,
            init=init,
            max_iter=max_iter,
            tol=tol,
            pretrain_max_iter=pretrain_max_iter,
            pretrain_tol=pretrain_tol,
            output_layer=output_layer,
            keep_codes=keep_codes,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
        )
        self.graph_weights = graph_weights
        self.label_graph = label_graph

    def _graphs(self, X: Matrix, known: object, depth: int) -> tuple[Penalty, ...]:
        weights = per_layer(self.graph_weights, depth, "graph_weights", 0, float("inf"))
        return label_graphs(self.label_graph, X, split_attributes(known, X.shape[0], depth), weights, range(depth))
