from collections.abc import Sequence
from typing import ClassVar, Literal

from deepnmf.models.factorization import Factorization
from deepnmf.models.parameters import Constraints, Init, KeepCodes, RandomStateLike, SolverName, one_of
from deepnmf.solvers.chain_problem import ChainProblem
from deepnmf.solvers.divergence_loss import loss_of


class MultilayerNMF(Factorization):
    """Layers of NMF or nsNMF, each fitted to the codes below, not fine-tuned (Cichocki & Zdunek; Song & Lee, 2013).

    This is the greedy baseline of the papers. Rows are encoded in the same way as the model is trained, layer by layer.

    Parameters
    ----------
    {layer_sizes}
    theta : float or sequence of float in [0, 1], default=0
        Smoothing of the layers, as in `NSNMF`.
    activation : {"identity", "square"}, default="identity"
        The map in the reconstruction, H_{l-1} = f(H_l S_l Z_l): with "square", the input of the next layer is the
        square root of the codes.
    {init}
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
    {beta_loss}
    {max_iter}
        It applies to each layer.
    tol : float, default=1e-4
        Stop a layer when the relative decrease of its loss per sweep, averaged over five sweeps, is below `tol`.
    {output}
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether each layer starts from its factor of the previous fit, if there is one, instead of `init`. Because the
        layers below change, the loss of a layer may begin above the value at which it ended.

    Attributes
    ----------
    components_, factors_, features_, codes_, reconstruction_err_, stop_reason_, hierarchy_
        See `DeepNSNMF`. The features of a nonlinear model are the reconstructions of unit codes.
    loss_curve_ : array of shape (n_iter_,)
        The top layer's own loss, after each of its sweeps.
    n_iter_ : int
        Number of sweeps of the top layer.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import MultilayerNMF
    >>> model = MultilayerNMF((40, 10), random_state=0).fit(load_digits().data)
    >>> model.components_.shape
    (10, 64)
    """

    _parameter_constraints: ClassVar[Constraints] = {"activation": [one_of("identity", "square")]}

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (100, 10),
        *,
        theta: float | Sequence[float] = 0.0,
        activation: Literal["identity", "square"] = "identity",
        init: Init = None,
        solver: SolverName = "hals",
        beta_loss: float | str = "frobenius",
        max_iter: int = 200,
        tol: float = 1e-4,
        output_layer: int = -1,
        keep_codes: KeepCodes = "top",
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.layer_sizes = layer_sizes
        self.theta = theta
        self.activation = activation
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.max_iter = max_iter
        self.tol = tol
        self.output_layer = output_layer
        self.keep_codes = keep_codes
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> ChainProblem:
        return ChainProblem(
            sizes=self.layer_sizes,
            loss=loss_of(self.beta_loss, self.solver),
            theta=self.theta,
            activation=self.activation,
            init=self.init,
            random_state=self.random_state,
            fine_tuning=False,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            output_layer=self.output_layer,
            keep_codes=self.keep_codes,
        )
