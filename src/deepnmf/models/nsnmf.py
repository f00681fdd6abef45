from typing import ClassVar

from deepnmf.models.factorization import Factorization
from deepnmf.models.parameters import Constraints, Init, RandomStateLike, SolverName, between
from deepnmf.solvers.chain_problem import ChainProblem
from deepnmf.solvers.divergence_loss import loss_of


class NSNMF(Factorization):
    """X ≈ H S Z, nonsmooth NMF (Pascual-Montano et al., 2006): the smoothing matrix S makes both H and Z sparse.

    S = (1-θ) I + (θ/r) 1 1ᵀ; θ = 0 is NMF.

    Parameters
    ----------
    {n_components}
    theta : float in [0, 1], default=0.5
        Strength of the smoothing.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Initialization. None is "nndsvd", with random components beyond min(n_samples, n_features).
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
    {beta_loss}
    {max_iter}
    {tol}
    {run}

    Attributes
    ----------
    components_, factors_, features_, codes_, reconstruction_err_, loss_curve_, n_iter_, stop_reason_, kkt_residual_
        See `DeepNSNMF`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import NMF, NSNMF
    >>> from deepnmf.metrics import sparseness
    >>> X = load_digits().data
    >>> smooth, rough = (NSNMF(16, theta=t, random_state=0).fit(X) for t in (0.0, 0.5))
    >>> bool(sparseness(rough.components_) > sparseness(smooth.components_))
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {"theta": [between(0, 1)]}

    def __init__(
        self,
        n_components: int = 10,
        *,
        theta: float = 0.5,
        init: Init = None,
        solver: SolverName = "hals",
        beta_loss: float | str = "frobenius",
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.theta = theta
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> ChainProblem:
        return ChainProblem(
            sizes=self.n_components,
            loss=loss_of(self.beta_loss, self.solver),
            theta=self.theta,
            init=self.init,
            random_state=self.random_state,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
        )
