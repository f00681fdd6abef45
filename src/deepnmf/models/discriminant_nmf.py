from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deepnmf.labels import split_attributes
from deepnmf.models.factorization import Factorization
from deepnmf.models.parameters import WEIGHT, Constraints, Init, RandomStateLike, between
from deepnmf.objective import GraphPenalty, Known, Penalty, UnresolvedPenalty
from deepnmf.objective.graphs import ClassMeans, FisherScatter
from deepnmf.solvers.chain_problem import ChainProblem


@dataclass(frozen=True)
class ClassScatter(UnresolvedPenalty):
    """The scatter of the codes within classes, minus that between them."""

    within: float
    between: float
    joins_samples = True

    def resolved(self, known: Known, depth: int) -> Sequence[Penalty]:
        """Return the scatter of the known classes."""
        (places,) = split_attributes(known.labels, known.X.shape[0], 1)
        if not (places >= 0).any() or not (self.within or self.between):
            return ()
        return (GraphPenalty(FisherScatter(ClassMeans(places), self.within, self.between), 1.0, 0),)


class DiscriminantNMF(Factorization, weighs_samples=False):
    """NMF whose codes scatter little within classes and much between them, after Fisher (Zafeiriou et al., 2006).

    ½‖X - HZ‖² + (γ/2) Σ_i ‖h_i - m_c‖² - (δ/2) Σ_c n_c ‖m_c - m‖² with H, Z >= 0; the scatter is that of the labeled
    rows, with class means m_c and overall mean m, for features of unit norm. Without labels, or with γ = δ = 0, the
    model is `NMF`.

    ``fit(X, y)`` takes one label per sample, numbers or text; -1, None and NaN mark unknown labels.

    Parameters
    ----------
    {n_components}
    within_weight : float, default=0.1
        γ, the weight of the scatter within classes.
    between_weight : float, default=0.1
        δ, the weight of the scatter between classes, below 1: otherwise moving the class means apart would lower the
        objective more than it raises the error.
    init : {"nndsvd", "nndsvda", "nndsvdar", "random", "custom"} or None, default=None
        Initialization; None is "nndsvda".
    {max_iter}
    {tol}
    {run}

    Attributes
    ----------
    components_, factors_, features_, codes_, reconstruction_err_, loss_curve_, n_iter_, stop_reason_, kkt_residual_
        See `DeepSemiNMF`. The labels shape `codes_`; `transform` uses no labels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import DiscriminantNMF
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DiscriminantNMF(16, random_state=0).fit(X / 16, y)
    >>> model.transform(X[:3] / 16).shape
    (3, 16)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "within_weight": [WEIGHT],
        "between_weight": [between(0, 1, closed="left")],
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

    def _problem(self) -> ChainProblem:
        return ChainProblem(
            sizes=self.n_components,
            penalties=(ClassScatter(float(self.within_weight), float(self.between_weight)),),
            init=self.init,
            default_init="nndsvda",
            random_state=self.random_state,
            max_iter=self.max_iter,
            tol=self.tol,
        )
