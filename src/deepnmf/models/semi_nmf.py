from typing import Any, Literal

from numpy.random import RandomState
from sklearn.utils._param_validation import StrOptions

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.models.base import RandomStateLike, ShallowEstimator, SolverName
from deepnmf.solvers import free_start


class SemiNMF(ShallowEstimator):
    """X ≈ H Z with H >= 0, X and Z of any sign (Ding, Li & Jordan, 2010).

    The default start (Gillis & Kumar, 2015) has the error of the truncated SVD, the optimum, whenever X is
    nonnegative and connected. The optimum is far from unique: start and path decide the codes.

    Parameters
    ----------
    n_components : int, default=10
    init : {"svd", "kmeans", "random", "custom"}, default="svd"
        Start. "svd" begins at the truncated-SVD error; components beyond min(n_samples, n_features) are random there.
        "kmeans" takes centres of clusters as features.
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
        How the codes are updated; the factor is exact least squares.
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
        See `DeepSemiNMF`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from deepnmf import SemiNMF
    >>> X = scale(load_iris().data)
    >>> model = SemiNMF(2, random_state=0).fit(X)
    >>> bool((model.codes_[-1] >= 0).all()), bool((model.components_ < 0).any())
    (True, True)
    """

    _nonnegative = False
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ShallowEstimator._parameter_constraints,
        "init": [StrOptions({"svd", "kmeans", "random", "custom"})],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        init: Literal["svd", "kmeans", "random", "custom"] = "svd",
        solver: SolverName = "hals",
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _layer_start(self, engine: Engine, rank: int, rng: RandomState) -> tuple[Array, Array]:
        return free_start(engine, rank, "svd" if self.init == "custom" else self.init, rng)
