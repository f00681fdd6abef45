from collections.abc import Sequence

from deepnmf.models.factorization import Factorization
from deepnmf.models.parameters import Init, KeepCodes, RandomStateLike, SolverName
from deepnmf.solvers.chain_problem import ChainProblem
from deepnmf.solvers.divergence_loss import loss_of
from deepnmf.solvers.problem import Layerwise


class DeepNSNMF(Factorization):
    """X ≈ H_m S_m Z_m ··· S_1 Z_1, every factor nonnegative (Yu, Zhou, Cichocki & Xie, 2018).

    Deep nonsmooth NMF: nsNMF layer by layer, then every factor and the codes in turn (Algorithm 2 of the
    paper). The smoothing matrices S_l = (1-θ_l) I + (θ_l/r_l) 1 1ᵀ make the matrices beside them sparse.

    Parameters
    ----------
    {layer_sizes}
    theta : float or sequence of float in [0, 1], default=0.1
        Smoothing, one number for all layers or one per layer.
    {layer_weights}
    {init}
    {solver}
    {beta_loss}
    {max_iter}
    {tol}
    {pretraining}
    {output}
    {run}

    Attributes
    ----------
    components_ : array of shape (r_m, n_features)
        Features of the top layer in input space, with unit norm.
    factors_ : list of arrays
        Z_1..Z_m, as optimized: smoothing and scaling do not commute.
    features_ : list of arrays
        C_1..C_m, every layer's features in input space with unit norm, C_l ∝ Z_l S_{l-1} C_{l-1}.
    codes_ : list of arrays
        Codes of the training rows; the last is the top layer's.
    reconstruction_err_ : float
        ‖X - X̂‖_F; under another loss d, √(2d).
    loss_curve_ : array of shape (n_iter_,)
        The loss (½‖X - X̂‖² for squared error) after each fine-tuning sweep.
    {history}
    {hierarchy}
    kkt_residual_ : float
        How far the result is from a stationary point: the largest relative projected gradient of the objective, as in
        `NMF`, among the codes of the top layer and the factors.
    {fixed_attribute}
    {n_features}

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

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (100, 10),
        *,
        theta: float | Sequence[float] = 0.1,
        layer_weights: Sequence[float] | None = None,
        init: Init = None,
        solver: SolverName = "hals",
        beta_loss: float | str = "frobenius",
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
        self.layer_weights = layer_weights
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
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
            loss=loss_of(self.beta_loss, self.solver),
            nonnegative=True,
            theta=self.theta,  # equations (6) to (8), one θ per layer
            layer_weights=self.layer_weights,
            init=self.init,
            random_state=self.random_state,
            pretraining=Layerwise(self.pretrain_max_iter, self.pretrain_tol),  # Algorithm 2, line 1
            solver=self.solver,  # Algorithm 2, lines 3 to 11
            max_iter=self.max_iter,
            tol=self.tol,
            output_layer=self.output_layer,
            keep_codes=self.keep_codes,
        )
