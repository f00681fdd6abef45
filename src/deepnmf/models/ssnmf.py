from typing import ClassVar

from deepnmf.models.network_classifier import NetworkClassifier, ReadoutName
from deepnmf.models.parameters import Constraints, Init, RandomStateLike, one_of
from deepnmf.solvers.network_problem import NetworkProblem
from deepnmf.solvers.problem import Layerwise


class SSNMF(NetworkClassifier):
    """Semi-supervised NMF, ½‖W∘(X - H Z)‖² + (λ/2)‖L∘(Y - H B)‖² (Lee, Yoo & Choi, 2010).

    It is `DeepNMFNetwork` with one layer. Its methods accept `groups`, so that both models can be called in the same
    way, and ignore them.

    Parameters
    ----------
    n_components : int, default=30
    label_weight : float, default=1e-3
        λ, the weight of the labels relative to the squared error of the data.
    readout : {"logistic", "head"}, default="logistic"
        How labels are predicted from codes, see `DeepNMFNetwork`.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Initialization. None is "nndsvd", with random components beyond the rank.
    {max_iter}
    {tol}
    pretrain_max_iter : int, default=50
        Maximum number of sweeps of the pre-training, an NMF without labels.
    pretrain_tol : float, default=1e-4
        Tolerance of the pre-training.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from the factors of the previous fit, if there is one, instead of `init`. The codes of all
        layers are then kept and used where they are better than newly computed codes. They are not saved to files.

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
