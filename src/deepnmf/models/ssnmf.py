from typing import ClassVar

from deepnmf.models.network_classifier import NetworkClassifier, ReadoutName
from deepnmf.models.parameters import Constraints, Init, RandomStateLike, one_of
from deepnmf.solvers.network_problem import NetworkProblem
from deepnmf.solvers.problem import Layerwise


class SSNMF(NetworkClassifier):
    """NMF of data of which some rows have labels, ½‖W∘(X - H Z)‖² + (λ/2)‖L∘(Y - H B)‖² (Lee, Yoo & Choi, 2010).

    `DeepNMFNetwork` with one layer; `groups` are taken, so that the same calls serve both, and change nothing.

    Parameters
    ----------
    n_components : int, default=30
    label_weight : float, default=1e-3
        λ, how much a label counts beside the squared error of the data.
    readout : {"logistic", "head"}, default="logistic"
        What turns codes into labels, see `DeepNMFNetwork`.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Start. None is "nndsvd", with random components above the rank.
    {max_iter}
    {tol}
    pretrain_max_iter : int, default=50
        Sweeps of plain NMF to start with.
    pretrain_tol : float, default=1e-4
        Tolerance of the start.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from the factors of the fit before instead of `init`, when there was one; its codes, all of
        which are then kept, serve where they are better than those solved for. They are not part of a saved file.

    Attributes
    ----------
    classes_, transduction_, label_factor_, components_, factors_, features_, codes_, reconstruction_err_, loss_curve_
        See `DeepNMFNetwork`.
    n_iter_, stop_reason_, n_features_in_, feature_names_in_
        See `DeepNMFNetwork`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import SSNMF
    >>> X, digits = load_digits(return_X_y=True)
    >>> y = np.where(np.arange(len(digits)) < 90, digits, -1)  # 5 % of the labels
    >>> model = SSNMF(30, random_state=0).fit(X, y)
    >>> float(np.mean(model.transduction_[90:] == digits[90:])) > 0.75
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {"readout": [one_of("logistic", "head")]}

    def __init__(
        self,
        n_components: int = 30,
        *,
        label_weight: float = 1e-3,
        readout: ReadoutName = "logistic",
        init: Init = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        pretrain_max_iter: int = 50,
        pretrain_tol: float = 1e-4,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.label_weight = label_weight
        self.readout = readout
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.pretrain_max_iter = pretrain_max_iter
        self.pretrain_tol = pretrain_tol
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> NetworkProblem:
        return NetworkProblem(
            sizes=self.n_components,
            label_weight=self.label_weight,
            readout=self.readout,
            init=self.init,
            random_state=self.random_state,
            pretraining=Layerwise(self.pretrain_max_iter, self.pretrain_tol),
            max_iter=self.max_iter,
            tol=self.tol,
            keeps_training_codes=self.warm_start,
        )
