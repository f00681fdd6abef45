import os
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_non_negative

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine
from deepnmf.masks import check_unmasked
from deepnmf.models.base import Init, RandomStateLike, ShallowEstimator, Start
from deepnmf.models.entry_weights import EntryWeight
from deepnmf.models.resuming import Keeping
from deepnmf.objective import Chain, ElasticNet, Objective
from deepnmf.objective.penalties import weight_in_units
from deepnmf.solvers import SOLVERS, OnSweep

LOOKING_AHEAD = 3  # an extrapolated point, where sweeps meet the gradient, is about so many times further from optimal


class PlainNMF(ShallowEstimator):
    """X ≈ H Z, all nonnegative, with the parameters of scikit-learn's `NMF` that every NMF of one layer has."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ShallowEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None, StrOptions({"auto"})],
        "solver": [StrOptions({"cd", *SOLVERS})],
    }
    _default_init = "nndsvda"

    @property
    def n_components_(self) -> int:
        """The number of features."""
        return len(self.components_)

    def _sizes(self, n_features: int, factors: Sequence[Array]) -> tuple[int, ...]:
        if self.n_components == "auto" and factors:
            return (len(factors[0]),)
        return (n_features if self.n_components in ("auto", None) else int(self.n_components),)

    @property
    def _solver_name(self) -> str:
        return "hals" if self.solver == "cd" else str(self.solver)


class NMF(PlainNMF):
    """X ≈ H Z with X, H, Z >= 0, under the parameters of scikit-learn's `NMF` (Lee & Seung, 1999).

    The same problem, solved by coordinate descent with extrapolation (Ang & Gillis, 2019). Features come
    out with unit norm and the codes carry the scale, so `components_` and the codes differ from
    scikit-learn's by one factor a component; with `alpha_W` or `alpha_H` they keep scikit-learn's scale.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        Number of features; "auto" takes it from a custom start, and else, like None, all features.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Start. None is "nndsvda", with random components above min(n_samples, n_features).
    solver : {"cd", "hals", "apg", "pg", "mu"}, default="cd"
        "cd" and "hals" are the same coordinate descent; "apg" is NeNMF, "pg" PgNMF, "mu" multiplicative.
    beta_loss : "frobenius" or 2, default="frobenius"
        Only the Frobenius loss is supported.
    tol : float, default=1e-4
        Stop when the projected gradient has fallen to about this part of what it was in the first sweep, which is
        scikit-learn's rule, or when the loss falls by less than a tenth of this part of itself a sweep, on average
        over five. From the default start the first of the two ends a fit early; where the features are to be
        looked at, a tenth of the default is worth its time.
    max_iter : int, default=200
    random_state : int, RandomState or None, default=None
    alpha_W, alpha_H : float, default=0 and "same"
        Weights of the penalties on codes and features, scaled as in scikit-learn.
    l1_ratio : float, default=0
        Share of the penalty that is L1, the rest is L2.
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from the factors of the fit before instead of `init`, when there was one.
    shuffle : bool, default=False
        Accepted for compatibility; the order of coordinates is fixed.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
    n_components_ : int
    factors_, features_, codes_ : lists of arrays
        One entry a layer, here one.
    reconstruction_err_ : float
        ‖X - HZ‖_F.
    loss_curve_ : array of shape (n_iter_,)
        ½‖X - HZ‖² plus penalties after each sweep.
    n_iter_ : int
    stop_reason_ : {"decrease", "optimality", "max_iter", "interrupted", "on_sweep"}
    kkt_residual_ : float
        How far from a stationary point the result is: the larger of ‖∇₊H‖/‖XZᵀ‖ and ‖∇₊Z‖/‖HᵀX‖, with ∇₊ the gradient
        of the objective without what points below 0 at a zero, at the final codes and features in the scale they were
        optimised in. 0 at a stationary point; absent after a second `partial_fit`.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import NMF
    >>> X = load_digits().data
    >>> model = NMF(16, random_state=0).fit(X)
    >>> model.components_.shape
    (16, 64)
    >>> round(model.score(X), 2)
    0.93
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **PlainNMF._parameter_constraints,
        "beta_loss": [StrOptions({"frobenius", "kullback-leibler", "itakura-saito"}), Real],
        "alpha_W": [Interval(Real, 0, None, closed="left")],
        "alpha_H": [Interval(Real, 0, None, closed="left"), StrOptions({"same"})],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
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
        entry_weight: EntryWeight = None,
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
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            What each entry counts, from 0 to 1, the largest at least 0.001. "stored" leaves out what a sparse X does
            not store, as in ratings, and so do sparse weights with what they do not store; None reads it as zero.
        W, H : arrays of shape (n_samples, n_components) and (n_components, n_features), optional
            Codes and features to start from, in scikit-learn's letters, for ``init="custom"``.
        on_sweep : callable, optional
            ``on_sweep(sweep, loss)``, called after each sweep; returning True stops.
        checkpoint : path, optional
            A file that keeps where the fit is, every `checkpoint_seconds` and when it is interrupted. The same call
            goes on from it, to the same bits; it is removed when the fit is over.
        checkpoint_seconds : float, default=30

        Returns
        -------
        self
        """
        self._check_loss()
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
        factors = None if H is None else [H]
        keeping = Keeping(checkpoint, checkpoint_seconds, (X, entry_weight, W, H))
        return self._fit(X, None, keeping, entry_weight=entry_weight, factors=factors, codes=W, on_sweep=on_sweep)

    @property
    def _tolerances(self) -> tuple[float, float]:
        return self.tol / 10, LOOKING_AHEAD * self.tol

    @property
    def _n_components(self) -> int:  # scikit-learn's tests of NMF read it
        return self.n_components_

    def _objective(self, depth: int, engine: Engine) -> Objective:
        return Objective((self._penalty(engine),) if self._is_penalised() else ())

    def _penalty(self, engine: Engine) -> ElasticNet:
        alpha_W = engine.n_features * self.alpha_W
        alpha_H = engine.n_samples * (self.alpha_W if self.alpha_H == "same" else self.alpha_H)
        l1, l2 = self.l1_ratio, 1 - self.l1_ratio
        prices = alpha_W * l1, alpha_W * l2, alpha_H * l1, alpha_H * l2
        powers = -1.5, -1.0, -1.5, -1.0  # H and Z are divided by √unit each, the objective by unit²
        names = "alpha_W", "alpha_W", "alpha_H", "alpha_H"
        terms = zip(prices, powers, names, strict=True)
        return ElasticNet(*(weight_in_units(price, power, engine.unit, name) for price, power, name in terms))

    def _factor_unit(self, unit: float) -> float:
        return float(np.sqrt(unit)) if self._is_penalised() else 1.0

    def _is_penalised(self) -> bool:
        return bool(self.alpha_W or self.alpha_H not in ("same", 0))

    def _scales(self, chain: Chain) -> list[Array]:
        return [np.ones(len(chain.factors[0]))] if self._is_penalised() else super()._scales(chain)

    def _check_loss(self) -> None:
        if self.beta_loss not in (2, "frobenius"):
            raise ValueError(
                f"Invalid beta_loss parameter: solver {self.solver!r} does not handle beta_loss = {self.beta_loss!r};"
                " only the Frobenius loss (2) is supported."
            )

    def _check_start(self, X: Matrix, sizes: tuple[int, ...], start: Start) -> None:
        """Refuse a custom start in scikit-learn's words."""
        if self.init != "custom" or start.warm:
            return super()._check_start(X, sizes, start)
        H = _check_init(start.factors[0] if start.factors else None, (sizes[0], X.shape[1]), "NMF (input H)")
        W = _check_init(start.codes, (X.shape[0], sizes[0]), "NMF (input W)")
        if H.dtype != X.dtype or W.dtype != X.dtype:
            raise TypeError(
                f"H and W should have the same dtype as X. Got H.dtype = {H.dtype} and W.dtype = {W.dtype}."
            )
        return None


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
