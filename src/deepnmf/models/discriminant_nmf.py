from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval

from deepnmf.arrays import Matrix
from deepnmf.models.base import Init, RandomStateLike, ShallowEstimator, without_solver
from deepnmf.models.labels import split_attributes
from deepnmf.objective import GraphPenalty, Penalty
from deepnmf.objective.graphs import ClassMeans, FisherScatter


class DiscriminantNMF(ShallowEstimator):
    """NMF whose codes scatter little within classes and much between them, after Fisher (Zafeiriou et al., 2006).

    ½‖X - HZ‖² + (γ/2) Σ_i ‖h_i - m_c‖² - (δ/2) Σ_c n_c ‖m_c - m‖² over the labelled rows, all >= 0, with m_c the class
    means and m their overall mean; features count at unit norm. Without labels, or with γ = δ = 0, it is `NMF`.

    ``fit(X, y)`` takes one label a sample, numbers or text; -1, None and NaN are unknown ones.

    Parameters
    ----------
    n_components : int, default=10
    within_weight : float, default=0.1
        γ.
    between_weight : float, default=0.1
        δ, below 1: from there on spreading the means would gain more than it costs the fit.
    init : {"nndsvd", "nndsvda", "nndsvdar", "random", "custom"} or None, default=None
        Start; None is "nndsvda".
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
        See `DeepSemiNMF`; `codes_` are shaped by the labels, `transform` uses none.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import DiscriminantNMF
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DiscriminantNMF(16, random_state=0).fit(X / 16, y)
    >>> model.transform(X[:3] / 16).shape
    (3, 16)
    """

    _default_init = "nndsvda"
    _joins_samples = True
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **without_solver(ShallowEstimator._parameter_constraints),
        "within_weight": [Interval(Real, 0, None, closed="left")],
        "between_weight": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        within_weight: float = 0.1,
        between_weight: float = 0.1,
        init: Init = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.within_weight = within_weight
        self.between_weight = between_weight
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _graphs(self, X: Matrix, known: object, depth: int) -> tuple[Penalty, ...]:
        (places,) = split_attributes(known, X.shape[0], 1)
        if not (places >= 0).any() or not (self.within_weight or self.between_weight):
            return ()
        scatter = FisherScatter(ClassMeans(places), float(self.within_weight), float(self.between_weight))
        return (GraphPenalty(scatter, 1.0, 0),)
