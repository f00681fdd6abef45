import os
import warnings
from typing import Any, ClassVar, Literal, Self

from sklearn.utils import check_array
from sklearn.utils.validation import check_non_negative

from deepnmf.arrays import Array, Matrix
from deepnmf.masks import check_unmasked
from deepnmf.models.factorization import Factorization
from deepnmf.models.input_data import EntryWeight
from deepnmf.models.known_components import GUIDE_WEIGHT, GivenComponents, Guides
from deepnmf.models.parameters import COUNT, WEIGHT, Constraints, Init, RandomStateLike, between, one_of
from deepnmf.models.run_control import RunControl
from deepnmf.objective import ElasticNetPerEntry
from deepnmf.solvers.chain_problem import ChainProblem
from deepnmf.solvers.divergence_loss import loss_of
from deepnmf.solvers.loop import OnSweep
from deepnmf.solvers.losses import FROBENIUS
from deepnmf.solvers.problem import Problem, Start

EXTRAPOLATED_GRADIENT_RATIO = 3  # sweeps see the gradient at extrapolated points, which is about this many times larger


class NMF(Factorization):
    """X ≈ H Z with X, H, Z >= 0, under the parameters of scikit-learn's `NMF` (Lee & Seung, 1999).

    It solves the same problem by coordinate descent with extrapolation (Ang & Gillis, 2019). Features have unit norm
    and the codes carry the scale, so that each component differs from scikit-learn's by a factor; with `alpha_W` or
    `alpha_H` the scale is that of scikit-learn.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        Number of components. "auto" takes it from a custom start; without one, and with None, it is n_features.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Initialization. None is "nndsvda", with random components beyond min(n_samples, n_features).
    solver : {"cd", "hals", "apg", "pg", "mu"}, default="cd"
        "cd" and "hals" are the same coordinate descent; "apg" is NeNMF, "pg" is PgNMF, "mu" is the multiplicative
        update.
    {beta_loss}
    tol : float, default=1e-4
        Stop when the projected gradient is about `tol` times its value in the first sweep, which is scikit-learn's
        rule, or when the relative decrease of the loss per sweep, averaged over five sweeps, is below `tol` / 10. With
        the default initialization the first rule stops a fit early; if the features are to be interpreted, use a
        tenth of the default.
    {max_iter}
    random_state : int, RandomState or None, default=None
    alpha_W, alpha_H : float, default=0 and "same"
        Weights of the penalties on codes and features, scaled as in scikit-learn.
    l1_ratio : float, default=0
        Share of the L1 term in the penalty; the rest is L2.
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from the factors of the previous fit, if there is one, instead of `init`.
    shuffle : bool, default=False
        Accepted for compatibility and ignored: the order of coordinates is fixed.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
    n_components_ : int
    factors_, features_, codes_ : lists of arrays
        One array per layer; this model has one layer.
    reconstruction_err_ : float
        ‖X - HZ‖_F; under another loss d, √(2d), as in scikit-learn.
    loss_curve_ : array of shape (n_iter_,)
        The loss (½‖X - HZ‖² for squared error) plus penalties, after each sweep.
    {history}
    kkt_residual_ : float
        How far the result is from a stationary point: the larger of ‖∇₊H‖/‖XZᵀ‖ and ‖∇₊Z‖/‖HᵀX‖ at the final codes and
        features, in the scale in which they were optimized. ∇₊ is the projected gradient of the objective: the gradient
        without the components that push a zero below 0. The value is 0 at a stationary point; the attribute is absent
        after a second `partial_fit`.
    {fixed_attribute}
    {n_features}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import NMF
    >>> X = load_digits().data
    >>> model = NMF(16, random_state=0).fit(X)
    >>> model.components_.shape
    (16, 64)
    >>> round(model.score(X), 2)
    0.79
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [COUNT, None, one_of("auto")],
        "solver": [one_of("cd", "hals", "apg", "pg", "mu")],
        "alpha_W": [WEIGHT],
        "alpha_H": [WEIGHT, one_of("same")],
        "l1_ratio": [between(0, 1)],
        "shuffle": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] | None = "auto",
        *,
        init: Init = None,
        solver: Literal["cd", "hals", "apg", "pg", "mu"] = "cd",
        beta_loss: float | str = "frobenius",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: RandomStateLike = None,
        alpha_W: float = 0.0,
        alpha_H: float | Literal["same"] = "same",
        l1_ratio: float = 0.0,
        verbose: int = 0,
        warm_start: bool = False,
        shuffle: bool = False,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.verbose = verbose
        self.warm_start = warm_start
        self.shuffle = shuffle

    def fit(  # type: ignore[override]
        self,
        X: Matrix,
        y: object = None,
        *,
        sample_weight: Any = None,
        entry_weight: EntryWeight = None,
        fixed_components: Array | None = None,
        guide: Guides = None,
        guide_weight: float = GUIDE_WEIGHT,
        W: Array | None = None,
        H: Array | None = None,
        on_sweep: OnSweep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30,
    ) -> Self:
        """Learn the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), nonnegative
            NaN or a mask (`numpy.ma`) in a dense X marks an entry that was not observed.
        y : ignored
        {sample_weight}
        {entry_weight}
        {fixed_components}
        {guide}
        W, H : arrays of shape (n_samples, n_components) and (n_components, n_features), optional
            Codes and features to start from, in scikit-learn's letters, for ``init="custom"``.
        {run_control}

        {returns_self}

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import NMF
        >>> X = load_digits().data / 16
        >>> model = NMF(10, random_state=0).fit(X)
        >>> model.components_.shape
        (10, 64)
        >>> X[:, 0] = np.nan  # these pixels were not observed
        >>> bool(np.isfinite(NMF(10, random_state=0).fit(X).components_).all())
        True
        """
        if self.init != "custom" and (W is not None or H is not None):
            warnings.warn(
                "When init!='custom', provided W or H are ignored. Set  init='custom' to use them as initialization.",
                RuntimeWarning,
                stacklevel=2,
            )
            W = H = None
        if H is not None:
            check_unmasked(H, "H")
            H = check_array(H, input_name="NMF (input H)")
        given = (X, sample_weight, entry_weight, fixed_components, guide, guide_weight, W, H)
        control = RunControl(on_sweep, checkpoint, checkpoint_seconds, given)
        start = self._start(None if H is None else [H], W)
        if self.init == "custom" and not start.warm:
            start = CustomStart(start.factors, start.codes)
        components = GivenComponents(fixed_components, guide, guide_weight)
        return self._fit(X, start, control, entry_weight, components, sample_weight)

    def _problem(self) -> ChainProblem:
        alpha_H = self.alpha_W if self.alpha_H == "same" else self.alpha_H
        loss = loss_of(self.beta_loss, self.solver)
        is_penalized = bool(self.alpha_W or alpha_H)
        return ChainProblem(
            sizes=self.n_components,
            loss=loss,
            penalties=(ElasticNetPerEntry(self.alpha_W, alpha_H, self.l1_ratio),) if is_penalized else (),
            keeps_scale=is_penalized,
            init=self.init,
            default_init="nndsvda",
            random_state=self.random_state,
            solver="hals" if self.solver == "cd" else self.solver,
            max_iter=self.max_iter,
            tol=self.tol / 10,
            gradient_drop=EXTRAPOLATED_GRADIENT_RATIO * self.tol if loss is FROBENIUS else 0.0,
        )

    @property
    def n_components_(self) -> int:
        """The number of components."""
        return len(self.components_)

    @property
    def _n_components(self) -> int:  # scikit-learn's tests of NMF read it
        return self.n_components_


class CustomStart(Start):
    """A custom start from H and Z, with the error messages of scikit-learn."""

    def check(self, X: Matrix, sizes: tuple[int, ...], problem: Problem, whom: str) -> None:
        """Refuse arrays that are missing, negative, or of the wrong shape or type."""
        H = _check_init(self.factors[0] if self.factors else None, (sizes[0], X.shape[1]), "NMF (input H)")
        W = _check_init(self.codes, (X.shape[0], sizes[0]), "NMF (input W)")
        if H.dtype != X.dtype or W.dtype != X.dtype:
            raise TypeError(
                f"H and W should have the same dtype as X. Got H.dtype = {H.dtype} and W.dtype = {W.dtype}."
            )


def _check_init(A: Array | None, shape: tuple[int, int], whom: str) -> Array:
    if A is None:
        raise ValueError(f"init='custom' needs W and H, but {whom} is missing.")
    check_unmasked(A, whom)
    A = check_array(A, input_name=whom)
    for axis, name in enumerate(("first", "second")):
        if A.shape[axis] != shape[axis]:
            raise ValueError(
                f"Array with wrong {name} dimension passed to {whom}. Expected {shape[axis]}, but got {A.shape[axis]}."
            )
    check_non_negative(A, whom)
    return A
