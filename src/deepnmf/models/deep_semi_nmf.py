from collections.abc import Sequence
from typing import ClassVar, Literal

from deepnmf.models.factorization import Factorization
from deepnmf.models.parameters import CodeScale, Constraints, FreeInit, KeepCodes, RandomStateLike, SolverName, one_of
from deepnmf.solvers.chain_problem import ChainProblem
from deepnmf.solvers.problem import Layerwise


class DeepSemiNMF(Factorization):
    """X ≈ H_m Z_m ··· Z_1 with H_m >= 0 and factors of any sign (Trigeorgis et al., 2017).

    Semi-NMF layer by layer, then Algorithm 1 of the paper: every factor by least squares, the codes by
    nonnegative least squares. When no layer is narrower than the top one, the model has the optimum of
    `SemiNMF` with as many components as the top layer: depth changes the features, not the error.

    Parameters
    ----------
    {layer_sizes}
    activation : {"identity", "stanh", "square", "sigmoid", "softplus", "relu"}, default="identity"
        g, the map between layers: X ≈ g(··· g(H_m Z_m) ···) Z_1.
    {layer_weights}
    init : {"svd", "kmeans", "random", "custom"}, default="svd"
        Initialization of each layer. "kmeans" uses cluster centers as features. It suits few features, and also more
        features than min(n_samples, n_features), where "svd" can only add random ones.
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
        How the codes of a linear model are updated. Its factors, and Z_1 of a model with an activation, are solved by
        exact least squares; the codes of a model with an activation are updated by spectral projected gradient steps.
    {max_iter}
    {tol}
    {pretraining}
    {output}
    {code_scale}
    {run}

    Attributes
    ----------
    components_ : array of shape (r_m, n_features)
        Features of the top layer in input space, with unit norm.
    factors_ : list of arrays
        Z_1..Z_m.
    features_ : list of arrays
        C_1..C_m, every layer's features in input space, C_l = Z_l C_{l-1}.
    codes_ : list of arrays
        Codes of the training rows; the last is the top layer's.
    reconstruction_err_ : float
        ‖X - X̂‖_F.
    loss_curve_ : array of shape (n_iter_,)
        ½‖X - X̂‖² after each fine-tuning sweep.
    {history}
    {hierarchy}
    kkt_residual_ : float
        How far the result is from a stationary point: the largest relative projected gradient of the objective, as in
        `NMF`, among the codes of the top layer and the factors. Models with an activation do not have it.
    {fixed_attribute}
    {n_features}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import DeepSemiNMF
    >>> X = load_digits().data
    >>> model = DeepSemiNMF((40, 10), random_state=0).fit(X)
    >>> [C.shape for C in model.features_]
    [(40, 64), (10, 64)]
    >>> model.transform(X[:3]).shape
    (3, 10)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "activation": [one_of("identity", "stanh", "square", "sigmoid", "softplus", "relu")],
        "init": [one_of("svd", "kmeans", "random", "custom")],
    }

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (100, 10),
        *,
        activation: Literal["identity", "stanh", "square", "sigmoid", "softplus", "relu"] = "identity",
        layer_weights: Sequence[float] | None = None,
        init: FreeInit = "svd",
        solver: SolverName = "hals",
        max_iter: int = 200,
        tol: float = 1e-4,
        pretrain_max_iter: int = 50,
        pretrain_tol: float = 1e-4,
        output_layer: int = -1,
        keep_codes: KeepCodes = "top",
        code_scale: CodeScale = "norm",
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.layer_sizes = layer_sizes
        self.activation = activation
        self.layer_weights = layer_weights
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.pretrain_max_iter = pretrain_max_iter
        self.pretrain_tol = pretrain_tol
        self.output_layer = output_layer
        self.keep_codes = keep_codes
        self.code_scale = code_scale
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> ChainProblem:
        return ChainProblem(
            sizes=self.layer_sizes,
            nonnegative=False,
            activation=self.activation,  # equation (14)
            layer_weights=self.layer_weights,
            init=self.init,
            default_init="svd",
            random_state=self.random_state,
            pretraining=Layerwise(self.pretrain_max_iter, self.pretrain_tol),  # Algorithm 1, first loop
            solver=self.solver,
            max_iter=self.max_iter,  # Algorithm 1, second loop
            tol=self.tol,
            output_layer=self.output_layer,
            keep_codes=self.keep_codes,
            code_scale=self.code_scale,
        )
