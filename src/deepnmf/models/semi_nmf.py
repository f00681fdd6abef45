from typing import ClassVar

from deepnmf.models.factorization import Factorization
from deepnmf.models.parameters import CodeScale, Constraints, FreeInit, RandomStateLike, SolverName, one_of
from deepnmf.solvers.chain_problem import ChainProblem


class SemiNMF(Factorization):
    """X ≈ H Z with H >= 0, X and Z of any sign (Ding, Li & Jordan, 2010).

    If X is nonnegative and connected, the default initialization (Gillis & Kumar, 2015) already has the error of the
    truncated SVD, which is optimal. The optimum is far from unique: the codes depend on the initialization and solver.

    Parameters
    ----------
    {n_components}
    init : {"svd", "kmeans", "random", "custom"}, default="svd"
        Initialization. "svd" starts with the error of the truncated SVD; components beyond min(n_samples, n_features)
        are random. "kmeans" uses cluster centers as features.
    solver : {"hals", "apg", "pg", "mu"}, default="hals"
        How the codes are updated; the factor is solved by exact least squares.
    {max_iter}
    {tol}
    {code_scale}
    {run}

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

    _parameter_constraints: ClassVar[Constraints] = {"init": [one_of("svd", "kmeans", "random", "custom")]}

    def __init__(
        self,
        n_components: int = 10,
        *,
        init: FreeInit = "svd",
        solver: SolverName = "hals",
        max_iter: int = 200,
        tol: float = 1e-4,
        code_scale: CodeScale = "norm",
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.code_scale = code_scale
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> ChainProblem:
        return ChainProblem(
            sizes=self.n_components,
            nonnegative=False,
            init=self.init,
            default_init="svd",
            random_state=self.random_state,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            code_scale=self.code_scale,
        )
