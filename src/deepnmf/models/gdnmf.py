import os
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.models.methods import offered_if
from deepnmf.models.parameters import (
    COUNT,
    Constraints,
    KeepCodes,
    RandomStateLike,
    between,
    one_of,
)
from deepnmf.models.run_control import RunControl
from deepnmf.solvers.loop import OnSweep
from deepnmf.solvers.problem import Layerwise
from deepnmf.solvers.two_sided_problem import LearnedTwoSided, TwoSidedProblem

MAPS = ("square", "identity", "relu", "tanh", "sigmoid", "softplus")


def _was_fitted_with_labels(model: "GDNMF") -> bool:
    check_is_fitted(model)
    if not hasattr(model, "classes_"):
        raise AttributeError("This GDNMF was fitted without labels and cannot predict: pass y to fit.")
    return True


class GDNMF(Factorization, weighs_samples=False):
    """X ≈ Ĝ_1 S_1 F̂_1 + G_m W, deep in features and in basis, with a shallow path in parallel.

    The model of "Generalized Discriminative Deep Non-Negative Matrix Factorization Based on Latent Feature and Basis
    Learning", with Ĝ_1 = g(··· g(G_m S^R_m) ··· S^R_2), F̂_1 = g(S^L_2 ··· g(S^L_m F_m)) and everything nonnegative.
    With labels it is GD²NMF: (α/2)‖Q∘(Y - Ĝ_1 U - G_m V)‖² is added, with the one-hot labels Y and the mask Q of known
    labels.

    Parameters
    ----------
    layer_sizes : sequence of int or None, default=None
        r_1..r_m, the widths of Ĝ_1..G_m. One size leaves the features shallow ("basis only" of the paper).
        None takes them from `decay` and `depth`.
    basis_sizes : sequence of int or None, default=None
        Widths of F̂_1..F_m, likewise; one size leaves the basis shallow ("features only"). None is `layer_sizes`.
    decay : float in (0, 1], default=0.3
        r_1 = decay · n_features, r_{l+1} = decay · r_l, where `layer_sizes` is None.
    depth : int, default=2
        The number of layers where `layer_sizes` is None, at most 1000.
    paths : {"both", "deep", "shallow"}, default="both"
        "deep" omits W and V. "shallow" uses only these: it is NMF and, with labels, SSNMF of rank r_m.
    activation : {"square", "identity", "relu", "tanh", "sigmoid", "softplus"}, default="square"
        g; "sigmoid" and "softplus" are shifted to pass through 0. With "identity" and "relu" the model is that of
        ``paths="shallow"`` in other variables.
    label_weight : float, default=0.01
        α. With 0 the labels affect only the scores, not the codes. A large weight gives labeled rows codes that other
        rows never have.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar"} or None, default=None
        Initialization of each layer in the pre-training. None is "nndsvd", with random components beyond the rank.
    {max_iter}
    tol : float, default=1e-2
        Stop when the relative decrease of the loss per sweep, averaged over five sweeps, is below `tol`.
    pretrain_max_iter : int, default=20
        Maximum number of pre-training sweeps per layer: NMF of X, then of each side through g⁻¹.
    pretrain_tol : float, default=1e-4
    output_layer : int, default=-1
        The layer whose codes `transform` returns.
    keep_codes : {"top", "all"}, default="top"
        Whether `codes_` holds G_m or all of Ĝ_1..G_m.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from all factors of the previous fit, if there is one, instead of `init`; label factors are
        reused only if the classes are the same.

    Attributes
    ----------
    components_ : array of shape (r_m, n_features)
        The reconstructions of unit codes of the top layer.
    features_ : list of arrays
        The same for every layer; lower layers are decoded by the deep path only.
    factors_ : list of arrays
        S_1 F̂_1, S^R_2, ..., S^R_m; W alone with ``paths="shallow"``.
    basis_factors_ : list of arrays
        S_1, S^L_2, ..., F_m.
    shallow_components_ : array of shape (r_m, n_features)
        W; it has no rows with ``paths="deep"``.
    codes_ : list of arrays
        G_m at the end of the optimization, with labels, or the codes of every layer. Each code is in units of its root
        mean square over the training rows, because its effect on the data is not proportional to its size; with
        ``paths="shallow"`` features have unit norm, as in `NMF`.
    reconstruction_err_ : float
        ‖X - X̂‖_F.
    loss_curve_ : array of shape (n_iter_,)
        The objective after each sweep.
    {history}
    {hierarchy}
    classes_ : array of shape (n_classes,)
        The known labels, sorted; only if there were labels.
    transduction_ : array of shape (n_samples,)
        Labels of the training rows: the known labels, and the class with the highest score for the other rows.
    label_factors_ : list of two arrays
        U and V.
    {n_features}

    Notes
    -----
    The scores Ĝ_1 U + G_m V are nonnegative sums. Their purpose is to shape the codes, and they separate classes that
    share few features. A separate classifier on the output of `transform` can do better.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import GDNMF
    >>> X, y = load_digits(return_X_y=True)
    >>> known = np.arange(len(y)) % 10 == 0
    >>> model = GDNMF((30, 15), random_state=0).fit(X / 16, np.where(known, y, -1))
    >>> model.components_.shape
    (15, 64)
    >>> bool((model.transduction_[known] == y[known]).all())
    True
    >>> model.predict(X[:5] / 16).shape
    (5,)
    """

    _learned: LearnedTwoSided
    _parameter_constraints: ClassVar[Constraints] = {
        "layer_sizes": ["array-like", COUNT, None],
        "basis_sizes": ["array-like", COUNT, None],
        "decay": [between(0, 1, closed="right")],
        "depth": [between(1, 1000, kind=Integral)],
        "paths": [one_of("both", "deep", "shallow")],
        "activation": [one_of(*MAPS)],
        "init": [one_of("nndsvd", "nndsvda", "nndsvdar", "random"), None],
    }

    def __init__(
        self,
        layer_sizes: Sequence[int] | int | None = None,
        *,
        basis_sizes: Sequence[int] | int | None = None,
        decay: float = 0.3,
        depth: int = 2,
        paths: Literal["both", "deep", "shallow"] = "both",
        activation: Literal["square", "identity", "relu", "tanh", "sigmoid", "softplus"] = "square",
        label_weight: float = 0.01,
        init: Literal["nndsvd", "nndsvda", "nndsvdar", "random"] | None = None,
        max_iter: int = 200,
        tol: float = 1e-2,
        pretrain_max_iter: int = 20,
        pretrain_tol: float = 1e-4,
        output_layer: int = -1,
        keep_codes: KeepCodes = "top",
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.layer_sizes = layer_sizes
        self.basis_sizes = basis_sizes
        self.decay = decay
        self.depth = depth
        self.paths = paths
        self.activation = activation
        self.label_weight = label_weight
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.pretrain_max_iter = pretrain_max_iter
        self.pretrain_tol = pretrain_tol
        self.output_layer = output_layer
        self.keep_codes = keep_codes
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> TwoSidedProblem:
        return TwoSidedProblem(
            sizes=self.layer_sizes,
            basis_sizes=self.basis_sizes,
            decay=self.decay,
            depth=self.depth,
            paths=self.paths,
            activation=self.activation,
            label_weight=self.label_weight,
            init=self.init,
            random_state=self.random_state,
            pretraining=Layerwise(self.pretrain_max_iter, self.pretrain_tol),
            max_iter=self.max_iter,
            tol=self.tol,
            output_layer=self.output_layer,
            keep_codes=self.keep_codes,
        )

    def fit(  # type: ignore[override]
        self,
        X: Matrix,
        y: Any = None,
        *,
        on_sweep: OnSweep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30,
    ) -> Self:
        """Learn features, basis and, from labels, the label factors.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), nonnegative
        {labels}
        {run_control}

        {returns_self}

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import GDNMF
        >>> X, y = load_digits(return_X_y=True)
        >>> known = np.arange(len(y)) % 10 == 0
        >>> model = GDNMF((30, 15), random_state=0).fit(X / 16, np.where(known, y, -1))
        >>> [factor.shape for factor in model.factors_]
        [(30, 64), (15, 30)]
        """
        control = RunControl(on_sweep, checkpoint, checkpoint_seconds, (X, y))
        return self._fit(X, self._start(), control, labels=y)

    def _set_learned(self, learned: LearnedTwoSided) -> None:
        super()._set_learned(learned)
        self.basis_factors_, self.shallow_components_ = learned.basis_factors, learned.model.W
        self.label_factors_ = learned.label_factors
        for name in ("classes_", "transduction_"):
            self.__dict__.pop(name, None)
        if learned.labels is not None:
            self.classes_ = learned.labels.classes
            self.transduction_ = learned.labels.classes[learned.labels.places]

    def transform(self, X: Matrix) -> Array:  # type: ignore[override]
        """Return the codes of the rows of X at `output_layer`, with all factors fixed and without labels.

        Each row is optimized independently, starting from its nonnegative least-squares codes under `components_`; its
        codes do not depend on the other rows. The problem is not convex: another start may lead to another result.

        {rows}

        {returns_codes}

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import GDNMF
        >>> X = load_digits().data / 16
        >>> model = GDNMF((30, 15), random_state=0).fit(X[:1000])
        >>> model.transform(X[1000:]).shape
        (797, 15)
        """
        return self.encode(X, self._problem().output_layer)

    @offered_if(_was_fitted_with_labels)
    def decision_function(self, X: Matrix) -> Array:
        """Return the scores of the rows of X for each class.

        {rows}

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._learned.scores(self.encode(X))

    @offered_if(_was_fitted_with_labels)
    def predict(self, X: Matrix) -> Array:
        """Predict labels of the rows of X.

        {rows}

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.classes_[self.decision_function(X).argmax(axis=1)]
