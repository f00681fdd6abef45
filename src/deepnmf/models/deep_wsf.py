from collections.abc import Sequence
from typing import ClassVar, Literal

from deepnmf.models.factorization import Factorization
from deepnmf.models.label_graphs import LabelGraphs
from deepnmf.models.parameters import Constraints, FreeInit, KeepCodes, RandomStateLike, one_of
from deepnmf.solvers.chain_problem import ChainProblem
from deepnmf.solvers.problem import Layerwise


class DeepWSF(Factorization, weighs_samples=False):
    """Deep Semi-NMF with one, possibly partially known, attribute of the samples per layer (Trigeorgis et al., 2017).

    ½‖X - g(··· g(H_m Z_m) ···) Z_1‖² + ½ Σ_l λ_l Tr(H̃_lᵀ L_l H̃_l) with H̃_m = H_m >= 0 and H̃_l = g(H̃_{l+1} Z_{l+1}):
    samples with the same attribute of layer l get similar codes in layer l. These are the chain's own codes, so that
    the labels of each layer shape the factors; in the paper's Algorithm 2 the labels of lower layers are used in the
    pre-training only. Penalties are evaluated with features of unit norm, because otherwise the codes would only
    shrink; with "square" and "relu", the rows of all lower factors have unit norm, too. Layers are pre-trained by
    `WSF`. Without labels, or with λ = 0, the model is `DeepSemiNMF`.

    ``fit(X, y)`` takes labels of shape (n_samples, n_layers), one attribute per layer from the data upwards. -1, None
    and NaN mark unknown labels; a layer without known labels has no graph. A single column belongs to the top layer.

    Parameters
    ----------
    layer_sizes : sequence of int, default=(100, 100)
        r_1..r_m, from the data upwards.
    graph_weights : float or sequence of float, default=1e-3
        λ_l, one for all layers or one per layer.
    label_graph : {"binary", "rbf", "dot"}, default="binary"
        Weights of the edges, see `WSF`.
    activation : {"identity", "stanh", "square", "sigmoid", "softplus", "relu"}, default="identity"
        g, the map between layers.
    init : {"svd", "kmeans", "random", "custom"}, default="svd"
        Initialization of each layer, see `DeepSemiNMF`.
    {max_iter}
    {tol}
    {pretraining}
    {output}
    {run}

    Attributes
    ----------
    components_, factors_, features_, codes_, reconstruction_err_, loss_curve_, n_iter_, stop_reason_, kkt_residual_
        See `DeepSemiNMF`, also for `hierarchy_`. The labels shape `codes_`; `transform` uses no labels.

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

    _parameter_constraints: ClassVar[Constraints] = {
        "activation": [one_of("identity", "stanh", "square", "sigmoid", "softplus", "relu")],
        "init": [one_of("svd", "kmeans", "random", "custom")],
    }

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (100, 100),
        *,
        graph_weights: float | Sequence[float] = 1e-3,
        label_graph: Literal["binary", "rbf", "dot"] = "binary",
        activation: Literal["identity", "stanh", "square", "sigmoid", "softplus", "relu"] = "identity",
        init: FreeInit = "svd",
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
        self.layer_sizes = layer_sizes
        self.graph_weights = graph_weights
        self.label_graph = label_graph
        self.activation = activation
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.pretrain_max_iter = pretrain_max_iter
        self.pretrain_tol = pretrain_tol
        self.output_layer = output_layer
        self.keep_codes = keep_codes
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> ChainProblem:
        return ChainProblem(
            sizes=self.layer_sizes,
            nonnegative=False,
            activation=self.activation,
            penalties=(LabelGraphs(self.label_graph, self.graph_weights),),  # equation (20), one graph per layer
            init=self.init,
            default_init="svd",
            random_state=self.random_state,
            pretraining=Layerwise(self.pretrain_max_iter, self.pretrain_tol),  # Algorithm 2, by `WSF`
            max_iter=self.max_iter,
            tol=self.tol,
            output_layer=self.output_layer,
            keep_codes=self.keep_codes,
        )
