import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, Workers
from deepnmf.models.base import KeepCodes, RandomStateLike
from deepnmf.models.checks import check_output_layer, check_rank, check_warm_start, factor_shapes, layer_sizes
from deepnmf.models.entry_weights import Observed
from deepnmf.models.factorization import Factorization
from deepnmf.models.labels import UNKNOWN, described_classes, one_hot, restored_classes, split_labels
from deepnmf.models.layout import Arrays, Expected, Layout
from deepnmf.models.resuming import Keeping
from deepnmf.objective import ACTIVATIONS, Activation
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.layer_stack import LayerStack
from deepnmf.objective.two_sided_model import TwoSided
from deepnmf.solvers import (
    NNDSVD,
    History,
    Labels,
    LayerwisePlan,
    OnSweep,
    Run,
    TwoSidedDescent,
    deep_start,
    encode_two_sided,
    minimise,
    shallow_start,
)

THROUGH_ZERO = ("sigmoid", "softplus")  # on arguments >= 0 they stay above f(0): shifted, so that 0 stands for nothing
MAPS = ("square", "identity", "relu", "tanh", *THROUGH_ZERO)


def _was_fitted_with_labels(model: "GDNMF") -> bool:
    check_is_fitted(model)
    if not hasattr(model, "classes_"):
        raise AttributeError("This GDNMF was fitted without labels: it can predict once y holds some.")
    return True


class GDNMF(Factorization):
    """X ≈ Ĝ_1 S_1 F̂_1 + G_m W, deep in features and in basis, with a shallow path beside.

    The model of "Generalized Discriminative Deep Non-Negative Matrix Factorization Based on Latent Feature and Basis
    Learning", with Ĝ_1 = g(··· g(G_m S^R_m) ··· S^R_2), F̂_1 = g(S^L_2 ··· g(S^L_m F_m)) and everything nonnegative.
    With labels it is GD²NMF: (α/2)‖Q∘(Y - Ĝ_1 U - G_m V)‖² is added, Y the one-hot labels and Q the mask of known ones.

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
        "deep" is without W and V; "shallow" is without the rest: NMF, and with labels SSNMF, of rank r_m.
    activation : {"square", "identity", "relu", "tanh", "sigmoid", "softplus"}, default="square"
        g; "sigmoid" and "softplus" are shifted to pass through 0. With "identity" and "relu" the model is that of
        ``paths="shallow"`` in other variables.
    label_weight : float, default=0.01
        α; 0 lets the labels decide nothing but the scores. A large weight gives labelled rows codes that others
        never have.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar"} or None, default=None
        Start of each layer of the pre-training. None is "nndsvd", with random components above the rank.
    max_iter : int, default=200
    tol : float, default=1e-2
        Stop when the loss falls by less than this part of itself a sweep, on average over five sweeps.
    pretrain_max_iter : int, default=20
        Sweeps a layer of the pre-training: NMF of X, then of each side through g⁻¹.
    pretrain_tol : float, default=1e-4
    output_layer : int, default=-1
        The layer whose codes `transform` gives.
    keep_codes : {"top", "all"}, default="top"
        Whether `codes_` holds G_m or all of Ĝ_1..G_m.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from all factors of the fit before instead of `init`, when there was one; label factors
        only where the classes are the same.

    Attributes
    ----------
    components_ : array of shape (r_m, n_features)
        What unit codes of the top layer decode to.
    features_ : list of arrays
        The same of every layer; those of lower layers through the deep path alone.
    factors_ : list of arrays
        S_1 F̂_1, S^R_2, ..., S^R_m; W alone with ``paths="shallow"``.
    basis_factors_ : list of arrays
        S_1, S^L_2, ..., F_m.
    shallow_components_ : array of shape (r_m, n_features)
        W; without rows where ``paths="deep"``.
    codes_ : list of arrays
        G_m as it was optimised, labels and all, or every layer's. Each code is in units of its own root mean square
        over the training rows, since what it adds to the data depends on its size; with ``paths="shallow"`` it counts
        in features of unit norm, as in `NMF`.
    reconstruction_err_ : float
        ‖X - X̂‖_F.
    loss_curve_ : array of shape (n_iter_,)
        The objective after each sweep.
    n_iter_ : int
    stop_reason_ : {"decrease", "optimality", "max_iter", "interrupted", "on_sweep"}
    classes_ : array of shape (n_classes,)
        The known labels, sorted; only where there were some.
    transduction_ : array of shape (n_samples,)
        Labels of the training rows: known ones their own, others that of the highest score.
    label_factors_ : list of two arrays
        U and V.
    n_features_in_, feature_names_in_

    Notes
    -----
    The scores Ĝ_1 U + G_m V are nonnegative sums: they are there to shape the codes, and tell classes apart where few
    features are shared between them. A classifier of its own on the output of `transform` can do better.

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

    _has_units = False  # activations bend what is large otherwise than what is small
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Factorization._parameter_constraints,
        "layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left"), None],
        "basis_sizes": ["array-like", Interval(Integral, 1, None, closed="left"), None],
        "decay": [Interval(Real, 0, 1, closed="right")],
        "depth": [Interval(Integral, 1, 1000, closed="both")],
        "paths": [StrOptions({"both", "deep", "shallow"})],
        "activation": [StrOptions(set(MAPS))],
        "label_weight": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({*NNDSVD, "random"}), None],
        "pretrain_max_iter": [Interval(Integral, 0, None, closed="left")],
        "pretrain_tol": [Interval(Real, 0, None, closed="left")],
        "output_layer": [Integral],
        "keep_codes": [StrOptions({"top", "all"})],
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

    # ------------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: Matrix,
        y: Any = None,
        *,
        on_sweep: OnSweep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30,
    ) -> Self:
        """Learn features, basis and, from labels, what tells the classes apart.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), nonnegative
        y : array-like of shape (n_samples,), optional
            Labels, numbers or text; -1, None and NaN are unknown ones.
        on_sweep : callable, optional
            ``on_sweep(sweep, loss)``, called after each fine-tuning sweep; returning True stops.
        checkpoint : path, optional
            A file that keeps where the fit is, every `checkpoint_seconds` and when it is interrupted. The same call
            goes on from it, to the same bits; it is removed when the fit is over.
        checkpoint_seconds : float, default=30

        Returns
        -------
        self
        """
        keeping = Keeping(checkpoint, checkpoint_seconds, (X, y))
        with self._fitting(keeping) as run:
            run.history = self._learn(X, y, run, on_sweep)
        return self

    def _learn(self, X: Matrix, y: Any, run: Run, on_sweep: OnSweep | None) -> History:
        """Check, optimise, and keep the result."""
        X = self._validated(X, reset=True)
        sizes, basis_sizes = self._sizes(X.shape[1])
        self._check_start(X.shape, sizes, basis_sizes)
        classes, index = split_labels(y, X.shape[0])
        with Workers() as workers:
            engine = self._rows(Observed(X), workers)
            descent = TwoSidedDescent(engine, _labels(index, len(classes), X.dtype), float(self.label_weight))
            start = self._begin(engine, sizes, basis_sizes, classes, run)
            state, history = minimise(
                descent.advance, descent.start(*start), max_iter=self.max_iter, tol=self.tol, run=run, on_sweep=on_sweep
            )
            self._keep(engine, state.codes, state.model)
            self._keep_labels(classes, index)
        return history

    def _sizes(self, n_features: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return r_1..r_m of features and basis."""
        sizes = self._decayed(n_features) if self.layer_sizes is None else layer_sizes(self.layer_sizes)
        sizes = sizes[-1:] if self.paths == "shallow" else sizes
        check_output_layer(int(self.output_layer), len(sizes))
        return sizes, sizes if self.basis_sizes is None else layer_sizes(self.basis_sizes, "basis_sizes")

    def _decayed(self, n_features: int) -> tuple[int, ...]:
        sizes = [n_features]
        for _ in range(self.depth):
            sizes.append(max(1, round(self.decay * sizes[-1])))
        return tuple(sizes[1:])

    def _check_start(self, shape: tuple[int, int], sizes: tuple[int, ...], basis_sizes: tuple[int, ...]) -> None:
        if self._begins_warm():
            found = [*self.factors_, *self.basis_factors_, self.shallow_components_]
            across = (0, 0) if self.paths == "shallow" else (sizes[0], *basis_sizes)
            layers = factor_shapes(shape[1], sizes)
            n_shallow = 0 if self.paths == "deep" else sizes[-1]
            check_warm_start(found, [*layers, *pairwise((*across, shape[1])), (n_shallow, shape[1])])
        elif self.init is not None and self.init != "random":
            check_rank(self.init, shape, sizes)

    def _begin(
        self, engine: Engine, sizes: tuple[int, ...], basis_sizes: tuple[int, ...], classes: Array, run: Run
    ) -> tuple[Array, TwoSided]:
        """Go on from the fit before, or pre-train."""
        if not self._begins_warm():
            return self._pretrained(engine, sizes, basis_sizes, len(classes), run)
        features, basis = (replace(side, activation=self._map) for side in (self._model.features, self._model.basis))
        same_classes = np.array_equal(getattr(self, "classes_", np.empty(0)), classes)
        head = self._model.head if same_classes else np.zeros((len(self._model.head), len(classes)))
        model = _cast(replace(self._model, features=features, basis=basis, head=head), np.float64)
        return encode_two_sided(engine, model, self.components_), model

    def _pretrained(
        self, engine: Engine, sizes: tuple[int, ...], basis_sizes: tuple[int, ...], n_classes: int, run: Run
    ) -> tuple[Array, TwoSided]:
        """Fit NMF in the middle, then each side layer by layer."""
        rng = check_random_state(self.random_state)
        init = self.init or "nndsvd"
        plan = LayerwisePlan.of_nonnegative_layers(init, rng, self.pretrain_max_iter, self.pretrain_tol, run)
        if self.paths == "shallow":
            return shallow_start(engine, sizes[-1], plan, n_classes)
        shallow = self.paths == "both"
        return deep_start(engine, sizes, basis_sizes, self._map, plan, shallow=shallow, n_classes=n_classes)

    @property
    def _map(self) -> Activation:
        g = ACTIVATIONS[self.activation]
        return g.through_zero() if self.activation in THROUGH_ZERO else g

    # --------------------------------------------------------------------------- what a fit leaves

    def _keep(self, engine: Engine, codes: Array, model: TwoSided) -> None:
        """Bring the result into the scale that is handed out and set the fitted attributes."""
        scale = self._scale(codes, model)
        codes = (codes / scale).astype(codes.dtype, copy=False)
        self._set_model(model.rescaled(scale), engine.dtype)
        self.reconstruction_err_ = self._residual(engine, codes, len(self.factors_) - 1)
        self.codes_ = self._with_lower_codes(codes) if self.keep_codes == "all" else [codes]

    def _scale(self, codes: Array, model: TwoSided) -> Array:
        """Return what codes are divided by."""
        if self.paths == "shallow":
            return inverse_norms(model.W)
        sizes = np.sqrt(np.mean(np.square(codes, dtype=np.float64), axis=0))
        return np.where(sizes > 0, sizes, 1.0)

    def _set_model(self, model: TwoSided, dtype: Any) -> None:
        self._model = _cast(model, dtype)
        decoder = self._model.decoder[: model.n_deep]
        self.factors_ = [self._model.W] if self.paths == "shallow" else [decoder, *self._model.features.factors]
        self.basis_factors_ = [self._model.S, *(Z.T for Z in self._model.basis.factors), self._model.F]
        self.shallow_components_ = self._model.W
        self.label_factors_ = np.split(self._model.head, [model.n_deep])
        self.features_ = [self._decoded(np.eye(len(Z), dtype=dtype), layer) for layer, Z in enumerate(self.factors_)]
        self.components_ = self.features_[-1]

    def _with_lower_codes(self, codes: Array) -> list[Array]:
        values = self._model.features.trace(codes).values
        return [codes] if self.paths == "shallow" else values[::-1]

    def _keep_labels(self, classes: Array, index: Array) -> None:
        for name in ("classes_", "transduction_"):
            self.__dict__.pop(name, None)
        if not len(classes):
            return
        best = self._scored(self.codes_[-1]).argmax(axis=1)
        self._set_labels(classes, np.where(index == UNKNOWN, best, index))

    def _set_labels(self, classes: Array, index: Array) -> None:
        self.classes_ = classes
        self._transduced = index
        self.transduction_ = classes[index]

    # ------------------------------------------------------------------------------------- at work

    def transform(self, X: Matrix) -> Array:  # type: ignore[override]
        """Codes of the rows of X at `output_layer`, with everything else fixed and no labels.

        Each row descends on its own, from its nonnegative least-squares codes under `components_`; its codes do not
        depend on the other rows. The problem is not convex: another start may lead elsewhere.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_features_out)
        """
        return self.encode(X, self._output_layer_index)

    @available_if(_was_fitted_with_labels)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Matrix) -> Array:
        """Score the rows of X for each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._scored(self.encode(X))

    @available_if(_was_fitted_with_labels)  # type: ignore[untyped-decorator]
    def predict(self, X: Matrix) -> Array:
        """Predict labels of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.classes_[self.decision_function(X).argmax(axis=1)]

    def _scored(self, codes: Array) -> Array:
        return self._model.stacked(codes) @ self._model.head

    def _encoded(self, engine: Engine, layer: int) -> Array:
        codes = encode_two_sided(engine, self._model, self.components_)
        return codes if layer == len(self.factors_) - 1 else self._with_lower_codes(codes)[layer]

    def _decoded(self, H: Array, layer: int) -> Array:
        E = self._model.decoder.astype(H.dtype, copy=False)
        if layer == len(self.factors_) - 1:
            return self._model.stacked(H) @ E
        below = LayerStack(self._model.features.factors[:layer], self._map)
        return below.trace(H).bottom @ E[: self._model.n_deep]

    @property
    def _output_layer_index(self) -> int:  # type: ignore[override]
        return int(self.output_layer)

    # -------------------------------------------------------------------------------------- on disk

    def _state(self) -> tuple[dict[str, Any], dict[str, list[Array]]]:
        model = self._model
        arrays = {"feature_factor": [*model.features.factors], "basis_factor": [*model.basis.factors]}
        arrays |= {"two_sided": [model.S, model.F, model.W, model.head]}
        if not hasattr(self, "classes_"):
            return {}, arrays
        return described_classes(self.classes_), arrays | {"labels": [self._transduced]}

    def _layout(self, description: dict[str, Any], arrays: Arrays, n_samples: int) -> Layout:
        sizes, basis_sizes = self._sizes(self.n_features_in_)
        n_classes = len(restored_classes(description)) if "classes" in description else 0
        shallow = self.paths == "shallow"  # a deep path without width
        S, *lower, F = pairwise((*((0, 0) if shallow else (sizes[0], *basis_sizes)), self.n_features_in_))
        W = (0 if self.paths == "deep" else sizes[-1], self.n_features_in_)
        shapes = {
            "feature_factor": [(sizes[-1], 0)] if shallow else factor_shapes(self.n_features_in_, sizes)[1:],
            "basis_factor": [shape[::-1] for shape in lower],
            "two_sided": [S, F, W, (S[0] + W[0], n_classes)],
        }
        layout = {kind: [Expected(shape, low=0) for shape in listed] for kind, listed in shapes.items()}
        return layout | {"labels": [Expected((n_samples,), 0, n_classes - 1, "i")] if n_classes else []}

    def _restore(self, description: dict[str, Any], arrays: dict[str, list[Array]]) -> None:
        features, basis = (LayerStack(tuple(arrays[kind]), self._map) for kind in ("feature_factor", "basis_factor"))
        S, F, W, head = arrays["two_sided"]
        self._set_model(TwoSided(features, S, basis, F, W, head), S.dtype)
        if "classes" in description:
            self._set_labels(restored_classes(description), arrays["labels"][0])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:  # it holds g, a function, which is made again from its name
            state["_model"] = self._state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_model" in state:
            self._restore(*state["_model"])


def _labels(index: Array, n_classes: int, dtype: Any) -> Labels:
    return Labels(one_hot(index, n_classes, dtype), (index != UNKNOWN).astype(dtype)[:, None])


def _cast(model: TwoSided, dtype: Any) -> TwoSided:
    features, basis = (
        LayerStack(tuple(np.ascontiguousarray(Z, dtype) for Z in side.factors), side.activation)
        for side in (model.features, model.basis)
    )
    S, F, W, head = (np.ascontiguousarray(Z, dtype) for Z in (model.S, model.F, model.W, model.head))
    return TwoSided(features, S, basis, F, W, head)
