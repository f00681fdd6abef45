from typing import Any, Literal

from numpy.random import RandomState
from sklearn.utils._param_validation import StrOptions

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.models.activated_estimator import ActivatedEstimator
from deepnmf.models.base import KeepCodes, RandomStateLike, SolverName
from deepnmf.solvers import free_start


class DeepSemiNMF(ActivatedEstimator):
    """X ≈ H_m Z_m ··· Z_1 with H_m >= 0 and factors of any sign (Trigeorgis et al., 2017).

    Semi-NMF layer by layer, then Algorithm 1 of the paper: every factor by least squares, the codes by
    nonnegative least squares. When no layer is narrower than the top one, the model has the optimum of
    `SemiNMF` with as many components as the top layer: depth changes the features, not the error.

    Parameters
    ----------
    layer_sizes : sequence of int, default=(100, 10)
        r_1..r_m, from the data upwards.
    activation : {"identity", "stanh", "square", "sigmoid", "softplus", "relu"}, default="identity"
        g, the map between layers: X ≈ g(··· g(H_m Z_m) ···) Z_1.
    init : {"svd", "kmeans", "random", "custom"}, default="svd"
        Start of each layer. "kmeans" takes centres of clusters as features: for few features, or for more than the
        data has dimensions, where "svd" can only add random ones.
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
        How the codes of a linear model are updated; its factors, and Z_1 below an activation, are exact least
        squares. Below an activation codes make spectral projected gradient steps.
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
    n_iter_ : int
    stop_reason_ : {"decrease", "optimality", "max_iter", "interrupted", "on_sweep"}
    kkt_residual_ : float
        How far from a stationary point the result is: the largest relative projected gradient of the objective, as in
        `NMF`, among the codes of the top layer and the factors; with an activation there is none.
    n_features_in_, feature_names_in_

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

    _nonnegative = False
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ActivatedEstimator._parameter_constraints,
        "activation": [StrOptions({"identity", "stanh", "square", "sigmoid", "softplus", "relu"})],
        "init": [StrOptions({"svd", "kmeans", "random", "custom"})],
    }

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (100, 10),
        *,
        activation: Literal["identity", "stanh", "square", "sigmoid", "softplus", "relu"] = "identity",
        init: Literal["svd", "kmeans", "random", "custom"] = "svd",
        solver: SolverName = "hals",
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
        self.activation = activation
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.pretrain_max_iter = pretrain_max_iter
        self.pretrain_tol = pretrain_tol
        self.output_layer = output_layer
        self.keep_codes = keep_codes
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _layer_start(self, engine: Engine, rank: int, rng: RandomState) -> tuple[Array, Array]:
        return free_start(engine, rank, "svd" if self.init == "custom" else self.init, rng)
