from collections.abc import Sequence
from numbers import Real
from typing import Any

from deepnmf.models.base import DeepEstimator, Init, KeepCodes, RandomStateLike, SolverName
from deepnmf.models.checks import per_layer


class DeepNSNMF(DeepEstimator):
    """X ≈ H_m S_m Z_m ··· S_1 Z_1, every factor nonnegative (Yu, Zhou, Cichocki & Xie, 2018).

    Deep nonsmooth NMF: nsNMF layer by layer, then every factor and the codes in turn (Algorithm 2 of the
    paper). The smoothing matrices S_l = (1-θ_l) I + (θ_l/r_l) 1 1ᵀ drive sparseness into what lies beside them.

    Parameters
    ----------
    layer_sizes : sequence of int, default=(100, 10)
        r_1..r_m, from the data upwards.
    theta : float or sequence of float in [0, 1], default=0.1
        Smoothing, one number or one a layer.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Start of each layer. None is "nndsvd", with random components above the rank.
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
        "apg" is the paper's.
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
        Z_1..Z_m, as optimised: smoothing and scaling do not commute.
    features_ : list of arrays
        C_1..C_m, every layer's features in input space with unit norm, C_l ∝ Z_l S_{l-1} C_{l-1}.
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
        `NMF`, among the codes of the top layer and the factors.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import DeepNSNMF
    >>> X = load_digits().data
    >>> model = DeepNSNMF((40, 10), random_state=0, max_iter=50, tol=0).fit(X)
    >>> [C.shape for C in model.features_]
    [(40, 64), (10, 64)]
    >>> model.encode(X[:3], layer=0).shape
    (3, 40)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **DeepEstimator._parameter_constraints,
        "theta": [Real, "array-like"],
    }

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (100, 10),
        *,
        theta: float | Sequence[float] = 0.1,
        init: Init = None,
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
        self.theta = theta
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

    def _smoothing(self, depth: int) -> tuple[float, ...]:  # equation (6), one θ a layer
        return per_layer(self.theta, depth, "theta", 0, 1)
