from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval

from deepnmf.models.base import Init, RandomStateLike, ShallowEstimator, SolverName


class NSNMF(ShallowEstimator):
    """X ≈ H S Z, nonsmooth NMF (Pascual-Montano et al., 2006): smoothing in between makes both sides sparse.

    S = (1-θ) I + (θ/r) 1 1ᵀ; θ = 0 is NMF.

    Parameters
    ----------
    n_components : int, default=10
    theta : float in [0, 1], default=0.5
        How much S smooths.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Start. None is "nndsvd", with random components above min(n_samples, n_features).
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ShallowEstimator._parameter_constraints,
        "theta": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        theta: float = 0.5,
        init: Init = None,
        solver: SolverName = "hals",
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
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _smoothing(self, depth: int) -> tuple[float, ...]:
        return (float(self.theta),) * depth
